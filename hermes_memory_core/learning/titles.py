"""Names for conversations that have none: when one is due, who makes it, and writing it only if none is there yet.

``extract`` makes a name without a model. Nothing here delays a turn, raises into one, or holds the interpreter.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from hermes_memory_core.errors import HermesMemoryError, SessionNotFoundError
from hermes_memory_core.learning.llm import IN_FLIGHT, Asker, ModelFailure
from hermes_memory_core.safety.redact.masks import contains_mask
from hermes_memory_core.types import LLM, HistoryStore, Notice, SessionInfo, Turn

logger = logging.getLogger(__name__)

LAST_TURN: Final = 2
"""A conversation with more user messages keeps the name, or none, that it has (spec section 5.6)."""
MAX_TOKENS: Final = 500
AUTOMATED: Final = ("cron", "subagent", "tool")
"""Sources nobody talks in, so nobody looks for them by name."""
PAUSE_S: Final = 0.25
"""Naming begins when no turn was saved for so long: it shares the interpreter with whoever saves the next."""
LONGEST_PAUSE_S: Final = 2.0
"""The longest a name waits for such a pause."""
FAILED: Final = "auto_title_failed"
_OFF: Final = "hermes config set auxiliary.title_generation.enabled false"


class News(Protocol):
    """Where notices for the person go."""

    def tell(self, notice: Notice) -> None:
        """Show it, unless it was told already."""

    def settle(self, key: str) -> None:
        """The matter is over."""


class Profile(Protocol):
    """What is needed of an open profile."""

    settings: Mapping[str, Any]

    @property
    def history(self) -> HistoryStore | None:
        """The history store; None while history is off."""

    @property
    def notices(self) -> News:
        """News for the person."""

    def redact(self, text: str) -> str:
        """Mask credentials."""


@dataclass(slots=True, eq=False)
class _Job:
    session: SessionInfo
    turns: list[Turn]
    """One, or both that a name may come from when the second was saved before naming began."""
    named: Callable[[str], None]
    since: float


class AutoTitles:
    """Names the conversations of one open profile.

    Args:
        profile: The open profile.
        llm: The host's auxiliary model; None names from the text itself.
    """

    def __init__(self, profile: Profile, llm: LLM | None) -> None:
        settings = profile.settings["auxiliary"]["title_generation"]
        self._on = bool(settings["enabled"])
        self._timeout_s = float(settings["timeout"])
        self._language = str(settings["language"])
        self._profile = profile
        self._asker = Asker(llm) if llm is not None else None
        self.after_fork()

    def after_fork(self) -> None:
        """A child has none of its parent's threads: what they were about is theirs to finish."""
        self._writing = threading.RLock()
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._workers = 0
        self._closed = False
        self._pause = threading.Condition(self._lock)
        self._waiters = 0
        self._last_turn = 0.0

    # ------------------------------------------------------------ a turn is done

    def after_turn(self, session: SessionInfo, turn: Turn, named: Callable[[str], None]) -> bool:
        """Begin to name the conversation in the background if it is due; whether it is.

        Args:
            session: The session, with the title it has.
            turn: The turn just saved.
            named: Called with the title once it stands, on the background thread.
        """
        self._last_turn = time.monotonic()
        if not self._due(session, turn):
            return False
        with self._lock:
            if self._closed:
                return False
            job = self._jobs.get(session.lineage)
            if job is not None:
                job.turns.append(turn)  # looked at again when this was a greeting so far
                return True
            job = _Job(session, [turn], named, self._last_turn)
            self._jobs[session.lineage] = job
            self._queue.append(job)
            if self._workers < (1 if self._asker is None else IN_FLIGHT):
                self._start_worker()
        return True

    def _start_worker(self) -> None:
        thread = threading.Thread(target=self._work, name="hermes-auto-title", daemon=True)
        try:
            thread.start()
        except (
            RuntimeError
        ):  # no thread to be had: the next turn tries again, closing names the rest
            logger.warning("no thread can be started to name conversations")
        else:
            self._workers += 1

    def _due(self, session: SessionInfo, turn: Turn) -> bool:
        return (
            self._on
            and not session.title
            and turn.number <= LAST_TURN
            and not turn.interrupted
            and session.agent_context == "primary"
            and session.source not in AUTOMATED
            and self._profile.history is not None
        )

    # ------------------------------------------------------------ waiting and ending

    def wait(self, timeout_s: float) -> bool:
        """Until nothing is being named any more, without the pause; False when the time passed."""
        with self._lock:
            self._waiters += 1
            self._pause.notify_all()
            try:
                return self._idle.wait_for(lambda: not self._jobs, timeout_s)
            finally:
                self._waiters -= 1

    def drop(self) -> None:
        """Something is being forgotten: what is being named right now gets no name made of it."""
        with self._writing, self._lock:
            self._jobs.clear()
            self._queue.clear()
            self._idle.notify_all()
            self._pause.notify_all()

    def close(self) -> None:
        """Waits for no model: what it has not named by now is named after its first message."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._pause.notify_all()
            left = list(self._jobs.values())
        with self._writing:
            for job in left:
                self._write(job, self._plain(job.turns)[1])
                self._done(job)

    # ------------------------------------------------------------ in the background

    def _work(self) -> None:
        """One of a few threads; it ends when nothing waits any more."""
        while True:
            with self._lock:
                self._await_pause()
                if not self._queue:
                    self._workers -= 1
                    return
                job = self._queue.popleft()
            try:
                self._run(job)
            except Exception:
                # a mistake of ours costs this name, not the thread and all names after it
                logger.exception("session %s could not be named", job.session.id)

    def _await_pause(self) -> None:
        """Until no turn was saved for ``PAUSE_S``, or somebody waits; the caller holds ``_lock``."""
        while self._queue and not (self._waiters or self._closed):
            end = self._queue[0].since + LONGEST_PAUSE_S
            left = min(self._last_turn + PAUSE_S, end) - time.monotonic()
            if left <= 0:
                return
            self._pause.wait(left)

    def _run(self, job: _Job) -> None:
        if not self._is_wanted(job):
            return
        seen, over = len(job.turns), False
        try:
            turn, plain = self._plain(job.turns[:seen])
            if plain is None and turn.number < LAST_TURN:
                return  # a greeting so far: the next turn says what it is about
            over = True
            title = self._from_model(turn) or plain
            with self._writing:  # after close the store's files are let go
                if self._is_wanted(job):
                    self._write(job, title)
        finally:
            self._done(job, math.inf if over else seen)

    def _is_wanted(self, job: _Job) -> bool:
        with self._lock:
            return self._jobs.get(job.session.lineage) is job

    def _done(self, job: _Job, seen: float = math.inf) -> None:
        with self._lock:
            if self._jobs.get(job.session.lineage) is job:
                if len(job.turns) <= seen or self._closed:
                    del self._jobs[job.session.lineage]
                else:
                    self._queue.append(job)  # the second turn came meanwhile
            self._idle.notify_all()

    def _plain(self, turns: Sequence[Turn]) -> tuple[Turn, str | None]:
        """The turn a name comes from, and the name without a model.

        A second turn of no matter of its own is named after its answer.
        """
        from hermes_memory_core.learning.extract import extract_title

        for turn in turns:
            found = self._checked(extract_title(turn.user))
            if found is not None:
                return turn, found
        turn = turns[-1]
        if turn.number < LAST_TURN:
            return turn, None
        return turn, self._checked(extract_title(turn.assistant))

    def _from_model(self, turn: Turn) -> str | None:
        if self._asker is None:
            return None
        from hermes_memory_core.learning.model_title import clean_answer, prompt

        try:
            answer = self._asker.ask(
                prompt(turn.user, turn.assistant, self._language),
                task="title",
                max_tokens=MAX_TOKENS,
                timeout_s=self._timeout_s,
            )
            title = self._checked(clean_answer(answer))
            if title is None:
                raise ModelFailure("its answer held no title")
        except ModelFailure as failure:
            why = self._profile.redact(" ".join(str(failure).split()))[:200]
            self._profile.notices.tell(
                Notice(
                    FAILED,
                    f"The auxiliary model could not name a conversation ({why}); it is named after "
                    "its first message instead.",
                    hint=_OFF,
                )
            )
            return None
        self._profile.notices.settle(FAILED)
        return title

    def _checked(self, title: str | None) -> str | None:
        """The title once more without secrets: a part of a text may show what the whole did not."""
        if title is None:
            return None
        masked = self._profile.redact(title)
        return None if contains_mask(masked) else masked

    def _write(self, job: _Job, title: str | None) -> None:
        history = self._profile.history
        if history is None or not title:
            return
        try:
            # a compression may have moved the conversation on while the model was thinking
            newest = history.resolve(job.session.id, scope=job.session.scope)
            stands = history.set_title(newest.id, title, dedupe=True, only_if_empty=True)
            if stands:
                job.named(stands)
        except SessionNotFoundError:
            logger.debug("session %s was deleted before it had a name", job.session.id)
        except HermesMemoryError as error:
            self._profile.notices.tell(
                Notice(
                    "auto_title_not_saved",
                    f"The title of session {job.session.id} could not be saved: {error.message}",
                    hint=error.hint,
                )
            )
