"""History in the open export format, and its health: what the provider's hooks say about the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import (
    PROFILE_SCOPE,
    Health,
    ImportCounts,
    MemoryRecord,
    Message,
    Scope,
    SessionInfo,
)

from .database import REBUILD_HINT
from .store import History
from .transcript import session_info

KIND: Final = "message"
_FIELDS: Final = ("source", "title", "user_id", "chat_id", "cwd", "model", "parent_id", "lineage")


def health(history: History) -> Health:
    """A real search and a count; the long look is ``check``."""
    try:
        history.search("health", limit=1, scope=PROFILE_SCOPE)
        stats = history.stats()
    except HermesMemoryError as error:
        return Health(False, error.message, error.hint or REBUILD_HINT)
    details = {key: stats[key] for key in ("sessions", "messages", "database_bytes")}
    failure = history.indexer.failure
    if failure is not None:
        return Health(False, failure.message, failure.hint or REBUILD_HINT, details)
    return Health(
        True, f"{stats['messages']:,} messages of {stats['sessions']:,} sessions", "", details
    )


def export(history: History, scope: Scope | None) -> Iterator[MemoryRecord]:
    """One record per message, session by session."""
    key = None if scope is None else history.scope_key(scope)
    for session_id in history.all_ids(key):
        info = history.session_info(session_id)
        if info is None:
            continue
        record = history.session(session_id)
        head = {name: getattr(info, name) for name in _FIELDS if getattr(info, name)}
        if record is not None and record.title:
            head["title"] = record.title
        head |= {"session_id": session_id, "started_at": info.started_at}
        for message in history.messages(session_id):
            metadata: dict[str, Any] = head | {"role": message.role}
            for name in ("name", "tool_name", "tool_call_id", "tool_calls"):
                if getattr(message, name):
                    metadata[name] = getattr(message, name)
            yield MemoryRecord(
                f"{session_id}:{message.id}",
                KIND,
                message.content,
                message.timestamp,
                info.scope,
                metadata,
            )


def take(history: History, records: Iterable[MemoryRecord]) -> ImportCounts:
    """Store records of kind ``message``; the others are skipped and counted by kind."""
    skipped: Counter[str] = Counter()
    sessions: dict[str, tuple[SessionInfo, list[Message]]] = {}
    for record in records:
        session_id = record.metadata.get("session_id")
        if record.kind != KIND or not isinstance(session_id, str) or not session_id:
            skipped[f"not a message but a {record.kind}"] += 1
            continue
        if session_id not in sessions:
            head = {name: record.metadata.get(name) for name in (*_FIELDS, "started_at")}
            scope = {"kind": record.scope.kind, "id": record.scope.id}
            sessions[session_id] = (session_info(head | {"id": session_id, "scope": scope}), [])
        sessions[session_id][1].append(_message(record))
    imported = duplicates = 0
    for session_id, (info, messages) in sessions.items():
        outcome = history.import_session(info, messages, origin_key=f"hermes:{session_id}")
        imported += outcome.added
        duplicates += len(messages) - outcome.added
    return ImportCounts(imported, duplicates, skipped.total(), 0, dict(skipped))


def _message(record: MemoryRecord) -> Message:
    metadata = record.metadata
    return Message(
        str(metadata.get("role", "user")),
        record.content,
        name=metadata.get("name"),
        tool_name=metadata.get("tool_name"),
        tool_call_id=metadata.get("tool_call_id"),
        tool_calls=tuple(metadata.get("tool_calls") or ()),
        timestamp=record.created_at,
    )
