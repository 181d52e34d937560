"""Word to stem, by Snowball, with a cache. Which language Latin letters are in, ``languages`` says."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final

from hermes_memory_core.storage import memos

from .irregular import FORMS
from .patterns import lazy

_LANGUAGES: Final = (
    (re.compile("[\u0400-\u04ff]"), "russian"),
    (re.compile("[\u0370-\u03ff]"), "greek"),
    (re.compile("[\u0621-\u064a]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
    (re.compile("[\u0561-\u0587]"), "armenian"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
)
_LATIN: Final = lazy("[a-z]")
_ENGLISH_ENDINGS: Final = (
    "s", "e", "y", "i", "ed", "ing", "ic", "al", "ul", "ll", "ism", "ion", "er", "or", "nt",
)  # fmt: skip
"""Snowball's English rules leave a word with none of these endings as it is: half of all words need no stemmer."""
_SHORTEST = 3
_LONGEST = 40


@lru_cache(maxsize=1 << 15)
def stem(word: str, latin: str = "english") -> str:
    """The stem of a folded word; words with digits, very short and very long ones stay as they are.

    Args:
        word: Folded (``scripts.fold``).
        latin: Which language a word in Latin letters is taken for.
    """
    if latin == "english":
        word = FORMS.get(word, word)
        if word.isascii() and not word.endswith(_ENGLISH_ENDINGS):
            return word
    if not _SHORTEST <= len(word) <= _LONGEST or (word.isascii() and not word.isalpha()):
        return word
    if any(map(str.isdigit, word)):
        return word
    if _LATIN.match(word):
        return _stemmer(latin)(word) or word
    for letters, language in _LANGUAGES:
        if letters.match(word):
            return _stemmer(language)(word) or word
    return word


memos.register(stem.cache_clear)


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer  # its languages take 30 ms to import: only when the first word comes

    instance = snowballstemmer.stemmer(language)
    method: Callable[[str], str] = instance.stemWord
    return method


@cache
def stemmer_version() -> str:
    """Version of the stemming library: other rules make other index entries."""
    from importlib.metadata import version

    return version("snowballstemmer")
