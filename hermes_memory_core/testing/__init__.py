"""For provider authors: prove that a provider keeps every hook's promise.

    from hermes_memory_core.testing import ProviderConformance        # the checks, as pytest tests
    from hermes_memory_core.testing import run                        # the same checks as a report

Everything is imported on first use; pytest only by ``ProviderConformance`` and ``pytest_plugin``. Nothing in
the framework imports this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_memory_core.testing.backend import Backend
    from hermes_memory_core.testing.checks.registry import Check, CheckFailed, Skip, check
    from hermes_memory_core.testing.conformance import ProviderConformance
    from hermes_memory_core.testing.doubles import FakeClock, FakeLLM, RecordingProvider
    from hermes_memory_core.testing.fake_memory import FakeMemory
    from hermes_memory_core.testing.harness import Harness
    from hermes_memory_core.testing.loopback import LoopbackServer, Reply, Request
    from hermes_memory_core.testing.report import Report, run
    from hermes_memory_core.testing.subject import Subject

__all__ = [
    "Backend",
    "Check",
    "CheckFailed",
    "FakeClock",
    "FakeLLM",
    "FakeMemory",
    "Harness",
    "LoopbackServer",
    "ProviderConformance",
    "RecordingProvider",
    "Reply",
    "Report",
    "Request",
    "Skip",
    "Subject",
    "check",
    "run",
]

_HOMES = {
    "Backend": "backend",
    "Check": "checks.registry",
    "CheckFailed": "checks.registry",
    "FakeClock": "doubles",
    "FakeLLM": "doubles",
    "FakeMemory": "fake_memory",
    "Harness": "harness",
    "LoopbackServer": "loopback",
    "ProviderConformance": "conformance",
    "RecordingProvider": "doubles",
    "Reply": "loopback",
    "Report": "report",
    "Request": "loopback",
    "Skip": "checks.registry",
    "Subject": "subject",
    "check": "checks.registry",
    "run": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
