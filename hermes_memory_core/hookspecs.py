"""The provider interface: every hook, one docstring each. Read this first.

A provider is any object whose methods carry ``@hookimpl`` and a name from ``ProviderSpec``. It may implement
any subset, and each implementation may take any subset of the arguments, by name; so an argument added
here later breaks nobody.

Rules that hold for every hook:

* **Guard.** Each call is made for one provider at a time, timed, and isolated: ``Exception`` and
  ``SystemExit`` stop at the guard, are counted, logged once per streak, and shown in ``status``.
* **Deadline.** Seconds named below are ``memory.deadlines.*`` defaults (design.md section 6). An answer after
  the deadline is not waited for.
* **Threads.** Hooks of external providers run on daemon threads of the core, at most 4 at a time per
  provider, on any of them; ``single_thread = True`` on the class gives one dedicated thread. Built-in
  providers are called on the caller's thread.
* **Values.** ``session`` is a ``SessionInfo``: a value rebuilt from stored data. ``start_session`` may have run
  in another process, or not at all, before ``sync_turn`` comes.
* **Failure.** Raise a subclass of ``ProviderError`` to say what went wrong and whether trying again can help.
  Returning None or an empty value means "nothing", never "it failed".

Two things are class attributes, not hooks, because they are needed before an instance exists:
``Config`` (a pydantic model for ``providers.NAME``) and ``commands`` (click commands for ``hermes NAME …``).
The class is constructed as ``Class(context)`` with a ``ProviderContext``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pluggy

from hermes_memory_core.types import (
    CallInfo,
    EndReason,
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    Message,
    NoteWrite,
    Recall,
    Scope,
    SessionInfo,
    StartReason,
    ToolResult,
    ToolSpec,
    Turn,
)

PROJECT = "hermes_memory"
ENTRY_POINT_GROUP = "hermes_memory.providers"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a provider's method as the implementation of the hook with the same name."""


