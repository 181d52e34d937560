"""Which entry does a piece of text mean? Exact first, then substring, then a forgiving second chance.

Pure functions over tuples of entries. What to do with no match or several is decided in ``operations``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_memory_files.document import note_id

How = Literal["entry", "id", "text", "loose"]
Span = tuple[int, int]

MIN_FRAGMENT_WEIGHT = 3
"""What a fragment must weigh to name an entry that will be lost: three characters, wide ones
counting double, with a letter or digit among them."""
CLOSEST_MIN_SIMILARITY = 0.3
CLOSEST_COUNT = 5
_COMPARE_CHARS = 2_000
_COMPARE_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class Match:
    """One entry that the text may mean, and where inside it the text stands."""

    index: int
    spans: tuple[Span, ...]
    how: How


@dataclass(frozen=True, slots=True)
class Folded:
    """Text made comparable (NFC, case, white space, invisible characters) with the way back."""

    text: str
    spans: tuple[Span, ...]
    """For each character of ``text`` its start and end in the original."""


def fold(text: str) -> Folded:
    """Fold a text for the second chance, remembering where each character came from."""
    out: list[str] = []
    spans: list[Span] = []
    for start, end in _clusters(text):
        for char in unicodedata.normalize("NFC", text[start:end]):
            if _invisible(char):
                continue
            if char.isspace():
                if out and out[-1] == " ":
                    spans[-1] = (spans[-1][0], end)
                    continue
                char = " "
            for folded in char.casefold():
                out.append(folded)
                spans.append((start, end))
    return Folded("".join(out), tuple(spans))


def _clusters(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and _joins(text[end]):
            end += 1
        yield start, end
        start = end


def _joins(char: str) -> bool:
    return (
        unicodedata.combining(char) != 0 or "\u1160" <= char <= "\u11ff"
    )  # and Hangul vowels, tails


def _invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f" or char == "\u034f"


def key_of(text: str) -> str:
    """Equal for texts that say the same in another spelling of spaces, case or invisible characters."""
    return fold(text).text.strip()


def find(entries: Sequence[str], needle: str) -> list[Match]:
    """All entries ``needle`` may mean, by the first rule that finds any.

    Rules in order: the whole entry; an entry's id; a substring as given, then stripped; the folded whole
    entry; a folded substring.
    """
    bare = needle.strip()
    for index, entry in enumerate(entries):
        if entry == bare:
            return [Match(index, ((0, len(entry)),), "entry")]
    for index, entry in enumerate(entries):
        if len(bare) == 8 and note_id(entry) == bare.lower():
            return [Match(index, ((0, len(entry)),), "id")]
    for wanted in (needle, bare):
        found = [
            Match(index, spans, "text")
            for index, entry in enumerate(entries)
            if (spans := tuple(_occurrences(entry, wanted)))
        ]
        if found:
            return found
    return _find_loosely(entries, bare)


def _find_loosely(entries: Sequence[str], needle: str) -> list[Match]:
    wanted = key_of(needle)
    if not wanted:
        return []
    folds = [fold(entry) for entry in entries]
    whole = [
        Match(index, ((0, len(entries[index])),), "loose")
        for index, folded in enumerate(folds)
        if folded.text.strip() == wanted
    ]
    if whole:
        return whole
    found = []
    for index, folded in enumerate(folds):
        spans = tuple(
            (folded.spans[start][0], folded.spans[end - 1][1])
            for start, end in _occurrences(folded.text, wanted)
        )
        if spans:
            found.append(Match(index, spans, "loose"))
    return found


def _occurrences(text: str, wanted: str) -> Iterator[Span]:
    """Overlapping ones too: two ways to read a fragment are two."""
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield start, start + len(wanted)
        start = text.find(wanted, start + 1)


def too_short(needle: str, entry: str) -> bool:
    """True when a fragment says too little to be trusted with an entry that will be lost."""
    weight = sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in needle
        if not char.isspace()
    )
    if not any(char.isalnum() for char in needle):
        weight = 0
    return weight < MIN_FRAGMENT_WEIGHT and 2 * len(needle.strip()) < len(entry)


def closest(entries: Sequence[str], needle: str) -> list[str]:
    """Up to five entries most like the text, the best first, none below 0.3 (design.md D3)."""
    wanted = key_of(needle[:_COMPARE_CHARS])
    if not wanted:
        return []
    scored = [
        (similarity(wanted, key_of(entry[:_COMPARE_CHARS])), -index, entry)
        for index, entry in enumerate(entries[:_COMPARE_ENTRIES])
    ]
    best = sorted((row for row in scored if row[0] >= CLOSEST_MIN_SIMILARITY), reverse=True)
    return [entry for _score, _index, entry in best[:CLOSEST_COUNT]]


def similarity(wanted: str, entry: str) -> float:
    """0 to 1: how much of the folded ``wanted`` stands in the folded ``entry``.

    A fragment is short and an entry is long, so what counts is how much of the fragment is covered, by
    pairs of characters (spelling, CJK) and by words (meaning), not how alike the two are as wholes.
    """
    if wanted in entry:
        return 1.0
    words = wanted.split()
    known = set(entry.split())
    by_words = sum(word in known or (len(word) > 1 and word in entry) for word in words) / max(
        1, len(words)
    )
    pairs, others = _pairs(wanted), _pairs(entry)
    by_pairs = len(pairs & others) / len(pairs)
    alike = 2 * len(pairs & others) / (len(pairs) + len(others))
    return max((by_pairs + by_words) / 2, alike)


def _pairs(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(len(text) - 1)} or {text}
