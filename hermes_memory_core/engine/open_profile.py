"""The machinery of one open profile: everything ``Memory`` and its ``Session``s share.

Settings, ``runtime.db``, the roster, the outbox with its delivery, recall, notices. Knows what happens to a
session on the way from start to end; knows nothing of the host's side of the API.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.config import LoadedConfig, Secrets
from hermes_memory_core.engine.attach import Attach
from hermes_memory_core.engine.calls import Provider
from hermes_memory_core.engine.contexts import Services
from hermes_memory_core.engine.delivery import Delivery
from hermes_memory_core.engine.figures import Figures
from hermes_memory_core.engine.handover import HandOver
from hermes_memory_core.engine.notices import Notices
from hermes_memory_core.engine.open_sessions import OpenSession, OpenSessions
from hermes_memory_core.engine.outbox import Outbox, OutboxLimits, dump_write
from hermes_memory_core.engine.recall import Gatherer
from hermes_memory_core.engine.roster import Roster
from hermes_memory_core.engine.runtime import Runtime
from hermes_memory_core.engine.scopes import Crowd
from hermes_memory_core.engine.spill import Spill, SpillSettings
from hermes_memory_core.errors import StoreError
from hermes_memory_core.profiles import Profile
from hermes_memory_core.types import (
    LLM,
    Decision,
    EndReason,
    HistoryStore,
    NotesStore,
    NoteWrite,
    Notice,
    SessionInfo,
    StartReason,
    TurnRef,
)

if TYPE_CHECKING:
    from hermes_memory_core.engine.approval import Gate, Pending
    from hermes_memory_core.safety.approvals import PendingWrites
    from hermes_memory_core.safety.redact import Redactor

logger = logging.getLogger(__name__)

IDLE_END_S = 86_400.0
"""A detached session nobody used for a day has ended (reason ``idle``)."""
SWEEP_EVERY_S = 60.0
SWEEP_ROWS = 200
SWEEP_FOR_S = 0.5
"""How many leftover sessions one sweep ends, and for how long: it runs while a session is being opened."""


class OpenProfile:
    """One profile, open.

    Args:
        place: Its name and directory.
        config: Its settings.
        secrets: Its ``.env``.
        clock: Epoch seconds.
        llm: The host's auxiliary model.
        in_process: Provider classes the host handed over.
        approve: The host's answer to proposed writes, asked when approval is on.
        notify: Where news for the person goes.
        no_plugins: The safe mode.
    """

    def __init__(
        self,
        place: Profile,
        config: LoadedConfig,
        secrets: Secrets,
        *,
        clock: Callable[[], float] | None = None,
        llm: LLM | None = None,
        in_process: Sequence[type] = (),
        approve: Callable[[NoteWrite], Decision] | None = None,
        notify: Callable[[Notice], None] | None = None,
        no_plugins: bool = False,
    ) -> None:
        self.place = place
        self.config = config
        self.secrets = secrets
        self.clock: Callable[[], float] = clock or time.time
        self.settings: Mapping[str, Any] = config.plain
        self._approve = approve
        self._lock = threading.RLock()
        self._swept_at = float("-inf")
        history_on = bool(self.settings["memory"]["history_enabled"])
        self.runtime = Runtime(
            place.path / "runtime.db",
            self.clock,
            synchronous="NORMAL" if history_on else "FULL",
        )
        self.notices = Notices(self.runtime, notify)
        self.crowd = Crowd(self.settings, self.notices.tell)
        self.open_sessions = OpenSessions(self.runtime)
        self.attach = Attach(self)
        self.handover = HandOver(self)
        self.figures = Figures(self.runtime)
        limits = self.settings["memory"]["outbox"]
        self.outbox = Outbox(
            self.runtime,
            OutboxLimits(limits["max_items"], limits["max_age_days"] * 86_400, limits["max_bytes"]),
        )
        spill_dir = self.settings["hooks"]["output_spill"]["directory"]
        self.spill = Spill(Path(spill_dir) if spill_dir else place.path / "hook_outputs")
        self.gatherer = Gatherer(self.spill, SpillSettings.from_settings(self.settings), self.clock)
        self.roster = Roster(
            place,
            config,
            secrets,
            Services(
                clock=self.clock,
                redact=self.redact,
                tell=self.notices.tell,
                notes_changed=self.notes_changed,
                approve=self.approve,
                llm=llm,
            ),
            self.figures,
            in_process=tuple(in_process),
            on_change=self._breaker_changed,
            no_plugins=no_plugins,
        )
        for notice in (*config.warnings, *secrets.warnings):
            self.notices.tell(notice)

    # ------------------------------------------------------------ parts

    @property
    def deadlines(self) -> Mapping[str, float]:
        """Seconds per hook, ``memory.deadlines``."""
        deadlines: Mapping[str, float] = self.settings["memory"]["deadlines"]
        return deadlines

    @property
    def notes(self) -> NotesStore | None:
        """The notes store; None when the built-in is off."""
        return self.roster.stores.get("notes")

    @property
    def history(self) -> HistoryStore | None:
        """The history store; None when the built-in is off."""
        return self.roster.stores.get("history")

    @cached_property
    def redactor(self) -> Redactor:
        """Masks credentials; knows those of ``.env`` and remembers those it saw."""
        from hermes_memory_core.safety.redact import Redactor

        return Redactor(known=self.secrets.values())

    def redact(self, text: str) -> str:
        """Mask credentials before text is stored or sent, unless ``security.redact_storage`` is off."""
        if not self.settings["security"]["redact_storage"]:
            return text
        return self.redactor.redact(text)

    @cached_property
    def delivery(self) -> Delivery | None:
        """The outbox's worker; None without an external provider."""
        external = self.roster.external
        if external is None:
            return None
        return Delivery(
            self.outbox,
            external,
            lambda: self.history,
            self.clock,
            timeout_s=self.deadlines["delivery_s"],
            health_timeout_s=self.deadlines["health_s"],
            tell=self.notices.tell,
        )

    # ------------------------------------------------------------ life of a session

    def start_session(
        self, session: SessionInfo, reason: StartReason, previous: SessionInfo | None
    ) -> None:
        """Tell everybody; external providers in the background."""
        arguments = {"session": session, "reason": reason, "previous": previous}
        for provider in self.roster.built_ins:
            provider.call("start_session", 0.0, **arguments)  # type: ignore[arg-type]
        external = self.roster.external
        if external is not None:
            external.cast("start_session", **arguments)

    def end_session(self, session: SessionInfo, reason: EndReason) -> bool:
        """End it once, whoever asks first: history, built-ins, then the external provider behind its turns.

        Never raises: an end that cannot be written is told to the person, and made up for at a later start.
        """
        try:
            return self.handover.end(session, reason)
        except StoreError as error:
            self.notices.tell(
                Notice(
                    "end_not_saved",
                    f"The end of session {session.id} could not be written: {error.message} Its turns are "
                    "saved; it is ended at the next start.",
                    hint=error.hint,
                    key=f"end_not_saved:{session.id}",
                )
            )
            return False

    def observe(
        self,
        hook: str,
        session: SessionInfo | None,
        *,
        ref: TurnRef | None = None,
        payload: Mapping[str, Any] | None = None,
        lane: str | None = None,
        db: Any = None,
    ) -> bool:
        """Queue something for the external provider; False when there is none that observes it.

        Only primary sessions are observed: what cron jobs, sub-agents and reviews say is not the user's life.
        """
        name = self._observer(hook)
        if name is None or (session is not None and session.agent_context != "primary"):
            return False
        self.outbox.put(
            name,
            lane or (session.lineage if session else "profile"),
            hook,
            session=session,
            ref=ref,
            payload=payload,
            db=db,
        )
        if db is None:
            self.nudge()
        return True

    def _observer(self, hook: str) -> str | None:
        """Name of the external provider that observes the hook; nothing is imported to find out.

        Where it is not loaded (a note added from the command line) the item is queued all the same: delivery
        drops what the provider turns out not to implement.
        """
        external = self.roster.external_if_loaded
        if external is not None:
            return external.name if external.implements(hook) else None
        if self.roster.external_tried:
            return None
        chosen = self.roster.chosen
        return chosen[0].name if chosen else None

    def nudge(self) -> None:
        """Wake the delivery, if the provider is at work in this process."""
        if self.roster.external_if_loaded is not None and self.delivery is not None:
            self.delivery.nudge()

    def sweep(self, *, force: bool = False) -> None:
        """End sessions that crashed or fell idle, a bounded number; at most once a minute unless forced."""
        now = time.monotonic()
        with self._lock:
            if not force and now - self._swept_at < SWEEP_EVERY_S:
                return
            first = self._swept_at == float("-inf")
            self._swept_at = now
        self.outbox.free_dead_leases()
        deadline = now + SWEEP_FOR_S
        leftovers: list[tuple[OpenSession, EndReason]] = [
            *((row, "crash") for row in self.open_sessions.crashed(SWEEP_ROWS)),
            *((row, "idle") for row in self.open_sessions.idle(IDLE_END_S, SWEEP_ROWS)),
        ]
        for row, reason in leftovers:
            self.end_session(row.info, reason)
            if time.monotonic() > deadline:  # the rest next time: a person waits for this session
                break
        if first:
            self.spill.sweep(now=self.clock())
            self.nudge()

    # ------------------------------------------------------------ what providers ask of the core

    def notes_changed(self, write: NoteWrite) -> None:
        """A note was committed: everybody else hears of it, the external provider in order with the turns.

        Never raises because of the outbox: the note is on the disk, and a caller who hears of an error would
        write it again.
        """
        session_id = write.origin.session_id
        try:
            row = self.open_sessions.get(session_id) if session_id else None
            session = row.info if row else None
            for provider in self.roster.built_ins:
                provider.call("notes_written", 0.0, session=session, write=write)
            lane = None if session else f"notes:{write.scope.key}"
            self.observe("notes_written", session, payload=dump_write(write), lane=lane)
        except StoreError as error:
            self.notices.tell(
                Notice(
                    "note_not_queued",
                    f"A note was saved, but the external provider will not hear of it: {error.message}",
                    hint=error.hint,
                )
            )

    def approve(self, write: NoteWrite) -> Decision:
        """What becomes of a proposed note write; see ``engine/approval.py``."""
        if write.origin.who == "person":
            return Decision("allow")
        return self.gate.decide(write)

    @cached_property
    def waiting(self) -> PendingWrites:
        """The records of writes that wait for a person."""
        from hermes_memory_core.safety.approvals import PendingWrites

        return PendingWrites(self.place.path, self.clock)

    @cached_property
    def gate(self) -> Gate:
        """Who may write a note at once."""
        from hermes_memory_core.engine.approval import Gate

        return Gate(self.settings, self.waiting, self._approve, self.notices.tell)

    @cached_property
    def pending(self) -> Pending:
        """``memory.pending``."""
        from hermes_memory_core.engine.approval import Pending

        return Pending(
            self.waiting,
            lambda: self.notes,
            self.settings["memory"]["isolation"],
            self.notices.settle,
        )

    def _breaker_changed(self, provider: Provider, opened: bool) -> None:
        try:
            self.figures.save_breaker(provider)
        except (
            StoreError
        ) as error:  # another process asks once more than it needs; this call goes on
            logger.warning("the breaker of %s could not be kept: %s", provider.name, error.message)
        key = f"provider_degraded:{provider.name}"
        if opened and provider.breaker is not None:
            try:
                pending = f"{self.outbox.counts(provider.name)['pending']}"
            except StoreError:  # counted for the message only
                pending = "Its"
            self.notices.tell(
                Notice(
                    "provider_degraded",
                    f"`{provider.name}` is not answering ({provider.breaker.state.reason}). "
                    f"{pending} items wait in the outbox; nothing is lost and they will be delivered.",
                    hint="hermes memory status",
                    key=key,
                )
            )
        elif not opened:
            self.notices.settle(key)
            self.notices.tell(
                Notice(
                    "provider_recovered",
                    f"`{provider.name}` answers again; the outbox is being delivered.",
                    level="info",
                    key=f"provider_recovered:{provider.name}",
                )
            )
            self.notices.settle(f"provider_recovered:{provider.name}")
            self.nudge()

    # ------------------------------------------------------------ closing

    def close(self) -> None:
        """Deliver what can be delivered now, then let everything go. What is left stays in the outbox."""
        seconds = self.deadlines["close_s"]
        delivery = self.__dict__.get("delivery")
        try:
            if delivery is not None:
                delivery.drain(seconds)
                delivery.close()
            self.figures.save(self.roster.loaded, force=True)
        except (
            StoreError
        ) as error:  # what matters is on the disk; the files are let go all the same
            logger.warning("closing: %s", error.message)
        finally:
            self.roster.close(seconds)
            self.runtime.close()
