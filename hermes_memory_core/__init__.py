"""Lasting memory for any Python agent.

    from hermes_memory_core import Memory, hookimpl

The names below are the public API (design.md section 10); ``types``, ``errors``, ``hookspecs``, ``storage``,
``safety`` and ``testing`` are public modules for provider authors. Everything is imported on first use, so that
``import hermes_memory_core`` costs next to nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_memory_core.aio import AsyncMemory, AsyncSession
    from hermes_memory_core.engine.fence import FenceScrubber
    from hermes_memory_core.hookspecs import hookimpl
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.session import Receipt, Session, TurnContext
    from hermes_memory_core.version import VERSION as __version__  # noqa: N811

__all__ = [
    "AsyncMemory",
    "AsyncSession",
    "FenceScrubber",
    "Memory",
    "Receipt",
    "Session",
    "TurnContext",
    "__version__",
    "hookimpl",
]

_HOMES = {
    "AsyncMemory": ("aio", "AsyncMemory"),
    "AsyncSession": ("aio", "AsyncSession"),
    "FenceScrubber": ("engine.fence", "FenceScrubber"),
    "Memory": ("memory", "Memory"),
    "Receipt": ("session", "Receipt"),
    "Session": ("session", "Session"),
    "TurnContext": ("session", "TurnContext"),
    "__version__": ("version", "VERSION"),
    "hookimpl": ("hookspecs", "hookimpl"),
}

# a library does not decide where its log lines go
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
