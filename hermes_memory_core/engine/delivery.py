"""Empties the outbox: one daemon thread per open Memory hands the items of leased lanes to the provider.

Order inside a lane is never broken: a failing item holds its lane back (with backoff and jitter) until it is
taken, or proves to be one the provider will never take and becomes a dead letter.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from hermes_memory_core.engine.calls import Outcome, Provider, describe, is_retryable
from hermes_memory_core.engine.outbox import (
    LONGEST_WAIT_S,
    UNREADABLE,
    Item,
    Outbox,
    load_turn,
    load_write,
)
from hermes_memory_core.errors import HermesMemoryError, ProviderRejectedError
from hermes_memory_core.types import Health, HistoryStore, Notice

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 1.0
MAX_RETRY_S = LONGEST_WAIT_S
POISON_ATTEMPTS = 8
"""Failures with an error that does not say whether it can be retried, before the provider's health is asked:
a healthy provider that refuses one item that often will always refuse it."""
HOPELESS_ATTEMPTS = 50
"""The same for providers without a ``health`` hook."""
LANE_TURNS = 200
"""Items delivered of one lane before the others are looked at again."""
TICK_S = 0.5
"""Longest sleep while items wait: the clock may be injected, so due times are looked at again."""


class Delivery:
    """The worker.

    Args:
        outbox: The queue.
        provider: The active external provider.
        history: Where turns are read from; None when the sessions built-in is off.
        clock: Epoch seconds.
        timeout_s: Deadline of one delivery.
        health_timeout_s: Deadline of a health question.
        tell: Where dead letters are reported.
    """

    def __init__(
        self,
        outbox: Outbox,
        provider: Provider,
        history: Callable[[], HistoryStore | None],
        clock: Callable[[], float],
        *,
        timeout_s: float,
        health_timeout_s: float,
        tell: Callable[[Notice], None],
    ) -> None:
        self._outbox = outbox
        self._provider = provider
        self._history = history
        self._clock = clock
        self._timeout_s = timeout_s
        self._health_timeout_s = health_timeout_s
        self._tell = tell
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._wake = threading.Condition()
        self._signalled = False
        self._thread: threading.Thread | None = None
        self._closed = False
        self._progress = 0
        self._busy = False
        self._failing = False

    def nudge(self) -> None:
        """There is something to do (or to try again)."""
        if self._pid != os.getpid():
            self._reset()
        with self._wake:
            if self._closed:
                return
            self._signalled = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name=f"hermes-outbox-{self._provider.name}", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def force(self) -> None:
        """Let the next delivery through an open breaker."""
        if self._provider.breaker is not None:
            self._provider.breaker.force_probe()

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is pending for this provider; False when time ran out first."""
        deadline = time.monotonic() + timeout_s
        self.nudge()
        while self._outbox.counts(self._provider.name)["pending"]:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._wake:
                self._wake.wait(min(left, 0.05))
        return True

    def drain(self, timeout_s: float) -> bool:
        """Like flush, but gives up as soon as the provider fails or makes no progress for a second."""
        deadline = time.monotonic() + timeout_s
        self.nudge()
        seen, since = self._progress, time.monotonic()
        while self._outbox.counts(self._provider.name)["pending"]:
            now = time.monotonic()
            if self._progress != seen:
                seen, since = self._progress, now
            if now >= deadline or now - since > 1.0 or self._failing:
                return False
            with self._wake:
                self._wake.wait(0.02)
        return True

    def close(self) -> None:
        """Take on nothing more; a delivery under way is left to its lease."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(0.2 if self._busy else 1.0)

    def after_fork(self) -> None:
        """In a child: its thread is started by its first own item."""
        closed = self._closed
        self._reset()
        self._closed = closed

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                self._signalled = False
            try:
                worked = self._work_off()
                waiting = worked or self._outbox.counts(self._provider.name)["pending"] > 0
            except HermesMemoryError as error:  # the queue itself is locked or broken
                logger.warning("outbox of %s: %s", self._provider.name, error.message)
                waiting = True
            with self._wake:
                if self._closed:
                    return
                if not self._signalled:
                    self._wake.wait(TICK_S if waiting else 30.0)
                if not self._signalled and not waiting:
                    self._thread = None  # nothing to do for a while: the next nudge starts anew
                    return

    def _work_off(self) -> bool:
        """Deliver what may be delivered now; True when anything was."""
        worked = False
        lost = self._outbox.trim()
        if lost:
            self._tell(
                Notice(
                    "outbox_overflow",
                    f"The outbox was over its limits: the {lost} oldest items for "
                    f"`{self._provider.name}` were given up.",
                    hint="hermes memory status",
                    level="error",
                )
            )
        while not self._closed:
            if self._paused():
                return worked
            lane = self._outbox.lease(self._provider.name)
            if lane is None:
                return worked
            worked = self._empty(lane) or worked
        return worked

    def _paused(self) -> bool:
        breaker = self._provider.breaker
        return (
            breaker is not None
            and breaker.state.state != "closed"
            and self._clock() < breaker.state.until
        )

    def _empty(self, lane: str) -> bool:
        """Deliver a leased lane's items in order until it is empty, fails, or others should have a turn."""
        worked, more = False, True
        try:
            for _ in range(LANE_TURNS):
                item = None if self._closed else self._outbox.first(self._provider.name, lane)
                if item is None:
                    break
                self._busy = True
                try:
                    outcome = self._deliver(item)
                finally:
                    self._busy = False
                settled = self._settle(item, outcome)
                if settled == "waits":
                    more = False  # given back already, with the time of its next try
                    break
                worked = True
                self._progress += 1
                with self._wake:
                    self._wake.notify_all()
                more = settled == "more"
                if not more:
                    break
        finally:
            if more:
                self._outbox.release(self._provider.name, lane)
        return worked

    def _deliver(self, item: Item) -> Outcome | None:
        """Call the hook; None when there is nothing left to deliver."""
        if not self._provider.implements(item.hook):
            return None
        try:
            if item.broken:
                raise ValueError(item.broken)
            arguments = self._arguments(item)
        except (
            UNREADABLE
        ) as error:  # it will never be readable: a dead letter, and the lane goes on
            return Outcome(
                "failed",
                error=ProviderRejectedError(
                    f"the item as it is stored cannot be read ({describe(error)}).",
                    hint="hermes memory outbox list --dead",
                ),
            )
        if arguments is None:
            return None
        return self._provider.call(item.hook, self._timeout_s, **arguments)

    def _arguments(self, item: Item) -> dict[str, Any] | None:
        """What the hook is called with; None when the turn it names is gone."""
        arguments: dict[str, Any] = {"session": item.session}
        if item.hook == "sync_turn":
            turn = load_turn(item.payload) if item.payload else None
            history = self._history()
            if turn is None and item.ref is not None and history is not None:
                turn = history.read_turn(item.ref)
            if turn is None:
                return None
            arguments["turn"] = turn
        elif item.hook == "notes_written":
            arguments["write"] = load_write(item.payload)
        else:
            arguments.update(item.payload)
        return arguments

    def _settle(self, item: Item, outcome: Outcome | None) -> Literal["more", "empty", "waits"]:
        """Write down what became of it, and whether its lane has more, is empty, or has to wait."""
        if outcome is None:
            return "more" if self._outbox.vanished(item) else "empty"
        if outcome.ok:
            self._failing = False
            return "more" if self._outbox.delivered(item) else "empty"
        if outcome.state in ("open", "busy"):  # not tried: costs no attempt
            self._failing = True
            self._outbox.release(item.provider, item.lane, not_before=self._clock() + FIRST_RETRY_S)
            return "waits"
        reason = describe(outcome.error)
        if self._is_hopeless(item, outcome.error):
            more = self._outbox.bury(item, reason)
            self._tell(
                Notice(
                    "outbox_dead",
                    f"`{item.provider}` will not take one item ({item.hook}): {reason} "
                    "It is kept among the dead letters; the rest goes on.",
                    hint="hermes memory outbox list --dead",
                    key=f"outbox_dead:{item.provider}",
                )
            )
            return "more" if more else "empty"
        self._failing = True
        self._outbox.failed(item, reason, self._clock() + retry_delay(item.attempts))
        return "waits"

    def _is_hopeless(self, item: Item, error: BaseException | None) -> bool:
        retryable = is_retryable(error)
        if retryable is not None:
            return not retryable
        if item.attempts + 1 < POISON_ATTEMPTS:
            return False
        health = self._provider.call("health", self._health_timeout_s, probe=True)
        if health.state == "absent":
            return item.attempts + 1 >= HOPELESS_ATTEMPTS
        return health.ok and isinstance(health.value, Health) and health.value.ok


def retry_delay(attempts: int) -> float:
    """Seconds until the next try: doubling from 1 s to 15 min, each between half and full length."""
    length = min(MAX_RETRY_S, FIRST_RETRY_S * float(2 ** min(attempts, 12)))
    return length * random.uniform(0.5, 1.0)
