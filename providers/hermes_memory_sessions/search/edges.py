"""Is a short word of an unspaced script a word there, or letters of a longer one? Judged by its neighbours.

Pairs of characters find 市长 in 南京市长江大桥 and 학교 in 대학교. What stands free comes first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .evidence import TermEvidence
from .patterns import lazy
from .scripts import (
    HAN,
    HANGUL,
    HIRAGANA,
    KATAKANA,
    UNSPACED,
    compatible,
    fold,
    folded_in_place,
    within,
)
from .stopwords import HAN_FUNCTION, KANA_PARTICLES, KOREAN_ENDINGS
from .syntax import Term

LONGEST: Final = 3
"""Characters of a word that needs judging: longer ones are hardly ever met by chance."""

HALF_FREE: Final = 0.9
EMBEDDED: Final = 0.75
"""Worth of a word free on one side only, and of one inside a longer run."""

_FREE: Final = 2
_FAR: Final = 20_000
_CLASSES: Final = (HAN, HIRAGANA, KATAKANA, HANGUL, UNSPACED)
_HANGUL: Final = lazy(f"[{HANGUL}]+")


def needs_judging(term: Term) -> bool:
    """Whether ``term`` is a short word of an unspaced script."""
    text = term.text
    return not term.exact and len(text) <= LONGEST and all(_class(char) >= 0 for char in text)


def judge(one: TermEvidence, texts: dict[int, str]) -> None:
    """Lower the worth of messages in which the word is not free; ``texts`` are theirs, as stored.

    Korean puts blanks between words: a word of one or two syllables that begins inside another, or one syllable
    with more than a particle after it, is dropped where the word stands free in some other message.
    """
    word = fold(compatible(one.term.text))
    typed = one.term.typed or word
    korean = bool(_HANGUL.fullmatch(word)) and len(word) <= 2
    freedom = {
        id_: _freedom(word, typed, texts[id_][:_FAR])
        for id_ in one.frequency
        if id_ in texts and id_ not in one.share
    }
    free_somewhere = any(sides == (True, True) for sides in freedom.values())
    for id_, (before, after) in freedom.items():
        if korean and free_somewhere and not (before and (after or len(word) > 1)):
            del one.frequency[id_]
        elif before + after < _FREE:
            one.share[id_] = HALF_FREE if before or after else EMBEDDED


def _freedom(word: str, typed: str, text: str) -> tuple[bool, bool]:
    """Free before and after, at the freest of the first fifty places."""
    # people mostly search in the characters they write in: folding every text takes longer than all else here
    if typed in text:
        word = typed
    elif word not in text:
        text = folded_in_place(text)
    at = text.find(word)
    first, last, size, length = word[0], word[-1], len(word), len(text)
    hangul = bool(_HANGUL.match(last))
    best = (False, False)
    for _ in range(50):
        if at < 0:
            break
        end = at + size
        before = at == 0 or _parts(text[at - 1], first)
        if hangul:
            after = _closed(text, end)
        else:
            after = end >= length or _parts(text[end], last)
        if before and after:
            return (True, True)
        if (before or after) and not any(best):
            best = (before, after)
        at = text.find(word, at + 1)
    return best


@lru_cache(maxsize=1 << 14)
def _parts(outer: str, inner: str) -> bool:
    """Whether a word begins or ends between a character and its neighbour inside the word."""
    char = folded_in_place(outer)
    return char in HAN_FUNCTION or char in KANA_PARTICLES or _class(char) != _class(inner)


def _closed(text: str, end: int) -> bool:
    """Whether a Korean word may end there."""
    tail = _HANGUL.match(text, end)
    return tail is None or tail.group() in KOREAN_ENDINGS


@lru_cache(maxsize=1 << 14)
def _class(char: str) -> int:
    """Which script a character is written in, by its place in ``_CLASSES``; -1 with blanks between words."""
    return next((i for i, letters in enumerate(_CLASSES) if within(char, letters)), -1)
