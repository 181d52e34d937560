"""Anthropic content blocks (text, tool_use, tool_result, image, thinking) as messages. Pure, knows no file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_memory_core.types import Message

from .content import flatten, mapping, shown, string, tool_call, word

Skip = Callable[[str], None]

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}


def has_blocks(content: Any) -> bool:
    """Whether a content list speaks of tools in Anthropic's way."""
    return isinstance(content, list) and any(
        word(mapping(part).get("type")) in _CALLS or mapping(part).get("type") == "tool_result"
        for part in content
    )


def user_messages(
    content: Any, at: float | None, tools: dict[str, str], skip: Skip
) -> list[Message]:
    """Tool results first, as messages of role ``tool``, then what the person wrote, if anything.

    ``tools`` maps call ids to tool names, as ``assistant_message`` filled it.
    """
    found: list[Message] = []
    rest = content
    if isinstance(content, list):
        rest = []
        for part in content:
            block = mapping(part)
            if block.get("type") != "tool_result":
                rest.append(part)
                continue
            call_id = string(block.get("tool_use_id"))
            found.append(
                Message(
                    role="tool",
                    content=flatten(block.get("content")),
                    tool_name=tools.get(call_id or ""),
                    tool_call_id=call_id,
                    timestamp=at,
                )
            )
    text = flatten(rest)
    if text:
        found.append(Message(role="user", content=text, timestamp=at))
    elif not found:
        skip("empty message")
    return found


def assistant_message(
    content: Any, at: float | None, tools: dict[str, str], skip: Skip
) -> Message | None:
    """Text and tool calls of one reply; thinking is counted and left out. None when nothing remains."""
    calls: list[dict[str, Any]] = []
    texts: list[Any] = []
    thinking = False
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        block = mapping(part)
        kind = word(block.get("type"))
        if kind in _CALLS:
            call = tool_call(block.get("name"), block.get("input"), block.get("id"))
            calls.append(call)
            if "id" in call:
                tools[call["id"]] = call["function"]["name"]
        elif kind in ("thinking", "redacted_thinking"):
            thinking = True
        elif block:
            texts.append(block)
        else:
            skip(f"content block is {shown(part)}")
    if thinking:
        skip("thinking (not imported)")
    text = flatten(texts)
    if not text and not calls:
        if not thinking:
            skip("empty message")
        return None
    return Message(role="assistant", content=text, tool_calls=tuple(calls), timestamp=at)
