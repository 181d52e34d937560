"""The provider ``sessions``: which hook answers with which part of the package. No logic of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hermes_memory_core.hookspecs import hookimpl
from hermes_memory_core.types import (
    PROFILE_SCOPE,
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    ProviderContext,
    Recall,
    Scope,
    SessionInfo,
    ToolResult,
    ToolSpec,
)

from . import tool
from .store import History
from .upkeep import Upkeep


class SessionsProvider:
    """Built-in history: transcripts, search, the tool ``session_search``, recall of past conversations."""

    def __init__(self, context: ProviderContext) -> None:
        self.context = context
        self.history = History(context)
        self.upkeep = Upkeep(self.history)

    # ------------------------------------------------------------ conversation

    @hookimpl
    def start_session(self) -> None:
        """Old sessions go in the background, if ``sessions.auto_prune`` says so."""
        self.upkeep.begin()

    @hookimpl
    def system_block(self) -> str | None:
        """One sentence on when to search."""
        return tool.GUIDANCE

    @hookimpl
    def tools(self) -> Sequence[ToolSpec]:
        """``session_search``."""
        return [tool.SPEC]

    @hookimpl
    def call_tool(
        self, session: SessionInfo, name: str, arguments: Mapping[str, Any]
    ) -> ToolResult:
        """Search, browse, read or scroll."""
        if name != tool.NAME:
            return ToolResult({"success": False, "error": f"There is no tool `{name}`."}, ok=False)
        data = tool.call(self.history, session, arguments)
        return ToolResult(data, ok=bool(data["success"]))

    @hookimpl
    def prefetch(self, session: SessionInfo, query: str, deadline: float) -> Recall | None:
        """Past evidence for this turn, when ``memory.history_recall`` is on."""
        memory = self.context.settings.get("memory") or {}
        if memory.get("history_recall", "off") != "on":
            return None
        from .recall import recall

        return recall(self.history, session, query, deadline)

    # ------------------------------------------------------------ care

    @hookimpl
    def stores(self) -> Mapping[str, Any]:
        """The history store."""
        return {"history": self.history}

    @hookimpl
    def health(self) -> Health:
        """A search and a look at the index, not only at the file."""
        from . import records as moving

        return moving.health(self.history)

    @hookimpl
    def forget(self, scope: Scope | None, query: str, dry_run: bool) -> Sequence[ForgetReceipt]:
        """Messages and titles that contain the query, in transcripts, database and trash."""
        # None means all scopes here; whether the caller had to name one is the core's to check
        return self.history.forget(query, scope=scope or PROFILE_SCOPE, dry_run=dry_run)

    @hookimpl
    def export_memories(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Every message that was not taken back."""
        from . import records as moving

        return moving.export(self.history, scope)

    @hookimpl
    def import_memories(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Messages of an export, by session; what is there already is counted as a duplicate."""
        from . import records as moving

        return moving.take(self.history, records)

    @hookimpl
    def backup_paths(self) -> Sequence[Path]:
        """Nothing: transcripts and database lie in the profile."""
        return []

    @hookimpl
    def close(self) -> None:
        """Index what waits; let files, connections and the thread go."""
        self.upkeep.stop()
        self.history.close()
