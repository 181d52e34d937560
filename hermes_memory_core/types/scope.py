"""Whose memory, and who asks for a change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Target = Literal["memory", "user"]
"""``memory`` is MEMORY.md (the agent's notes), ``user`` is USER.md (who the user is)."""

ScopeKind = Literal["profile", "user", "chat", "project"]
StartReason = Literal["new", "reset", "resume", "branch", "compression", "rewind"]
EndReason = Literal[
    "exit", "new", "reset", "resume", "branch", "compression", "rewind", "idle", "crash"
]
AgentContext = Literal["primary", "subagent", "cron", "flush", "review"]
Severity = Literal["block", "review", "warn"]
Isolation = Literal["profile", "user", "chat"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: the whole profile, one user, or one chat (``project`` is reserved)."""

    kind: ScopeKind = "profile"
    id: str | None = None
    """The user's or chat's id as the host knows it; None is the anonymous scope of that kind."""

    @property
    def digest(self) -> str:
        """First 16 hex digits of the id's SHA-256: safe in a path, the same on every machine."""
        return hashlib.sha256((self.id or "").encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def key(self) -> str:
        """``profile``, ``user/<digest>``, ``chat/<digest>`` or ``user/anonymous``: one string per scope."""
        if self.kind == "profile":
            return "profile"
        return f"{self.kind}/{self.digest if self.id else 'anonymous'}"


PROFILE_SCOPE = Scope()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks for a change, and why: kept with every change of a note."""

    who: str = "person"
    """``person`` (CLI, slash command), ``model`` (a tool call), ``review``, ``import``, ``provider``, ``host``."""
    attended: bool = True
    """False when nobody watches (review, cron, sub-agent): replace and remove then become proposals."""
    session_id: str | None = None
    turn_id: str | None = None
    why: str = ""


PERSON = Origin()
"""A person at the command line or in a chat."""
MODEL = Origin(who="model")
"""A tool call of the model, with the person present."""
