"""Recall of one open profile: per session what is known, what is being fetched, and what a turn is shown.

The first turn may wait for it; later turns are shown what is there. A result belongs to the session it was asked
for and goes with it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from hermes_memory_core.types import ProviderContext, Recall
from hermes_memory_honcho import base_layer, dialectic, texts
from hermes_memory_honcho.background import Job
from hermes_memory_honcho.base_layer import Base
from hermes_memory_honcho.cadence import Cadence
from hermes_memory_honcho.injection_log import InjectionLog
from hermes_memory_honcho.rewrite import rewritten
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.settings import HonchoSettings, Level
from hermes_memory_honcho.who import Place

SESSIONS_KEPT = 256
MARGIN_S = 0.05
"""What is left of a deadline for putting the answer together."""
SYNC_S = 5.0
"""``recall_sync`` never waits longer."""


@dataclass
class _State:
    session_id: str
    place: Place
    cadence: Cadence
    base: Base | None = None
    base_at: float = 0.0
    base_error: Exception | None = None
    answer: dialectic.Finding | None = None
    answer_turn: int = 0
    answer_at: float = 0.0
    asked_turn: int = 0
    """The last turn that wanted recall."""
    base_only: bool = False
    jobs: dict[str, Job] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class Recaller:
    """Fetches in the background, answers at once.

    Args:
        server: Whom to ask.
        settings: The knobs.
        context: Clock, logger, auxiliary model.
        log: Where what was shown is written down, if wanted.
    """

    def __init__(
        self,
        server: Server,
        settings: HonchoSettings,
        context: ProviderContext,
        log: InjectionLog | None,
    ) -> None:
        self._server = server
        self._settings = settings
        self._context = context
        self._log = log
        self._lock = threading.Lock()
        self._states: OrderedDict[str, _State] = OrderedDict()

    # ------------------------------------------------------------ life of a session

    def start(self, session_id: str, place: Place, prepare: Callable[[], None] | None) -> None:
        """Begin fetching before the first turn; ``prepare`` runs first on the same thread."""
        state = self._state(session_id, place)
        self._fetch_base(state, "", 0, prepare)
        if not self._settings.query_rewrite:
            self._ask(state, "", 0, after=state.jobs.get("base"))

    def end(self, session_id: str) -> None:
        """Forget it; what still comes in for it goes nowhere."""
        with self._lock:
            self._states.pop(session_id, None)

    def reset(self) -> None:
        """Forget everything found so far (something was forgotten on the server)."""
        with self._lock:
            self._states.clear()

    def close(self, seconds: float) -> None:
        """Wait a moment for threads: one inside a request at interpreter exit can abort the process."""
        until = time.monotonic() + seconds
        with self._lock:
            jobs = [job for state in self._states.values() for job in state.jobs.values()]
            self._states.clear()
        for job in jobs:
            job.wait(until - time.monotonic())

    def reasoned(self, session_id: str) -> None:
        """The model asked Honcho itself: the next question can wait a cadence."""
        with self._lock:
            state = self._states.get(session_id)
        if state is not None:
            state.cadence.fired(max(state.asked_turn, state.cadence.last_dialectic))

    def peek(self, session_id: str) -> str:
        """What is known now, for a summary; no call, nothing consumed."""
        with self._lock:
            state = self._states.get(session_id)
        if state is None or state.base is None:
            return ""
        return state.base.text(("peerCard", "peerRepresentation"))

    # ------------------------------------------------------------ a turn

    def recall(
        self,
        session_id: str,
        place: Place,
        query: str,
        turn: int,
        deadline: float,
        *,
        base_only: bool = False,
    ) -> Recall | None:
        """What this turn is shown; ``base_only`` asks no dialectic (sub-agents would multiply its cost).

        Raises:
            ProviderError: It is not known whether there is anything: the last try failed or is not done.
        """
        state = self._state(session_id, place)
        state.asked_turn, state.base_only = turn, base_only
        waits = turn <= 1 or self._settings.recall_sync
        if state.base is None or self._settings.recall_sync:
            self._fetch_base(state, query, max(0, turn - 1), None)
        if waits:
            self._wait(state, query, turn, deadline)
        return self._compose(state, turn, waited=waits)

    def asked(self, session_id: str, turn: int) -> bool:
        """Whether this turn wanted recall: after a trivial one nothing is fetched."""
        with self._lock:
            state = self._states.get(session_id)
        return state is not None and state.asked_turn == turn

    def prepare_next(self, session_id: str, place: Place, query: str, turn: int) -> None:
        """After a turn: start what is due. Comes back at once."""
        state = self._state(session_id, place)
        if state.cadence.base_due(turn) or state.base is None:
            self._fetch_base(state, query, turn, None)
        if state.cadence.dialectic_due(turn) and not state.base_only:
            self._ask(state, query, turn)

    # ------------------------------------------------------------ inside

    def _state(self, session_id: str, place: Place) -> _State:
        settings = self._settings
        with self._lock:
            state = self._states.get(session_id)
            if state is None or state.place != place:
                cadence = Cadence(
                    settings.context_cadence,
                    settings.dialectic_cadence,
                    settings.injection_frequency,
                )
                state = self._states[session_id] = _State(session_id, place, cadence)
            self._states.move_to_end(session_id)
            while len(self._states) > SESSIONS_KEPT:
                self._states.popitem(last=False)
            return state

    def _wait(self, state: _State, query: str, turn: int, deadline: float) -> None:
        """Base first, then the dialectic; both within the settings and never past the deadline."""
        settings = self._settings
        left = deadline - time.monotonic() - MARGIN_S
        longest = SYNC_S if settings.recall_sync else settings.first_turn_base_wait
        job = state.jobs.get("base")
        if job is not None:
            job.wait(min(left, longest, settings.timeout))
        if job is not None and job.running:
            return
        if state.base is None or turn > 1 or state.base_only:
            return
        if settings.first_turn_dialectic_wait <= 0:
            return
        if "dialectic" not in state.jobs and not settings.query_rewrite:
            self._ask(state, query, 0)
        asked = state.jobs.get("dialectic")
        left = deadline - time.monotonic() - MARGIN_S
        if asked is not None:
            asked.wait(min(left, settings.first_turn_dialectic_wait, settings.timeout))

    def _fetch_base(
        self, state: _State, query: str, turn: int, prepare: Callable[[], None] | None
    ) -> None:
        def work() -> None:
            try:
                if prepare is not None:
                    prepare()
                search = rewritten(self._context, query) if self._settings.query_rewrite else query
                base = base_layer.fetch(
                    self._server,
                    state.place,
                    search,
                    self._settings.session_start_sections,
                    self._context.logger,
                )
            except Exception as error:
                state.base_error = error
                raise
            with state.lock:
                state.base, state.base_at = base, self._context.clock()
                state.base_error = None
                state.cadence.base_fetched(turn)

        self._begin(state, "base", work)

    def _ask(self, state: _State, message: str, turn: int, after: Job | None = None) -> None:
        settings = self._settings

        def work() -> None:
            if after is not None:
                after.wait(settings.timeout)
            cold = state.base is None or not any(state.base.parts.values())

            def ask(question: str, level: Level) -> str:
                return self._server.chat(
                    state.place.observer,
                    state.place.user,
                    question,
                    level=level,
                    # the server then reads along in this session; on a cold start there is nothing to read
                    session=None if cold else state.place.session,
                    seconds=settings.timeout,
                )

            try:
                found = dialectic.inquire(settings, ask, texts.clean(message), cold=cold)
            except ProviderError as error:
                if not isinstance(error, ProviderAuthError):
                    state.cadence.answered(False)
                if state.cadence.empty_streak <= 1:  # once a streak
                    self._context.logger.warning("Honcho: no dialectic: %s", error.message)
                raise
            with state.lock:
                state.cadence.answered(bool(found.text))
                if found.text:
                    state.answer, state.answer_turn = found, turn
                    state.answer_at = self._context.clock()

        if self._begin(state, "dialectic", work):
            state.cadence.fired(turn)

    def _begin(self, state: _State, kind: str, work: Callable[[], None]) -> bool:
        """One job of a kind at a time; one that has hung twice its time is given up."""
        with state.lock:
            job = state.jobs.get(kind)
            if job is not None and job.running and job.age_s < 2 * self._settings.timeout:
                return False
            state.jobs[kind] = Job(f"honcho-{kind}", work)
            return True

    def _compose(self, state: _State, turn: int, *, waited: bool) -> Recall | None:
        settings = self._settings
        with state.lock:
            answer = state.answer
            if answer is not None:
                state.answer = None
                if state.cadence.stale(state.answer_turn, turn):
                    answer = None
            base = state.base
            shown = base if base is not None and state.cadence.shows_base() else None
            body = shown.text(settings.session_start_sections) if shown else ""
            if body:
                state.cadence.base_shown = True
            found_at = min(
                [state.base_at] * bool(body) + [state.answer_at] * bool(answer), default=0.0
            )
        extra = f"## From Honcho's reasoning\n{answer.text}" if answer else ""
        text = base_layer.within_budget(
            "\n\n".join(part for part in (body, extra) if part), settings.context_tokens
        )
        if self._log is not None:
            self._log.write(state.session_id, turn, shown, answer, text, self._why(state, turn))
        if text:
            sections = shown.sections(settings.session_start_sections) if shown else []
            source = ", ".join([*sections, *(["dialectic"] if answer else [])])
            return Recall(text, source, found_at or None)
        self._explain_nothing(state, waited)
        return None

    def _explain_nothing(self, state: _State, waited: bool) -> None:
        """Nothing to show: was nothing found, or is it not known?"""
        if state.base is not None:
            return
        job = state.jobs.get("base")
        if job is not None and job.running:
            if state.base_error is None and waited:
                raise ProviderTimeoutError(
                    "Honcho did not answer within this turn's time; what it finds comes with a later turn.",
                    hint="hermes honcho status",
                )
            if state.base_error is None:
                raise ProviderBusyError("Honcho is still being asked; this turn goes on without.")
        if state.base_error is not None:
            raise _again(state.base_error)

    def _why(self, state: _State, turn: int) -> dict[str, object]:
        return {
            "turn": turn,
            "base_of_turn": state.cadence.last_base,
            "dialectic_of_turn": state.answer_turn,
            "empty_streak": state.cadence.empty_streak,
            "base_error": str(state.base_error) if state.base_error else None,
        }


def _again(error: Exception) -> ProviderError:
    """The error as a fresh one: the same object raised on many turns would grow a traceback each time."""
    if isinstance(error, ProviderError):
        return type(error)(
            error.message, hint=error.hint, details=error.details, retryable=error.retryable
        )
    return ProviderUnavailableError(
        f"Honcho could not be asked: {type(error).__name__}: {error}", hint="hermes honcho status"
    )
