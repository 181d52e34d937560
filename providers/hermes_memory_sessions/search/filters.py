"""Which messages a search may return: the ``Filters`` value and its SQL; no ranking, no query words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_core.types import SessionSort


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
    """Part of the session's title, case and width folded."""
    include_subagents: bool = False
    include_archived: bool = True
    scope_key: str | None = None
    """Only sessions of this scope; None means all."""
    sort: SessionSort = "relevance"
    offset: int = 0
    limit: int = 20
