"""One constructed provider under test: its hooks are called here as the core calls them, by name and with a deadline."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any

from hermes_memory_core.engine.pool import Pool
from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from hermes_memory_core.hookspecs import HOOK_NAMES, PROJECT
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip
from hermes_memory_core.types import (
    CallInfo,
    Notice,
    Origin,
    ProviderContext,
    SessionInfo,
    ToolSpec,
)

SECONDS: Mapping[str, float] = {
    "prefetch": 5.0,
    "system_block": 2.0,
    "tools": 2.0,
    "call_tool": 60.0,
    "before_compression": 5.0,
    "health": 10.0,
    "stores": 5.0,
    "close": 5.0,
}
"""Deadlines of design.md section 6; 30 s for every hook that is not named."""

UNREACHABLE = (
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
"""What a provider raises when there is nothing behind it: outside of strict runs no verdict on its code."""


@dataclass
class Witness:
    """What the provider said to the log and to the person while it was under test."""

    records: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one call: a value, or what was raised."""

    value: Any = None
    error: BaseException | None = None
    elapsed_s: float = 0.0


class Subject:
    """A live instance.

    Args:
        instance: The provider.
        context: What it was constructed with.
        witness: Where its log lines and notices are collected.
        strict: Whether an unreachable backend is a failure.
    """

    def __init__(
        self, instance: Any, context: ProviderContext, witness: Witness, *, strict: bool = True
    ) -> None:
        self.instance = instance
        self.context = context
        self.witness = witness
        self._strict = strict
        self._hooks = implementations(instance)
        single = bool(getattr(type(instance), "single_thread", False))
        self._pool = Pool(f"check-{context.name}", threads=1 if single else 8, limit=64)
        self.closed = False

    @property
    def hooks(self) -> frozenset[str]:
        """Names of the implemented hooks."""
        return frozenset(self._hooks)

    def attempt(self, hook: str, *, timeout_s: float | None = None, **arguments: Any) -> Answer:
        """Call a hook on a daemon thread; what it raised is part of the answer.

        Raises:
            Skip: It is not implemented.
            CheckFailed: It did not come back in time.
        """
        if hook not in self._hooks:
            raise Skip(f"the provider has no `{hook}`")
        seconds = timeout_s if timeout_s is not None else SECONDS.get(hook, 30.0)
        chosen = self._chosen(hook, seconds, arguments)
        method = self._hooks[hook]
        began = time.monotonic()
        job = self._pool.submit(lambda: _unrolled(method(**chosen)))
        if job is None:
            raise CheckFailed(
                f"64 calls of `{hook}` hang.",
                "honour the deadline of each hook; give HTTP calls a timeout",
            )
        if not job.wait(seconds + 0.5):
            self._pool.abandon(job)
            raise CheckFailed(
                f"`{hook}` did not come back within {seconds:.1f} s.",
                f"`{hook}` has {seconds:.0f} s; give every call to a service a shorter timeout",
            )
        return Answer(job.value, job.error, time.monotonic() - began)

    def call(self, hook: str, *, timeout_s: float | None = None, **arguments: Any) -> Any:
        """Call a hook that has to work; its value.

        Arguments that are left out are filled in (a session, turn number 1, a deadline).

        Raises:
            Skip: It is not implemented, or (unless strict) there is nothing behind the provider.
            CheckFailed: It raised, or did not come back in time.
        """
        answer = self.attempt(hook, timeout_s=timeout_s, **arguments)
        if answer.error is None:
            return answer.value
        raise self.verdict(hook, answer.error) from answer.error

    def verdict(self, hook: str, error: BaseException) -> Skip | CheckFailed:
        """What an error of a hook that has to work means for the check."""
        if isinstance(error, UNREACHABLE) and not self._strict:
            return Skip(f"nothing answers behind the provider ({error.message})", wanting=True)
        if isinstance(error, ProviderError):
            return CheckFailed(
                f"`{hook}` raised {type(error).__name__}: {error.message}", error.hint
            )
        return CheckFailed(
            f"`{hook}` raised {type(error).__name__}: {error}",
            "handle this input; for what the service cannot do raise a `ProviderError`",
        )

    def tools(self, session: SessionInfo | None = None) -> list[ToolSpec]:
        """Its tools.

        Raises:
            Skip: There are none.
        """
        found = list(self.call("tools", session=session or inputs.session_info()) or ())
        if not found:
            raise Skip("the provider offers no tools")
        return found

    def close(self) -> None:
        """Call ``close`` once, where there is one."""
        if not self.closed:
            self.closed = True
            if "close" in self._hooks:
                self.attempt("close")
            self._pool.close()

    def _chosen(self, hook: str, seconds: float, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments this implementation takes, those left out filled in."""
        deadline = time.monotonic() + seconds
        defaults: dict[str, Any] = {
            "turn_number": 1,
            "deadline": deadline,
            "previous": None,
            "reason": "new" if hook == "start_session" else "exit",
            "query": "",
            "name": "",
            "arguments": {},
            "messages": (),
            "call": CallInfo(deadline, turn_id="t1", call_id="c1", origin=Origin(who="model")),
            "scope": None,
            "dry_run": True,
            "child": None,
        }
        chosen = {}
        for name in inspect.signature(self._hooks[hook]).parameters:
            if name in given:
                chosen[name] = given[name]
            elif name == "session":
                chosen[name] = inputs.session_info(profile=self.context.profile)
            elif name in defaults:
                chosen[name] = defaults[name]
        return chosen


def implementations(provider: Any) -> dict[str, Callable[..., Any]]:
    """Hook name → what implements it; of an instance bound methods, of a class plain functions."""
    kind = provider if inspect.isclass(provider) else type(provider)
    found: dict[str, Callable[..., Any]] = {}
    for attribute in dir(kind):
        if attribute.startswith("__"):
            continue
        static = inspect.getattr_static(kind, attribute)
        function = static.__func__ if isinstance(static, staticmethod | classmethod) else static
        options = getattr(function, f"{PROJECT}_impl", None)
        if options is None:
            continue
        hook = options.get("specname") or attribute
        if hook in HOOK_NAMES:
            found[hook] = getattr(provider, attribute)
    return found


class LogTrap(logging.Handler):
    """Collects every line that is logged while it is set up, formatted, with tracebacks."""

    def __init__(self, into: list[str]) -> None:
        super().__init__(level=0)
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self._into.append(self.format(record))


def _unrolled(value: Any) -> Any:
    """A generator's items as a list, so that its body runs inside the guard."""
    return list(value) if isinstance(value, GeneratorType | Iterator) else value
