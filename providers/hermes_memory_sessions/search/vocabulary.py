"""Words met before, each with all the index wants to know of it: a text of known words costs one look-up a word.

What a word's tokens are, ``segmenter`` says; which words speak of a time or for a language is judged here once per
word, so that the slower patterns are tried only on texts that have such a word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .languages import speaks_for_another
from .patterns import lazy
from .scripts import fold

MOST_WORDS: Final = 1 << 16
"""Words kept; then a new vocabulary is begun."""

_LONGEST: Final = 64
"""Characters of a word that is kept: keys and encoded data come once."""

_UNITS: Final = (
    "night", "week", "month", "year", "summer", "winter", "spring", "fall", "autumn", "mon", "tue", "wed", "thu",
    "fri", "sat", "sun",
)  # fmt: skip
_TIMES: Final = (
    "january february march april june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday yesterday today tonight tomorrow ago weekend since recently clock am pm"
)
_TIMELY: Final = frozenset(_TIMES.split())
_NUMBER: Final = lazy(r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)?")
_LETTERS: Final = lazy("[a-z]+")

Tokens = tuple[tuple[str, ...], tuple[str, ...]]
"""A word's own tokens, and those of its camelCase parts."""


class Vocabulary(dict[str, str]):
    """Word as written to its tokens, parted by blanks.

    Args:
        tokens_of: Gives a word's tokens.
    """

    def __init__(self, tokens_of: Callable[[str], Tokens]) -> None:
        super().__init__()
        self._tokens_of = tokens_of
        self.parts: dict[str, tuple[str, ...]] = {}
        """Words of several parts, with the parts' tokens."""
        self.timely: set[str] = set()
        """Words that may speak of a time."""
        self.foreign: set[str] = set()
        """Words that speak for a language other than English."""

    def __missing__(self, word: str) -> str:
        tokens, parts = self._tokens_of(word)
        joined = " ".join(tokens)
        if parts:
            self.parts[word] = parts
        low = word.lower()
        if (
            low.isalpha() and low.isascii()
        ):  # nearly always, and the patterns below take ten times as long
            timely, foreign = _timely(low), speaks_for_another(low)
        else:
            timely = any(map(_timely, low.split("'")))
            foreign = any(map(speaks_for_another, _LETTERS.findall(fold(word))))
        if timely:
            self.timely.add(word)
        if foreign:
            self.foreign.add(word)
        if len(word) <= _LONGEST:
            self[word] = joined
        return joined

    @property
    def full(self) -> bool:
        """Whether it is time for a new one."""
        return len(self) + len(self.foreign) + len(self.timely) > MOST_WORDS


def _timely(part: str) -> bool:
    """Whether a word may speak of a time. Generous: the patterns have the last word."""
    return part in _TIMELY or part.startswith(_UNITS) or bool(_NUMBER.fullmatch(part))
