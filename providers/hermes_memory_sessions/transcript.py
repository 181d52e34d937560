"""The format of ``sessions/<id>.jsonl``: names of files, lines to events and back, nothing that writes.

A transcript is append-only UTF-8, one JSON object per line. Every object has ``v`` (format version),
``type`` and ``at`` (epoch seconds). Types and their fields:

    session  session {id, lineage, profile, source, …, scope {kind, id}, started_at}, reason
    turn     turn {id, number, interrupted?, user?, assistant?}, messages [message]
    message  message {id, role, content, name?, tool_name?, tool_call_id?, tool_calls?, ts}
    title    title (null takes it away)
    update   fields {archived?, pinned?, model?, input_tokens?, output_tokens?}; token counts are added
    undo     message_ids
    compact  message_ids
    end      reason
    delete   message_ids (of messages that a forget took out of this file)
    import   origin, count, digest

A forget leaves every line at its offset: what is shorter now is filled up with spaces.
Unknown types are stepped over, so an older program reads what a newer one wrote in the same version.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import Message, Scope, SessionInfo

VERSION: Final = 1
SUFFIX: Final = ".jsonl"
MAX_MESSAGE_ID: Final = 2**53 - 1
"""Ids above this are no ids of ours: they would not survive a JavaScript reader."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")

Event = dict[str, Any]
BLANK: Final[Event] = {"v": VERSION, "type": "blank", "at": 0.0}
"""What a line of spaces is read as: the place of something that was forgotten."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript and where it stands, in bytes."""

    offset: int
    end: int
    event: Event | None
    """None when the line cannot be read: cut off by a crash, or damaged since."""


def file_names(session_id: str) -> tuple[str, ...]:
    """Names a session's transcript may have, the wanted one first.

    The second is for ids that are no safe file name, and for an id whose plain name is taken by another
    program's file or, where the disk ignores case, by another session.
    """
    digest = hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:16]
    slug = re.sub(r"[^A-Za-z0-9]+", "-", session_id)[:40].strip("-")
    hashed = f"~{slug}-{digest}{SUFFIX}"
    plain = _PLAIN.fullmatch(session_id) and not _RESERVED.fullmatch(session_id)
    if plain and not session_id.endswith("."):
        return (session_id + SUFFIX, hashed)
    return (hashed,)


def is_regular(path: Path) -> bool:
    """True for a real file: no link, folder or pipe, which would lead elsewhere or never end."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def transcript_files(folder: Path) -> list[Path]:
    """The files that may be transcripts, by name."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if is_regular(path))


def clean_text(text: str) -> str:
    """The same text with lone surrogates replaced by U+FFFD and split pairs joined."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean(value: Any) -> Any:
    """A JSON-ready copy: surrogates mended at every depth, mappings to dicts, strangers to their text."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean_text(str(value))


def event(type_: str, at: float, **fields: Any) -> Event:
    """An event of this version."""
    return {"v": VERSION, "type": type_, "at": at, **fields}


def encode(item: Event) -> tuple[bytes, Event]:
    """The line's bytes, newline included, and the event as a reader will get it back.

    Raises:
        UsageError: Something in it is nested so deeply that no reader could take it in again.
    """
    try:
        try:
            return _dump(item), item
        except (
            TypeError,
            ValueError,
        ):  # a surrogate, NaN or an object JSON does not know: the rare way round
            item = clean(item)
            return _dump(item), item
    except RecursionError as error:
        raise UsageError(
            "A message holds a value nested too deeply to be kept; nothing was saved.",
            hint="pass such a value as text",
        ) from error


_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _dump(item: Event) -> bytes:
    return f"{_encoded(item)}\n".encode()


def fill(item: Event | None, length: int) -> bytes:
    """The event as a line of exactly ``length`` bytes; a line of spaces when it does not fit."""
    raw = encode(item)[0][:-1] if item is not None else b""
    return (raw if len(raw) < length else b"").ljust(length - 1) + b"\n"


def decode(raw: bytes) -> Event | None:
    """The event of one line; None when it is not one (torn, damaged, another program's)."""
    try:
        item = json.loads(raw)
        if b"\\u" in raw:  # only an escape can spell a lone surrogate, which no store can hold
            item = clean(item)
    except (ValueError, RecursionError):
        return None
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        return None
    version = item.get("v")
    return item if isinstance(version, int) and 1 <= version <= VERSION else None


