"""Reading ChatGPT exports: ``conversations.json`` (or the zip around it), a tree of messages per conversation."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, cast

from hermes_memory_core.types import Message

from .content import compact_json, flatten, mapping, role_of, shown, string, tool_call, word
from .jsonarray import ArrayReader
from .records import Format, ImportedConversation, Record, SkippedItem, Tally
from .textfile import NOTE_BYTES, Source, text_of
from .timeline import parse_time, with_times

SOURCE = "chatgpt"

MAX_MEMBER_BYTES = 16 * 1024**3
MAX_RATIO = 200
"""Deflate makes chat text 5 to 10 times smaller; far more than that is a bomb."""
SMALL_MEMBER_BYTES = 64 * 1024**2
"""Below this size the ratio does not matter: unpacking it can do no harm."""
MEMBER = re.compile(r"(^|/)conversations(-\d+)?\.json$")

_THINKING = {"thoughts", "reasoning_recap"}
_INSTRUCTIONS = {"user_editable_context", "model_editable_context"}
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201")
"""Private-use marks around a citation's id; they mean nothing outside the program."""


def read(source: Source) -> Iterator[Record]:
    """Every conversation of the file, one in memory at a time."""
    with source.open() as binary:
        is_zip = binary.peek(4)[:4] == b"PK\x03\x04"
    if is_zip:
        yield from _read_zip(source)
    else:
        yield from _read_stream(source, source.open(), source.name)


def _read_stream(source: Source, binary: io.BufferedReader[Any], name: str) -> Iterator[Record]:
    tally = Tally(name)
    with text_of(binary) as text:
        reader = ArrayReader(text, tally)
        for index, value in reader:
            if isinstance(value, dict):
                notes = (NOTE_BYTES,) if reader.damaged else ()
                record = _conversation(source, value, index, tally, notes)
                if record is not None:
                    yield record
            else:
                tally.add(f"conversation is {shown(value)}, not an object", index)
            yield from tally.drain()
    yield from tally.drain()


def _read_zip(source: Source) -> Iterator[Record]:
    try:
        with source.open() as binary, zipfile.ZipFile(binary) as archive:
            members = [info for info in archive.infolist() if MEMBER.search(info.filename)]
            if not members:
                yield SkippedItem(source.name, "zip holds no conversations.json")
            for info in sorted(members, key=lambda info: info.filename):
                yield from _read_member(source, archive, info)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        yield SkippedItem(source.name, f"damaged zip ({type(error).__name__})")


