"""The hooks: what the core asks, and who answers. Read this first; the work is done in the modules named here."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hermes_memory_core import hookimpl
from hermes_memory_core.errors import HermesMemoryError, ProviderAuthError
from hermes_memory_core.types import (
    CallInfo,
    EndReason,
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    Message,
    NoteWrite,
    Notice,
    ProviderContext,
    Recall,
    Scope,
    SessionInfo,
    StartReason,
    ToolResult,
    ToolSpec,
    Turn,
)
from hermes_memory_honcho import tools
from hermes_memory_honcho.background import Job
from hermes_memory_honcho.checkup import look
from hermes_memory_honcho.commands import group
from hermes_memory_honcho.injection_log import InjectionLog
from hermes_memory_honcho.migrate import quietly
from hermes_memory_honcho.naming import digest
from hermes_memory_honcho.parts import Parts
from hermes_memory_honcho.recall import Recaller
from hermes_memory_honcho.settings import HonchoSettings
from hermes_memory_honcho.texts import trimmed
from hermes_memory_honcho.who import Place
from hermes_memory_honcho.writes import Item

SILENT = ("cron", "flush", "review")
"""Contexts for which there is no Honcho at all; sub-agents may look, never write."""
KEPT_CHARS = 2000
"""Of what is known, for a summary."""
NOTES = "notes"
"""Session of notes that were written outside of a conversation."""


class HonchoProvider:
    """Honcho for one profile."""

    name = "honcho"
    Config = HonchoSettings
    commands = group

    def __init__(self, context: ProviderContext) -> None:
        self.context = context
        self.parts = Parts(
            given=context.config,
            home=context.home,
            data_dir=context.data_dir,
            profile=context.profile,
            clock=context.clock,
            redact=context.redact,
            logger=context.logger,
        )
        self.parts.require_access()
        self.settings = self.parts.settings
        self.log = InjectionLog(context.data_dir / "injection.jsonl", context.clock, context.logger)
        wanted = self.log if self.settings.logging else None
        self.recaller = Recaller(self.parts.server, self.settings, context, wanted)
        self._auth_told = threading.Event()
        for text in self.parts.resolved.warnings:
            context.notify(
                Notice("honcho_config", text, "hermes honcho status", key=f"honcho_config:{text}")
            )

    # ------------------------------------------------------------ start of a session

    @hookimpl
    def start_session(
        self, session: SessionInfo, reason: StartReason, previous: SessionInfo | None
    ) -> None:
        """Connect and fetch in the background, so that the first turn finds it."""
        if previous is not None and reason != "resume":
            self.recaller.end(previous.id)
        place = self._place(session)
        if place is None or session.agent_context != "primary":
            return
        if self.settings.recall_mode == "tools":
            if self.settings.init_on_session_start:
                Job("honcho-start", lambda: self._prepare_alone(place))
            return
        self.recaller.start(session.id, place, lambda: self._prepare(place))

    @hookimpl
    def system_block(self, session: SessionInfo) -> str | None:
        """One static paragraph a mode: a prompt's cache survives every session."""
        if not self._on(session):
            return None
        return tools.GUIDE[self.settings.recall_mode]

    @hookimpl
    def tools(self, session: SessionInfo) -> Sequence[ToolSpec]:
        """Five, or none where the model is only shown recall."""
        if not self._on(session) or self.settings.recall_mode == "context":
            return []
        return list(tools.SPECS)

    # ------------------------------------------------------------ a turn

    @hookimpl
    def prefetch(
        self, session: SessionInfo, query: str, turn_number: int, deadline: float
    ) -> Recall | None:
        """What is known now; only a first turn waits."""
        place = self._place(session)
        if place is None or self.settings.recall_mode == "tools":
            return None
        try:
            return self.recaller.recall(
                session.id,
                place,
                query,
                turn_number,
                deadline,
                base_only=session.agent_context != "primary",
            )
        except ProviderAuthError as error:
            self._tell(error)
            raise

    @hookimpl
    def queue_prefetch(self, session: SessionInfo, query: str, turn_number: int) -> None:
        """Start what the next turns may need."""
        if not self.recaller.asked(session.id, turn_number):
            return
        place = self._place(session)
        if place is not None and self.settings.recall_mode != "tools":
            self.recaller.prepare_next(session.id, place, query, turn_number)

    @hookimpl
    def sync_turn(self, session: SessionInfo, turn: Turn) -> None:
        """Store a turn once, in order; or keep it until it is due."""
        place = self._writable(session)
        if place is None or not (turn.user.strip() or turn.assistant.strip()):
            return
        facts = {**_scope_facts(session), "session": session.id, "turn": turn.number}
        self._take(
            place,
            Item(turn.id, (place.user, place.ai), (turn.user, turn.assistant), turn.at, facts),
        )

    @hookimpl
    def call_tool(
        self, session: SessionInfo, name: str, arguments: Mapping[str, Any], call: CallInfo
    ) -> ToolResult:
        """Run one of the five."""
        place = self._place(session)
        if place is None:
            return ToolResult(
                {"success": False, "error": "Honcho is not active in this conversation."}, ok=False
            )
        if session.agent_context != "primary" and _writes(name, arguments):
            return ToolResult(
                {"success": False, "error": "Only the main conversation writes to Honcho."},
                ok=False,
            )
        try:
            result = self.parts.tool_calls.run(place, name, arguments, call)
        except ProviderAuthError as error:
            self._tell(error)
            raise
        if name == tools.REASONING and result.ok:
            self.recaller.reasoned(session.id)
        return result

    # ------------------------------------------------------------ beside the turns

    @hookimpl
    def before_compression(self, session: SessionInfo, messages: Sequence[Message]) -> str | None:
        """What is known of the user, from what was fetched already."""
        del messages  # they reach Honcho as turns; here only what must survive the summary matters
        if not self._on(session) or self.settings.recall_mode == "tools":
            return None
        known = self.recaller.peek(session.id)
        return trimmed(known, KEPT_CHARS) if known else None

    @hookimpl
    def notes_written(self, session: SessionInfo | None, write: NoteWrite) -> None:
        """Mirror notes about the user as conclusions."""
        place = self._writable(session) if session is not None else self._outside(write.scope)
        if place is None:
            return
        try:
            self.parts.mirror.apply(place, place.session if session else None, write)
        except ProviderAuthError as error:
            self._tell(error)
            raise

    @hookimpl
    def delegation_finished(
        self, session: SessionInfo, task: str, result: str, child: str | None
    ) -> None:
        """Keep what a sub-agent was asked and answered as something the assistant knows."""
        place = self._writable(session)
        if place is None or not (task.strip() or result.strip()):
            return
        key = "delegation:" + digest("\n".join((session.id, child or "", task, result)), 32)
        text = f"[Task given to a helper]\n{task}\n\n[What came back]\n{result}"
        facts = {**_scope_facts(session), "session": session.id, "kind": "delegation"}
        self._take(place, Item(key, (place.ai,), (text,), self.context.clock(), facts))

    @hookimpl
    def end_session(self, session: SessionInfo, reason: EndReason) -> None:
        """Send what was kept, under the session it belongs to."""
        del reason  # whatever ended it, its turns are sent
        self.recaller.end(session.id)
        place = self._writable(session)
        if place is not None:
            self._guarded(lambda: self.parts.writer.flush(place))

    # ------------------------------------------------------------ care

    @hookimpl
    def health(self) -> Health:
        """A real round trip that makes nothing on the server."""
        return look(self.parts)

    @hookimpl
    def export_memories(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Messages, conclusions and cards of the workspace."""
        return self.parts.mover.export(scope)

    @hookimpl
    def import_memories(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Turns become messages, everything else conclusions."""
        return self.parts.mover.take_in(records)

    @hookimpl
    def forget(self, scope: Scope | None, query: str, dry_run: bool) -> Sequence[ForgetReceipt]:
        """Delete what can be deleted, and name the rest."""
        folded = query.strip().casefold()
        receipts = self.parts.mover.forget(self.context.name, scope, query, dry_run)
        logged = self.log.forget(folded, dry_run) if folded else 0
        if logged:
            place = f"{self.context.name}: injection log"
            receipts.append(ForgetReceipt(place, logged, 0 if dry_run else logged))
        if not dry_run:
            self.recaller.reset()
        return receipts

    @hookimpl
    def close(self) -> None:
        """Wait a moment for requests under way, then let go."""
        self.recaller.close(1.0)
        self.parts.close()

    # ------------------------------------------------------------ inside

    def _on(self, session: SessionInfo) -> bool:
        return self.settings.enabled and session.agent_context not in SILENT

    def _place(self, session: SessionInfo) -> Place | None:
        if not self._on(session):
            return None
        place = self.parts.directory.place(session)
        if place is None:
            self.context.notify(
                Notice(
                    "honcho_nobody",
                    "Honcho is off in conversations whose user is not known; no user is made up.",
                    key="honcho_nobody",
                )
            )
        return place

    def _writable(self, session: SessionInfo) -> Place | None:
        if not self.settings.save_messages or session.agent_context != "primary":
            return None
        return self._place(session)

    def _outside(self, scope: Scope) -> Place | None:
        peers = self.parts.directory.peers_of(scope)
        if not (self.settings.enabled and self.settings.save_messages) or peers is None:
            return None
        name = NOTES if scope.kind == "profile" else f"{NOTES}-{scope.digest[:8]}"
        return Place(name, *peers, *self.settings.flags, scope_key=scope.key, owner=True)

    def _prepare(self, place: Place) -> None:
        """Set the session up; the owner's old notes go along once."""
        if not self.settings.save_messages:
            return
        self.parts.server.ensure(place)
        whole_profile = place.owner and place.scope_key == "profile"
        if self.settings.upload_notes and whole_profile:
            quietly(self.parts.migrator, self.context.home, self.context.logger.warning)

    def _prepare_alone(self, place: Place) -> None:
        """Nobody waits for this: the first tool call tries again, and says what is wrong then."""
        try:
            self._prepare(place)
        except HermesMemoryError as error:
            self.context.logger.warning("Honcho could not be reached yet: %s", error.message)

    def _take(self, place: Place, item: Item) -> None:
        """Send now, or hold: after N turns, or at the session's end."""
        every = self.settings.hold_turns
        writer = self.parts.writer

        def work() -> None:
            if every == 1:
                writer.flush(place)  # what an earlier setting held comes first
                writer.store(place, [item])
            elif writer.hold(place, item) >= (every or float("inf")):
                writer.flush(place)

        self._guarded(work)

    def _guarded(self, work: Any) -> None:
        try:
            work()
        except ProviderAuthError as error:
            self._tell(error)
            raise
        self._auth_told.clear()

    def _tell(self, error: ProviderAuthError) -> None:
        """A refused key is told once, until something works again."""
        if self._auth_told.is_set():
            return
        self._auth_told.set()
        self.context.notify(
            Notice("honcho_auth", error.message, error.hint, "error", key="honcho_auth")
        )


def _writes(name: str, arguments: Mapping[str, Any]) -> bool:
    if name == tools.PROFILE:
        return arguments.get("card") is not None
    return name == tools.CONCLUDE and arguments.get("list") is not True


def _scope_facts(session: SessionInfo) -> dict[str, Any]:
    scope = session.scope
    facts: dict[str, Any] = {"scope": scope.key}
    if scope.kind != "profile":
        facts.update(scope_kind=scope.kind, scope_id=scope.id)
    return facts
