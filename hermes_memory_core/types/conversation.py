"""A conversation as it passes through hooks: session, turn, messages, recall, tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_memory_core.types.scope import (
    MODEL,
    PROFILE_SCOPE,
    AgentContext,
    Origin,
    Scope,
)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One conversation as providers see it: a value, rebuilt from stored data wherever it is needed."""

    id: str
    lineage: str
    """Id of the first session of the chain of compressions; one outbox lane per lineage."""
    profile: str = "default"
    source: str = "cli"
    title: str | None = None
    """As the session began with, or as a person named it since. One that is made automatically later is not shown
    to a provider before the session's next start: what names anything by the title must not move under it."""
    user_id: str | None = None
    chat_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    parent_id: str | None = None
    agent_context: AgentContext = "primary"
    scope: Scope = PROFILE_SCOPE
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a turn. ``content`` is plain text: images and files are shown as ``[1 image]``."""

    role: str
    """``user``, ``assistant``, ``tool`` or ``system``."""
    content: str
    name: str | None = None
    """Who speaks, where more than one person can."""
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """OpenAI tool calls of an assistant message, as given."""
    timestamp: float | None = None
    id: int | None = None
    """The history store's message id, once stored."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message, the assistant's reply, and the tool calls between them.

    Recall fences are already stripped and credentials masked: what a provider gets is what every store holds.
    """

    id: str
    """Idempotency key: the same turn delivered twice carries the same id."""
    session_id: str
    number: int
    """1 for the first turn of the session."""
    user: str
    assistant: str
    messages: tuple[Message, ...] = ()
    """Everything in order, the user message first and the final reply last."""
    at: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class TurnRef:
    """Where a committed turn stands: the outbox keeps this instead of a second copy of the text."""

    session_id: str
    turn_id: str
    offset: int
    """Byte offset of the turn's line in ``sessions/<id>.jsonl``; a hint, the turn id decides."""
    message_ids: tuple[int, ...] = ()
    """Ids of ``Turn.messages``, in order."""
    end: int = 0
    """Byte offset just past the line."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What ``prefetch`` found. A plain string is the same as ``Recall(text)``."""

    text: str
    source: str = ""
    """A few words for the person: "profile", "3 past turns" …"""
    found_at: float | None = None
    """When it was found, if not just now (queued or late recall)."""


RecallState = Literal["fresh", "late", "empty", "timeout", "failed", "busy", "skipped"]


@dataclass(frozen=True, slots=True)
class RecallReport:
    """What became of one provider's recall for one turn: ``turn.recalls`` is a list of these."""

    provider: str
    state: RecallState
    text: str = ""
    source: str = ""
    chars: int = 0
    """Code points the provider returned, before de-duplication and spilling."""
    elapsed_ms: float = 0.0
    age_s: float = 0.0
    """How old the recall is; 0 when it was found for this turn."""
    spilled_to: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    """JSON Schema of an object; no ``oneOf``/``anyOf`` at the top, some backends refuse them."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers: one JSON object. A plain dict is the same as ``ToolResult(dict)``."""

    data: Mapping[str, Any]
    ok: bool = True


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Circumstances of one tool call."""

    deadline: float
    """``time.monotonic()`` value after which the answer is thrown away."""
    turn_id: str | None = None
    call_id: str | None = None
    origin: Origin = MODEL
