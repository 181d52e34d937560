"""How a text sounds: words, words side by side, characters and concepts weighed together.

For attacks that avoid every known phrase. The weights are data (``tables/tone/``), learned by
``tests/data/threats/learn.py`` from labelled notes: a logistic regression averaged with naive Bayes. A text is read
once (`Tone.read`); every part of it is then a sum over what was read. Tone alone never blocks.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import add

from hermes_memory_core.safety.threats.phrases import AtPairs, Memo

_SIGNS = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Han, kana and Hangul, read by characters; everything else by words."""
_HAS_SIGNS = re.compile(f"[{_SIGNS}]")
_SIGN_RUN = re.compile(f"[{_SIGNS}]+")
_WORD = re.compile(rf"[^\W\d_{_SIGNS}]+")
_PLAIN_WORD = re.compile("[a-z]+")
_LABEL = "[a-z0-9][a-z0-9_-]*+"
_ADDRESS = re.compile(
    r"(?<![a-z0-9_.+-])(?:[a-z][a-z0-9+-]*+://[!-~]*|[a-z0-9_+-]++(?:\.[a-z0-9_+-]++)*+@[a-z0-9_.-]*"
    rf"|[a-z0-9_-]++(?:\.{_LABEL}){{1,3}}(?!\.?[a-z0-9])(?:/[!-~]*)?)"
)
"""URLs, e-mail addresses, hosts and file names of up to four labels; more dots in a row are words in disguise."""
_STEM = 5
_USUAL = 16.0
_STEPS = (1.0, 1.8, 2.5, 3.4)
Feature = tuple[str, ...]
"""One thing in a text, by all names its weight may stand under; the weights of all are added."""


class Tone:
    """Learned weights.

    Args:
        weights: Name → weight. Names are words, their beginnings as ``"begin*"``, ``"word_word"``, single characters
            and pairs of them (Han, kana, Hangul), concepts as ``"@name"`` and how far a rule got as ``"@rule2.5"``.
        bias: Added to every sum, by language (see `Sounds.language`).
        review: Log-odds from which on a text is held for a person.
        warn: Log-odds from which on it is mentioned.
    """

    __slots__ = ("bias", "concepts", "pairs", "review", "signs", "warn", "weights", "words")

    def __init__(
        self, weights: Mapping[str, float], bias: Mapping[str, float], review: float, warn: float
    ) -> None:
        self.weights = weights
        self.bias = bias
        self.review = review
        self.warn = warn
        self.concepts = {name[1:]: weight for name, weight in weights.items() if name[0] == "@"}
        self.words = Memo(self._word)
        self.signs = Memo(self._written)
        self.pairs = AtPairs(self._written)

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> Tone:
        """Read ``{"bias": {…}, "review": …, "warn": …, "weights": {"0.8": "word word_word", …}}``."""
        weights: dict[str, float] = {}
        buckets, bias = table["weights"], table["bias"]
        assert isinstance(buckets, Mapping)  # noqa: S101 - our own file
        assert isinstance(bias, Mapping)  # noqa: S101
        for weight, members in buckets.items():
            weights |= dict.fromkeys(str(members).split(), float(weight))
        return cls(weights, dict(bias), *(float(str(table[key])) for key in ("review", "warn")))

    def read(self, text: str) -> Sounds:
        """Look up everything in a folded text."""
        return Sounds(self, text)

    def _word(self, word: str) -> float | None:
        """A word's weight, that of its beginning included."""
        known = list(filter(None, map(self.weights.get, word_feature(word))))
        return sum(known) if known else None

    def _written(self, signs: str) -> float | None:
        """The weight of one character or two side by side; Latin letters are words."""
        return self.weights.get(signs) if _SIGN_RUN.fullmatch(signs) else None


