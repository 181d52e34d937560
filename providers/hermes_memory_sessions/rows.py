"""Rows of ``history.db`` to the values the rest of the program sees. No queries of its own."""

from __future__ import annotations

import json
from typing import Any, Final

from hermes_memory_core.types import SessionRecord, StoredMessage

from . import schema

SESSION_COLUMNS: Final = (
    "s.id, s.source, s.title, s.user_id, s.chat_id, s.cwd, s.model, s.parent_id, s.lineage, "
    "s.agent_context, s.scope_key, s.started_at, s.last_active, s.ended_at, s.end_reason, "
    "s.message_count, s.turn_count, s.input_tokens, s.output_tokens, s.archived, s.pinned, s.preview"
)
_SESSION_FIELDS: Final = tuple(name.removeprefix("s.") for name in SESSION_COLUMNS.split(", "))
MESSAGE_COLUMNS: Final = "m.id, m.role, m.content, m.ts, m.name, m.tool_name, m.tool_call_id, m.tool_calls, m.turn, m.state"


def session_record(row: tuple[Any, ...]) -> SessionRecord:
    """A row of ``SESSION_COLUMNS``."""
    values: dict[str, Any] = dict(zip(_SESSION_FIELDS, row, strict=True))
    values["archived"], values["pinned"] = bool(values["archived"]), bool(values["pinned"])
    return SessionRecord(**values)


def stored_message(session_id: str, row: tuple[Any, ...]) -> StoredMessage:
    """A row of ``MESSAGE_COLUMNS``."""
    return StoredMessage(
        id=row[0],
        session_id=session_id,
        role=row[1],
        content=row[2],
        timestamp=row[3],
        name=row[4],
        tool_name=row[5],
        tool_call_id=row[6],
        tool_calls=tool_calls_of(row[7]),
        turn=row[8],
        state=schema.STATES[row[9]],
    )


def tool_calls_of(text: str | None) -> tuple[dict[str, Any], ...]:
    """The tool calls of a message, as given; a foreign shape becomes nothing."""
    if not text:
        return ()
    try:
        calls = json.loads(text)
    except ValueError:
        return ()
    return (
        tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
    )
