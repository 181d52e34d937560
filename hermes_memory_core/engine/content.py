"""From what a host hands over to what is stored: plain text, no recalled blocks, no credentials.

This is the one boundary: every text of a turn passes here once, before the transcript line, so that every
store and every provider holds the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hermes_memory_core.engine.fence import strip_fences
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import Message

MAX_DEPTH = 64
"""Levels of nesting that are kept: no real message comes near, and no reader is asked to go deeper."""
TOO_DEEP = "[nested too deeply to be kept]"

_NAMES = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio clip",
    "audio": "audio clip",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "video_url": "video",
    "video": "video",
}


def flatten(content: Any) -> str:
    """Plain text of any content shape: a string, bytes, None, or (nested) parts with images counted."""
    return _flatten(content, 0)


def _flatten(content: Any, depth: int) -> str:
    if content is None or depth > MAX_DEPTH:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, bytes | bytearray):
        return content.decode("utf-8", "replace")
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Iterable):
        return str(content)
    texts: list[str] = []
    others: dict[str, int] = {}
    for part in content:
        if not isinstance(part, Mapping):
            texts.append(_flatten(part, depth + 1))
            continue
        text = part.get("text", part.get("content"))
        if isinstance(text, str | list | tuple):
            texts.append(_flatten(text, depth + 1))
        else:
            kind = _NAMES.get(str(part.get("type")), "attachment")
            others[kind] = others.get(kind, 0) + 1
    texts += [f"[{count} {kind}{'s' if count > 1 else ''}]" for kind, count in others.items()]
    return "\n".join(text for text in texts if text)


def clean(text: str) -> str:
    """Text that any store can hold: recalled blocks out, lone surrogates replaced."""
    text = strip_fences(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def turn_messages(
    user: str,
    assistant: str,
    given: Iterable[Mapping[str, Any]] | None,
    redact: Callable[[str], str],
    timestamp: float,
) -> tuple[Message, ...]:
    """All messages of a turn in order: the user's, those the host gave, and the final reply if it is not among them.

    ``user`` and ``assistant`` are clean already; the given ones are cleaned here.

    Raises:
        UsageError: ``given`` is not a list of OpenAI message dicts.
    """
    if given is not None and not isinstance(given, Iterable):
        raise _no_messages(given)
    messages = [Message("user", user, timestamp=timestamp)] if user else []
    messages.extend(_message(raw, redact, timestamp) for raw in given or ())
    last = messages[-1] if messages else None
    final_there = last is not None and last.role == "assistant" and last.content == assistant
    if assistant and not (given and final_there):
        messages.append(Message("assistant", assistant, timestamp=timestamp))
    return tuple(messages)


def messages_from(given: Iterable[Mapping[str, Any]] | None) -> tuple[Message, ...]:
    """OpenAI message dicts as Messages, recalled blocks out, nothing masked.

    Raises:
        UsageError: They are no list of OpenAI message dicts.
    """
    if given is not None and not isinstance(given, Iterable):
        raise _no_messages(given)
    return tuple(_message(raw, lambda text: text, None) for raw in given or ())


def _message(raw: Any, redact: Callable[[str], str], timestamp: float | None) -> Message:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("role"), str):
        raise _no_messages(raw)
    calls = raw.get("tool_calls")
    if not isinstance(calls, list | tuple):
        calls = ()
    return Message(
        role=clean(raw["role"]),
        content=redact(clean(flatten(raw.get("content")))),
        name=_text(raw.get("name")),
        tool_name=_text(
            raw.get("tool_name") or (raw.get("name") if raw["role"] == "tool" else None)
        ),
        tool_call_id=_text(raw.get("tool_call_id")),
        tool_calls=tuple(_call(call, redact) for call in calls if isinstance(call, Mapping)),
        timestamp=timestamp,
    )


def _no_messages(found: Any) -> UsageError:
    return UsageError(
        "`messages` must be a list of OpenAI message dicts, each with a `role`; "
        f"found {type(found).__name__}. Nothing was saved.",
        hint="pass messages as the chat API has them, or leave `messages` out",
    )


def _call(call: Mapping[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    """A tool call with every string in it masked, whatever its depth."""
    return {str(key): _masked(value, redact) for key, value in call.items()}


def _masked(value: Any, redact: Callable[[str], str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return redact(clean(value))
    if isinstance(value, Mapping | list | tuple) and depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {str(key): _masked(item, redact, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, redact, depth + 1) for item in value]
    if isinstance(value, bytes | bytearray):
        return redact(clean(value.decode("utf-8", "replace")))
    return value


def _text(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) and value else None
