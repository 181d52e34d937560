"""Reading OpenAI-style message lists: a JSON list, a ``messages`` object, JSONL of either, ShareGPT pairs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from hermes_memory_core.types import Message

from .blocks import assistant_message, has_blocks, user_messages
from .content import openai_message, role_of, string
from .jsonarray import documents
from .records import Format, ImportedConversation, Record, Tally
from .textfile import NOTE_BYTES, Source
from .timeline import parse_time, with_times

SOURCE = "openai"
_LISTS = ("messages", "conversations", "conversation")
_IDS = ("conversation_id", "session_id", "id", "uuid")


def read(source: Source) -> Iterator[Record]:
    """Every conversation of the file; loose messages (one per line or list item) are one conversation."""
    tally = Tally(source.name)
    keys = _Keys(source)
    loose = _Loose(source)
    for index, value, damaged in documents(source, tally):
        notes = (NOTE_BYTES,) if damaged else ()
        if isinstance(value, list):
            yield from _conversation(source, keys, {"messages": value}, index, tally, notes)
        elif isinstance(value, dict) and _messages_of(value) is not None:
            yield from _conversation(source, keys, value, index, tally, notes)
        elif isinstance(value, dict):
            loose.add(value, index, tally, notes)
        else:
            tally.add("item is neither a message nor a conversation", index)
        yield from tally.drain()
    yield from loose.conversation(keys)
    yield from tally.drain()


def _messages_of(value: dict[str, Any]) -> list[Any] | None:
    if "role" in value and "content" in value:
        return None
    return next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)


def messages_from(raw: Iterable[Any], tally: Tally, now: float, place: str) -> tuple[Message, ...]:
    """The messages of a list; each one that is none is counted with its place in the list."""
    tools: dict[str, str] = {}
    found: list[Message] = []
    for number, item in enumerate(raw):
        where = f"{place}[{number}]"

        def skip(reason: str, where: str = where) -> None:
            tally.add(reason, where)

        if isinstance(item, dict) and has_blocks(item.get("content")):
            at = parse_time(item.get("timestamp") or item.get("created_at"), now=now)
            if role_of(item.get("role")) == "assistant":
                reply = assistant_message(item["content"], at, tools, skip)
                found += [reply] if reply else []
            else:
                found += user_messages(item["content"], at, tools, skip)
            continue
        message = openai_message(item, now)
        if isinstance(message, str):
            skip(message)
            continue
        for call in message.tool_calls:
            if "id" in call:
                tools[call["id"]] = call["function"]["name"]
        if message.role == "tool" and message.tool_name is None and message.tool_call_id in tools:
            message = replace(message, tool_name=tools[message.tool_call_id])
        found.append(message)
    return tuple(found)


def _conversation(
    source: Source,
    keys: _Keys,
    value: dict[str, Any],
    index: int,
    tally: Tally,
    notes: tuple[str, ...],
) -> Iterator[Record]:
    raw = _messages_of(value) or []
    messages = messages_from(raw, tally, source.now, str(index))
    if not any(message.role in ("user", "assistant") for message in messages):
        tally.add("conversation without messages", index)
        return
    own = next((found for key in _IDS if (found := string(value.get(key)))), None)
    start = value.get("created_at") or value.get("create_time") or value.get("timestamp")
    yield with_times(
        ImportedConversation(
            origin_key=f"{Format.OPENAI}:{own or keys.next(messages)}",
            source=string(value.get("source")) or SOURCE,
            title=string(value.get("title")) or string(value.get("name")),
            started_at=parse_time(start, now=source.now),
            model=string(value.get("model")),
            user_id=string(value.get("user")) or string(value.get("user_id")),
            messages=messages,
            notes=notes,
        ),
        source.mtime,
    )


class _Keys:
    """Origin keys for conversations without an id: known by their file and by how they begin.

    How one goes on must not count: the same list exported again with more messages is the same conversation. Several
    that begin alike are told apart by their order.
    """

    def __init__(self, source: Source) -> None:
        self._file = PurePath(source.name).name
        self._seen: Counter[str] = Counter()

    def next(self, messages: tuple[Message, ...]) -> str:
        """The key of the next conversation of the file."""
        opening = [[message.role, message.content] for message in messages[:2]]
        text = json.dumps([self._file, opening])
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
        self._seen[digest] += 1
        nth = self._seen[digest]
        return digest if nth == 1 else f"{digest}-{nth}"


class _Loose:
    """Messages that stand by themselves: together they are one conversation, the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._raw: list[Any] = []
        self._notes: set[str] = set()
        self._first = 0

    def add(self, value: dict[str, Any], index: int, tally: Tally, notes: tuple[str, ...]) -> None:
        if not {"role", "from"} & value.keys():
            tally.add("item is neither a message nor a conversation", index)
            return
        if not self._raw:
            self._first = index
        self._raw.append(value)
        self._notes.update(notes)

    def conversation(self, keys: _Keys) -> Iterator[Record]:
        """The one conversation, if there were any messages."""
        if not self._raw:
            return
        tally = Tally(self._source.name)
        yield from _conversation(
            self._source, keys, {"messages": self._raw}, self._first, tally, tuple(self._notes)
        )
        yield from tally.drain()
