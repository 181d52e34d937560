"""From the many shapes of message content to plain text, tool calls and roles. Pure functions, never raising."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from hermes_memory_core.types import Message

from .timeline import parse_time

SURROGATE = re.compile("[\ud800-\udfff]")
MAX_DEPTH = 6
"""Content nests two deep (a tool result holding parts); deeper is noise or an attack on the stack."""

TEXT_PARTS = {"text", "input_text", "output_text", "summary_text", "refusal", "audio_transcription"}
THINKING_PARTS = {"thinking", "redacted_thinking", "reasoning", "thoughts", "reasoning_recap"}
_ATTACHMENTS = {
    "image": "image", "image_url": "image", "input_image": "image", "image_asset_pointer": "image",
    "image_file": "image", "local_image": "image", "audio": "audio clip", "input_audio": "audio clip",
    "audio_asset_pointer": "audio clip", "video": "video", "video_url": "video",
    "video_container_asset_pointer": "video", "real_time_user_audio_video_asset_pointer": "audio clip",
    "file": "file", "input_file": "file", "document": "file",
}  # fmt: skip
_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "gpt": "assistant", "bot": "assistant", "tool": "tool", "function": "tool", "system": "system",
    "developer": "system",
}  # fmt: skip


_KINDS: dict[type, str] = {
    dict: "an object", list: "a list", int: "a number", float: "a number", bool: "true or false",
    type(None): "null",
}  # fmt: skip


def clean(text: str) -> str:
    """Valid Unicode without NUL: lone surrogates become U+FFFD, a pair written as two becomes one character."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def string(value: Any) -> str | None:
    """A cleaned, non-empty string; None for anything else (ids may be numbers)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**30 else None
    if not isinstance(value, str):
        return None
    return clean(value).strip() or None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int:
    """A token count: a non-negative integer, 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def word(value: Any) -> str:
    """A string as it is, "" for anything else: safe to look up where the input should have a word."""
    return value if isinstance(value, str) else ""


def shown(value: Any) -> str:
    """A value of the input as it may stand in a reason: a word quoted and cut short, else its kind."""
    if isinstance(value, str):
        return repr(clean(value)[:40])
    return _KINDS.get(type(value), "something else")


def role_of(value: Any) -> str | None:
    """Our role for theirs; None when the word is not a speaker."""
    return _ROLES.get(value.strip().lower()) if isinstance(value, str) else None


def compact_json(value: Any) -> str:
    """JSON on one line with readable Chinese; "" when the value cannot be written (nested too deeply)."""
    try:
        return clean(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))
    except (TypeError, ValueError, RecursionError):
        return ""


def flatten(content: Any) -> str:
    """Plain text of a string, a part, or a list of parts; images and files as ``[2 images]`` at the end.

    Thinking parts and tool-call parts carry no text of the conversation and are left out.
    """
    texts: list[str] = []
    attached: Counter[str] = Counter()
    _collect(content, texts, attached, 0)
    texts += [f"[{n} {kind}{'s' if n > 1 else ''}]" for kind, n in attached.items()]
    return clean("\n\n".join(texts))


def _collect(content: Any, texts: list[str], attached: Counter[str], depth: int) -> None:
    if isinstance(content, str):
        if content.strip():
            texts.append(content)
        return
    if depth > MAX_DEPTH:
        return
    if isinstance(content, list):
        for part in content:
            _collect(part, texts, attached, depth + 1)
        return
    if not isinstance(content, dict):
        return
    kind = content.get("type") or content.get("content_type")
    kind = kind if isinstance(kind, str) else ""
    if kind in THINKING_PARTS:
        return
    if kind in _ATTACHMENTS:
        attached[_ATTACHMENTS[kind]] += 1
        return
    for key in ("text", "refusal", "content", "value"):
        inner = content.get(key)
        if isinstance(inner, str | list | dict):
            # {"text": {"value": …}} is how the assistants API wraps a text
            _collect(inner, texts, attached, depth + 1)
            return


def has_thinking(content: Any) -> bool:
    """Whether a list of parts holds a thinking part."""
    return isinstance(content, list) and any(
        word(mapping(part).get("type")) in THINKING_PARTS for part in content
    )


def tool_call(name: Any, arguments: Any, call_id: Any = None) -> dict[str, Any]:
    """One tool call in OpenAI's shape, the arguments as a string."""
    if arguments is None:
        arguments = ""
    text = clean(arguments) if isinstance(arguments, str) else compact_json(arguments)
    call: dict[str, Any] = {
        "type": "function",
        "function": {"name": string(name) or "unknown", "arguments": text},
    }
    found = string(call_id)
    return {"id": found, **call} if found else call


def tool_calls(value: Any) -> tuple[dict[str, Any], ...]:
    """OpenAI tool calls (a list, or the list as a JSON string) with the parts we keep."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    if not isinstance(value, list):
        return ()
    calls = []
    for call in value:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        inner = function if isinstance(function, dict) else call
        arguments = inner.get("arguments", inner.get("input", inner.get("args")))
        calls.append(tool_call(inner.get("name"), arguments, call.get("id")))
    return tuple(calls)


def openai_message(raw: Any, now: float | None = None) -> Message | str:
    """One OpenAI-style message, or the reason why it is none."""
    if not isinstance(raw, dict):
        return f"message is {shown(raw)}, not an object"
    spoken = raw.get("role", raw.get("from"))
    role = role_of(spoken)
    if role is None:
        return f"unknown role {shown(spoken)}" if spoken is not None else "message without a role"
    content = raw.get("content", raw.get("value", raw.get("parts")))
    text = flatten(content)
    calls = tool_calls(raw.get("tool_calls"))
    if not calls and isinstance(raw.get("function_call"), dict):
        calls = tool_calls([raw["function_call"]])
    if not text and not calls:
        return "only thinking (not imported)" if has_thinking(content) else "empty message"
    tool = string(raw.get("tool_name"))
    name = string(raw.get("name"))
    if role == "tool" and tool is None:
        tool, name = name, None
    stamp = next(
        (raw[key] for key in ("timestamp", "created_at", "create_time", "created") if raw.get(key)),
        None,
    )
    return Message(
        role=role,
        content=text,
        name=name,
        tool_name=tool,
        tool_call_id=string(raw.get("tool_call_id")),
        tool_calls=calls,
        timestamp=parse_time(stamp, now=now),
    )