class ProviderSpec:
    """All hooks. Grouped by when they come in the life of a session."""

    # ------------------------------------------------------------ start of a session

    @hookspec
    def start_session(
        self, session: SessionInfo, reason: StartReason, previous: SessionInfo | None
    ) -> None:
        """A session begins, or goes on under a new id.

        When: before the first ``system_block``; for ``reset``, ``branch``, ``compression`` and ``rewind`` after
        ``end_session`` of ``previous``. Thread: external providers in the background, so the first prompt
        never waits. Deadline: 30 s. Returns: nothing. Failure: the session goes on without this provider's
        preparation; the hook is not repeated.

        Args:
            session: The session that begins.
            reason: ``new``, ``reset``, ``resume``, ``branch``, ``compression`` or ``rewind``.
            previous: The session it follows, where there is one.
        """

    @hookspec
    def system_block(self, session: SessionInfo) -> str | None:
        """Static text for the system prompt, frozen for the life of the session.

        When: once per session, on ``system_prompt()``. Deadline: 2 s. Returns: the text, or None. Do not put
        recall here: it would change between sessions and break the prompt cache. Failure: the block is left
        out and the person sees why in ``status``.
        """

    @hookspec
    def tools(self, session: SessionInfo) -> Sequence[ToolSpec]:
        """Tools the model may call, as JSON Schema.

        When: once per session; the list is fixed then. Deadline: 2 s. Returns: specs with names unique over
        all providers; a clash is refused naming both distributions. Failure: no tools from this provider.
        """

    # ------------------------------------------------------------ a turn

    @hookspec
    def prefetch(
        self, session: SessionInfo, query: str, turn_number: int, deadline: float
    ) -> Recall | str | None:
        """What this turn should know, found before the model is asked.

        When: before each turn whose text is not trivial ("ok", "谢谢"). All providers are asked at once.
        Deadline: 2.0 s for all together, 5.0 s on a session's first turn, handed over as ``deadline``
        (a ``time.monotonic()`` value). May return what ``queue_prefetch`` found. Returns: plain text, or a
        ``Recall`` with a source and a time. A late answer is kept for the next turn and labelled with its age.
        Failure: the turn goes on without it; the report of the turn says ``failed``, not ``empty``.

        Args:
            session: The session.
            query: The user's own words, fences removed.
            turn_number: 1 for the first turn.
            deadline: ``time.monotonic()`` value.
        """

    @hookspec
    def call_tool(
        self, session: SessionInfo, name: str, arguments: Mapping[str, Any], call: CallInfo
    ) -> ToolResult | Mapping[str, Any]:
        """Run one of this provider's tools.

        When: the model calls it; only the owner of the name is asked. Deadline: 60 s. Returns: one JSON object.
        Failure: the model gets ``{"success": false, "error": …, "hint": …}``; the host never sees a raise.

        Args:
            session: The session.
            name: The tool.
            arguments: Parsed arguments, always a mapping; validate them yourself.
            call: Deadline, turn id and origin.
        """

    @hookspec
    def sync_turn(self, session: SessionInfo, turn: Turn) -> None:
        """Take in a completed turn.

        When: after the turn is committed to the transcript. Built-ins at once; an external provider through
        the outbox: in order per lineage, at least once, possibly in another process and days later.
        ``turn.id`` is the idempotency key. Interrupted turns never come here. Deadline: 30 s per delivery.
        Returns: nothing; returning means "taken". Failure: retried with backoff while ``retryable``;
        ``ProviderRejectedError`` moves the item to the dead letters and the lane goes on.
        """

    @hookspec
    def queue_prefetch(self, session: SessionInfo, query: str, turn_number: int) -> None:
        """Look for what the next turn may need, in the background.

        When: after a turn. Deadline: 30 s. Returns: nothing; hand the find over in the next ``prefetch``.
        Failure: counted, nothing else.
        """

    # ------------------------------------------------------------ beside the turns

    @hookspec
    def before_compression(self, session: SessionInfo, messages: Sequence[Message]) -> str | None:
        """Text the summary must keep, when a host is about to compress the conversation.

        Deadline: 5 s. Returns: text for the summary prompt, or None. Failure: left out.
        """

    @hookspec
    def notes_written(self, session: SessionInfo | None, write: NoteWrite) -> None:
        """A note was committed: what stood there, what stands there now, who did it and why.

        When: after the write is durable; external providers through the outbox, in order with the turns.
        ``session`` is None for changes outside a conversation. Batches that change nothing do not come.
        Deadline: 30 s. Failure: as ``sync_turn``.
        """

    @hookspec
    def delegation_finished(
        self, session: SessionInfo, task: str, result: str, child: str | None
    ) -> None:
        """A sub-agent came back.

        When: the host says so; external providers through the outbox. Deadline: 30 s. Failure: as ``sync_turn``.

        Args:
            session: The parent session.
            task: What the sub-agent was asked.
            result: What it answered.
            child: Id of its own session, where it has one.
        """

    @hookspec
    def end_session(self, session: SessionInfo, reason: EndReason) -> None:
        """A session ends. Comes exactly once per session, after its last turn was delivered.

        When: exit, new, reset, resume, branch, compression, rewind, idle, or crash (found at the next start).
        External providers through the outbox. Flush here what you held back. Deadline: 30 s.
        Failure: as ``sync_turn``.
        """

    # ------------------------------------------------------------ care

    @hookspec
    def health(self) -> Health:
        """A real round trip: does it work now, what is wrong, what to type next.

        When: ``status --check``, ``doctor``, setup, and before a poisoned outbox item is given up.
        Deadline: 10 s. Failure: shown as unhealthy with the error's text.
        """

    @hookspec
    def stores(self) -> Mapping[str, Any]:
        """Stores this provider offers: ``notes``, ``history``, ``skills`` → objects of ``types``' Protocols.

        When: once at open. Deadline: 5 s. The core and the command line reach notes, history and skills only
        through these. Failure: the layer is off, and says so.
        """

    @hookspec
    def export_memories(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Everything remembered, record by record, for the open export format.

        ``scope`` None means all scopes. Failure: the export stops and says how far it came.
        """

    @hookspec
    def import_memories(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Take in records of an export.

        When: import and migration, in batches. Returns: what became of them, in numbers. The record's id makes
        a second import a no-op. Failure: the import stops, says how far it came, and can be repeated.
        """

    @hookspec
    def forget(self, scope: Scope | None, query: str, dry_run: bool) -> Sequence[ForgetReceipt]:
        """Find, and unless ``dry_run`` remove, everything that contains ``query``.

        Returns: one receipt per place, with what could not be removed and why. A provider that cannot remove
        says so in ``reason`` instead of leaving the hook out.
        """

    @hookspec
    def backup_paths(self) -> Sequence[Path]:
        """Files and directories of this provider outside the profile that a backup must take along."""

    @hookspec
    def close(self) -> None:
        """Let go of files, connections and threads. Comes once. Deadline: 5 s, then it is left behind."""


HOOK_NAMES: frozenset[str] = frozenset(
    name for name in vars(ProviderSpec) if not name.startswith("_")
)
"""Names of all hooks."""
