"""What a search works on: the database with its size, rows of messages, and the candidates as they are filled in."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from .evidence import TermEvidence
from .filters import Condition
from .index import searchable_text
from .postings import ids, reach, totals
from .weights import DEMOTED_SOURCES

BEST: Final = 200
"""Candidates that are ranked in full, unless more hits are asked for."""

BEST_OF_ONE: Final = 40
"""The same for a single word: its messages differ little."""

_CHUNK: Final = 400

DEEPEST: Final = 8_000
"""Messages looked through for those that may stay; with a filter, all are."""


class Row(NamedTuple):
    """What ranking needs of a message."""

    id: int
    session: int
    position: int
    tokens: int
    flags: int
    ts: float
    role: str
    name: str | None
    source: str
    passes: int
    """Whether the filters let it through; neighbours are evidence even when they do not."""


COLUMNS: Final = "m.id, m.session, m.position, m.tokens, m.flags, m.ts, m.role, m.name, s.source"


@dataclass(slots=True)
class Candidates:
    """Messages with evidence for a query."""

    rows: dict[int, Row] = field(default_factory=dict)
    evidence: list[TermEvidence] = field(default_factory=list)
    mean_length: float = 1.0
    pruned: bool = False
    """Frequent terms or old messages were not looked at for candidates."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A database and its size at the time of the search."""

    db: sqlite3.Connection
    messages: int
    mean_length: float
    condition: Condition
    asked: int
    """Hits that are wanted, those before the page included."""
    low: int = -(2**62)
    high: int = 2**62
    """Between which ids everything lies that the filters let through, where that is cheap to know."""
    counts: dict[str, int] = field(default_factory=dict)
    """Numbers of matches that were counted to their end."""
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Session id and content of messages whose rows came with them."""

    @staticmethod
    def of(db: sqlite3.Connection, condition: Condition, asked: int) -> Corpus:
        """Read the totals once for the whole search."""
        messages, mean_length = totals(db)
        found = Corpus(db, messages, mean_length, condition, asked)
        if not condition.sessions:
            return found
        low, high = db.execute(
            "SELECT min(m.id), max(m.id) FROM sessions s JOIN messages m ON m.session = s.key "
            "WHERE s.id IN (SELECT value FROM json_each(?))",
            (json.dumps(condition.sessions),),
        ).fetchone()
        return replace(found, low=low or 0, high=high or 0)

    def count(self, expression: str, limit: int) -> int:
        """How many messages match; counting stops just above ``limit``."""
        known = self.counts.get(expression)
        if known is None:
            known = reach(self.db, expression, limit)
            if known <= limit:
                self.counts[expression] = known
        return known

    def ids(self, expression: str, most: int) -> list[int]:
        """The newest messages that match, newest first, within the bounds."""
        return ids(self.db, expression, most, self.low, self.high)

    def best(self, terms: int) -> int:
        """How many candidates to rank for so many terms."""
        return max(BEST, self.asked) if terms > 1 else max(BEST_OF_ONE, 2 * self.asked)


def texts_of(corpus: Corpus, messages: Iterable[int]) -> dict[int, str]:
    """What of each message can be found."""
    found = corpus.db.execute(
        "SELECT id, content, tool_name, tool_calls FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(messages)),),
    )
    return {row[0]: searchable_text(row[1], row[2], row[3]) for row in found}


# ---------------------------------------------------------------- rows


def filled(corpus: Corpus, order: Iterable[int], best: int) -> Candidates:
    """Rows of the first ``best`` messages in ``order`` that the filters let through.

    Messages of sessions without a person take no more than half the places, however many there are (case B22).
    """
    found = Candidates(mean_length=corpus.mean_length)
    rest = iter(order)
    unattended = 0
    for _ in range(DEEPEST // _CHUNK if not corpus.condition.narrow else 10**6):
        chunk = list(islice(rest, min(_CHUNK, best + 20)))
        if not chunk:
            break
        rows = {row.id: row for row in passing(corpus, chunk)}
        for id_ in chunk:
            row = rows.get(id_)
            if row is None:
                continue
            if row.source in DEMOTED_SOURCES:
                unattended += 1
                if unattended > best // 2:
                    continue
            found.rows[id_] = row
            if len(found.rows) >= best:
                return found
    return found


def passing(corpus: Corpus, messages: list[int]) -> list[Row]:
    """Rows of those messages that the filters let through."""
    found = corpus.db.execute(
        # both parts are constants of this package; what people give is bound
        f"SELECT {COLUMNS}, 1 FROM messages m JOIN sessions s ON s.key = m.session "  # noqa: S608
        f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {corpus.condition.sql}",
        (json.dumps(messages), *corpus.condition.values),
    )
    return list(map(Row._make, found))


def word_beginning(prefix: str) -> re.Pattern[str]:
    """Matches where a folded word begins with ``prefix``."""
    return re.compile(rf"(?<![^\W_]){re.escape(prefix)}")
