"""Events of transcripts to rows of ``history.db``, inside one open transaction. Reads files, writes none.

The cursor of a transcript (inode and byte offset) moves in the same transaction as the rows, so each line is
taken in exactly once, whoever takes it in: the process that wrote it, another one, or a rebuild.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from . import schema
from .database import raise_ids, reserve_ids
from .search import Index, MessageRow
from .titles import one_line
from .transcript import Event, finite, messages_in, plain, read_lines, session_info, whole
from .writer import Written

PREVIEW_CHARS: Final = 60
_TOGETHER: Final = 4
"""Rows held back before they are inserted. SQLite lets other threads run for each row; between two insertions an
appending thread waits for the interpreter, a quarter of a millisecond with so few."""


@dataclass(slots=True)
class _Cursor:
    key: int
    name: str
    inode: int
    offset: int
    preview: str
    moved: bool = False
    messages: int = 0
    turns: int = 0
    last_active: float = 0.0
    first_words: str = ""


class Applier:
    """Takes lines in. Make one per transaction, call ``finish`` before the commit.

    Args:
        db: In an open transaction.
        folder: Where transcripts are.
        rest: Called every few messages: who works in the background lets others run.
    """

    def __init__(
        self, db: sqlite3.Connection, folder: Path, rest: Callable[[], None] = lambda: None
    ) -> None:
        self._db = db
        self._rest = rest
        self._folder = folder
        self._index = Index(db)
        self._cursors: dict[str, _Cursor] = {}
        self._rows: list[MessageRow] = []
        self._highest = 0
        self.added = 0
        """Messages that were new to the database."""
        self.unreadable: dict[str, str] = {}
        """Files that could not be opened, and why."""
        self.skipped = 0
        """Lines that could not be read."""

    # ------------------------------------------------------------ taking in

    def take(self, line: Written) -> bool:
        """Take in a line just written; False when the file must be read instead (others wrote before it)."""
        cursor = self._cursor(line.session_id)
        if cursor.inode == 0 and line.offset == 0:
            cursor.inode, cursor.name = line.inode, line.name
        if cursor.inode != line.inode or cursor.offset < line.offset:
            return False
        if cursor.offset == line.offset:
            self._apply(cursor, line.event)
            self._advance(cursor, line.end)
        return True

    def take_file(self, name: str, session_id: str, limit: int) -> bool:
        """Take in what the file holds beyond the cursor, up to about ``limit`` messages; True at its end.

        A file that was replaced since is taken in from its start, its old rows removed first.
        """
        path = self._folder / name
        try:
            file = path.open("rb")
        except FileNotFoundError:  # taken away since; whoever did that takes the rows away too
            return True
        except OSError as error:  # one file that cannot be read must not hide all others
            self.unreadable[name] = error.strerror or type(error).__name__
            return True
        cursor = self._cursor(session_id)
        with file:
            status = os.fstat(file.fileno())
            if cursor.inode not in (0, status.st_ino) or status.st_size < cursor.offset:
                self._clear(cursor)
            if cursor.inode != status.st_ino or cursor.name != path.name:
                cursor.inode, cursor.name, cursor.moved = status.st_ino, path.name, True
            taken = 0
            for line in read_lines(file, cursor.offset):
                if line.event is None:
                    self.skipped += 1
                else:
                    taken += max(1, len(messages_in(line.event)))
                    self._apply(cursor, line.event)
                self._advance(cursor, line.end)
                if taken >= limit:
                    return False
        return True

    def finish(self) -> None:
        """Write what is held back: rows, counters, cursors."""
        self._flush()
        for cursor in self._cursors.values():
            if not cursor.moved:
                continue
            self._db.execute(
                "UPDATE sessions SET message_count = message_count + ?, turn_count = turn_count + ?, "
                "last_active = max(last_active, ?), preview = CASE preview WHEN '' THEN ? ELSE preview END "
                "WHERE key = ?",
                (
                    cursor.messages,
                    cursor.turns,
                    cursor.last_active,
                    cursor.first_words,
                    cursor.key,
                ),
            )
            self._db.execute(
                "INSERT INTO transcripts (session, path, inode, size) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (session) DO UPDATE SET path = excluded.path, inode = excluded.inode, "
                "size = excluded.size",
                (cursor.key, cursor.name, cursor.inode, cursor.offset),
            )
        if self._highest:
            raise_ids(self._db, self._highest)

    # ------------------------------------------------------------ cursors

    def _cursor(self, session_id: str) -> _Cursor:
        found = self._cursors.get(session_id)
        if found is not None:
            return found
        row = self._db.execute(
            "SELECT s.key, t.path, t.inode, t.size, s.preview FROM sessions s "
            "LEFT JOIN transcripts t ON t.session = s.key WHERE s.id = ?",
            (session_id,),
        ).fetchone()
        if row is None:
            added = self._db.execute(
                "INSERT INTO sessions (id, lineage) VALUES (?, ?)", (session_id, session_id)
            )
            row = (added.lastrowid, "", 0, 0, "")
        cursor = _Cursor(row[0], row[1] or "", row[2] or 0, row[3] or 0, row[4])
        self._cursors[session_id] = cursor
        return cursor

    @staticmethod
    def _advance(cursor: _Cursor, end: int) -> None:
        cursor.offset, cursor.moved = end, True

    def _clear(self, cursor: _Cursor) -> None:
        """Forget what an earlier file under this name held."""
        self._flush()
        ids = self._db.execute(
            "SELECT id FROM messages WHERE session = ?", (cursor.key,)
        ).fetchall()
        self._index.remove([row[0] for row in ids])
        self._db.execute(
            "UPDATE sessions SET message_count = 0, turn_count = 0, input_tokens = 0, output_tokens = 0, "
            "preview = '', ended_at = NULL, end_reason = NULL, archived = 0, pinned = 0, title = NULL "
            "WHERE key = ?",
            (cursor.key,),
        )
        cursor.inode = cursor.offset = cursor.messages = cursor.turns = 0
        cursor.preview = cursor.first_words = ""

    # ------------------------------------------------------------ events

    def _apply(self, cursor: _Cursor, event: Event) -> None:
        handler = self._handlers.get(event["type"])
        if handler is None:
            return
        try:
            handler(self, cursor, event)
        except (
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            RecursionError,
            sqlite3.InterfaceError,
            sqlite3.ProgrammingError,
        ):  # a line nobody of us wrote: stepped over and counted, or it would keep all others from being read
            self.skipped += 1

    def _session(self, cursor: _Cursor, event: Event) -> None:
        fields = event.get("session")
        if not isinstance(fields, dict):
            return
        info = session_info(fields)
        reopened = event.get("reason") not in (None, "new", "import")
        self._db.execute(
            "UPDATE sessions SET source = ?, title = coalesce(?, title), user_id = coalesce(?, user_id), "
            "chat_id = coalesce(?, chat_id), cwd = coalesce(?, cwd), model = coalesce(?, model), "
            "parent_id = coalesce(?, parent_id), lineage = ?, agent_context = ?, scope_key = ?, "
            "started_at = CASE started_at WHEN 0 THEN ? ELSE started_at END, "
            "last_active = max(last_active, ?), "
            "ended_at = CASE WHEN ? THEN NULL ELSE ended_at END, "
            "end_reason = CASE WHEN ? THEN NULL ELSE end_reason END WHERE key = ?",
            (
                info.source,
                info.title,
                info.user_id,
                info.chat_id,
                info.cwd,
                info.model,
                info.parent_id,
                info.lineage,
                info.agent_context,
                info.scope.key,
                info.started_at or finite(event.get("at"), 0.0),
                info.started_at or finite(event.get("at"), 0.0),
                reopened,
                reopened,
                cursor.key,
            ),
        )

    def _messages(self, cursor: _Cursor, event: Event) -> None:
        turn = event.get("turn") if event["type"] == "turn" else None
        number = whole(turn.get("number")) if isinstance(turn, dict) else 0
        at = finite(event.get("at"), 0.0)
        for fields in messages_in(event):
            row = self._row(cursor, fields, number, at)
            if len(self._rows) >= _TOGETHER:
                self._flush()
                self._rest()
            self._rows.append(row)
            self._highest = max(self._highest, row.id)
            cursor.last_active = max(cursor.last_active, row.ts)
            if row.role == "user" and not cursor.preview and not cursor.first_words:
                cursor.first_words = one_line(row.content, PREVIEW_CHARS)
        if turn is not None:
            cursor.turns += 1

    @staticmethod
    def _row(cursor: _Cursor, fields: dict[str, Any], number: int, at: float) -> MessageRow:
        calls = fields.get("tool_calls")
        return MessageRow(
            id=fields["id"],
            session=cursor.key,
            role=str(fields.get("role", "user")),
            content=str(fields.get("content", "")),
            ts=finite(fields.get("ts"), at),
            turn=number,
            name=plain(fields.get("name")),
            tool_name=plain(fields.get("tool_name")),
            tool_call_id=plain(fields.get("tool_call_id")),
            tool_calls=json.dumps(calls, ensure_ascii=False) if calls else None,
        )

    def _title(self, cursor: _Cursor, event: Event) -> None:
        self._db.execute(
            "UPDATE sessions SET title = ? WHERE key = ?", (plain(event.get("title")), cursor.key)
        )

    def _update(self, cursor: _Cursor, event: Event) -> None:
        fields = event.get("fields")
        if not isinstance(fields, dict):
            return
        for name, statement in _UPDATES.items():
            if name in fields:
                words = name in ("model", "source")
                value = plain(fields[name]) if words else whole(fields[name])
                if value is not None or name == "model":
                    self._db.execute(statement, (value, cursor.key))

    def _undo(self, cursor: _Cursor, event: Event) -> None:
        self._flush()
        changed = self._index.set_state(self._own(cursor, event), schema.UNDONE)
        cursor.messages -= changed
        turns = self._db.execute(
            "SELECT count(DISTINCT turn) FROM messages WHERE session = ? AND turn > 0 AND state != ?",
            (cursor.key, schema.UNDONE),
        ).fetchone()[0]
        self._db.execute("UPDATE sessions SET turn_count = ? WHERE key = ?", (turns, cursor.key))
        cursor.turns = 0

    def _compact(self, cursor: _Cursor, event: Event) -> None:
        self._flush()
        self._index.set_state(self._own(cursor, event), schema.COMPACTED)

    def _delete(self, cursor: _Cursor, event: Event) -> None:
        self._flush()
        cursor.messages -= self._index.remove(self._own(cursor, event))

    def _end(self, cursor: _Cursor, event: Event) -> None:
        self._db.execute(
            "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE key = ? AND ended_at IS NULL",
            (finite(event.get("at"), 0.0), plain(event.get("reason")), cursor.key),
        )

    def _own(self, cursor: _Cursor, event: Event) -> list[int]:
        """Those of the event's message ids that belong to its session: a line cannot touch another's."""
        named = event.get("message_ids")
        ids = [id_ for id_ in named if whole(id_)] if isinstance(named, list | tuple) else []
        rows = self._db.execute(
            "SELECT m.id FROM json_each(?) j JOIN messages m ON m.id = j.value WHERE m.session = ?",
            (json.dumps(ids), cursor.key),
        )
        return [row[0] for row in rows]

    # ------------------------------------------------------------ rows

    def _flush(self) -> None:
        """Insert the rows held back; ids already stored for the same session are left alone."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        taken = dict(
            self._db.execute(
                "SELECT m.id, m.session FROM json_each(?) j JOIN messages m ON m.id = j.value",
                (json.dumps([row.id for row in rows]),),
            ).fetchall()
        )
        fresh, seen = [], set[int]()
        for row in rows:
            if row.id in taken or row.id in seen:
                if taken.get(row.id, row.session) == row.session:
                    continue
                # two sessions carry one id: a transcript was copied by hand
                row = replace(row, id=reserve_ids(self._db, 1)[0])
            seen.add(row.id)
            fresh.append(row)
        self._index.add(fresh)
        self.added += len(fresh)
        by_key = {cursor.key: cursor for cursor in self._cursors.values()}
        for row in fresh:
            by_key[row.session].messages += 1

    _handlers: ClassVar[dict[str, Callable[[Applier, _Cursor, Event], None]]] = {
        "session": _session,
        "turn": _messages,
        "message": _messages,
        "title": _title,
        "update": _update,
        "undo": _undo,
        "compact": _compact,
        "delete": _delete,
        "end": _end,
    }


_UPDATES: Final = {
    "archived": "UPDATE sessions SET archived = ? WHERE key = ?",
    "pinned": "UPDATE sessions SET pinned = ? WHERE key = ?",
    "model": "UPDATE sessions SET model = ? WHERE key = ?",
    "source": "UPDATE sessions SET source = ? WHERE key = ?",
    "input_tokens": "UPDATE sessions SET input_tokens = input_tokens + ? WHERE key = ?",
    "output_tokens": "UPDATE sessions SET output_tokens = output_tokens + ? WHERE key = ?",
}
"""What an ``update`` event may change. Token counts are added, the rest is set."""
