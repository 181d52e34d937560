"""Packed phrases, and what they become when a text has their first word: the index behind `lexicon.Lexicon`.

A packed index holds one string per first word (or pair of characters) with all its phrases, ``"concept lang rest"``
between commas. Most words are never met in a process, so unpacking waits until one is. No searching happens here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

_MEMO_LIMIT = 50_000
_WIDE = f"utf-32-{sys.byteorder[0]}e"


class Phrase(NamedTuple):
    """How a phrase goes on after its first word; ``size`` counts its words."""

    rest: tuple[tuple[str, int], ...]
    concept: str
    lang: str
    size: int


EXACT, STEM, GAP = 0, 1, 2
# Size, head, length of the head, part after a gap or "", concept: a phrase of a script without spaces.
Chars = tuple[int, str, int, str, str]


class Entry(NamedTuple):
    """What may start at one word: phrases sorted by how they go on, so that few are tried."""

    alone: tuple[Phrase, ...]
    seen: tuple[tuple[str, str], ...]
    """Concept and language of the phrases of ``alone`` that make a hit."""
    next_word: dict[str, list[Phrase]]
    after_gap: dict[str, list[Phrase]]
    next_stem: dict[str, list[tuple[int, Phrase]]]
    """By the first letter of the stem, with the place in the tables: phrases are tried in that order."""
    gap_stem: dict[str, list[tuple[int, Phrase]]]
    heads: frozenset[str]
    """Words with which some phrase goes on; empty with ``letters`` when none does."""
    letters: frozenset[str]
    """First letters of the stems with which some phrase goes on; "" stands for any word."""


def entry_of(phrases: Iterable[Phrase]) -> Entry | None:
    """Sort ``phrases`` by their second word; None when there are none."""
    alone: list[Phrase] = []
    next_word: dict[str, list[Phrase]] = {}
    after_gap: dict[str, list[Phrase]] = {}
    next_stem: dict[str, list[tuple[int, Phrase]]] = {}
    gap_stem: dict[str, list[tuple[int, Phrase]]] = {}
    empty = True
    for order, phrase in enumerate(phrases):
        empty = False
        rest = phrase.rest
        if not rest:
            if phrase.concept not in {other.concept for other in alone}:
                alone.append(phrase)
        elif rest[0][1] == EXACT:
            next_word.setdefault(rest[0][0], []).append(phrase)
        elif rest[0][1] == STEM:
            next_stem.setdefault(rest[0][0][:1], []).append((order, phrase))
        elif rest[1][1] == EXACT:
            after_gap.setdefault(rest[1][0], []).append(phrase)
        else:
            gap_stem.setdefault(rest[1][0][:1], []).append((order, phrase))
    if empty:
        return None
    return Entry(
        tuple(alone),
        tuple((phrase.concept, phrase.lang) for phrase in alone if phrase.concept != "none"),
        next_word,
        after_gap,
        next_stem,
        gap_stem,
        frozenset((*next_word, *after_gap)),
        frozenset((*next_stem, *gap_stem)),
    )


_Key = TypeVar("_Key")
_Known = TypeVar("_Known")


class Memo(dict[_Key, _Known]):
    """What is known of the things met so far; a new one is looked up when it is first asked for."""

    def __init__(self, look: Callable[[_Key], _Known]) -> None:
        super().__init__()
        self.look = look

    def __missing__(self, key: _Key) -> _Known:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        found = self[key] = self.look(key)
        return found


Start = dict[str, list[Chars]]
"""Phrases that start with one pair of characters, by their third character; key "": those that end before it."""


class AtPairs(Memo[int, _Known]):
    """What is known of two characters side by side.

    Keys are both characters in one number: making a string of every pair in a text costs several times more.
    """

    def __init__(self, look: Callable[[str], _Known]) -> None:
        super().__init__(lambda code: look(_pair(code)))

    def along(self, text: str) -> list[_Known]:
        """What is known at each character of ``text`` and the one after it; the last has a space after it."""
        size = len(text)
        raw = memoryview(f"{text} ".encode(_WIDE, "surrogatepass"))
        even = raw[: 8 * ((size + 1) // 2)].cast("Q").tolist()
        odd = raw[4 : 4 + 8 * (size // 2)].cast("Q").tolist()
        found: list[_Known] = [None] * size  # type: ignore[list-item]  # every place is filled below
        found[0::2] = map(self.__getitem__, even)
        found[1::2] = map(self.__getitem__, odd)
        return found


def _pair(code: int) -> str:
    return code.to_bytes(8, sys.byteorder).decode(_WIDE, "surrogatepass")


def starts(packed: Mapping[str, str], pair: str) -> Start | None:
    """The phrases of an index that begin with ``pair``, or with its first character alone."""
    longer, single = packed.get(pair, ""), packed.get(pair[0], "")
    if not longer and not single:
        return None
    entries = [_chars(line) for line in f"{longer},{single}".split(",") if line]
    entries.sort(key=lambda entry: -entry[0])
    thirds = {entry[1][2:3] for entry in entries}
    return {
        third: [entry for entry in entries if entry[1][2:3] in ("", third)]
        for third in thirds | {""}
    }


def _chars(packed: str) -> Chars:
    concept, _, phrase = packed.partition(" ")
    head, _, tail = phrase.partition("~")
    head, tail = head.strip(), tail.strip()
    return len(head) + len(tail), head, len(head), tail, concept


def unpacked(packed: str) -> Phrase:
    """Read ``"concept lang rest"``."""
    concept, lang, *parts = packed.split(" ")
    rest = tuple(
        ("~", GAP) if part == "~" else (part.rstrip("*"), STEM if part[-1] == "*" else EXACT)
        for part in parts
    )
    return Phrase(rest, concept, lang, len(parts) + 1)


def append(packed: dict[str, str], key: str, line: str) -> None:
    """Add one packed phrase under its first word or pair."""
    packed[key] = f"{packed[key]},{line}" if key in packed else line
