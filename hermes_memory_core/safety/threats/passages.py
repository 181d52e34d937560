"""How a text is cut for judging its tone: clauses, as the evidence was cut, and the passages they make up.

A passage is what a person would write as one note: a few clauses up to a line break between them. A clause longer than
that is cut at a blank, so that no amount of other words dilutes what stands in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

from hermes_memory_core.safety.threats.evidence import Weighed

LONGEST = 400
"""Characters of a passage; the hand-written notes are shorter."""
T = TypeVar("T")
_NONE: AbstractSet[str] = frozenset()
_BLANK = re.compile(r"\s*")


class Part(NamedTuple):
    """A stretch of the folded text, what the lexicon found in it and the highest score of a rule."""

    start: int
    end: int
    concepts: AbstractSet[str]
    strength: float


class Passage(NamedTuple):
    """Clauses that belong together; ``whole`` is what they are taken together."""

    whole: Part
    clauses: list[Part]


def passages(text: str, weighed: Weighed) -> list[Passage]:
    """Cut ``text``; what is blank is left out."""
    found: list[Passage] = []
    together: list[Part] = []
    for part in _clauses(text, weighed):
        if together and (
            part.end - together[0].start > LONGEST or "\n" in text[together[-1].end : part.start]
        ):
            found.append(_passage(together))
            together = []
        together.append(part)
    if together:
        found.append(_passage(together))
    return found


def _clauses(text: str, weighed: Weighed) -> Iterator[Part]:
    concepts: dict[int, set[str]] = {}
    strength: dict[int, float] = {}
    for cluster in weighed.clusters:
        concepts.setdefault(cluster.clause, set()).update(cluster.concepts)
    for verdict in weighed.verdicts:
        clause = weighed.clusters[verdict.cluster].clause
        strength[clause] = max(strength.get(clause, 0.0), verdict.score)
    start = 0
    for number, cut in enumerate(weighed.cuts):
        end = min(cut, len(text))
        last = start + len(text[start:end].rstrip())
        if start < last:
            blank = _BLANK.match(text, start)
            first = blank.end() if blank is not None else start
            part = Part(first, last, concepts.get(number, _NONE), strength.get(number, 0.0))
            if last - first <= LONGEST:
                yield part
            else:
                yield from _pieces(text, part, number, weighed)
        start = end


def _pieces(text: str, part: Part, clause: int, weighed: Weighed) -> Iterator[Part]:
    """A long clause in pieces, each with what was found in it."""
    hits = sorted(
        (hit.start, hit.concept)
        for cluster in weighed.clusters
        if cluster.clause == clause
        for hit in cluster.hits
    )
    scores = sorted(
        (verdict.start, verdict.score)
        for verdict in weighed.verdicts
        if weighed.clusters[verdict.cluster].clause == clause
    )
    start = part.start
    while start < part.end:
        end = min(start + LONGEST, part.end)
        if end < part.end:
            blank = text.rfind(" ", start + LONGEST // 2, end)
            end = blank if blank > 0 else end
        found = {concept for place, concept in _within(hits, start, end)}
        judged = [score for _, score in _within(scores, start, end)]
        yield Part(start, end, found, max(judged, default=0.0))
        start = end


def _within(found: list[tuple[int, T]], start: int, end: int) -> list[tuple[int, T]]:
    """What starts in a stretch."""
    low, high = bisect_left(found, start, key=_place), bisect_left(found, end, key=_place)
    return found[low:high]


def _place(one: tuple[int, object]) -> int:
    return one[0]


def _passage(clauses: list[Part]) -> Passage:
    if len(clauses) == 1:
        return Passage(clauses[0], clauses)
    whole = Part(
        clauses[0].start,
        clauses[-1].end,
        set().union(*[part.concepts for part in clauses]),
        max([part.strength for part in clauses]),
    )
    return Passage(whole, clauses)
