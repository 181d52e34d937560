"""A query's run of an unspaced script to the words in it, without a dictionary; the index has no part in this."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .patterns import lazy
from .scripts import HANGUL, HIRAGANA
from .stopwords import HAN_FUNCTION, KANA_PARTICLES, KOREAN, KOREAN_ENDINGS, UNSPACED_PHRASES

_HANGUL: Final = lazy(f"[{HANGUL}]+")
_HIRAGANA: Final = lazy(f"[{HIRAGANA}]")
_SHORT: Final = 4
_LONGEST: Final = 400


class Word(NamedTuple):
    """A word found in a run, folded."""

    text: str
    weak: bool
    """A function word, or a single character beside longer words: evidence only when there is no other."""
    base: str = ""
    """The word without a syllable that may be a particle or part of it (Korean), else ""."""


def words(run: str, *, question: bool) -> list[Word]:
    """The words of a folded run, in order; never empty for a run that is not.

    A short run that is no question is taken as one word, since somebody typed it so; its parts follow.
    """
    if _HANGUL.fullmatch(run):
        return [_korean(run)]
    parts = [part for long in _cut(run) for part in long if part] or [run]
    strong = [part for part in parts if len(part) > 1]
    if len(run) <= _SHORT and not question and parts != [run]:
        return [Word(run, weak=False), *(Word(part, weak=len(part) < 2) for part in parts)]
    return [Word(part, weak=bool(strong) and len(part) < 2) for part in parts]


def _korean(run: str) -> Word:
    if run in KOREAN:
        return Word(run, weak=True)
    for ending in KOREAN_ENDINGS:
        if run.endswith(ending) and len(run) - len(ending) >= 2:
            base = run[: -len(ending)]
            return Word(run, False, base) if len(ending) == 1 else Word(base, weak=False)
    return Word(run, weak=False)


def _cut(run: str) -> list[list[str]]:
    """Parts between function words: first the phrases, then single characters."""
    pieces = [run[i : i + _LONGEST] for i in range(0, len(run), _LONGEST)]
    return [_at_characters(part) for piece in pieces for part in _at_phrases(piece)]


def _at_phrases(run: str) -> list[str]:
    return [part for part in _PHRASES.split(run) if part]


def _at_characters(run: str) -> list[str]:
    parts, start = [], 0
    for i, char in enumerate(run):
        if char in HAN_FUNCTION or (char in KANA_PARTICLES and _parts_words(run, i)):
            parts.append(run[start:i])
            start = i + 1
    parts.append(run[start:])
    return [part for part in parts if part]


def _parts_words(run: str, i: int) -> bool:
    """A particle stands next to something that is not hiragana; inside a hiragana word it is a letter."""
    before = i == 0 or not _HIRAGANA.match(run[i - 1])
    after = i + 1 == len(run) or not _HIRAGANA.match(run[i + 1])
    return before or after


_PHRASES: Final = lazy("|".join(map(re.escape, UNSPACED_PHRASES)))
