"""Which messages a search may return: the ``Filters`` value and its SQL; no ranking, no query words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Condition:
    """A filter as SQL over ``sessions s`` and ``messages m``."""

    clauses: dict[str, list[str]] = field(default_factory=lambda: {"s": [], "m": []})
    arguments: dict[str, list[object]] = field(default_factory=lambda: {"s": [], "m": []})
    sessions: tuple[str, ...] = ()
    """Ids of the only sessions that pass; empty when it is not about ids."""
    narrow: bool = False
    """Whether a person asked for anything: then candidates may have to be looked for further down."""

    def need(self, clause: str, *values: object) -> None:
        """Add a clause; it begins with the table it is about."""
        table = "s" if "s." in clause else "m"
        self.clauses[table].append(clause)
        self.arguments[table].extend(values)

    def one_of(self, column: str, value: str | Sequence[str] | None) -> None:
        """Add a choice of values, or nothing for None."""
        if value is not None:
            chosen = [value] if isinstance(value, str) else list(value)
            self.need(f"{column} IN (SELECT value FROM json_each(?))", json.dumps(chosen))  # noqa: S608

    @property
    def sql(self) -> str:
        """Both tables' clauses; ``values`` go with it."""
        return " AND ".join(self.clauses["s"] + self.clauses["m"])

    @property
    def values(self) -> tuple[object, ...]:
        """What the question marks of ``sql`` stand for."""
        return (*self.arguments["s"], *self.arguments["m"])

    @property
    def message_sql(self) -> str:
        """The clauses on messages alone, for one whose session is known to pass."""
        return " AND ".join(self.clauses["m"])

    @property
    def message_values(self) -> tuple[object, ...]:
        """What the question marks of ``message_sql`` stand for."""
        return tuple(self.arguments["m"])


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
    found = Condition()
    found.one_of("s.source", filters.source)
    found.one_of("m.role", filters.role)
    found.one_of("s.id", filters.session_id)
    if filters.session_id is not None:
        chosen = filters.session_id
        found.sessions = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    for column in ("user_id", "chat_id", "scope_key"):
        if getattr(filters, column) is not None:
            found.need(f"s.{column} = ?", getattr(filters, column))
    if filters.cwd is not None:
        folder = filters.cwd.rstrip("/\\")
        found.need(
            "(s.cwd = ? OR s.cwd = ? OR substr(s.cwd, 1, ?) IN (?, ?))",
            filters.cwd, folder, len(folder) + 1, folder + "/", folder + "\\",
        )  # fmt: skip
    if filters.exclude_sessions:
        excluded = json.dumps(list(filters.exclude_sessions))
        found.need("s.id NOT IN (SELECT value FROM json_each(?))", excluded)
    if filters.title is not None:
        found.need("instr(lower(s.title), lower(?)) > 0", filters.title)
    if filters.since is not None:
        found.need("m.ts >= ?", _range(filters.since, "since", now, tz)[0])
    if filters.until is not None:
        low, high = _range(filters.until, "until", now, tz)
        found.need("m.ts <= ?" if low == high else "m.ts < ?", high)
    if not filters.include_archived:
        found.need("s.archived = 0")
    found.narrow = bool(found.clauses["s"] or found.clauses["m"])
    if not filters.include_subagents:
        _hide_unattended(found, filters)
    found.need("m.state != ?", schema.UNDONE)
    return found


def _hide_unattended(found: Condition, filters: Filters) -> None:
    asked = [filters.source] if isinstance(filters.source, str) else list(filters.source or ())
    hidden = [source for source in UNATTENDED_SOURCES if source not in asked]
    found.need(f"s.agent_context NOT IN ({_marks(UNATTENDED_CONTEXTS)})", *UNATTENDED_CONTEXTS)
    if hidden:
        found.need(f"s.source NOT IN ({_marks(hidden)})", *hidden)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _range(value: str | float, name: str, now: float, tz: tzinfo | None) -> tuple[float, float]:
    found = moment(value, now, tz)
    if found is None:
        raise UsageError(
            f"Cannot read {name} {value!r} as a time.",
            hint="for example 2025-03-31, 3d, yesterday, last week, 上周",
        )
    return found
