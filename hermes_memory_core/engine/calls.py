"""The guard: every hook of every provider is called through here, and comes back as an ``Outcome``.

One provider at a time, timed, isolated, counted. Built-ins run on the caller's thread; external providers on
daemon threads with a deadline. Nothing here knows what a hook means.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hermes_memory_core.engine.answers import checked
from hermes_memory_core.engine.breaker import Breaker
from hermes_memory_core.engine.pool import Job, Pool
from hermes_memory_core.errors import (
    HermesMemoryError,
    ProviderAuthError,
    ProviderBusyError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderTimeoutError,
)
from hermes_memory_core.plugins.describe import describe as describe
from hermes_memory_core.plugins.describe import hint_of as hint_of
from hermes_memory_core.plugins.load import GUARDED, Loaded

if TYPE_CHECKING:
    from pluggy import PluginManager

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 4
"""Calls in flight per external provider; one more is "busy" (design.md section 6)."""
BACKGROUND_S = 30.0
"""Deadline of what is called without waiting: ``start_session``, ``queue_prefetch``."""
LATENCIES_KEPT = 128

OutcomeState = Literal["ok", "failed", "timeout", "busy", "open", "absent"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call. ``ok`` with value None is "nothing"; everything else is not an answer."""

    state: OutcomeState
    value: Any = None
    error: BaseException | None = None
    elapsed_ms: float = 0.0

    @property
    def ok(self) -> bool:
        """True when the hook returned."""
        return self.state == "ok"


ABSENT = Outcome("absent")


@dataclass(slots=True)
class HookFigures:
    """Counts of one hook, as ``status`` shows them."""

    calls: int = 0
    failures: int = 0
    last_success_at: float | None = None
    last_error_at: float | None = None
    last_error: str = ""
    last_hint: str = ""
    latencies_ms: deque[float] = field(default_factory=lambda: deque(maxlen=LATENCIES_KEPT))


