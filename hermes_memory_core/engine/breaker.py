"""The breaker of one provider: stops asking what keeps failing, tries again with one probe.

Closed → (``failures`` in a row) → open for ``open_s``, doubling to ``max_open_s`` → one probe → closed or
open again (design.md section 6). Pure state: no clock of its own, no I/O.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class BreakerState:
    """What is stored and shown."""

    state: Literal["closed", "open", "probing"] = "closed"
    failures: int = 0
    """Failures in a row."""
    opened_at: float | None = None
    """When the present outage began."""
    until: float = 0.0
    """No call before this time, while open."""
    open_s: float = 0.0
    """Length of the present pause."""
    reason: str = ""


class Breaker:
    """Thread-safe breaker.

    Args:
        failures: Consecutive failures that open it.
        open_s: First pause.
        max_open_s: Longest pause.
        state: Where an earlier process left it.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        open_s: float = 60.0,
        max_open_s: float = 900.0,
        state: BreakerState | None = None,
    ) -> None:
        self._limit = failures
        self._open_s = open_s
        self._max_open_s = max_open_s
        self._lock = threading.Lock()
        self._state = state or BreakerState()

    @property
    def state(self) -> BreakerState:
        """A snapshot."""
        return self._state

    def allow(self, now: float) -> bool:
        """May a call be made? After the pause exactly one caller gets a yes: the probe."""
        with self._lock:
            if self._state.state == "closed":
                return True
            if now < self._state.until:
                return False
            # the probe holds the next one back for a while; if it never reports, another may try
            self._state = replace(self._state, state="probing", until=now + self._open_s)
            return True

    def success(self) -> bool:
        """A call worked; True when this ended an outage."""
        with self._lock:
            recovered = self._state.state != "closed"
            if recovered or self._state.failures:
                self._state = BreakerState()
            return recovered

    def failure(self, now: float, reason: str, *, pause_s: float | None = None) -> bool:
        """A call failed; True when this opened the breaker.

        Args:
            now: Epoch seconds.
            reason: Shown in ``status``.
            pause_s: Open at once for this long (rate limit, refused key), capped at ``max_open_s``.
        """
        with self._lock:
            before = self._state
            failures = before.failures + 1
            if before.state == "closed" and failures < self._limit and pause_s is None:
                self._state = replace(before, failures=failures, reason=reason)
                return False
            if before.state == "open" and pause_s is None:
                self._state = replace(before, failures=failures, reason=reason)
                return False
            length = self._open_s if before.state == "closed" else before.open_s * 2
            if pause_s is not None:
                length = max(pause_s, 1.0)
            length = min(length, self._max_open_s)
            self._state = BreakerState(
                state="open",
                failures=failures,
                opened_at=before.opened_at if before.opened_at is not None else now,
                until=now + length,
                open_s=length,
                reason=reason,
            )
            return before.state == "closed"

    def force_probe(self) -> None:
        """Let the next call through (a person asked for it)."""
        with self._lock:
            if self._state.state != "closed":
                self._state = replace(self._state, until=0.0)
