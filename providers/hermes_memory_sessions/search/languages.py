"""Which Latin-script language a text is in, by its function words; no model, and English unless it clearly is not.

A message's words are stemmed by its language. A query is too short to tell, so its words get the stems of every
language the store has met (``engine``): what German text is indexed by, an English question can still reach.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from .patterns import lazy
from .scripts import fold
from .stopwords import FOREIGN
from .stopwords import WORDS as ENGLISH

_FUNCTION_WORDS: Final = {
    "german": "aber auch auf aus bei dass dem den der des dich durch ein eine einem einen einer er es fur habe haben hatte "
    "ich ihm ihn ihr im ist kann kein keine mein meine mich mit nach nicht noch oder schon sehr sich sie sind um und uns "
    "unser von vom wenn wer werden wie wir wird wo wurde zu zum zur",
    "french": "au aux avec avait ce ces cette dans des du elle elles est et etait etes il ils je la le les leur mais mes moi "
    "mon nous ou par pas pour quand que qui sa ses sont suis sur tres tu une vos votre vous",
    "spanish": "al como con cuando del donde el ella ellos en esta estaba este esto fue ha hay la las le lo los mas mi muy "
    "nos para pero por porque que se sin sobre su sus tambien te tiene una unos y ya yo",
    "italian": "alla anche che ci con cosa da dal dei del della delle di dove e gli ha hanno ho il io la lo ma mi mia molto "
    "nel nella non per perche piu quando questa questo sei si sono su sua suo tra una uno",
    "portuguese": "ao aos as com como da das do dos e ela ele em era essa esse esta este eu foi isso ja mais mas meu minha "
    "muito na nao nas no nos o os para pela pelo porque quando que se sem seu sua tambem tem um uma voce",
    "dutch": "aan als bij dan dat de deze die dit door een en er geen haar heb heeft het hij hoe ik is je kan maar met mijn "
    "naar niet nog nu of om ons ook op over te toen tot uit van veel voor waar wat we wel werd wie wij worden zal ze zich zijn",
    "swedish": "att av den det du efter en ett fran har hon i inte jag kan med men mig min mycket nar och om pa sa som till "
    "var vi",
}


@cache
def _speaks_for() -> dict[str, tuple[str, ...]]:
    """Function word to its languages; words that are English too speak for none."""
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _FUNCTION_WORDS.items():
        for word in set(words.split()) - ENGLISH:
            found[word] = (*found.get(word, ()), name)
    return found


def speaks_for_another(word: str) -> bool:
    """Whether a folded word is a function word of a language other than English."""
    return word in _speaks_for()


_ONLY_ENGLISH: Final = (
    ENGLISH - FOREIGN - {"am", "an", "was", "die", "man", "of", "we", "over", "he", "on", "so"}
)
_WORD: Final = lazy(r"[a-z]+")
_HEAD: Final = 2_000
_FEWEST: Final = 2
_LEAST_SHARE: Final = 0.07
"""Of a text's words, at least so many are a language's function words: a name with "de la" makes nothing French."""

LATIN: Final = ("english", *_FUNCTION_WORDS)
"""Languages whose stemmers are used for Latin letters."""


def guess(text: str) -> str:
    """The language of the first 2,000 characters; ``english`` when in doubt."""
    counts: dict[str, int] = {}
    english = 0
    speaks_for = _speaks_for()
    words = _WORD.findall(fold(text[:_HEAD]))
    for word in words:
        if word in _ONLY_ENGLISH:
            english += 1
        for name in speaks_for.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return "english"
    best = max(counts, key=counts.__getitem__)
    enough = max(_FEWEST, _LEAST_SHARE * len(words))
    return best if counts[best] >= enough and counts[best] > english else "english"
