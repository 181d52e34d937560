"""Candidates to an order: lexical evidence, what the neighbours say, who speaks, when. Reads rows, writes nothing.

The recipe and what each part is worth: spec/search.md section 2. The numbers: weights.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import chain
from typing import Final

from hermes_memory_sessions import schema

from .corpus import Candidates, Corpus, Row
from .evidence import TermEvidence
from .patterns import lazy
from .scripts import fold
from .stems import stem
from .weights import DEFAULT, DEMOTED_SOURCES, Weights
from .when import Span

MOST_STRETCHES: Final = 100
"""Places in sessions whose neighbours are read, the likeliest first: in a large store each is a page of its own."""

_STRETCHES: Final = ",".join(["(?, ?, ?, ?)"] * MOST_STRETCHES)
_DIALOGUE: Final = ("user", "assistant")
_WHEN: Final = lazy(
    r"\bwhen\b|\bwhat (?:day|date|month|year|time)\b|\bhow long\b|什么时候|哪天|何时|何時|いつ|언제",
    re.IGNORECASE,
)
_SAY: Final = r"(?:say|said|tell|told|mention|ask|write|wrote|suggest|recommend|propose|advise|explain|decide|call)"
_BY_USER: Final = lazy(
    rf"\bI (?:just |once |ever |have )?{_SAY}|\bmy (?:message|question)s?\b|我[刚曾]?[说讲问提]过?"
)
_BY_ASSISTANT: Final = lazy(
    rf"\byou (?:just |once |ever |have )?{_SAY}|\byour (?:answer|suggestion|advice|reply)|你[刚曾]?[说讲答提建推]",
    re.IGNORECASE,
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

    def closeness(self, ts: float) -> float:
        """How near a moment is to a time the query names, 0 to 1."""
        moment = datetime.fromtimestamp(ts, self.tz)
        return max(span.closeness(moment) for span in self.spans)

    def day(self, ts: float) -> str:
        """The person's calendar day of a moment."""
        return datetime.fromtimestamp(ts, self.tz).strftime("%Y-%m-%d")


@dataclass(slots=True)
class Ranked:
    """One message in its place."""

    row: Row
    score: float
    reasons: Reasons | None = None

    @property
    def own(self) -> bool:
        """Whether it has a term itself; otherwise its neighbours have."""
        return self.reasons is None or self.reasons.evidence.has_term(self.row.id)


def rank(
    corpus: Corpus, candidates: Candidates, question: Question, weights: Weights = DEFAULT
) -> list[Ranked]:
    """All candidates, and in answer to questions the replies beside them, best first."""
    if not candidates.rows:
        return []
    # a keyword alone is not talked around: its messages are what was asked for
    alone = len(candidates.evidence) == 1 and not question.asks
    around = {} if alone else _neighbours(corpus, candidates.rows.values())
    links = _links(candidates.rows, around, weights)
    rows = _eligible(candidates.rows, around, links, asks=question.asks)
    evidence = _Spread(candidates, links, weights)
    scores = evidence.scores(rows, candidates.mean_length)
    _judge(rows, scores, evidence, question, weights)
    order = sorted(rows.values(), key=lambda row: (-scores[row.id], -row.ts, -row.id))
    reasons = Reasons(evidence, question)
    return [Ranked(row, scores[row.id], reasons) for row in order]


# ---------------------------------------------------------------- neighbours

Link = tuple[int, float, bool]
"""A neighbour's id, the share of evidence that flows to it, and whether it answers a question."""


