"""One conversation, as a host drives it: prompt, tools, turns, and every way a session can end or go on.

The public half of design.md section 10. The work is done by the engine; here is the order of things.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from hermes_memory_core.engine.arguments import word
from hermes_memory_core.engine.calls import describe
from hermes_memory_core.engine.content import clean, flatten, messages_from, turn_messages
from hermes_memory_core.engine.fence import FenceScrubber, strip_fences
from hermes_memory_core.engine.recall import NOTHING, Gathered
from hermes_memory_core.engine.texts import ask_all
from hermes_memory_core.engine.tools import Toolbox, failure
from hermes_memory_core.engine.trivial import is_trivial
from hermes_memory_core.errors import HermesMemoryError, UsageError
from hermes_memory_core.types import (
    EndReason,
    Notice,
    Origin,
    RecallReport,
    SessionInfo,
    StartReason,
    Turn,
    TurnRef,
)

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile
    from hermes_memory_core.memory import Memory

OnExit = Literal["end", "detach"]


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What ``begin_turn`` answers."""

    text: str
    """The fenced block to append to the user's message for the model; "" when there is nothing. Never store it."""
    recalls: tuple[RecallReport, ...] = ()
    """What became of each provider's recall, also of those that failed or found nothing."""
    elapsed_ms: float = 0.0
    late: tuple[str, ...] = ()
    """Providers that did not answer in time; what they find is offered in the next turn."""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What ``end_turn`` answers."""

    turn_id: str
    saved: bool
    """True when the turn is on the disk: it survives a power cut from now on."""
    queued: bool = False
    """True when it also waits for (or was taken by) the external provider."""
    error: str | None = None
    """What went wrong, in words for a person; None when nothing did."""


class Session:
    """One conversation. Made by ``Memory.session``; use it in a ``with`` block.

    Calls are serialised: one session may be used from several threads.
    """

    def __init__(
        self,
        memory: Memory,
        profile: OpenProfile,
        info: SessionInfo,
        turns: int,
        on_exit: OnExit,
        *,
        auto_title: str | None = None,
    ) -> None:
        self._memory = memory
        self._profile = profile
        self._info = info
        self._turns = turns
        self._on_exit = on_exit
        self._lock = threading.RLock()
        self._prompt: str | None = None
        self._toolbox: Toolbox | None = None
        self._turn_id: str | None = None
        self._auto_title = (info.lineage, auto_title) if auto_title else None
        """Lineage and its title, when no person gave it."""
        self._may_name = True
        self._ended = False
        self._process = os.getpid()

    # ------------------------------------------------------------ what it is

    @property
    def id(self) -> str:
        """The session's id; a new one after ``reset``, ``branch`` and ``compressed``."""
        return self._info.id

    @property
    def info(self) -> SessionInfo:
        """The session as it is now.

        Providers get the same value, but for a title that was made automatically: that would change under
        them in the middle of a session, and some name their own sessions by it.
        """
        info, auto = self._info, self._auto_title
        if info.title is None and auto is not None and auto[0] == info.lineage:
            return replace(info, title=auto[1])
        return info

    @property
    def turn_number(self) -> int:
        """Completed turns so far."""
        return self._turns

    @property
    def ended(self) -> bool:
        """True once the session is over for this object."""
        return self._ended

    # ------------------------------------------------------------ start of a session

    def system_prompt(self) -> str:
        """The text for the system prompt: notes, guidance and providers' static text, "" when there is none.

        Frozen: the same text byte for byte for the life of the session, also for another process that goes
        on with it within ``memory.snapshot_ttl_s``.
        """
        with self._lock:
            self._check()
            if self._prompt is None:
                row = self._profile.open_sessions.get(self.id)
                if row is not None and row.snapshot is not None:
                    self._prompt = row.snapshot
                else:
                    self._prompt = self._collect_blocks()
                    self._profile.open_sessions.freeze(self.id, self._prompt)
            return self._prompt

    def tools(self) -> list[dict[str, Any]]:
        """Tools in the shape chat completions take; fixed for the life of the session."""
        with self._lock:
            self._check()
            return self._box().as_openai()

    # ------------------------------------------------------------ a turn

    def begin_turn(self, text: Any) -> TurnContext:
        """Ask all providers what this turn should know. Never raises because of a provider.

        Args:
            text: The user's message, a string or a list of content parts.

        Returns:
            The fenced block and what became of each recall. Takes at most ``memory.deadlines.prefetch_s``
            (``first_prefetch_s`` on the first turn).
        """
        with self._lock:
            self._check()
            number = self._turns + 1
            query = strip_fences(flatten(text)).strip()
            gathered = NOTHING if is_trivial(query) else self._gather(query, number)
            return TurnContext(
                gathered.text, gathered.reports, gathered.elapsed_ms, gathered.late, number
            )

    def call_tool(self, name: str, arguments: Any = None, *, call_id: str | None = None) -> str:
        """Run one of ``tools()``; always one JSON object, never a raise, also after the session has ended.

        Args:
            name: The tool.
            arguments: A mapping, or the JSON text of one as models send it.
            call_id: The model's id of the call, kept with what it changes.
        """
        with self._lock:
            if self._ended:
                return failure(
                    f"Session {self.id} has ended; nothing was done.", "begin a new session"
                )
            origin = Origin(
                who="review" if self._info.agent_context == "review" else "model",
                attended=self._info.agent_context == "primary",
                session_id=self.id,
                turn_id=self._next_turn_id(),
            )
            return self._box().call(
                self._info,
                name,
                arguments,
                self._profile.deadlines["call_tool_s"],
                origin=origin,
                call_id=call_id,
            )

    def end_turn(
        self,
        user: Any,
        assistant: Any,
        *,
        messages: Iterable[Mapping[str, Any]] | None = None,
        interrupted: bool = False,
    ) -> Receipt:
        """Save a completed turn, then let the providers have it.

        Args:
            user: The user's own words (never with the recalled block), text or content parts.
            assistant: The final reply; "" when there was none.
            messages: This turn's OpenAI dicts after the user message (tool calls, tool results, reply).
            interrupted: The turn was cut off: kept in history, flagged, not sent to the external provider.

        Returns:
            A receipt. ``saved`` means synced to the disk. A full disk or a broken store is told in ``error``,
            not raised.

        Raises:
            UsageError: The session has ended, or ``messages`` is not a list of message dicts.
        """
        with self._lock:
            self._check()
            turn = self._make_turn(user, assistant, messages, interrupted)
            self._turn_id = None
            if not turn.messages:
                return Receipt(turn.id, saved=False, error="The turn was empty; nothing was saved.")
            try:
                ref = self._commit(turn)
            except HermesMemoryError as error:
                return self._not_saved(turn, error)
            self._turns = turn.number
            queued, problem = self._register(turn, ref)
            # without a transcript the queue's row is the commit point
            saved = ref is not None or queued
            if not saved and problem is None:
                problem = "History is switched off and no external provider takes this turn: it is kept nowhere."
            self._after_turn(turn)
            return Receipt(turn.id, saved=saved, queued=queued, error=problem)

    def scrubber(self) -> FenceScrubber:
        """A filter for one streamed reply: recalled blocks that a model repeats never reach the person."""
        return FenceScrubber()

    # ------------------------------------------------------------ going on

    def before_compression(self, messages: Iterable[Mapping[str, Any]]) -> str:
        """Text that providers want kept, for the prompt of the host's summary; "" when there is none."""
        with self._lock:
            self._check()
            return ask_all(
                self._profile.roster.everyone,
                "before_compression",
                self._profile.deadlines["before_compression_s"],
                session=self._info,
                messages=messages_from(messages),
            )

    def compressed(self, summary: str) -> str:
        """The host compressed the conversation: go on as a child of the same lineage, with a fresh snapshot.

        Returns:
            The new id.
        """
        with self._lock:
            self._check()
            text = self._profile.redact(clean(flatten(summary)))
            self._go_on("compression", parent=True, same_lineage=True)
            history = self._profile.history
            if history is not None and text:
                try:
                    history.append(self.id, "system", text, name="summary")
                except HermesMemoryError as error:
                    self._moved_on("summary_not_saved", "The summary could not be saved", error)
            return self.id

    def reset(self, *, reason: Literal["reset", "new"] = "reset") -> str:
        """Start over: this session ends, an empty one begins. The new id."""
        with self._lock:
            self._check()
            self._go_on(reason, parent=False, same_lineage=False)
            return self.id

    def branch(self, title: str | None = None) -> str:
        """Go on in a child session from here; the old one ends as it is. The new id."""
        with self._lock:
            self._check()
            title = word(title, "title")
            self._go_on("branch", parent=True, same_lineage=False)
            if title and self._profile.history is not None:
                try:
                    stored = self._profile.history.set_title(self.id, title, dedupe=True)
                    self._info = replace(self._info, title=stored)
                except HermesMemoryError as error:
                    self._moved_on("branch_not_titled", "The branch could not be named", error)
            return self.id

    def rewind(self, turns: int = 1) -> int:
        """Take back the last turns: they leave prompt and search. The id stays. How many messages went.

        Turns the external provider has not taken yet are not sent any more; what it has taken stays there.

        Raises:
            UsageError: ``turns`` is not a positive number.
        """
        with self._lock:
            self._check()
            if type(turns) is not int or turns < 1:
                raise UsageError("`turns` must be 1 or more; nothing was taken back.")
            history = self._profile.history
            hidden = history.undo_turns(self.id, turns) if history is not None else 0
            self._profile.gatherer.drop(self.id)
            self._profile.start_session(self._info, "rewind", self._info)
            return hidden

    def delegation_finished(self, task: str, result: str, child_id: str | None = None) -> bool:
        """A sub-agent came back; True when the external provider will hear of it."""
        with self._lock:
            self._check()
            redact = self._profile.redact
            payload = {
                "task": redact(clean(flatten(task))),
                "result": redact(clean(flatten(result))),
                "child": word(child_id, "child_id"),
            }
            for provider in self._profile.roster.built_ins:
                provider.call("delegation_finished", 0.0, session=self._info, **payload)  # type: ignore[arg-type]
            return self._profile.observe("delegation_finished", self._info, payload=payload)

    def set_title(self, title: str) -> str | None:
        """Name the conversation; the cleaned title.

        Raises:
            TitleConflictError: Another session has it.
        """
        with self._lock:
            self._check()
            title = word(title, "title") or ""
            history = self._profile.history
            stored = history.set_title(self.id, title) if history is not None else title
            self._info = replace(self._info, title=stored)
            self._auto_title = None
            self._may_name = False  # also where a person took the title away
            self._profile.open_sessions.rename(self._info)
            return stored

    # ------------------------------------------------------------ the end

    def end(self, reason: EndReason = "exit") -> None:
        """End the session; a second call does nothing."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._memory._forget_session(self)  # noqa: SLF001 - the two are one façade
            self._profile.end_session(self._info, reason)

    def detach(self) -> None:
        """Leave it open for the next request or process; this object is done."""
        with self._lock:
            if self._ended:
                return
            self._profile.open_sessions.detach(self.id)
            self._ended = True
            self._memory._forget_session(self)  # noqa: SLF001 - as in end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process != os.getpid():
            return  # a forked child leaves the block: the conversation is its parent's to end
        if self._on_exit == "detach":
            self.detach()
        else:
            self.end("exit")

    # ------------------------------------------------------------ inside

    def _drop_prompt(self, holds: Callable[[str], bool]) -> None:
        """Something was forgotten: a prompt that holds it is made anew when it is next asked for."""
        with self._lock:
            if self._prompt is not None and holds(self._prompt):
                self._prompt = None
            if self._info.title and holds(self._info.title):
                self._info = replace(self._info, title=None)
            if self._auto_title is not None and holds(self._auto_title[1]):
                self._auto_title = None

    def _named(self, lineage: str, title: str) -> None:
        """The conversation has an automatic title. Called on other threads, so it waits for nothing."""
        self._auto_title = (lineage, title)

    def _check(self) -> None:
        if self._ended:
            raise UsageError(
                f"Session {self.id} has ended; nothing was changed.",
                hint=f"open it again: memory.session(session_id={self.id!r})",
            )

    def _box(self) -> Toolbox:
        if self._toolbox is None:
            self._toolbox = Toolbox(
                self._profile.roster.everyone,
                self._info,
                self._profile.deadlines["tools_s"],
                self._profile.notices.tell,
            )
        return self._toolbox

    def _next_turn_id(self) -> str:
        if self._turn_id is None:
            self._turn_id = uuid.uuid4().hex
        return self._turn_id

    def _collect_blocks(self) -> str:
        return ask_all(
            self._profile.roster.everyone,
            "system_block",
            self._profile.deadlines["system_block_s"],
            session=self._info,
        )

    def _gather(self, query: str, number: int) -> Gathered:
        deadlines = self._profile.deadlines
        return self._profile.gatherer.gather(
            self._profile.roster.everyone,
            self._info,
            query,
            number,
            deadlines["first_prefetch_s"] if number == 1 else deadlines["prefetch_s"],
            known=self._prompt or "",
        )

    def _make_turn(
        self,
        user: Any,
        assistant: Any,
        messages: Iterable[Mapping[str, Any]] | None,
        interrupted: bool,
    ) -> Turn:
        redact = self._profile.redact
        user_text = redact(clean(flatten(user)))
        reply = redact(clean(flatten(assistant)))
        now = self._profile.clock()
        return Turn(
            id=self._next_turn_id(),
            session_id=self.id,
            number=self._turns + 1,
            user=user_text,
            assistant=reply,
            messages=turn_messages(user_text, reply, messages, redact, now),
            at=now,
            interrupted=interrupted,
        )

    def _commit(self, turn: Turn) -> TurnRef | None:
        """To the transcript, or, with the sessions built-in off, nowhere: the outbox row is then the commit."""
        history = self._profile.history
        return history.commit_turn(self._info, turn) if history is not None else None

    def _not_saved(self, turn: Turn, error: HermesMemoryError) -> Receipt:
        self._profile.notices.tell(
            Notice(
                "turn_not_saved",
                f"A turn of session {self.id} could not be saved: {error.message}",
                hint=error.hint,
                level="error",
            )
        )
        return Receipt(turn.id, saved=False, error=error.message)

    def _moved_on(self, code: str, what: str, error: HermesMemoryError) -> None:
        """Something beside the new session failed: its caller must hear the new id, so the person is told."""
        self._profile.notices.tell(
            Notice(
                code, f"{what} (session {self.id}): {error.message}", hint=error.hint, level="error"
            )
        )

    def _register(self, turn: Turn, ref: TurnRef | None) -> tuple[bool, str | None]:
        """To the register and the outbox; (queued, what went wrong)."""
        try:
            return self._profile.handover.turn(self._info, turn, ref), None
        except HermesMemoryError as error:  # the next turn or the end makes up for it
            return False, error.message

    def _after_turn(self, turn: Turn) -> None:
        roster = self._profile.roster
        if not turn.interrupted:
            for provider in roster.built_ins:
                provider.call("sync_turn", 0.0, session=self._info, turn=turn)
        external = roster.external
        if external is not None and external.implements("queue_prefetch") and not turn.interrupted:
            external.cast(
                "queue_prefetch", session=self._info, query=turn.user, turn_number=turn.number
            )
        info = self.info
        if self._may_name and not info.title:
            self._memory._titles.after_turn(  # noqa: SLF001 - the two are one façade
                info, turn, partial(self._named, info.lineage)
            )
        try:
            self._profile.figures.save(roster.loaded)
        except HermesMemoryError as error:
            self._profile.notices.tell(Notice("figures_not_kept", describe(error), error.hint))

    def _go_on(self, reason: EndReason, *, parent: bool, same_lineage: bool) -> None:
        """This session ends, the next begins: the same steps for every way of going on.

        The next is on the disk before the old one ends, so an error or a crash in between loses neither.

        Raises:
            StoreError: The next session could not be written; this one goes on as it was.
        """
        old, title = self._info, self.info.title
        new_id = self._profile.attach.new_id()
        start: StartReason = reason if reason in ("reset", "branch", "compression") else "new"
        fresh = replace(
            old,
            id=new_id,
            lineage=old.lineage if same_lineage else new_id,
            parent_id=old.id if parent else None,
            title=old.title if same_lineage else None,
            # after its parent also when the clock was put back: the newest of a lineage is the live one
            started_at=max(self._profile.clock(), old.started_at + 0.001),
        )
        self._profile.attach.register(fresh, start, title if same_lineage else None)
        self._profile.end_session(old, reason)
        self._info = fresh
        self._turns = 0
        self._may_name = self._may_name or not same_lineage
        self._prompt = None
        self._toolbox = None
        self._turn_id = None
        self._profile.start_session(fresh, start, old)
