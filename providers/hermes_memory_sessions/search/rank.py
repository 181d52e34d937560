"""Candidates to an order: lexical evidence, what the neighbours say, who speaks, when. Reads rows, writes nothing.

The recipe and what each part is worth: spec/search.md section 2. The numbers: weights.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Final

from hermes_memory_sessions import schema

from .candidates import COLUMNS, Candidates, Corpus, Row
from .scripts import fold
from .stems import stem
from .weights import DEFAULT, Weights
from .when import Span

DEMOTED_SOURCES: Final = frozenset({"cron", "tool"})
_DIALOGUE: Final = ("user", "assistant")
_WHEN: Final = re.compile(
    r"\bwhen\b|\bwhat (?:day|date|month|year|time)\b|\bhow long\b|什么时候|哪天|何时|何時|いつ|언제", re.I
)
_SAY: Final = r"(?:say|said|tell|told|mention|ask|write|wrote|suggest|recommend|propose|advise|explain|decide|call)"
_BY_USER: Final = re.compile(rf"\bI (?:just |once |ever |have )?{_SAY}|\bmy (?:message|question)s?\b|我[刚曾]?[说讲问提]过?")
_BY_ASSISTANT: Final = re.compile(
    rf"\byou (?:just |once |ever |have )?{_SAY}|\byour (?:answer|suggestion|advice|reply)|你[刚曾]?[说讲答提建推]", re.I
)


@dataclass(slots=True)
class Question:
    """What of the query bears on ranking besides its terms."""

    text: str
    asks: bool
    """A question in natural language: then replies next to the evidence may be hits themselves."""
    spans: list[Span] = field(default_factory=list)
    tz: tzinfo | None = None
    timely: bool = False
    """Nothing but a time was named: its messages are the answer."""


@dataclass(slots=True)
class Ranked:
    """One message in its place."""

    row: Row
    score: float
    terms: tuple[str, ...] = ()
    """Terms that stand in the message itself, rarest first."""
    near: tuple[str, ...] = ()
    """Terms that stand in its neighbours."""
    answers: bool = False
    """It follows a question that has the terms."""
    speaker: str = ""
    date: str = ""


def rank(
    corpus: Corpus, candidates: Candidates, question: Question, weights: Weights = DEFAULT
) -> list[Ranked]:
    """All candidates, and in answer to questions the replies beside them, best first."""
    if not candidates.rows:
        return []
    around = _neighbours(corpus, candidates.rows.values())
    links = _links(candidates.rows, around, weights)
    scores = _Scores(candidates, links, weights)
    found = [
        _judged(row, scores, question, weights)
        for row in _eligible(candidates.rows, around, links, asks=question.asks)
    ]
    _break_ties(found, weights)
    found.sort(key=lambda one: (-one.score, -one.row.ts, -one.row.id))
    return found


# ---------------------------------------------------------------- neighbours

Link = tuple[int, float, bool]
"""A neighbour's id, the share of evidence that flows to it, and whether it answers a question."""


def _neighbours(corpus: Corpus, rows: Iterable[Row]) -> dict[tuple[int, int], Row]:
    """Messages of the dialogue by (session, position), within two of any candidate."""
    wanted: dict[int, set[int]] = {}
    for row in rows:
        wanted.setdefault(row.session, set()).update(range(row.position - 2, row.position + 3))
    found: dict[tuple[int, int], Row] = {}
    for session, positions in wanted.items():
        for low, high in _ranges(sorted(positions)):
            for fields in corpus.db.execute(
                f"SELECT {COLUMNS}, ({corpus.condition.sql}) FROM messages m "
                "JOIN sessions s ON s.key = m.session "
                "WHERE m.session = ? AND m.position BETWEEN ? AND ? AND m.state != ?",
                (*corpus.condition.values, session, low, high, schema.UNDONE),
            ):
                row = Row(*fields)
                if row.role in _DIALOGUE:
                    found[row.session, row.position] = row
    return found


def _ranges(positions: list[int]) -> list[tuple[int, int]]:
    """Runs of positions, small gaps closed: one look-up each."""
    out: list[tuple[int, int]] = []
    for position in positions:
        if out and position <= out[-1][1] + 4:
            out[-1] = (out[-1][0], position)
        else:
            out.append((position, position))
    return out


def _links(
    rows: dict[int, Row], around: dict[tuple[int, int], Row], weights: Weights
) -> dict[int, list[Link]]:
    """From each candidate to the messages that its evidence speaks for."""
    links: dict[int, list[Link]] = {}
    for row in rows.values():
        asks = bool(row.flags & schema.QUESTION) and row.role in _DIALOGUE
        # a tool's output stands between the call (same position) and the reply (the next)
        before = row.position - 1 if row.role in _DIALOGUE else row.position
        out: list[Link] = []
        for position, share, answers in (
            (row.position + 1, weights.answer if asks else weights.near, asks),
            (before, weights.near, False),
            (row.position + 2, weights.next_near, False),
            (before - 1, weights.next_near, False),
        ):
            neighbour = around.get((row.session, position))
            if neighbour is not None and neighbour.id != row.id:
                out.append((neighbour.id, share, answers))
        links[row.id] = out
    return links


