"""Going on with a stored session: as the value providers get, and only for whom it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_memory_core.engine.scopes import scope_for
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import Scope, SessionInfo, SessionRecord


def scope_of(session: SessionInfo | SessionRecord, settings: Mapping[str, Any]) -> Scope:
    """Whose it is by the settings of now, not of when it was stored."""
    return scope_for(
        settings, source=session.source, user_id=session.user_id, chat_id=session.chat_id
    )


def info_from(record: SessionRecord, profile: str, settings: Mapping[str, Any]) -> SessionInfo:
    """A stored session as the value providers get."""
    return SessionInfo(
        id=record.id,
        lineage=record.lineage or record.id,
        profile=profile,
        source=record.source,
        title=record.title,
        user_id=record.user_id,
        chat_id=record.chat_id,
        cwd=record.cwd,
        model=record.model,
        parent_id=record.parent_id,
        agent_context=record.agent_context,  # type: ignore[arg-type] # as it was stored
        scope=scope_of(record, settings),
        started_at=record.started_at,
    )


def same_owner(info: SessionInfo, scope: Scope) -> None:
    """Refuse a session of somebody else.

    Raises:
        UsageError: It belongs to another user or chat.
    """
    if info.scope != scope:
        raise UsageError(
            f"Session {info.id} belongs to another {scope.kind}; it was not opened.",
            hint="leave `session_id` out to begin a new session",
        )