class Sounds:
    """What a text sounds like, part by part."""

    __slots__ = ("_beside", "_markers", "_pairs", "_signs", "_starts", "_text", "_tone", "_words")

    def __init__(self, tone: Tone, text: str) -> None:
        text = without_addresses(text)
        plain = text.isascii()
        matches = list((_PLAIN_WORD if plain else _WORD).finditer(text))
        words = [match[0] for match in matches]
        look = tone.weights.get
        self._text = text
        self._tone = tone
        self._starts = [match.start() for match in matches]
        self._words = list(map(tone.words.__getitem__, words))
        self._beside = list(map(look, beside(words)))
        self._markers = list(map(_FUNCTION_WORDS.get, words))
        self._signs: Sequence[float | None] = ()
        self._pairs: Sequence[float | None] = ()
        if not plain and _HAS_SIGNS.search(text):
            self._signs = list(map(tone.signs.__getitem__, text))
            self._pairs = tone.pairs.along(text)

    def language(self, start: int, end: int) -> str:
        """Which bias holds for ``text[start:end]``: a guess from its letters and function words."""
        found = script(self._text[start:end])
        if found:
            return found
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        markers = list(filter(None, self._markers[first:last]))
        return max(markers, key=markers.count) if markers else "en"

    def score(
        self, start: int, end: int, concepts: Iterable[str], strength: float, language: str
    ) -> float:
        """Log-odds that ``text[start:end]`` is an attack.

        Args:
            start: Offset in the text that was read.
            end: Where the part ends.
            concepts: Concepts the lexicon found in it, after negation.
            strength: Highest score of an evidence rule in it.
            language: That of the passage it is in, see `language`.
        """
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        tone = self._tone
        found = list(filter(None, self._words[first:last]))
        found += filter(None, self._beside[first : max(first, last - 1)])
        if self._signs:
            found += filter(None, self._signs[start:end])
            found += filter(None, self._pairs[start : max(start, end - 1)])
        found += filter(None, map(tone.concepts.get, concepts))
        if strength >= _STEPS[0]:
            found += filter(None, map(tone.concepts.get, steps(strength)))
        return tone.bias[language] + scale(len(found)) * math.fsum(found)


def features(text: str, concepts: Iterable[str], strength: float) -> list[Feature]:
    """Everything `Sounds.score` adds up for a folded text, with repetitions: what weights are learned for."""
    text = without_addresses(text)
    words = (_PLAIN_WORD if text.isascii() else _WORD).findall(text)
    found = list(map(word_feature, words))
    single = beside(words)
    for run in _SIGN_RUN.findall(text):
        single += [*run, *map(add, run, run[1:])]
    single += [f"@{name}" for name in [*concepts, *steps(strength)]]
    return found + [(name,) for name in single]


_KANA = re.compile("[\u3041-\u30fa]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HAN = re.compile("[\u3400-\u9fff]")
_ARABIC = re.compile("[\u0620-\u064a]")
_CYRILLIC = re.compile("[\u0430-\u044f]")
_FUNCTION_WORDS = {
    word: name  # where several have a word, the last one listed
    for name, words in {
        "en": "the of to and is in it you this that with on are be not if from when all any by",
        "de": "der die das und ist nicht mit ein eine den dem auf fur von zu im sich wenn wird auch alle nur",
        "es": "el la los las y es en que una un con por del al lo cada si esta cuando todo esto usuario",
        "fr": "le la les et est des une un dans que pour avec du au ne pas sur qui ce cette si vous tu l d",
        "pt": "o os as e em que uma um com por do da no na dos das ao nao para cada se esta quando tudo isto",
    }.items()
    for word in words.split()
}


SIGNS = ("zh", "ja", "ko")
"""Languages that say more with fewer characters."""


def script(text: str) -> str:
    """The language that a folded text's letters tell, "" for Latin ones; a foreign word or two changes nothing."""
    if text.isascii() or 3 * len(text.encode("ascii", "ignore")) > 2 * len(text):
        return ""
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    if _HAN.search(text):
        return "zh"
    if _ARABIC.search(text):
        return "ar"
    return "ru" if _CYRILLIC.search(text) else ""


def without_addresses(text: str) -> str:
    """Blanks instead of addresses: what a host is called says nothing, that one is named the concepts say."""
    return _ADDRESS.sub(lambda match: " " * len(match[0]), text)


def word_feature(word: str) -> Feature:
    """A word and how it begins: other forms of it are known by that."""
    return (word, f"{word[:_STEM]}*") if len(word) > _STEM else (word,)


def beside(words: Sequence[str]) -> list[str]:
    """``"one_two"`` for every two words side by side."""
    return list(map(add, [word + "_" for word in words], words[1:]))


def steps(strength: float) -> list[str]:
    """How far a rule got, as concepts."""
    return [f"rule{step}" for step in _STEPS if strength >= step]


def scale(size: int) -> float:
    """A long text has more words of every kind; each then counts less."""
    return math.sqrt(_USUAL / max(size, _USUAL))