def _eligible(
    rows: dict[int, Row],
    around: dict[tuple[int, int], Row],
    links: dict[int, list[Link]],
    *,
    asks: bool,
) -> list[Row]:
    """Candidates, and the replies of somebody else beside them: a monologue has no answers."""
    found = dict(rows)
    if asks:
        by_id = {row.id: row for row in around.values() if row.passes}
        for id_, neighbours in links.items():
            said_by = (rows[id_].role, rows[id_].name)
            for other, _, _ in neighbours:
                row = by_id.get(other)
                if row is not None and (row.role, row.name) != said_by:
                    found.setdefault(other, row)
    return list(found.values())


# ---------------------------------------------------------------- scores


class _Scores:
    """BM25 over a message's own terms and its neighbours' together, and the session's share."""

    def __init__(
        self, candidates: Candidates, links: dict[int, list[Link]], weights: Weights
    ) -> None:
        self._weights = weights
        self._mean = candidates.mean_length
        self.own: list[tuple[str, float, dict[int, float]]] = []
        self.near: list[dict[int, float]] = []
        self.answers: set[int] = set()
        self._sessions: dict[int, float] = {}
        self._evidence(candidates, links)
        self.best_session = max(self._sessions.values(), default=0.0)
        self.speakers = _speaker_words(candidates)
        self.top = 0.0
        for row in candidates.rows.values():
            self.top = max(self.top, self.lexical(row))

    def _evidence(self, candidates: Candidates, links: dict[int, list[Link]]) -> None:
        rows = candidates.rows
        for one in sorted(candidates.evidence, key=lambda e: -e.rarity):
            own: dict[int, float] = {}
            near: dict[int, float] = {}
            per_session: dict[int, float] = {}
            for id_, frequency in one.frequency.items():
                row = rows.get(id_)
                if row is None:
                    continue
                share = self._weights.part * one.share[id_] if id_ in one.share else 1.0
                own[id_] = frequency * share
                per_session[row.session] = per_session.get(row.session, 0.0) + frequency * share
                for other, flow, answers in links[id_]:
                    near[other] = near.get(other, 0.0) + flow * share
                    if answers:
                        self.answers.add(other)
            for session, count in per_session.items():
                worth = one.rarity * count / (count + 1.0)
                self._sessions[session] = self._sessions.get(session, 0.0) + worth
            self.own.append((one.term.text, one.rarity, own))
            self.near.append(near)

    def lexical(self, row: Row) -> float:
        weights = self._weights
        length = weights.k1 * (1 - weights.b + weights.b * row.tokens / self._mean)
        score = 0.0
        for (_, rarity, own), near in zip(self.own, self.near, strict=True):
            count = own.get(row.id, 0.0) + near.get(row.id, 0.0)
            if count:
                score += rarity * count * (weights.k1 + 1) / (count + length)
        return score

    def session(self, row: Row) -> float:
        """0 to 1: how good the session is beside the best one; the root keeps the second best in play."""
        if not self.best_session:
            return 0.0
        return float((self._sessions.get(row.session, 0.0) / self.best_session) ** 0.5)


def _speaker_words(candidates: Candidates) -> set[str]:
    return {one.term.units[0] for one in candidates.evidence if not one.term.exact}


def _judged(row: Row, scores: _Scores, question: Question, weights: Weights) -> Ranked:
    score = scores.lexical(row) + weights.session * scores.top * scores.session(row)
    found = Ranked(row, score)
    found.terms = tuple(text for text, _, own in scores.own if row.id in own)
    found.near = tuple(
        text
        for (text, _, own), near in zip(scores.own, scores.near, strict=True)
        if row.id in near and row.id not in own
    )
    found.answers = row.id in scores.answers
    found.speaker = _speaker(row, scores.speakers, question.text)
    factor = 1.0
    if found.speaker:
        factor *= 1 + weights.speaker
    if row.flags & schema.QUESTION:
        factor *= 1 - weights.asking
    if row.flags & schema.TEMPORAL and _WHEN.search(question.text):
        factor *= 1 + weights.temporal
    if question.spans:
        moment = datetime.fromtimestamp(row.ts, question.tz)
        close = max(span.closeness(moment) for span in question.spans)
        factor *= 1 + weights.date * close
        if close:
            found.date = moment.strftime("%Y-%m-%d")
        if question.timely:
            found.score += 10 * (scores.top + 1) * (close >= 1)
    if row.source in DEMOTED_SOURCES:
        factor *= weights.demoted
    found.score *= factor
    return found


def _speaker(row: Row, words: set[str], query: str) -> str:
    """The name if the query has it; without names, "I" is the user and "you" the assistant."""
    if row.name:
        first = fold(row.name).split()
        return row.name if first and stem(first[0]) in words else ""
    if row.role == "user" and _BY_USER.search(query):
        return "user"
    if row.role == "assistant" and _BY_ASSISTANT.search(query):
        return "assistant"
    return ""


def _break_ties(found: list[Ranked], weights: Weights) -> None:
    times = [one.row.ts for one in found]
    oldest, newest = min(times, default=0.0), max(times, default=0.0)
    if newest > oldest:
        for one in found:
            one.score *= 1 + weights.recent * (one.row.ts - oldest) / (newest - oldest)
