"""Reading Codex CLI rollouts: the enveloped JSONL, the bare JSONL before it, and the first JSON form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hermes_memory_core.types import Message

from .content import compact_json, flatten, mapping, role_of, shown, string, tool_call, word
from .jsonarray import documents
from .records import Format, ImportedConversation, Record, Tally
from .textfile import NOTE_BYTES, Source, head_of, is_jsonl, json_lines
from .timeline import parse_time, with_times

SOURCE = "codex"

_INJECTED = re.compile(
    r"\s*(<(environment_context|user_instructions|permissions|collaboration_mode|apps_instructions"
    r"|skills_instructions|plugins_instructions|skill|turn_aborted|user_shell_command|model_switch"
    r"|subagent_notification)\b|# AGENTS\.md instructions)"
)
_CWD = re.compile(r"<cwd>([^<]{1,4096})</cwd>")
_ROLLOUT_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_OUTPUTS = {
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output",
    "tool_search_output",
}  # fmt: skip


class _Reader:
    """Collects one rollout line by line."""

    def __init__(self, source: Source, tally: Tally) -> None:
        self.source = source
        self.tally = tally
        self.messages: list[Message] = []
        self.spoken: list[Message] = []
        """User and assistant texts as the event stream tells them; used only when there is nothing else."""
        self.tools: dict[str, str] = {}
        self.meta: dict[str, Any] = {}
        self.model: str | None = None
        self.cwd: str | None = None
        self.title: str | None = None
        self.notes: set[str] = set()
        self._kinds: dict[str, Callable[[int, dict[str, Any], float | None], None]] = {
            "session_meta": self._meta,
            "turn_context": self._context,
            "response_item": self._item,
            "event_msg": self._event,
        }

    def line(self, number: int, row: dict[str, Any]) -> None:
        """Take one line in, or count why not."""
        kind = row.get("type")
        payload = row.get("payload")
        at = parse_time(row.get("timestamp"), now=self.source.now)
        if isinstance(payload, dict):
            handle = self._kinds.get(kind) if isinstance(kind, str) else None
            if handle:
                handle(number, payload, at)
            elif kind == "compacted":
                self.tally.add(
                    "summary written by compaction (the turns themselves are imported)", number
                )
            else:
                self.tally.add(f"line of type {shown(kind)} is no conversation", number)
        elif kind is None and ("id" in row or "session_id" in row) and "role" not in row:
            self._meta(number, row, at)
        elif row.get("record_type") is not None:
            self.tally.add("bookkeeping line", number)
        else:
            self._item(number, row, at)

    def _meta(self, _number: int, payload: dict[str, Any], _at: float | None) -> None:
        # a forked rollout repeats its ancestors' headers; the first one is its own
        if not self.meta:
            self.meta = payload
            self.cwd = string(payload.get("cwd")) or self.cwd

    def _context(self, _number: int, payload: dict[str, Any], _at: float | None) -> None:
        self.model = string(payload.get("model")) or self.model
        self.cwd = self.cwd or string(payload.get("cwd"))

    def _event(self, number: int, payload: dict[str, Any], at: float | None) -> None:
        kind = payload.get("type")
        text = flatten(payload.get("message"))
        if kind in ("user_message", "agent_message") and text:
            role = "user" if kind == "user_message" else "assistant"
            self.spoken.append(Message(role=role, content=text, timestamp=at))
        elif kind in ("thread_name_updated", "session_name_updated"):
            names = (payload.get(key) for key in ("thread_name", "name", "title"))
            self.title = next((found for name in names if (found := string(name))), self.title)
        elif kind == "thread_rolled_back":
            self._roll_back(number, payload.get("num_turns"))

    def _roll_back(self, number: int, turns: Any) -> None:
        if not isinstance(turns, int) or turns < 1:
            return
        for kept in (self.messages, self.spoken):
            starts = [place for place, message in enumerate(kept) if message.role == "user"]
            if not starts:
                continue
            cut = starts[max(0, len(starts) - turns)]
            if kept is self.messages:
                self.tally.add("taken back by the person (rewound)", number, len(kept) - cut)
            del kept[cut:]

    def _item(self, number: int, item: dict[str, Any], at: float | None) -> None:
        kind = word(item.get("type", "message" if "role" in item else None))
        if kind == "message":
            self._message(number, item, at)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call"):
            self._call(item, at)
        elif kind in _OUTPUTS:
            call_id = string(item.get("call_id"))
            self.messages.append(
                Message(
                    role="tool",
                    content=_output(item.get("output")),
                    tool_name=self.tools.get(call_id or ""),
                    tool_call_id=call_id,
                    timestamp=at,
                )
            )
        elif kind == "reasoning":
            self.tally.add("thinking (not imported)", number)
        else:
            self.tally.add(f"line of type {shown(item.get('type'))} is no conversation", number)

    def _message(self, number: int, item: dict[str, Any], at: float | None) -> None:
        role = role_of(item.get("role"))
        text = flatten(item.get("content"))
        if role is None:
            self.tally.add(f"unknown role {shown(item.get('role'))}", number)
        elif role == "system" or (role == "user" and _INJECTED.match(text)):
            # before the envelope, this was the only place that told the directory
            found = _CWD.search(text)
            self.cwd = self.cwd or (found.group(1).strip() if found else None)
            self.tally.add("context added by the program", number)
        elif not text:
            self.tally.add("empty message", number)
        else:
            self.messages.append(Message(role=role, content=text, timestamp=at))

    def _call(self, item: dict[str, Any], at: float | None) -> None:
        name = string(item.get("name")) or str(item.get("type")).removesuffix("_call")
        call_id = string(item.get("call_id")) or string(item.get("id"))
        arguments = item.get("arguments", item.get("input", item.get("action")))
        if call_id:
            self.tools[call_id] = name
        call = tool_call(name, arguments, call_id)
        last = self.messages[-1] if self.messages else None
        if last and last.role == "assistant":
            self.messages[-1] = replace(last, tool_calls=(*last.tool_calls, call))
        else:
            self.messages.append(
                Message(role="assistant", content="", tool_calls=(call,), timestamp=at)
            )


def _output(value: Any) -> str:
    """A tool's answer: text, parts, or an object (sometimes as a JSON string) around the text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return flatten(value)
        if isinstance(inner, dict) and "output" in inner:
            return flatten(inner["output"])
        return flatten(value)
    if isinstance(value, dict):
        inner = value.get("output", value.get("content"))
        return compact_json(value) if inner is None else flatten(inner)
    return flatten(value)


