"""Writing conversations: sessions, turns, single messages, undo, end. Reads only what writing needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from hermes_memory_core.errors import StoreError, UsageError
from hermes_memory_core.types import Message, SessionInfo, StartReason, Turn, TurnRef

from . import schema
from .base import StoreBase
from .transcript import (
    Event,
    decode,
    event,
    finite,
    message_fields,
    message_of,
    messages_in,
    plain,
    session_info,
    whole,
)

REMEMBERED = 10_000
"""Sessions this process began and has not ended, of which that is known without asking the database."""


class WriteMixin(StoreBase):
    """The writing half of ``HistoryStore``."""

    # ------------------------------------------------------------ sessions

    def open_session(self, session: SessionInfo, *, reason: StartReason = "new") -> None:
        """Make the session known (durably with its first line); known sessions are only refreshed.

        A session that had ended is open again afterwards.
        """
        if self.transcripts.path(session.id) is None:
            self.write_events(session.id, [], lambda: self.opening(session, reason))
            if len(self.begun) >= REMEMBERED:
                self.begun.clear()
            self.begun.add(session.id)
            return
        row = self.query(
            lambda db: db.execute(
                "SELECT source, user_id, chat_id, cwd, model, scope_key, ended_at "
                "FROM sessions WHERE id = ?",
                (session.id,),
            ).fetchone()
        )
        wanted = (
            *(session.source, session.user_id, session.chat_id, session.cwd, session.model),
            session.scope.key,
        )
        ended = row is not None and row[6] is not None
        if (
            row is None
            or ended
            or any(new and new != old for new, old in zip(wanted, row, strict=False))
        ):
            line = self.opening(session, "resume" if ended and reason == "new" else reason)
            line["session"].pop("title", None)  # the stored title stands; set_title changes it
            self.write_events(session.id, [line], lambda: self.opening(session, reason))

    def session_info(self, session_id: str) -> SessionInfo | None:
        """The session as its first line describes it, scope included; None when there is none."""
        found = None
        for line in self.transcripts.lines(session_id):
            if line.event is not None and line.event["type"] == "session":
                found = line.event.get("session")
                break
        return session_info(found) if isinstance(found, dict) else None

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:
        """Mark the end; False when it had ended already (the first reason stands) or is unknown."""
        moment = self.clock() if at is None else at
        if session_id in self.begun:
            # begun here and not ended here: no need to bring the index up to date to know that. Should another
            # process have ended it meanwhile, its reason stands when the lines are read.
            self.begun.discard(session_id)
            self.write_events(session_id, [event("end", moment, reason=reason)])
            return True
        row = self.query(
            lambda db: db.execute(
                "SELECT ended_at FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
        )
        if row is None or row[0] is not None:
            return False
        self.write_events(session_id, [event("end", moment, reason=reason)])
        return True

    # ------------------------------------------------------------ turns

    def commit_turn(self, session: SessionInfo, turn: Turn) -> TurnRef:
        """Append the turn to the transcript and sync it; indexing follows in the background.

        The session's last turn, handed over again with its id, is not stored twice.
        """
        again = self.last_turns.get(session.id)
        if again is not None and again.turn_id == turn.id and turn.id and self._turn_at(again):
            return again
        at = turn.at or self.clock()
        messages = turn.messages or (
            Message("user", turn.user),
            *([Message("assistant", turn.assistant)] if turn.assistant else []),
        )
        ids = self.ids.take(len(messages))
        head: dict[str, Any] = {"id": turn.id, "number": turn.number}
        if turn.interrupted:
            head["interrupted"] = True
        if turn.user != _first_user(messages):
            head["user"] = turn.user
        if turn.assistant != _last_reply(messages):
            head["assistant"] = turn.assistant
        fields = [
            message_fields(message, id_, at) for message, id_ in zip(messages, ids, strict=True)
        ]
        line = self.write_events(
            session.id,
            [event("turn", at, turn=head, messages=fields)],
            lambda: self.opening(session, "new"),
        )[-1]
        ref = TurnRef(session.id, turn.id, line.offset, tuple(ids), line.end)
        self.last_turns.put(session.id, ref)
        return ref

    def read_turn(self, ref: TurnRef) -> Turn | None:
        """The turn as committed; None when it was forgotten or undone since."""
        found = self._turn_at(ref) or next(
            (
                line.event
                for line in self.transcripts.lines(ref.session_id)
                if line.event is not None and _turn_id(line.event) == ref.turn_id
            ),
            None,
        )
        if found is None:
            return None
        turn = turn_of(ref.session_id, found)
        ids = [message.id for message in turn.messages if message.id is not None]
        hidden = self._undone(ref.session_id)
        return None if ids and hidden.issuperset(ids) else turn

    def transcript_end(self, session_id: str) -> int:
        """Byte offset just past the session's last committed line; 0 for unknown sessions."""
        return self.transcripts.end(session_id)

    def turns_after(self, session_id: str, offset: int) -> Iterator[tuple[TurnRef, Turn]]:
        """Committed turns whose line starts at or after ``offset``: what a cursor has not seen."""
        hidden = self._undone(session_id)
        for line in self.transcripts.lines(session_id, offset):
            if line.event is None or line.event["type"] != "turn":
                continue
            turn = turn_of(session_id, line.event)
            ids = tuple(message.id for message in turn.messages if message.id is not None)
            if not ids or not hidden.issuperset(ids):
                yield TurnRef(session_id, turn.id, line.offset, ids, line.end), turn

    def undo_turns(self, session_id: str, turns: int) -> int:
        """Hide the last ``turns`` turns from prompt and search; how many messages were hidden."""
        ids = self._last_turns(session_id, turns)
        if ids:
            self.last_turns.put(session_id, None)
            self.write_events(session_id, [event("undo", self.clock(), message_ids=ids)])
        return len(ids)

    def mark_compacted(self, session_id: str) -> int:
        """The live messages leave the context (still searchable); how many."""
        rows = self.query(
            lambda db: db.execute(
                "SELECT m.id FROM messages m JOIN sessions s ON s.key = m.session "
                "WHERE s.id = ? AND m.state = ? ORDER BY m.id",
                (session_id, schema.LIVE),
            ).fetchall()
        )
        ids = [row[0] for row in rows]
        if ids:
            self.write_events(session_id, [event("compact", self.clock(), message_ids=ids)])
        return len(ids)

    # ------------------------------------------------------------ single messages

    def append(
        self,
        session_id: str,
        role: str,
        content: str,
        *,
        name: str | None = None,
        timestamp: float | None = None,
        tool_name: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Store one message outside a turn; its id, stable over rebuild. Creates unknown sessions.

        ``content`` is text, "" (or None) for a message of tool calls alone; ``timestamp`` is epoch seconds, None for now.

        Raises:
            UsageError: The content is no text, or the timestamp no number; nothing was stored.
        """
        message = Message(
            role,
            content,
            name=name,
            tool_name=tool_name,
            tool_calls=tuple(tool_calls or ()),
            timestamp=timestamp,
        )
        return self.append_many(session_id, (message,))[0]

    def append_many(self, session_id: str, messages: Iterable[Message]) -> list[int]:
        """Like ``append`` for many messages, one sync for all."""
        session_id = self.known_id(session_id)
        now = self.clock()
        items = list(messages)
        for message in items:
            _check(message)
        if not items:
            return []
        ids = self.ids.take(len(items))
        lines = [
            event("message", now, message=message_fields(self.redacted(message), id_, now))
            for message, id_ in zip(items, ids, strict=True)
        ]
        self.write_events(session_id, lines)
        return ids

    # ------------------------------------------------------------ inside

    def _turn_at(self, ref: TurnRef) -> Event | None:
        """The turn where the reference says it stands; None when something else stands there."""
        path = self.transcripts.path(ref.session_id)
        if path is None:
            return None
        with suppress(OSError, StoreError), path.open("rb") as file:
            file.seek(ref.offset)
            found = decode(file.readline())
            if found is not None and _turn_id(found) == ref.turn_id:
                return found
        return None

    def _undone(self, session_id: str) -> set[int]:
        """Ids of the session's messages that an undo hid."""
        rows = self.query(
            lambda db: db.execute(
                "SELECT m.id FROM messages m JOIN sessions s ON s.key = m.session "
                "WHERE s.id = ? AND m.state = ?",
                (session_id, schema.UNDONE),
            ).fetchall()
        )
        return {row[0] for row in rows}

    def _last_turns(self, session_id: str, turns: int) -> list[int]:
        """Message ids of the last ``turns`` live turns; outside turns a user message begins one."""
        rows = self.query(
            lambda db: db.execute(
                "SELECT m.id, m.turn, m.role FROM messages m JOIN sessions s ON s.key = m.session "
                "WHERE s.id = ? AND m.state = ? ORDER BY m.position DESC, m.id DESC",
                (session_id, schema.LIVE),
            ).fetchall()
        )
        ids: list[int] = []
        begun = 0
        for place, (id_, turn, role) in enumerate(rows):
            if begun >= turns:
                break
            ids.append(id_)
            before = rows[place + 1][1] if place + 1 < len(rows) else None
            begun += before != turn if turn else role == "user" or before != 0
        return sorted(ids)


def turn_of(session_id: str, item: Event) -> Turn:
    """The ``Turn`` of a turn line."""
    head = item.get("turn")
    head = head if isinstance(head, dict) else {}
    messages = tuple(message_of(fields) for fields in messages_in(item))
    return Turn(
        id=str(head.get("id", "")),
        session_id=session_id,
        number=whole(head.get("number")),
        user=plain(head.get("user", _first_user(messages))) or "",
        assistant=plain(head.get("assistant", _last_reply(messages))) or "",
        messages=messages,
        at=finite(item.get("at"), 0.0),
        interrupted=bool(head.get("interrupted")),
    )


def _turn_id(item: Event) -> str | None:
    head = item.get("turn")
    return str(head.get("id")) if item["type"] == "turn" and isinstance(head, dict) else None


def _first_user(messages: Sequence[Message]) -> str:
    return messages[0].content if messages and messages[0].role == "user" else ""


def _last_reply(messages: Sequence[Message]) -> str:
    return messages[-1].content if messages and messages[-1].role == "assistant" else ""


LATEST: Final = 253_402_300_800.0
"""Epoch seconds of the year 10,000: later ones are nanoseconds or a mistake."""


def _check(message: Message) -> None:
    content: object = message.content
    role: object = message.role
    at: object = message.timestamp
    if not isinstance(content, str | None):
        raise UsageError(
            f"The content of a message is text, not {type(content).__name__}; nothing was stored.",
            hint="pass the text alone; Session.end_turn takes a chat completion's content parts as they are",
        )
    if not isinstance(role, str) or not role:
        raise UsageError(f"A role is a word, not {role!r}; nothing was stored.")
    if at is not None and not (
        isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at < LATEST
    ):
        raise UsageError(
            f"A timestamp is seconds since 1970, not {at!r:.40}; nothing was stored.",
            hint="time.time() gives one; time.time_ns() counts in another unit",
        )
