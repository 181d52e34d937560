"""Which messages a search may return: the ``Filters`` value and its SQL; no ranking, no query words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import SessionSort
from hermes_memory_sessions import schema

from .when import moment

UNATTENDED_CONTEXTS: Final = ("subagent", "flush", "review")
UNATTENDED_SOURCES: Final = ("subagent", "tool")
"""Sessions left out unless ``include_subagents``: no person took part in them."""

MOST_HITS: Final = 1000


@dataclass(frozen=True, slots=True)
class Filters:
    """Everything ``search`` takes besides the query; the names of ``HistoryStore.search``."""

    source: str | Sequence[str] | None = None
    role: str | Sequence[str] | None = None
    user_id: str | None = None
    chat_id: str | None = None
    cwd: str | None = None
    """A directory: sessions in it or below it."""
    session_id: str | Sequence[str] | None = None
    exclude_sessions: Sequence[str] = ()
    since: str | float | None = None
    """Epoch seconds, a date, or words such as ``3d``, ``last week``, ``上周``: from its first second on."""
    until: str | float | None = None
    """Like ``since``; a day or week named here is included whole."""
    title: str | None = None
    """Part of the session's title, case ignored."""
    include_subagents: bool = False
    include_archived: bool = True
    scope_key: str | None = None
    """Only sessions of this scope; None means all."""
    sort: SessionSort = "relevance"
    offset: int = 0
    limit: int = 20
    """Hits at most; more than 1,000 are never given at once."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter as SQL over ``messages m`` and ``sessions s``."""

    sql: str
    values: tuple[object, ...]
    narrow: bool
    """Whether a person asked for anything: then candidates may have to be looked for further down."""


def condition(filters: Filters, now: float, tz: tzinfo | None) -> Condition:
    """The SQL of a filter.

    Raises:
        UsageError: A date or the sort order cannot be understood, or a number is negative.
    """
    if filters.sort not in ("relevance", "newest", "oldest"):
        raise UsageError(
            f"Cannot sort by {filters.sort!r}.", hint="sort: relevance, newest or oldest"
        )
    if filters.offset < 0 or filters.limit < 0:
        raise UsageError("offset and limit cannot be negative.")
    clauses: list[str] = []
    values: list[object] = []

    def need(clause: str, *given: object) -> None:
        clauses.append(clause)
        values.extend(given)

    _one_of(need, "s.source", filters.source)
    _one_of(need, "m.role", filters.role)
    _one_of(need, "s.id", filters.session_id)
    for column in ("user_id", "chat_id", "scope_key"):
        value = getattr(filters, column)
        if value is not None:
            need(f"s.{column} = ?", value)
    if filters.cwd is not None:
        folder = filters.cwd.rstrip("/\\") or filters.cwd
        need(
            "(s.cwd = ? OR substr(s.cwd, 1, ?) IN (?, ?))",
            folder, len(folder) + 1, folder.rstrip("/") + "/", folder + "\\",
        )  # fmt: skip
    if filters.exclude_sessions:
        need(
            "s.id NOT IN (SELECT value FROM json_each(?))",
            json.dumps(list(filters.exclude_sessions)),
        )
    if filters.title is not None:
        need("instr(lower(s.title), lower(?)) > 0", filters.title)
    if filters.since is not None:
        need("m.ts >= ?", _bound(filters.since, "since", 0, now, tz))
    if filters.until is not None:
        low, high = _range(filters.until, "until", now, tz)
        need("m.ts <= ?" if low == high else "m.ts < ?", high)
    if not filters.include_archived:
        need("s.archived = 0")
    narrow = bool(clauses)
    if not filters.include_subagents:
        asked = _listed(filters.source) or ()
        hidden = [source for source in UNATTENDED_SOURCES if source not in asked]
        need(f"s.agent_context NOT IN ({_marks(UNATTENDED_CONTEXTS)})", *UNATTENDED_CONTEXTS)
        if hidden:
            need(f"s.source NOT IN ({_marks(hidden)})", *hidden)
    need("m.state != ?", schema.UNDONE)
    return Condition(" AND ".join(clauses), tuple(values), narrow)


def _listed(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def _one_of(need: object, column: str, value: str | Sequence[str] | None) -> None:
    chosen = _listed(value)
    if chosen is not None and callable(need):
        need(f"{column} IN (SELECT value FROM json_each(?))", json.dumps(chosen))


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _bound(value: str | float, name: str, which: int, now: float, tz: tzinfo | None) -> float:
    return _range(value, name, now, tz)[which]


def _range(value: str | float, name: str, now: float, tz: tzinfo | None) -> tuple[float, float]:
    found = moment(value, now, tz)
    if found is None:
        raise UsageError(
            f"Cannot read {name} {value!r} as a time.",
            hint="for example 2025-03-31, 3d, yesterday, last week, 上周",
        )
    return found
