"""What history keeps and finds: sessions, messages, hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One stored session with its counts."""

    id: str
    source: str = "cli"
    title: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    parent_id: str | None = None
    lineage: str = ""
    agent_context: str = "primary"
    scope_key: str = "profile"
    started_at: float = 0.0
    last_active: float = 0.0
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int = 0
    turn_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    archived: bool = False
    pinned: bool = False
    preview: str = ""
    """First user message, one line, at most 60 code points."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message as history keeps it."""

    id: int
    session_id: str
    role: str
    content: str
    timestamp: float
    name: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    turn: int = 0
    """Number of the turn it belongs to; 0 for messages appended outside a turn."""
    state: Literal["live", "undone", "compacted"] = "live"


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that history search found."""

    message_id: int
    session_id: str
    role: str
    name: str | None
    timestamp: float
    content: str
    snippet: str
    """Part of the content around the evidence, terms marked ``>>>`` … ``<<<``."""
    score: float
    why: str
    """Why it was found, in one short field: terms, neighbour, speaker, date."""


SessionSort = Literal["relevance", "newest", "oldest"]
