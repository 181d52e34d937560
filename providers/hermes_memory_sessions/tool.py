"""The tool ``session_search``: arguments in, one JSON object out, in four shapes (spec/builtin.md section 6).

A query discovers, nothing browses, a session id reads, a session id with a message id scrolls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes_memory_core.errors import HermesMemoryError, SessionNotFoundError, UsageError
from hermes_memory_core.types import SessionInfo, SessionRecord, StoredMessage, ToolSpec

from . import discover
from .payload import shown, without_empty
from .store import History
from .times import local

NAME: Final = "session_search"
BUDGET: Final = 6000
"""Characters an answer may have."""
READ_HEAD, READ_TAIL = 20, 10
"""Messages shown of a long session, from its beginning and its end."""
MIN_CLIP: Final = 120

GUIDANCE: Final = "Before asking the user to repeat something, look it up in past conversations with session_search."

# The schema is paid for in every request, so it names the filters a model needs; a call may carry the others of
# the API (title, cwd, user_id, chat_id, include_subagents, offset) all the same.
SPEC: Final = ToolSpec(
    NAME,
    "Search past conversations. They tell what was said then, not what is true now. "
    'query: find messages, best sessions first (a plain question works; also "exact phrase", AND, OR, NOT, '
    "prefix*). No arguments: list recent sessions. session_id: read it. session_id + around_message_id: the "
    "messages around one.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "description": "Sessions, 1-10 (default 5)"},
            "sort": {"type": "string", "enum": ["relevance", "newest", "oldest"]},
            "since": {"type": "string", "description": "Date, or e.g. 7d, last week"},
            "until": {"type": "string", "description": "As since"},
            "role": {"type": "string", "description": "user, assistant, tool; comma list"},
            "source": {"type": "string", "description": "e.g. cli, telegram, cron"},
            "session_id": {"type": "string"},
            "around_message_id": {"type": "integer"},
            "window": {"type": "integer", "description": "Messages each side, 1-20 (default 5)"},
        },
    },
)


def call(history: History, session: SessionInfo, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one call. Never raises for what the model wrote: errors are ``{success: false, error}``."""
    try:
        query = _text(arguments, "query")
        session_id = _text(arguments, "session_id")
        around = _number(arguments, "around_message_id", None)
        if session_id and around is not None:
            return _scroll(history, session, session_id, around, arguments)
        if around is not None:
            raise UsageError("`around_message_id` needs its `session_id`.")
        if session_id and not query:
            return _read(history, session, session_id)
        if query:
            return discover.answer(history, session, query, _request(arguments, session_id))
        return _browse(history, session, arguments)
    except HermesMemoryError as error:
        answer = {"success": False, "error": error.message}
        if error.hint and not isinstance(error, SessionNotFoundError):
            answer["hint"] = error.hint
        return answer


# ---------------------------------------------------------------- arguments


def _request(arguments: Mapping[str, Any], session_id: str | None) -> discover.Request:
    sort = _text(arguments, "sort") or "relevance"
    if sort not in ("relevance", "newest", "oldest"):
        raise UsageError(f"`sort` is relevance, newest or oldest, not {sort!r}.")
    return discover.Request(
        limit=min(10, max(1, _number(arguments, "limit", 5) or 5)),
        sort=sort,  # type: ignore[arg-type]
        since=_moment(arguments, "since"),
        until=_moment(arguments, "until"),
        roles=_list(arguments, "role", ("user", "assistant")),
        sources=_list(arguments, "source"),
        session_id=session_id,
        budget=BUDGET,
        offset=max(0, _number(arguments, "offset", 0) or 0),
        **_where(arguments),
    )


