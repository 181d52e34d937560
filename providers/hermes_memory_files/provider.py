"""The built-in provider ``files``: the hooks, each a few lines; the work is done by the modules beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.hookspecs import hookimpl
from hermes_memory_core.types import (
    CallInfo,
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    NotesStore,
    ProviderContext,
    Scope,
    SessionInfo,
    ToolResult,
    ToolSpec,
)
from hermes_memory_files import messages
from hermes_memory_files.store import FilesStore
from hermes_memory_files.tool import MemoryTool


class FilesProvider:
    """Notes in MEMORY.md and USER.md, always in the prompt."""

    def __init__(self, context: ProviderContext) -> None:
        self._context = context
        self._store = FilesStore(context)
        self._tool = MemoryTool(self._store)

    @hookimpl
    def stores(self) -> Mapping[str, Any]:
        """The notes store, also when both targets are out of the prompt: the command line still needs it."""
        notes: NotesStore = self._store
        return {"notes": notes}

    @hookimpl
    def system_block(self, session: SessionInfo) -> str | None:
        """Guidance for the tool, then the notes as they are now; None when both targets are off."""
        settings = self._store.settings
        if not settings.enabled:
            return None
        notes = self._store.snapshot(scope=settings.scope_of(session))
        return f"{messages.GUIDANCE}\n\n{notes}" if notes else messages.GUIDANCE

    @hookimpl
    def tools(self) -> Sequence[ToolSpec]:
        """The ``memory`` tool, narrowed to the targets that are on."""
        spec = self._tool.spec()
        return [spec] if spec else []

    @hookimpl
    def call_tool(
        self, session: SessionInfo, name: str, arguments: Mapping[str, Any], call: CallInfo
    ) -> ToolResult:
        """Run the ``memory`` tool."""
        if name != "memory" or not self._store.settings.enabled:
            return ToolResult(
                {"success": False, "error": f"The tool {name!r} is not available here."}, ok=False
            )
        return self._tool.call(session, arguments, call)

    @hookimpl
    def export_memories(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Every note of one scope, or of all."""
        from hermes_memory_files import moving

        return moving.exported(self._store, self._context, scope)

    @hookimpl
    def import_memories(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Add the notes that are not there yet."""
        from hermes_memory_files import moving

        return moving.imported(self._store, records)

    @hookimpl
    def forget(self, scope: Scope | None, query: str, dry_run: bool) -> Sequence[ForgetReceipt]:
        """Remove text from the notes, their history and their backups."""
        from hermes_memory_files import moving

        return moving.forgotten(self._store, self._context, scope, query, dry_run)

    @hookimpl
    def health(self) -> Health:
        """Read what is there and write a probe file beside it."""
        from hermes_memory_files import probe

        try:
            return probe.health(self._store, self._context)
        except HermesMemoryError as error:
            return Health(ok=False, message=error.message, hint=error.hint, details=error.details)

    @hookimpl
    def backup_paths(self) -> Sequence[Path]:
        """Nothing: all notes lie inside the profile."""
        return ()

    @hookimpl
    def close(self) -> None:
        """Nothing is held open between calls; every write was durable when it answered."""
