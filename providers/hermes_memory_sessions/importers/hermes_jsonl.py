"""Reading our own files: ``hermes sessions export`` (a session per line) and transcripts (an event per line)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from hermes_memory_core.types import AgentContext, Message

from .content import count, mapping, openai_message, shown, string, word
from .jsonarray import documents
from .records import ImportedConversation, Record, Tally
from .textfile import NOTE_BYTES, Source, json_lines
from .timeline import parse_time, with_times

KEY = "hermes"
"""Origin keys of our own and Hermes Agent's sessions: an id names the same session in every kind of file."""

REWOUND = "taken back by the person (rewound)"
_CONTEXTS = frozenset(get_args(AgentContext))
_SILENT = {"turn", "message", "compact", "import"}
_NO_REPLAY = {"session_meta"}


def agent_context(value: Any, source: str | None = None) -> AgentContext:
    """The context a row names, else what its source says, else primary."""
    if isinstance(value, str) and value in _CONTEXTS:
        return value  # type: ignore[return-value]
    if source == "subagent":
        return "subagent"
    return "cron" if source == "cron" else "primary"


def session_record(row: dict[str, Any], now: float) -> ImportedConversation | None:
    """The record of one session row (our field names or Hermes Agent's); None without an id."""
    own = string(row.get("id")) or string(row.get("session_id"))
    if own is None:
        return None
    source = string(row.get("source")) or KEY
    parent = string(row.get("parent_id")) or string(row.get("parent_session_id"))
    lineage = string(row.get("lineage"))
    return ImportedConversation(
        origin_key=f"{KEY}:{own}",
        session_id=own,
        source=source,
        title=string(row.get("title")),
        started_at=parse_time(row.get("started_at"), now=now),
        ended_at=parse_time(row.get("ended_at"), now=now),
        end_reason=string(row.get("end_reason")),
        model=string(row.get("model")),
        cwd=string(row.get("cwd")),
        user_id=string(row.get("user_id")),
        chat_id=string(row.get("chat_id")),
        parent_origin_key=f"{KEY}:{parent}" if parent and parent != own else None,
        agent_context=agent_context(row.get("agent_context"), source),
        continues_parent=parent is not None and lineage is not None and lineage != own,
        input_tokens=count(row.get("input_tokens")),
        output_tokens=count(row.get("output_tokens")),
        archived=row.get("archived") in (1, True),
    )


def stored_message(raw: Any, now: float) -> Message | str:
    """One stored message, or why it is not imported: rewound, empty, or no message at all."""
    if isinstance(raw, dict):
        # Hermes Agent: (active 0, compacted 0) is rewound; ours names the state
        if raw.get("state") == "undone" or (raw.get("active") == 0 and not raw.get("compacted")):
            return REWOUND
        if word(raw.get("role")) in _NO_REPLAY:
            return "bookkeeping line"
        raw = {"timestamp": raw.get("ts"), **raw} if "ts" in raw else raw
    return openai_message(raw, now)


def read_export(source: Source) -> Iterator[Record]:
    """One conversation per line; a line that is none is counted."""
    tally = Tally(source.name)
    for number, row, damaged in documents(source, tally):
        record = session_record(row, source.now) if isinstance(row, dict) else None
        raw = row.get("messages") if isinstance(row, dict) else None
        if record is None or not isinstance(raw, list):
            tally.add("session without an id or messages", number)
        else:
            messages = []
            for place, item in enumerate(raw):
                message = stored_message(item, source.now)
                if isinstance(message, str):
                    tally.add(message, f"{number}[{place}]")
                else:
                    messages.append(message)
            if messages:
                notes = (NOTE_BYTES,) if damaged else ()
                record = replace(record, messages=tuple(messages), notes=notes)
                yield with_times(record, source.mtime)
            else:
                tally.add("conversation without messages", number)
        yield from tally.drain()
    yield from tally.drain()


def read_transcript(source: Source) -> Iterator[Record]:
    """The session of one transcript, as it stands after its titles, undos and deletions."""
    tally = Tally(source.name)
    notes: set[str] = set()
    reader = _Transcript(source, tally)
    for number, event in json_lines(source, tally, notes.add):
        reader.event(number, event)
    record = reader.record()
    if record is None:
        tally.add("transcript without its session line")
    elif not record.messages:
        tally.add("conversation without messages")
    else:
        yield with_times(replace(record, notes=tuple(sorted(notes))), source.mtime)
    yield from tally.drain()


class _Transcript:
    """Plays the events of one transcript, see ``transcript.py`` for their fields."""

    def __init__(self, source: Source, tally: Tally) -> None:
        self._source = source
        self._tally = tally
        self._named = False
        self._fields: dict[str, Any] = {}
        self._origin: str | None = None
        self._messages: dict[Any, Message] = {}
        """By id, in order; messages without an id get one of their own."""

    def event(self, number: int, event: dict[str, Any]) -> None:
        kind = word(event.get("type"))
        for raw in self._messages_in(event):
            message = stored_message(raw, self._source.now)
            if isinstance(message, str):
                self._tally.add(message, number)
                continue
            own = mapping(raw).get("id")
            self._messages[own if isinstance(own, int) else (number, len(self._messages))] = message
        if kind == "session":
            if not self._named:
                self._named = True
                self._fields.update(mapping(event.get("session")))
        elif kind == "title":
            self._fields["title"] = event.get("title")
        elif kind == "update":
            self._update(mapping(event.get("fields")))
        elif kind == "end":
            self._fields.setdefault("ended_at", event.get("at"))
            self._fields.setdefault("end_reason", event.get("reason"))
        elif kind in ("undo", "delete"):
            self._remove(number, event)
        elif kind not in _SILENT:
            self._tally.add(f"line of type {shown(event.get('type'))} is no conversation", number)
        if kind == "import":
            self._origin = string(event.get("origin"))

    @staticmethod
    def _messages_in(event: dict[str, Any]) -> list[Any]:
        if event.get("type") == "turn":
            found = event.get("messages")
            return found if isinstance(found, list) else []
        return [event.get("message")] if event.get("type") == "message" else []

    def _update(self, fields: Any) -> None:
        for key, value in fields.items():
            if key in ("input_tokens", "output_tokens"):
                self._fields[key] = count(self._fields.get(key)) + count(value)
            elif key in ("archived", "model"):
                self._fields[key] = value

    def _remove(self, number: int, event: dict[str, Any]) -> None:
        ids = event.get("message_ids")
        gone = 0
        for own in ids if isinstance(ids, list) else []:
            if isinstance(own, int) and self._messages.pop(own, None) is not None:
                gone += 1
        if event.get("type") == "undo":
            self._tally.add(REWOUND, number, gone)

    def record(self) -> ImportedConversation | None:
        """The session with its messages; None when no line of the file could be used."""
        if not self._named:
            if not self._messages:
                return None
            # the first line is damaged, the rest is whole: the file is named after its session
            self._tally.add("session line missing or damaged: known by the file's name", 1)
            self._fields["id"] = self._source.path.name.removesuffix(".jsonl")
        record = session_record(self._fields, self._source.now)
        if record is None:
            return None
        return replace(
            record,
            origin_key=self._origin or record.origin_key,
            messages=tuple(self._messages.values()),
        )
