"""Reading Claude Code session files: one JSONL file per session, sub-agents inside it or beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_memory_core.types import Message

from .blocks import assistant_message, user_messages
from .content import flatten, mapping, shown, string, word
from .records import Format, ImportedConversation, Record, Tally
from .textfile import Source, json_lines
from .timeline import parse_time, with_times

SOURCE = "claude-code"

_WRAPPER = re.compile(
    r"\s*(<(command-name|command-message|command-args|local-command-\w+|bash-input|bash-stdout|bash-stderr"
    r"|user-memory-input|task-notification|scheduled-task)\b|Caveat: The messages below were generated)"
)
_INJECTED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>\s*", re.DOTALL
)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Line types that name the session, the strongest first, and the field the name is in."""


@dataclass(slots=True)
class _Chain:
    """One conversation of the file: the main one, or one sub-agent's."""

    messages: list[Message] = field(default_factory=list)
    message_ids: list[str | None] = field(default_factory=list)
    """The API's message id per message: one reply comes in several lines, one block each."""
    tools: dict[str, str] = field(default_factory=dict)
    model: str | None = None


class _Reader:
    """Collects one file line by line."""

    def __init__(self, source: Source, tally: Tally) -> None:
        self.source = source
        self.tally = tally
        self.main = _Chain()
        self.sides: dict[str, _Chain] = {}
        self.session_id: str | None = None
        self.agent_id: str | None = None
        self.cwd: str | None = None
        self.forked_from: str | None = None
        self.titles: dict[str, str] = {}
        self.notes: set[str] = set()
        self._uuids: set[str] = set()
        self._side_of: dict[str, str] = {}
        self._leaf: str | None = None
        self._beside: dict[str, bool] = {}

    def line(self, number: int, row: dict[str, Any]) -> None:
        """Take one line in, or count why not."""
        kind = word(row.get("type"))
        if kind in _TITLES:
            self._title(kind, row)
            return
        if self._is_copy(row, number) or self._is_repeat(row, number):
            return
        self.cwd = self.cwd or string(row.get("cwd"))
        fork = string(mapping(row.get("forkedFrom")).get("sessionId"))
        self.forked_from = self.forked_from or fork
        if kind == "attachment":
            row = self._queued(row)
            kind = word(row.get("type"))
        if kind not in ("user", "assistant"):
            self.tally.add(f"line of type {shown(row.get('type'))} is no conversation", number)
            return
        self._message(kind, number, row)

    def _is_copy(self, row: dict[str, Any], number: int) -> bool:
        """A resumed session begins with lines of the one before; where that file is at hand, they come from there."""
        session = string(row.get("sessionId"))
        if session is None:
            return False
        stem = self.source.path.stem
        if self.session_id is None or session == stem:
            self.session_id = session
        if session == stem or stem.startswith("agent-"):
            return False
        if session not in self._beside:
            other = self.source.path.with_name(f"{session}.jsonl")
            safe = re.fullmatch(r"[\w.-]{1,100}", session) is not None
            self._beside[session] = safe and other != self.source.path and other.is_file()
        if self._beside[session]:
            self.tally.add("copied from an earlier session, imported there", number)
            return True
        return False

    def _is_repeat(self, row: dict[str, Any], number: int) -> bool:
        uuid = string(row.get("uuid"))
        if uuid is None:
            return False
        if uuid in self._uuids:
            self.tally.add("the same line twice (same uuid)", number)
            return True
        self._uuids.add(uuid)
        return False

    def _title(self, kind: str, row: dict[str, Any]) -> None:
        title = string(row.get(_TITLES[kind]))
        leaf = string(row.get("leafUuid"))
        if title is None:
            return
        if kind == "summary":
            # a summary may speak of another file's conversation: it counts when its leaf is in this one
            self._leaf, self.titles["summary"] = leaf, title
        else:
            self.titles[kind] = title

    def title(self) -> str | None:
        """The name the person gave it, else the program's, else its summary if that is about this file."""
        if self._leaf is not None and self._leaf not in self._uuids:
            self.titles.pop("summary", None)
        return next((self.titles[kind] for kind in _TITLES if kind in self.titles), None)

    @staticmethod
    def _queued(row: dict[str, Any]) -> dict[str, Any]:
        """What the person typed while the assistant was at work is kept as an attachment."""
        attachment = mapping(row.get("attachment"))
        origin = mapping(attachment.get("origin")).get("kind", "human")
        if attachment.get("type") != "queued_command" or origin != "human":
            return row
        if attachment.get("commandMode", "prompt") != "prompt":
            return row
        return {**row, "type": "user", "message": {"content": attachment.get("prompt")}}

    def _chain(self, row: dict[str, Any]) -> _Chain:
        """The main conversation, or the sub-agent's whose first line this one descends from."""
        if row.get("isSidechain") is not True:
            return self.main
        uuid = string(row.get("uuid")) or ""
        parent = string(row.get("parentUuid")) or ""
        agent = string(row.get("agentId"))
        key = agent or self._side_of.get(parent) or uuid or "side"
        if self.source.path.stem.startswith("agent-"):
            self.agent_id = self.agent_id or agent or self.source.path.stem.removeprefix("agent-")
            key = self.agent_id
        self._side_of[uuid] = key
        return self.sides.setdefault(key, _Chain())

    def _message(self, kind: str, number: int, row: dict[str, Any]) -> None:
        def skip(reason: str) -> None:
            self.tally.add(reason, number)

        chain = self._chain(row)
        body = row.get("message")
        content = body.get("content") if isinstance(body, dict) else body
        at = parse_time(row.get("timestamp"), now=self.source.now)
        if reason := _left_out(row, content):
            skip(reason)
        elif kind == "user":
            for message in user_messages(_without_injected(content), at, chain.tools, skip):
                chain.messages.append(message)
                chain.message_ids.append(None)
        else:
            reply = assistant_message(content, at, chain.tools, skip)
            chain.model = string(mapping(body).get("model")) or chain.model
            if reply:
                self._append_reply(chain, reply, string(mapping(body).get("id")))

    @staticmethod
    def _append_reply(chain: _Chain, reply: Message, message_id: str | None) -> None:
        if not message_id or not chain.messages or chain.message_ids[-1] != message_id:
            chain.messages.append(reply)
            chain.message_ids.append(message_id)
            return
        last = chain.messages[-1]
        texts = [last.content]
        if reply.content and reply.content not in last.content:
            texts.append(reply.content)  # a streamed reply is sometimes written whole again
        known = {call.get("id") for call in last.tool_calls if call.get("id")}
        calls = tuple(call for call in reply.tool_calls if call.get("id") not in known)
        chain.messages[-1] = replace(
            last,
            content="\n\n".join(text for text in texts if text),
            tool_calls=last.tool_calls + calls,
        )