def _neighbours(corpus: Corpus, rows: Iterable[Row]) -> dict[tuple[int, int], Row]:
    """Messages of the dialogue by (session, position), within two of any candidate."""
    wanted: dict[int, set[int]] = {}
    sources: dict[int, str] = {}
    found: dict[tuple[int, int], Row] = {}
    for row in rows:
        position = row.position
        wanted.setdefault(row.session, set()).update(range(position - 2, position + 3))
        sources[row.session] = row.source
        if row.role in _DIALOGUE:
            found[row.session, position] = row
    condition = corpus.condition
    stretches = [
        (session, low, high, sources[session])
        for session, positions in wanted.items()
        for low, high in _ranges(
            sorted(p for p in positions if p > 0 and (session, p) not in found)
        )
    ][:MOST_STRETCHES]
    # the session of a candidate has passed: only the message's own clauses are still open
    if not stretches:
        return found
    # always as many, so that the statement is prepared once
    stretches += [(0, 1, 0, "")] * (MOST_STRETCHES - len(stretches))
    rows_near = corpus.db.execute(
        f"WITH near(session, low, high, source) AS (VALUES {_STRETCHES}) "  # noqa: S608
        "SELECT m.id, m.session, m.position, m.tokens, m.flags, m.ts, m.role, m.name, near.source, "
        f"({condition.message_sql}) FROM near CROSS JOIN messages m "
        "WHERE m.session = near.session AND m.position BETWEEN near.low AND near.high AND m.state != ?",
        (*chain.from_iterable(stretches), *condition.message_values, schema.UNDONE),
    )
    for near in map(Row._make, rows_near):
        if near.role in _DIALOGUE:
            found.setdefault((near.session, near.position), near)
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
    if not around:
        return {id_: [] for id_ in rows}
    links: dict[int, list[Link]] = {}
    at = around.get
    near, next_near = weights.near, weights.next_near
    for row in rows.values():
        session, position = row.session, row.position
        speaks = row.role in _DIALOGUE
        asks = speaks and bool(row.flags & schema.QUESTION)
        # a tool's output stands between the call (same position) and the reply (the next)
        before = position - 1 if speaks else position
        links[row.id] = [
            (neighbour.id, share, answers)
            for neighbour, share, answers in (
                (at((session, position + 1)), weights.answer if asks else near, asks),
                (at((session, before)), near, False),
                (at((session, position + 2)), next_near, False),
                (at((session, before - 1)), next_near, False),
            )
            if neighbour is not None
        ]
    return links


def _eligible(
    rows: dict[int, Row],
    around: dict[tuple[int, int], Row],
    links: dict[int, list[Link]],
    *,
    asks: bool,
) -> dict[int, Row]:
    """Candidates, and in answer to a question what stands beside them: in a monologue, nothing."""
    found = dict(rows)
    if not asks:
        return found
    voices: dict[int, set[tuple[str, str | None]]] = {}
    for row in around.values():
        voices.setdefault(row.session, set()).add((row.role, row.name))
    by_id = {row.id: row for row in around.values() if row.passes}
    for id_, neighbours in links.items():
        if len(voices.get(rows[id_].session, ())) > 1:
            for other, _, _ in neighbours:
                if other in by_id:
                    found.setdefault(other, by_id[other])
    return found


# ---------------------------------------------------------------- scores


class _Spread:
    """Each term's occurrences, in the message itself and flowing in from its neighbours."""

    def __init__(
        self, candidates: Candidates, links: dict[int, list[Link]], weights: Weights
    ) -> None:
        self._weights = weights
        self.own: list[tuple[TermEvidence, dict[int, float]]] = []
        self.near: list[dict[int, float]] = []
        self.answers: set[int] = set()
        self._sessions: dict[int, float] = {}
        for one in sorted(candidates.evidence, key=lambda e: -e.rarity):
            self._spread(one, candidates.rows, links)

    def _spread(
        self, one: TermEvidence, rows: dict[int, Row], links: dict[int, list[Link]]
    ) -> None:
        own: dict[int, float] = {}
        near: dict[int, float] = {}
        per_session: dict[int, float] = {}
        for id_ in rows.keys() & one.frequency.keys():
            share = one.share.get(id_, 1.0)
            session = rows[id_].session
            own[id_] = count = one.frequency[id_] * share
            per_session[session] = per_session.get(session, 0.0) + count
            for other, flow, answers in links[id_]:
                near[other] = near.get(other, 0.0) + flow * share
                if answers:
                    self.answers.add(other)
        for session, count in per_session.items():
            worth = one.rarity * count / (count + 1.0)
            self._sessions[session] = self._sessions.get(session, 0.0) + worth
        self.own.append((one, own))
        self.near.append(near)

    def scores(self, rows: dict[int, Row], mean_length: float) -> dict[int, float]:
        """BM25 over own and inflowing occurrences together, plus the session's share."""
        weights = self._weights
        base, slope = weights.k1 * (1 - weights.b), weights.k1 * weights.b / mean_length
        lengths = {id_: base + slope * row.tokens for id_, row in rows.items()}
        found = dict.fromkeys(rows, 0.0)
        for (one, own), near in zip(self.own, self.near, strict=True):
            gain = one.rarity * (weights.k1 + 1)
            for id_ in own.keys() | near.keys():
                if id_ in found:
                    count = own.get(id_, 0.0) + near.get(id_, 0.0)
                    found[id_] += gain * count / (count + lengths[id_])
        top = max(found.values(), default=0.0)
        best = max(self._sessions.values(), default=0.0)
        if best:
            # the root keeps sessions that are nearly as good in play
            shares = {
                session: weights.session * top * (worth / best) ** 0.5
                for session, worth in self._sessions.items()
            }
            for id_, row in rows.items():
                found[id_] += shares.get(row.session, 0.0)
        return found

    def has_term(self, id_: int) -> bool:
        """Whether the message itself has any term."""
        return any(id_ in own for _, own in self.own)

    def name_words(self) -> set[str]:
        """First tokens of the terms, to be compared with speakers' names."""
        return {one.term.units[0] for one, _ in self.own if not one.term.exact}


