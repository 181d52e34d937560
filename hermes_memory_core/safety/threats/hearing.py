"""How grave what was found is, given how the text around it sounds. Finds nothing itself.

A weak rule yields to a passage that sounds harmless, the more so the weaker it is; and only a passage that sounds like an
attack, or overwhelming evidence, is blocked outright rather than held for a person.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from hermes_memory_core.safety.threats.passages import Part, Passage
from hermes_memory_core.safety.threats.tone import SIGNS, Sounds, Tone
from hermes_memory_core.types import Severity

BLOCK, REVIEW, WARN = 4.4, 2.5, 1.8
_CERTAIN = 7.0
_HARMLESS = -3.0
"""Below, a passage sounds like a lesson, a tutorial, a filter's test: what is quoted there is mentioned, not held."""
_MOST_CALM = 1.4
"""By how much a rule's score is lowered at most where it sounds less harmless than that."""
_NEAR = 120
"""Characters to either side of a finding in which words speak for or against it."""
_FEW_LETTERS, _FEW_SIGNS = 48, 16
"""A passage of fewer characters is too little to hold a note for its tone, and to overrule a rule by it."""
ALONE = 0.5
"""By how much a part of a passage must sound worse than the whole would: out of its context it says less."""
_TELLING = 3
"""Concepts in a clause that is judged by itself; nearly all hostile notes have more."""
_REACH_LETTERS, _REACH_SIGNS = 120, 40
"""Characters of the parts that a longer clause is judged by, too."""


def ruled(score: float, sound: float) -> Severity:
    """How grave a rule's verdict is, where it stands; ``sound`` is zero where tone alone would hold the note."""
    if sound < _HARMLESS and score < _CERTAIN:
        return "warn"
    if score >= BLOCK:  # whatever else stands beside it: calm words are cheap
        return "block" if sound >= 0 or score >= _CERTAIN else "review"
    return "review" if score + max(min(sound, 0.0), -_MOST_CALM) >= REVIEW else "warn"


def shown(severity: Severity, sound: float) -> Severity:
    """How grave the shape of an attack is, where it stands: a lesson or a filter's own test shows one, too."""
    if severity == "block" and sound < 0:
        return "review"
    return "warn" if severity == "review" and sound < _HARMLESS else severity


class Hearing:
    """How the passages of a text sound. Zero is where tone alone would hold the note."""

    def __init__(self, cut: Sequence[Passage], sounds: Sounds, tone: Tone) -> None:
        self._cut = cut
        self._sounds = sounds
        self._tone = tone
        self._ends = [passage.whole.end for passage in cut]

    def around(self, start: int, end: int) -> float:
        """How bad it sounds around a finding, no further off than words have to do with it."""
        index = bisect_right(self._ends, start)
        if index == len(self._cut):
            return 0.0
        whole, clauses = self._cut[index]
        language = self._language(whole)
        if not _enough(whole, language):
            return 0.0
        low, high = start - _NEAR, max(end, start) + _NEAR
        return max(
            self._score(
                part._replace(start=max(part.start, low), end=min(part.end, high)), language
            )
            for part in (whole, *clauses)
            if part.start <= start < part.end
        )

    def scores(self) -> Iterator[tuple[float, Part, bool]]:
        """Per passage the highest score, whose it is (the whole's, a clause's, a part's), and whether that is enough text."""
        for whole, clauses in self._cut:
            language = self._language(whole)
            reach = _REACH_SIGNS if language in SIGNS else _REACH_LETTERS
            best, loudest = self._score(whole, language), whole
            for part in _alone(clauses, reach):
                score = self._score(part, language) - ALONE
                if score > best:
                    best, loudest = score, part
            yield best, loudest, _enough(loudest, language)

    def loud(self) -> Iterator[tuple[Part, Severity]]:
        """Passages and parts of them that sound like an attack."""
        for score, part, enough in self.scores():
            if score >= self._tone.warn - self._tone.review:
                yield part, "review" if score >= 0 and enough else "warn"

    def _score(self, part: Part, language: str) -> float:
        return self._sounds.score(*part, language) - self._tone.review

    def _language(self, part: Part) -> str:
        return self._sounds.language(part.start, part.end)


def _enough(part: Part, language: str) -> bool:
    return part.end - part.start >= (_FEW_SIGNS if language in SIGNS else _FEW_LETTERS)


def _alone(clauses: Sequence[Part], reach: int) -> Iterator[Part]:
    """Clauses, and what lies within reach of each other in long ones: other words would dilute what stands there."""
    for clause in clauses:
        if len(clause.concepts) < _TELLING:
            continue
        start, end = clause.start, clause.end
        if len(clauses) > 1:
            yield clause
        if end - start > reach + reach // 4:
            for at in range(start, end - reach // 2, reach // 2):
                stop = min(at + reach, end)
                yield clause._replace(start=max(start, stop - reach), end=stop)