def _where(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Filters by where a conversation took place and whose it is; one name each in tool, API and command line."""
    return {
        **{name: _text(arguments, name) for name in ("title", "cwd", "user_id", "chat_id")},
        "include_subagents": (_text(arguments, "include_subagents") or "").lower()
        in ("true", "1", "yes", "on"),
    }


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    if value is None:
        return None
    if isinstance(value, list | dict):
        raise UsageError(f"`{name}` is a text, not {type(value).__name__}.")
    return str(value).strip() or None


def _number(arguments: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = arguments.get(name)
    if value is None or value == "":
        return default
    try:
        return int(str(value).strip().removesuffix(".0"))
    except ValueError:
        raise UsageError(f"`{name}` is a whole number, not {value!r}.") from None


def _list(
    arguments: Mapping[str, Any], name: str, default: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Words of a comma list; ``any`` and ``all`` mean no restriction."""
    value = arguments.get(name)
    parts = value if isinstance(value, list) else str(value or "").split(",")
    found = tuple(str(part).strip().lower() for part in parts if str(part).strip())
    return () if found in (("any",), ("all",)) else found or default


def _moment(arguments: Mapping[str, Any], name: str) -> str | float | None:
    value = arguments.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _text(arguments, name)


# ---------------------------------------------------------------- shapes


def _browse(history: History, session: SessionInfo, arguments: Mapping[str, Any]) -> dict[str, Any]:
    limit = min(10, max(1, _number(arguments, "limit", 5) or 5))
    offset = max(0, _number(arguments, "offset", 0) or 0)
    sources = _list(arguments, "source")
    own = set(history.lineage_ids(session.id))
    found = history.sessions(
        limit=offset + limit + 1,
        source=sources[0] if sources else None,
        since=_moment(arguments, "since"),
        until=_moment(arguments, "until"),
        scope=session.scope,
        **_where(arguments),
    )
    rows = [record for record in found if record.id not in own][offset : offset + limit]
    return {
        "success": True,
        "mode": "browse",
        "results": [
            without_empty(
                {
                    "session_id": record.id,
                    "title": shown(record.title or ""),
                    "source": record.source,
                    "started_at": local(record.started_at),
                    "last_active": local(record.last_active),
                    "message_count": record.message_count,
                    "preview": shown(record.preview),
                }
            )
            for record in rows
        ],
        "count": len(rows),
        "message": "" if rows else "There are no past sessions yet.",
    }


def _read(history: History, session: SessionInfo, session_id: str) -> dict[str, Any]:
    record = _record(history, session, session_id)
    total = record.message_count
    if total > READ_HEAD + READ_TAIL:
        messages = history.messages(record.id, limit=READ_HEAD)
        messages += history.messages(record.id, offset=total - READ_TAIL)
    else:
        messages = history.messages(record.id)
    answer: dict[str, Any] = {
        "success": True,
        "mode": "read",
        "session_id": record.id,
        "session_meta": _meta(record),
        "message_count": total,
        "truncated": total > len(messages),
        "messages": _messages(messages),
    }
    if total > len(messages):
        answer["message"] = (
            f"{total - len(messages)} messages in the middle are left out; "
            "use around_message_id to see them."
        )
    return answer


def _scroll(
    history: History,
    session: SessionInfo,
    session_id: str,
    around: int,
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    window = min(20, max(1, _number(arguments, "window", 5) or 5))
    record = _record(history, session, session_id, exact=True)
    warning = ""
    try:
        messages = history.messages(record.id, around=around, window=window)
    except SessionNotFoundError:
        owner = history.owner_of(around)
        if owner is None or owner not in history.lineage_ids(record.id):
            raise
        warning = f"The message is in `{owner}`, of the same conversation."
        record = _record(history, session, owner, exact=True)
        messages = history.messages(owner, around=around, window=window)
    place = next(index for index, message in enumerate(messages) if message.id == around)
    return without_empty(
        {
            "success": True,
            "mode": "scroll",
            "session_id": record.id,
            "around_message_id": around,
            "session_meta": _meta(record),
            "window": window,
            "warning": warning,
            "messages": _messages(messages, anchor=around),
        }
    ) | {"messages_before": place, "messages_after": len(messages) - place - 1}


def _record(
    history: History, session: SessionInfo, session_id: str, *, exact: bool = False
) -> SessionRecord:
    """The session meant, if this one may see it; the present one is before the model's eyes already."""
    record = history.session(session_id)
    if record is None and not exact:
        record = history.resolve(session_id, scope=session.scope)
    key = history.scope_key(session.scope)
    if record is None or (key is not None and record.scope_key != key):
        raise SessionNotFoundError(f"There is no session `{session_id}`.")
    if record.id == session.id and not history.has_compacted(record.id):
        raise UsageError("That is the present conversation; all of it is in front of you.")
    return record


def _meta(record: SessionRecord) -> dict[str, Any]:
    return without_empty(
        {
            "when": local(record.started_at),
            "source": record.source,
            "model": record.model,
            "title": shown(record.title or ""),
        }
    )


def _messages(messages: Sequence[StoredMessage], anchor: int | None = None) -> list[dict[str, Any]]:
    """The messages within the budget, the anchor's text twice as long as the others'."""
    share = BUDGET * 4 // 5 // max(1, len(messages) + (anchor is not None))
    room = max(MIN_CLIP, share - 60)
    lengths = [min(len(message.content), room) for message in messages]
    spare = max(0, room * len(messages) - sum(lengths))
    longer = sum(length == room for length in lengths) or 1
    room += spare // longer
    found = []
    for message in messages:
        limit = room * 2 if message.id == anchor else room
        fields = without_empty(
            {
                "id": message.id,
                "role": message.role,
                "name": message.name,
                "tool_name": message.tool_name,
                "content": shown(message.content, limit),
                "timestamp": local(message.timestamp),
                "tool_calls": [_call_name(item) for item in message.tool_calls],
            }
        )
        if message.id == anchor:
            fields["anchor"] = True
        found.append(fields)
    return found


def _call_name(item: Mapping[str, Any]) -> str:
    function = item.get("function")
    name = function.get("name") if isinstance(function, Mapping) else item.get("name")
    return str(name or "?")[:60]
