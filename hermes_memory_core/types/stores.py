"""The Protocols behind ``stores()``: what the core and the commands may ask of notes, history and skills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hermes_memory_core.types.conversation import Message, SessionInfo, Turn, TurnRef
from hermes_memory_core.types.history import Hit, SessionRecord, SessionSort, StoredMessage
from hermes_memory_core.types.moving import ForgetReceipt
from hermes_memory_core.types.notes import Note, NoteOperation, NoteUsage, NoteWrite
from hermes_memory_core.types.scope import Origin, Scope, StartReason, Target


@runtime_checkable
class NotesStore(Protocol):
    """The notes of one profile: ``memory.notes``. Scope None means the profile; see ``ScopeRequired``.

    Every method raises a ``NoteError`` (nothing written) or a ``StoreError`` (file unusable, nothing lost).
    A change is durable on disk, and in ``history.jsonl``, before the call answers.
    """

    def list(self, target: Target | None = None, *, scope: Scope | None = None) -> list[Note]:
        """Live entries in file order, both targets when None."""
        ...

    def usage(self, target: Target, *, scope: Scope | None = None) -> NoteUsage:
        """Characters, limit and entries of the live file."""
        ...

    def snapshot(self, *, scope: Scope | None = None) -> str:
        """The block for the system prompt, from the files as they are now; "" when there is nothing."""
        ...

    def add(
        self, target: Target, text: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Append one entry."""
        ...

    def patch(
        self,
        target: Target,
        fragment: str,
        replacement: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Change only ``fragment`` inside the one entry that holds it."""
        ...

    def replace(
        self,
        target: Target,
        old_text: str,
        text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Put ``text`` in place of the whole entry that ``old_text`` names."""
        ...

    def remove(
        self,
        target: Target,
        old_text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Take one entry away."""
        ...

    def apply(
        self,
        target: Target,
        operations: Sequence[NoteOperation],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        dry_run: bool = False,
    ) -> NoteWrite:
        """All operations in order on one target, or none; the limit counts on the final state only."""
        ...

    def rewrite(
        self,
        target: Target,
        texts: Sequence[str],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        base: Sequence[str] | None = None,
    ) -> NoteWrite:
        """Replace all entries (an editor session, an import).

        With ``base``, the entries as they were when the editing began, those that others added since are kept.
        """
        ...

    def reset(
        self,
        target: Target | None = None,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> Sequence[Path]:
        """Empty the target after a backup; the backups' paths."""
        ...

    def log(
        self,
        *,
        target: Target | None = None,
        limit: int = 50,
        scope: Scope | None = None,
        include_aborted: bool = False,
    ) -> Sequence[NoteWrite]:
        """Changes, newest first."""
        ...

    def undo(
        self, change_id: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Take one change back; itself a change."""
        ...

    def path(self, target: Target, *, scope: Scope | None = None) -> Path:
        """The real file."""
        ...


@runtime_checkable
class HistoryStore(Protocol):
    """All conversations of one profile: ``memory.history``.

    The JSONL transcript is the commit point: what a writing call returned for is synced to disk. The database is
    derived. Read calls see everything this process has written. ``scope_key`` filters where isolation is on.
    """

    # -- writing -------------------------------------------------------------
    def open_session(self, session: SessionInfo, *, reason: StartReason = "new") -> None:
        """Make the session known (durably with its first line); known sessions are only refreshed."""
        ...

    def commit_turn(self, session: SessionInfo, turn: Turn) -> TurnRef:
        """Append the turn to the transcript and sync it; indexing may follow."""
        ...

    def read_turn(self, ref: TurnRef) -> Turn | None:
        """The turn as committed; None when it was forgotten or undone since."""
        ...

    def transcript_end(self, session_id: str) -> int:
        """Byte offset just past the session's last committed line; 0 for unknown sessions."""
        ...

    def turns_after(self, session_id: str, offset: int) -> Iterator[tuple[TurnRef, Turn]]:
        """Committed turns whose line starts at or after ``offset``: what a cursor has not seen."""
        ...

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:
        """Mark the end; False when it had ended already (the first reason stands)."""
        ...

    def undo_turns(self, session_id: str, turns: int) -> int:
        """Hide the last ``turns`` turns from prompt and search; how many messages were hidden."""
        ...

    def mark_compacted(self, session_id: str) -> int:
        """The live messages leave the context (still searchable); how many."""
        ...

    def append(
        self,
        session_id: str,
        role: str,
        content: str,
        *,
        name: str | None = None,
        timestamp: float | None = None,
        tool_name: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Store one message outside a turn; its id, stable over rebuild. Creates unknown sessions."""
        ...

    def append_many(self, session_id: str, messages: Iterable[Message]) -> list[int]:
        """Like ``append`` for many messages, one sync for all."""
        ...

    # -- reading -------------------------------------------------------------
    def search(
        self,
        query: str,
        limit: int = 20,
        *,
        offset: int = 0,
        sort: SessionSort = "relevance",
        source: str | Sequence[str] | None = None,
        role: str | Sequence[str] | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        cwd: str | None = None,
        session_id: str | None = None,
        exclude_sessions: str | Sequence[str] = (),
        since: str | float | None = None,
        until: str | float | None = None,
        title: str | None = None,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """Messages of all sessions, best first, ungrouped. Never raises because of the query's syntax."""
        ...

    def session(self, session_id: str) -> SessionRecord | None:
        """One session by its exact id."""
        ...

    def resolve(self, text: str, *, scope: Scope | None = None) -> SessionRecord:
        """By id, unique prefix or title, to the newest of its lineage. Raises SessionNotFoundError."""
        ...

    def sessions(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        source: str | None = None,
        title: str | None = None,
        cwd: str | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        since: str | float | None = None,
        until: str | float | None = None,
        include_archived: bool = False,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[SessionRecord]:
        """Most recently active first; a lineage is one row, its newest."""
        ...

    def messages(
        self,
        session_id: str,
        *,
        around: int | None = None,
        window: int = 5,
        limit: int | None = None,
        offset: int = 0,
        include_undone: bool = False,
    ) -> list[StoredMessage]:
        """In order; with ``around`` (a message id) the ``window`` before and after it."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Counts of sessions and messages, per source, bytes on disk, schema and tokeniser version."""
        ...

    # -- care ----------------------------------------------------------------
    def set_title(
        self,
        session_id: str,
        title: str | None,
        *,
        dedupe: bool = False,
        only_if_empty: bool = False,
    ) -> str | None:
        """Clean and set; the title that stands then.

        With ``dedupe`` a taken title gets ``#N``, else TitleConflictError. With ``only_if_empty`` a session that
        has a title keeps it, whoever set it, also when that happened a moment ago in another process.
        """
        ...

    def update_session(self, session_id: str, **fields: Any) -> None:
        """Change archived, pinned, model, or add input_tokens/output_tokens."""
        ...

    def delete_sessions(self, session_ids: Sequence[str]) -> ForgetReceipt:
        """Remove sessions with transcripts, rows and index entries."""
        ...

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Derive the database again from the transcripts; messages indexed."""
        ...

    def check(self) -> list[str]:
        """Problems found by a real probe of tables and index; empty when healthy."""
        ...

    def backup(self, path: Path) -> Path:
        """A consistent copy of the database while others write."""
        ...


class SkillsStore(Protocol):
    """The skills of one profile (wave 2)."""

    def list(self) -> Sequence[Mapping[str, Any]]:
        """Name, description and category of every skill."""
        ...
