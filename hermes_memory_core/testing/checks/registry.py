"""What a check is, and the list of all of them. No check stands here, and no pytest.

A check is a plain function that takes a ``Harness``. It returns None or a remark for the report, and raises
``CheckFailed`` (with how to mend it) or ``Skip`` (with why it says nothing about this provider).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_memory_core.testing.harness import Harness

CheckFunction = Callable[["Harness"], "str | None"]

MODULES = (
    "construct",
    "prompt",
    "tools",
    "tool_calls",
    "recall",
    "apart",
    "turns",
    "texts",
    "sessions",
    "notes",
    "moving",
    "forgetting",
    "care",
    "manners",
    "secrets",
    "backend_faults",
    "whole",
)
"""Modules of this package that hold checks, in the order in which a report shows them."""


class CheckFailed(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """A promise is broken.

    Args:
        message: What was seen, and what was promised.
        mend: How to mend it.
    """

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message}\n→ {self.mend}" if self.mend else self.message


class Skip(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The check says nothing about this provider.

    Args:
        reason: Why, in a few words.
        wanting: True when it could be run, were something given (configuration, a backend), so that a report
            can say what is missing.
    """

    def __init__(self, reason: str, *, wanting: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wanting = wanting


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, ready to be run."""

    id: str
    """Name of its function; ``test_<id>`` in the conformance class."""
    title: str
    """The promise as one sentence without a full stop."""
    hooks: tuple[str, ...]
    """Hooks a provider must implement for the check to say anything."""
    function: CheckFunction

    def run(self, harness: Harness) -> str | None:
        """Run it on one provider; a remark or None.

        Raises:
            CheckFailed: The promise is broken.
            Skip: The check says nothing about this provider.
        """
        for hook in self.hooks:
            if hook not in harness.hooks:
                raise Skip(f"the provider has no `{hook}`")
        return self.function(harness)


_checks: dict[str, Check] = {}


def check(title: str, *, hooks: tuple[str, ...] = ()) -> Callable[[CheckFunction], CheckFunction]:
    """Put the function below on the list.

    Args:
        title: The promise, one sentence.
        hooks: Skipped when the provider lacks one of them.
    """

    def register(function: CheckFunction) -> CheckFunction:
        name = function.__name__
        if name in _checks and _checks[name].function is not function:
            raise ValueError(f"two checks are called {name}")
        _checks[name] = Check(name, title, hooks, function)
        return function

    return register


def all_checks() -> tuple[Check, ...]:
    """Every check, in the order of ``MODULES``."""
    for module in MODULES:
        importlib.import_module(f"hermes_memory_core.testing.checks.{module}")
    return tuple(_checks.values())
