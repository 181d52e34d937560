"""How a provider fares, and memories on their way in, out, or gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_core.types.scope import PROFILE_SCOPE, Scope

FORGET_LAYERS = (
    "notes",
    "history",
    "skills",
    "external",
    "outbox",
    "prompts",
    "pending",
    "spills",
    "logs",
)
"""Where ``Memory.forget`` can look. ``prompts`` are frozen prompts, recall that came late, and notices."""


@dataclass(frozen=True, slots=True)
class Health:
    """Answer of ``health()``: a real round trip, not a guess."""

    ok: bool
    message: str = ""
    """What is wrong, or what was reached, in one sentence."""
    hint: str = ""
    """The next command to type."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts such as ``accepted``, ``derived``, ``pending``, ``degraded`` capabilities."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory on its way out of or into a provider: a line of the open export format."""

    id: str
    kind: str
    """``note``, ``turn``, ``fact``, ``conclusion``, ``profile``, ``skill`` …"""
    content: str
    created_at: float | None = None
    scope: Scope = PROFILE_SCOPE
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What ``import_memories`` did, by number of records."""

    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    failed: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why records were skipped or failed: reason → how many."""


@dataclass(frozen=True, slots=True)
class ForgetReceipt:
    """What ``forget`` found and removed in one place."""

    place: str
    """``notes``, ``history``, ``outbox``, ``spills``, a provider's name …"""
    matched: int
    removed: int = 0
    previews: tuple[str, ...] = ()
    reason: str = ""
    """Why something could not be removed; "" when everything was."""
