"""Daemon threads for the hooks of one provider: few, started late, gone when idle, never joined at exit.

``concurrent.futures`` joins its threads when the interpreter exits, so one hung provider would hold the
whole program; that is why this is not a ThreadPoolExecutor.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

IDLE_S = 20.0
"""An idle thread ends after this many seconds."""


class Job:
    """One call on its way: wait for it, or leave it behind."""

    __slots__ = ("_done", "abandoned", "ended", "error", "late", "run", "started", "value")

    def __init__(self, run: Callable[[], Any], late: Callable[[Job], None] | None) -> None:
        self.run = run
        self.late = late
        """Called on the pool's thread when the answer came after the caller had left."""
        self.value: Any = None
        self.error: BaseException | None = None
        self.started = time.monotonic()
        self.ended: float | None = None
        self.abandoned = False
        self._done = threading.Event()

    def wait(self, seconds: float) -> bool:
        """True when it ended within ``seconds``."""
        return self._done.wait(max(0.0, seconds))

    def finish(self) -> None:
        """Mark the end; used by the pool."""
        self.ended = time.monotonic()
        self._done.set()

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds from submission to the end, or to now."""
        return ((self.ended or time.monotonic()) - self.started) * 1000


class Pool:
    """At most ``threads`` daemon threads; at most ``limit`` jobs in flight, hung ones included."""

    def __init__(self, name: str, *, threads: int = 4, limit: int = 4) -> None:
        self.name = name
        self._threads = threads
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._jobs: deque[Job] = deque()
        self._alive = 0
        self._idle = 0
        self._in_flight = 0
        self._closed = False

    def submit(
        self, run: Callable[[], Any], late: Callable[[Job], None] | None = None
    ) -> Job | None:
        """Hand over a call; None when too many are in flight already, or the pool is closed."""
        if self._pid != os.getpid():  # after a fork no thread of the parent exists here
            self._reset()
        job = Job(run, late)
        with self._lock:
            if self._closed or self._in_flight >= self._limit:
                return None
            self._in_flight += 1
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._ready.notify()
            elif self._alive < self._threads:
                self._alive += 1
                thread = threading.Thread(
                    target=self._work, name=f"hermes-{self.name}", daemon=True
                )
                thread.start()
            else:
                self._ready.notify()
        return job

    @property
    def in_flight(self) -> int:
        """Calls submitted and not ended, abandoned ones included."""
        return self._in_flight

    def close(self) -> None:
        """Take no more; idle threads end at once, busy ones when their call does."""
        with self._lock:
            self._closed = True
            self._ready.notify_all()

    def _work(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            try:
                job.value = job.run()
            except BaseException as error:  # noqa: BLE001 - SystemExit and worse from a plugin end here
                job.error = error
            with self._lock:
                self._in_flight -= 1
                job.finish()
                abandoned = job.abandoned
            if abandoned and job.late is not None:
                try:
                    job.late(job)
                except Exception:
                    # what is done with a late answer must not cost the pool its thread
                    logger.exception("a late answer of %s could not be kept", self.name)

    def _next(self) -> Job | None:
        with self._lock:
            while not self._jobs:
                if self._closed:
                    self._alive -= 1
                    return None
                self._idle += 1
                woken = self._ready.wait(IDLE_S)
                self._idle -= 1
                if not woken and not self._jobs:
                    self._alive -= 1
                    return None
            return self._jobs.popleft()

    def abandon(self, job: Job) -> bool:
        """Stop waiting for a job; False when it had just ended after all."""
        with self._lock:
            if job.ended is not None:
                return False
            job.abandoned = True
            return True