def _rows(source: Source, tally: Tally, note: Callable[[str], None]) -> Iterator[tuple[int, Any]]:
    head = head_of(source)
    if is_jsonl(head) or '"payload"' in head or '"items"' not in head:
        for number, row in json_lines(source, tally, note):
            # the first form may also stand on one line
            yield from _first_form(row) if {"session", "items"} <= row.keys() else [(number, row)]
        return
    for index, value, damaged in documents(source, tally):
        if damaged:
            note(NOTE_BYTES)
        if isinstance(value, dict):
            yield from _first_form(value)
        else:
            tally.add("item is not a JSON object", index)


def _first_form(value: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """``{"session": {…}, "items": […]}``, one file per session, as lines."""
    session = value.get("session")
    if isinstance(session, dict):
        yield 0, {key: item for key, item in session.items() if key not in ("type", "role")}
    items = value.get("items")
    for number, item in enumerate(items if isinstance(items, list) else [], 1):
        if isinstance(item, dict):
            yield number, item


def read(source: Source) -> Iterator[Record]:
    """The one session of the rollout, then what was left out."""
    tally = Tally(source.name)
    reader = _Reader(source, tally)
    for number, row in _rows(source, tally, reader.notes.add):
        reader.line(number, row)
    messages = reader.messages
    if not any(message.role in ("user", "assistant") and message.content for message in messages):
        messages = reader.spoken or messages
    if not messages:
        tally.add("conversation without messages")
        yield from tally.drain()
        return
    meta = reader.meta
    in_name = _ROLLOUT_ID.search(source.path.stem)
    own = string(meta.get("id")) or string(meta.get("session_id"))
    own = own or (in_name.group() if in_name else source.path.stem)
    origin = meta.get("source")
    agent = mapping(origin).get("subagent")
    spawned = mapping(mapping(agent).get("thread_spawn"))
    is_agent = agent is not None or meta.get("thread_source") == "subagent"
    parents = (
        spawned.get("parent_thread_id"),
        meta.get("parent_thread_id"),
        meta.get("forked_from_id"),
    )
    parent = next((found for value in parents if (found := string(value)) and found != own), None)
    yield with_times(
        ImportedConversation(
            origin_key=f"{Format.CODEX}:{own}",
            source=SOURCE,
            title=reader.title,
            started_at=parse_time(meta.get("timestamp"), now=source.now),
            model=reader.model or string(meta.get("model")),
            cwd=reader.cwd,
            parent_origin_key=f"{Format.CODEX}:{parent}" if parent else None,
            agent_context="subagent" if is_agent else "primary",
            messages=tuple(messages),
            notes=tuple(sorted(reader.notes)),
        ),
        source.mtime,
    )
    yield from tally.drain()