def _left_out(row: dict[str, Any], content: Any) -> str | None:
    """Why a user or assistant line is not part of the conversation; None when it is."""
    if row.get("isCompactSummary") is True:
        return "summary written by compaction (the turns themselves are imported)"
    if row.get("isMeta") is True or row.get("isVisibleInTranscriptOnly") is True:
        return "line added by the program (meta)"
    if row.get("isApiErrorMessage") is True:
        return "error message of the program"
    text = flatten(content) if isinstance(content, str | list) else ""
    if _WRAPPER.match(text):
        return "slash command or its output"
    if _INTERRUPTED.match(text) and len(text) < 100:
        return "mark of an interruption"
    return None


def _without_injected(content: Any) -> Any:
    """The content without what the program put between the person's words."""
    if isinstance(content, str):
        return _INJECTED.sub("", content)
    if isinstance(content, list):
        return [
            {**part, "text": _INJECTED.sub("", part["text"])}
            if isinstance(part, dict) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    return content


def read(source: Source) -> Iterator[Record]:
    """The session of the file, then its sub-agents, then what was left out."""
    tally = Tally(source.name)
    reader = _Reader(source, tally)
    for number, row in json_lines(source, tally, reader.notes.add):
        reader.line(number, row)
    own = reader.session_id or source.path.stem
    key = f"{Format.CLAUDE_CODE}:{own}"
    notes = tuple(sorted(reader.notes))
    forked = reader.forked_from if reader.forked_from != own else None
    base = ImportedConversation(key, SOURCE, cwd=reader.cwd, notes=notes)
    if reader.main.messages:
        yield with_times(
            replace(
                base,
                title=reader.title(),
                model=reader.main.model,
                messages=tuple(reader.main.messages),
                parent_origin_key=f"{Format.CLAUDE_CODE}:{forked}" if forked else None,
            ),
            source.mtime,
        )
    for name, chain in reader.sides.items():
        if not chain.messages:
            continue
        side = replace(
            base,
            origin_key=f"{key}/agent-{name}",
            model=chain.model,
            messages=tuple(chain.messages),
            parent_origin_key=key,
            agent_context="subagent",
        )
        yield with_times(side, source.mtime)
    if not reader.main.messages and not any(chain.messages for chain in reader.sides.values()):
        tally.add("conversation without messages")
    yield from tally.drain()