class _Speakers:
    """Who the query names; without names, "I" is the user and "you" the assistant."""

    def __init__(self, words: set[str], query: str) -> None:
        self._words = words
        self._roles = {
            "user": bool(_BY_USER.search(query)),
            "assistant": bool(_BY_ASSISTANT.search(query)),
        }
        self._known: dict[str, bool] = {}

    def named(self, row: Row) -> bool:
        if not row.name:
            return self._roles.get(row.role, False)
        if row.name not in self._known:
            first = fold(row.name).split()
            self._known[row.name] = bool(first) and stem(first[0]) in self._words
        return self._known[row.name]


def _judge(
    rows: dict[int, Row],
    scores: dict[int, float],
    evidence: _Spread,
    question: Question,
    weights: Weights,
) -> None:
    """Multiply what is known besides words into the scores."""
    speakers = _Speakers(evidence.name_words(), question.text)
    asks_when = bool(_WHEN.search(question.text))
    times = [row.ts for row in rows.values()]
    oldest = min(times)
    age = weights.recent / ((max(times) - oldest) or 1.0)
    top = max(scores.values())
    for id_, row in rows.items():
        factor = 1 + age * (row.ts - oldest)
        if speakers.named(row):
            factor *= 1 + weights.speaker
        if row.flags & schema.QUESTION:
            factor *= 1 - weights.asking
        if asks_when and row.flags & schema.TEMPORAL:
            factor *= 1 + weights.temporal
        if row.source in DEMOTED_SOURCES:
            factor *= weights.demoted
        if question.spans:
            close = question.closeness(row.ts)
            factor *= 1 + weights.date * close
            if question.timely and any(span.contains(row.ts) for span in question.spans):
                scores[id_] += 10 * (top + 1)
        scores[id_] *= factor


class Reasons:
    """Says in one short line why a message was found; asked only for those that are shown."""

    def __init__(self, evidence: _Spread, question: Question) -> None:
        self.evidence = evidence
        self._question = question
        self._speakers = _Speakers(evidence.name_words(), question.text)

    def of(self, row: Row) -> str:
        """Terms, neighbour, speaker, date: what the message was found by."""
        evidence = self.evidence
        own = [one.term.typed or one.term.text for one, where in evidence.own if row.id in where]
        near = [
            one.term.typed or one.term.text
            for (one, where), around in zip(evidence.own, evidence.near, strict=True)
            if row.id in around and row.id not in where
        ]
        parts = [f"terms: {_few(own)}"] if own else []
        if near and len(own) < 3:
            parts.append(
                ("answers: " if row.id in evidence.answers else "neighbour: ") + _few(near)
            )
        if self._speakers.named(row):
            parts.append(f"speaker: {(row.name or row.role)[:30]}")
        if self._question.spans and self._question.closeness(row.ts):
            parts.append(f"date: {self._question.day(row.ts)}")
        return "; ".join(parts) or "session"


def _few(terms: list[str]) -> str:
    shown = ", ".join(term[:24] for term in terms[:4])
    return shown + (f" +{len(terms) - 4}" if len(terms) > 4 else "")