class Provider:
    """A loaded provider together with its guard.

    Args:
        loaded: From ``plugins.load``.
        manager: The open Memory's plugin manager; the instance gets registered there.
        clock: Epoch seconds.
        breaker: Given for external providers.
        on_change: Told when the breaker opens or closes: ``(provider, opened)``.
    """

    def __init__(
        self,
        loaded: Loaded,
        manager: PluginManager,
        clock: Callable[[], float],
        *,
        breaker: Breaker | None = None,
        on_change: Callable[[Provider, bool], None] | None = None,
    ) -> None:
        self.name = loaded.name
        self.distribution = loaded.distribution
        self.version = loaded.version
        self.built_in = loaded.built_in
        self.instance = loaded.instance
        self.hooks = loaded.hooks
        self.figures: dict[str, HookFigures] = {}
        self.breaker = breaker
        self._clock = clock
        self._on_change = on_change
        self._lock = threading.Lock()
        self._streak: set[str] = set()
        self._casts: dict[Job, tuple[str, float]] = {}
        manager.register(loaded.instance, loaded.name)
        self._manager = manager
        self._callers: dict[str, Callable[..., Any]] = {}
        threads = 1 if loaded.single_thread else MAX_IN_FLIGHT
        self._pool = (
            None if loaded.built_in else Pool(loaded.name, threads=threads, limit=MAX_IN_FLIGHT)
        )

    def implements(self, hook: str) -> bool:
        """True when the provider has an implementation of the hook."""
        return hook in self.hooks

    def peers_changed(self) -> None:
        """Another provider was registered: pluggy's subset callers name the ones to leave out."""
        self._callers.clear()

    def call(
        self, hook: str, timeout_s: float, *, probe: bool = False, **arguments: Any
    ) -> Outcome:
        """Call and wait at most ``timeout_s``.

        Args:
            hook: Name of the hook.
            timeout_s: Deadline for external providers; built-ins run to their end.
            probe: Go through an open breaker (health checks, a person's explicit request).
            **arguments: Handed to the hook by name.
        """
        if hook not in self.hooks:
            return ABSENT
        if self._pool is None:
            return self._inline(hook, arguments)
        started = self.start(hook, probe=probe, **arguments)
        return started if isinstance(started, Outcome) else self.finish(hook, started, timeout_s)

    def start(
        self,
        hook: str,
        *,
        probe: bool = False,
        late: Callable[[Job], None] | None = None,
        **arguments: Any,
    ) -> Job | Outcome:
        """Begin a call of an external provider; an Outcome when it could not even begin."""
        if hook not in self.hooks:
            return ABSENT
        if self._pool is None:
            return self._inline(hook, arguments)
        if self.breaker is not None and not probe and not self.breaker.allow(self._clock()):
            reason = self.breaker.state.reason
            return Outcome(
                "open",
                error=ProviderBusyError(
                    f"`{self.name}` is paused after repeated failures ({reason}).",
                    hint="hermes memory status --check",
                ),
            )
        caller = self._caller(hook)
        job = self._pool.submit(lambda: checked(hook, _one(caller(**arguments))), late)
        if job is None:
            error = ProviderBusyError(
                f"`{self.name}` has {self._pool.in_flight} calls in flight and takes no more.",
                hint="hermes memory status",
            )
            self._count(hook, 0.0, error)
            return Outcome("busy", error=error)
        return job

    def finish(self, hook: str, job: Job, timeout_s: float) -> Outcome:
        """Wait for a started call; after the deadline it is left behind."""
        if not job.wait(timeout_s) and self._pool is not None and self._pool.abandon(job):
            error = ProviderTimeoutError(
                f"`{self.name}` did not answer `{hook}` within {timeout_s:.1f} s.",
                hint="hermes memory status --check",
            )
            self._count(hook, job.elapsed_ms, error)
            return Outcome("timeout", error=error, elapsed_ms=job.elapsed_ms)
        job.wait(1.0)  # a job that ended while being abandoned
        if job.error is not None:
            self._count(hook, job.elapsed_ms, job.error)
            return Outcome("failed", error=job.error, elapsed_ms=job.elapsed_ms)
        self._count(hook, job.elapsed_ms, None)
        return Outcome("ok", job.value, elapsed_ms=job.elapsed_ms)

    def cast(self, hook: str, **arguments: Any) -> bool:
        """Call without waiting for the answer; False when it could not begin. Counted when it ends, or is overdue."""
        self.count_overdue()

        def count(job: Job) -> None:
            with self._lock:
                told = self._casts.pop(job, None) is None
            if not told:
                self._count(hook, job.elapsed_ms, job.error)

        job = self.start(hook, late=count, **arguments)
        if isinstance(job, Outcome):
            return job.ok
        with self._lock:
            self._casts[job] = (hook, time.monotonic() + BACKGROUND_S)
        if self._pool is not None and not self._pool.abandon(job):
            count(job)  # it had ended before we let go of it
        return True

    def count_overdue(self) -> None:
        """Count what was cast and has not come back within its deadline; nobody waits for it to be told so."""
        now = time.monotonic()
        with self._lock:
            overdue = [(job, hook) for job, (hook, until) in self._casts.items() if until <= now]
            for job, _ in overdue:
                del self._casts[job]
        for job, hook in overdue:
            error = ProviderTimeoutError(
                f"`{self.name}` did not come back from `{hook}` within {BACKGROUND_S:.0f} s.",
                hint="hermes memory status --check",
            )
            self._count(hook, job.elapsed_ms, error)

    def close(self, timeout_s: float) -> None:
        """Call the ``close`` hook within its deadline and let the threads go."""
        self.call("close", timeout_s, probe=True)
        if self._pool is not None:
            self._pool.close()

    # ------------------------------------------------------------ inside

    def _caller(self, hook: str) -> Callable[..., Any]:
        found = self._callers.get(hook)
        if found is None:
            others = [
                plugin for plugin in self._manager.get_plugins() if plugin is not self.instance
            ]
            found = self._callers[hook] = self._manager.subset_hook_caller(hook, others)
        return found

    def _inline(self, hook: str, arguments: dict[str, Any]) -> Outcome:
        caller = self._caller(hook)
        started = time.perf_counter()
        try:
            value = checked(hook, _one(caller(**arguments)))
        except GUARDED as error:
            elapsed = (time.perf_counter() - started) * 1000
            self._count(hook, elapsed, error)
            return Outcome("failed", error=error, elapsed_ms=elapsed)
        elapsed = (time.perf_counter() - started) * 1000
        self._count(hook, elapsed, None)
        return Outcome("ok", value, elapsed_ms=elapsed)

    def _count(self, hook: str, elapsed_ms: float, error: BaseException | None) -> None:
        now = self._clock()
        with self._lock:
            figures = self.figures.setdefault(hook, HookFigures())
            figures.calls += 1
            figures.latencies_ms.append(elapsed_ms)
            if error is None:
                figures.last_success_at = now
                self._streak.discard(hook)
            else:
                figures.failures += 1
                figures.last_error_at = now
                figures.last_error = describe(error)
                figures.last_hint = hint_of(error)
                first = hook not in self._streak
                self._streak.add(hook)
        if error is not None and first:
            self._log(hook, error)
        if self.breaker is None:
            return
        changed = self._feed_breaker(self.breaker, now, error)
        if changed is not None and self._on_change is not None:
            self._on_change(self, changed)

    def _feed_breaker(
        self, breaker: Breaker, now: float, error: BaseException | None
    ) -> bool | None:
        """True when it opened, False when it closed again, None when nothing changed."""
        if error is None or isinstance(error, ProviderRejectedError):
            # a rejection is an answer: the service is there
            return False if breaker.success() else None
        if isinstance(error, ProviderBusyError):
            return None
        pause: float | None = None
        if isinstance(error, ProviderAuthError):
            pause = float("inf")
        elif isinstance(error, ProviderRateLimitError):
            pause = _seconds(getattr(error, "details", {}).get("retry_after_s"))
        return True if breaker.failure(now, describe(error), pause_s=pause) else None

    def _log(self, hook: str, error: BaseException) -> None:
        expected = isinstance(error, HermesMemoryError)
        logger.warning(
            "provider %s: %s failed: %s",
            self.name,
            hook,
            describe(error),
            exc_info=None if expected else error,
        )


def is_retryable(error: BaseException | None) -> bool | None:
    """Can trying again help? None when the error does not say (a plain exception of a provider)."""
    if isinstance(error, HermesMemoryError):
        retryable = getattr(error, "retryable", None)
        return retryable if isinstance(retryable, bool) else None
    if isinstance(error, OSError):  # refused, reset, unreachable, timed out
        return True
    return None


def _one(results: Any) -> Any:
    """Pluggy answers a list without the Nones; of one provider that is nothing or one thing."""
    return results[0] if results else None


def _seconds(value: Any) -> float:
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return 30.0