def _read_member(
    source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Iterator[Record]:
    name = f"{source.name}/{info.filename}"
    if info.flag_bits & 1:
        yield SkippedItem(name, "zip is encrypted")
        return
    ratio = info.file_size / max(1, info.compress_size)
    if info.file_size > MAX_MEMBER_BYTES or (
        info.file_size > SMALL_MEMBER_BYTES and ratio > MAX_RATIO
    ):
        yield SkippedItem(name, "zip would unpack to an absurd size")
        return
    try:
        # what is unpacked never exceeds the size that was checked: ZipExtFile stops there
        member = archive.open(info)
    except (NotImplementedError, RuntimeError, zipfile.BadZipFile) as error:
        yield SkippedItem(name, f"zip member cannot be unpacked ({type(error).__name__})")
        return
    buffered = io.BufferedReader(cast("io.RawIOBase", member), 1 << 16)
    yield from _read_stream(source, buffered, name)


# ---------------------------------------------------------------- one conversation


def _conversation(
    source: Source, value: dict[str, Any], index: int, tally: Tally, notes: tuple[str, ...]
) -> ImportedConversation | None:
    own = string(value.get("conversation_id")) or string(value.get("id"))
    place = own or str(index)
    nodes = value.get("mapping")
    if not isinstance(nodes, dict):
        tally.add(f"message tree is {shown(nodes)}, not an object", place)
        return None
    path = _branch(nodes, value.get("current_node"), tally, place)
    models: list[str] = []
    messages: list[Message] = []
    tools: dict[str, str] = {}
    for node_id in path:
        raw = mapping(nodes[node_id]).get("message")
        if raw is None:
            continue
        message = _message(raw, node_id, tools, source.now)
        if isinstance(message, str):
            if message:
                tally.add(message, f"{place}/{node_id}"[:120])
            continue
        model = string(mapping(mapping(raw).get("metadata")).get("model_slug"))
        models += [model] if model else []
        messages.append(message)
    tally.add(
        "another branch (edited question or regenerated answer)", place, _elsewhere(nodes, path)
    )
    if not messages:
        tally.add("conversation without messages", place)
        return None
    # without an id of its own the root of its tree names it
    key = own or (path[0] if path else place)
    return with_times(
        ImportedConversation(
            origin_key=f"{Format.CHATGPT}:{key}",
            source=SOURCE,
            title=string(value.get("title")),
            started_at=parse_time(value.get("create_time"), now=source.now),
            ended_at=parse_time(value.get("update_time"), now=source.now),
            model=models[-1] if models else string(value.get("default_model_slug")),
            messages=tuple(messages),
            archived=value.get("is_archived") is True,
            notes=notes,
        ),
        source.mtime,
    )


def _branch(nodes: dict[str, Any], current: Any, tally: Tally, place: str) -> list[str]:
    """Node ids from the root to the current node: the branch the person sees."""
    if not isinstance(current, str) or current not in nodes:
        current = _latest_leaf(nodes)
        tally.add("no current message named: the latest branch was taken", place)
    path: list[str] = []
    seen: set[str] = set()
    while isinstance(current, str) and current in nodes:
        if current in seen:
            tally.add("cyclic message tree, cut where it repeats", place)
            break
        seen.add(current)
        path.append(current)
        current = mapping(nodes[current]).get("parent")
    path.reverse()
    return path


def _latest_leaf(nodes: dict[str, Any]) -> str | None:
    parents = {mapping(node).get("parent") for node in nodes.values() if isinstance(node, dict)
               and isinstance(node.get("parent"), str)}  # fmt: skip
    leaves = [node_id for node_id in nodes if node_id not in parents] or list(nodes)

    def at(node_id: str) -> float:
        raw = mapping(mapping(nodes[node_id]).get("message")).get("create_time")
        return parse_time(raw) or 0.0

    return max(leaves, key=at, default=None)


def _elsewhere(nodes: dict[str, Any], path: list[str]) -> int:
    """How many messages with text of the two speakers stand beside the path."""
    on_path = set(path)
    return sum(
        1
        for node_id, node in nodes.items()
        if node_id not in on_path
        and mapping(mapping(mapping(node).get("message")).get("author")).get("role")
        in ("user", "assistant")
    )


def _message(raw: Any, node_id: str, tools: dict[str, str], now: float) -> Message | str:
    """One node's message, or why it is not imported ("" where nothing was lost)."""
    if not isinstance(raw, dict):
        return f"message is {shown(raw)}, not an object"
    author = mapping(raw.get("author"))
    role = role_of(author.get("role"))
    content = raw.get("content")
    kind = word(mapping(content).get("content_type"))
    if role is None:
        return f"unknown role {shown(author.get('role'))}"
    if kind in _THINKING or raw.get("channel") == "analysis":
        return "thinking (not imported)"
    if kind in _INSTRUCTIONS:
        return "custom instructions (not part of the conversation)"
    if mapping(raw.get("metadata")).get("is_visually_hidden_from_conversation") is True:
        return "" if role == "system" else "hidden by the program"
    text = _text(content)
    if not text:
        return (
            ""
            if role == "system" or kind == "text"
            else f"no text in content of type {shown(mapping(content).get('content_type'))}"
        )
    at = parse_time(raw.get("create_time"), now=now)
    recipient = string(raw.get("recipient"))
    name = string(author.get("name"))
    if role == "assistant" and recipient not in (None, "all", "assistant"):
        # a message to a tool is a call of it; its text is what the tool was told
        tools[recipient or ""] = node_id
        call = tool_call(recipient, text, node_id)
        return Message(role=role, content="", tool_calls=(call,), timestamp=at)
    if role == "tool":
        return Message(
            role=role,
            content=text,
            tool_name=name,
            tool_call_id=tools.get(name or ""),
            timestamp=at,
        )
    return Message(role=role, content=text, name=name, timestamp=at)


def _text(content: Any) -> str:
    if not isinstance(content, dict):
        return flatten(content)
    if "parts" in content:
        text = flatten(content["parts"])
    elif content.get("content_type") == "tether_quote":
        quoted = (content.get(key) for key in ("title", "text", "url"))
        text = "\n".join(found for value in quoted if (found := string(value)))
    elif isinstance(content.get("text"), str):
        text = flatten(content["text"])
    elif isinstance(content.get("result"), str):
        text = flatten(content["result"])
    else:
        rest = {key: value for key, value in content.items() if key != "content_type"}
        text = compact_json(rest) if any(rest.values()) else ""
    return _CITATION.sub("", text).strip()