def read_lines(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Complete lines from ``start`` on; a last line without its newline is not given out."""
    file.seek(start)
    offset = start
    while end is None or offset < end:
        raw = file.readline()
        if not raw.endswith(b"\n"):
            return
        yield Line(offset, offset + len(raw), decode(raw) if raw.strip() else BLANK)
        offset += len(raw)


def session_of(path: Path) -> str | None:
    """Whose transcript this is, by its first readable line; None when it is not one of ours."""
    if not is_regular(path):
        return None
    try:
        with path.open("rb") as file:
            for line in read_lines(file, 0, 1 << 20):
                if line.event is None:
                    continue
                if line.event["type"] == "session":
                    fields = line.event.get("session")
                    return plain(fields.get("id")) or None if isinstance(fields, dict) else None
                return path.name.removesuffix(SUFFIX)  # its first line is damaged, the rest is ours
    except OSError:
        return None
    return None


# ---------------------------------------------------------------- values to fields and back


def session_fields(session: SessionInfo) -> dict[str, Any]:
    """What the session line keeps of a ``SessionInfo``; None values are left out."""
    fields = {
        "id": session.id,
        "lineage": session.lineage or session.id,
        "profile": session.profile,
        "source": session.source,
        "title": session.title,
        "user_id": session.user_id,
        "chat_id": session.chat_id,
        "cwd": session.cwd,
        "model": session.model,
        "parent_id": session.parent_id,
        "agent_context": session.agent_context,
        "scope": {"kind": session.scope.kind, "id": session.scope.id},
        "started_at": session.started_at,
    }
    return {key: value for key, value in fields.items() if value is not None}


def session_info(fields: Mapping[str, Any]) -> SessionInfo:
    """The ``SessionInfo`` a session line describes; a value of a wrong kind counts as left out.

    Never raises: one odd line must not keep the others from being read.
    """
    scope = fields.get("scope")
    scope = scope if isinstance(scope, Mapping) else {}
    id_ = plain(fields.get("id")) or ""
    return SessionInfo(
        id=id_,
        lineage=plain(fields.get("lineage")) or id_,
        profile=plain(fields.get("profile")) or "default",
        source=plain(fields.get("source")) or "cli",
        title=plain(fields.get("title")),
        user_id=plain(fields.get("user_id")),
        chat_id=plain(fields.get("chat_id")),
        cwd=plain(fields.get("cwd")),
        model=plain(fields.get("model")),
        parent_id=plain(fields.get("parent_id")),
        agent_context=plain(fields.get("agent_context")) or "primary",  # type: ignore[arg-type]
        scope=Scope(plain(scope.get("kind")) or "profile", plain(scope.get("id"))),  # type: ignore[arg-type]
        started_at=finite(fields.get("started_at"), 0.0),
    )


def plain(value: Any) -> str | None:
    """A word as a column takes it: text, a number as its digits; None for everything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def message_fields(message: Message, message_id: int, at: float) -> dict[str, Any]:
    """What a line keeps of one message; the text is always text."""
    content: Any = message.content  # hosts hand over None for a message of tool calls alone
    fields: dict[str, Any] = {
        "id": message_id,
        "role": message.role,
        "content": content if isinstance(content, str) else str(content or ""),
        "ts": finite(message.timestamp, at),
    }
    for key in ("name", "tool_name", "tool_call_id"):
        value = getattr(message, key)
        if value:
            fields[key] = value
    if message.tool_calls:
        fields["tool_calls"] = [dict(call) for call in message.tool_calls]
    return fields


def message_of(fields: Mapping[str, Any]) -> Message:
    """The message that ``message_fields`` kept."""
    calls = fields.get("tool_calls")
    return Message(
        role=str(fields.get("role", "user")),
        content=str(fields.get("content", "")),
        name=plain(fields.get("name")),
        tool_name=plain(fields.get("tool_name")),
        tool_call_id=plain(fields.get("tool_call_id")),
        tool_calls=tuple(calls) if isinstance(calls, list | tuple) else (),
        timestamp=finite(fields.get("ts"), 0.0),
        id=fields.get("id"),
    )


def messages_in(item: Event) -> list[dict[str, Any]]:
    """The messages an event carries, damaged ones left out."""
    if item["type"] == "turn":
        found = item.get("messages")
    elif item["type"] == "message":
        found = [item.get("message")]
    else:
        return []
    return [
        fields
        for fields in (found if isinstance(found, list | tuple) else ())
        if isinstance(fields, dict)
        and isinstance(fields.get("id"), int)
        and 0 < fields["id"] <= MAX_MESSAGE_ID
    ]


def whole(value: Any) -> int:
    """The number if a column can hold it, else 0."""
    return value if isinstance(value, int) and abs(value) <= MAX_MESSAGE_ID else 0


def finite(value: Any, default: float) -> float:
    """The number as a float; ``default`` for what is none, or too large to be one."""
    try:
        return float(value) if math.isfinite(value) else default
    except (TypeError, OverflowError):
        return default
