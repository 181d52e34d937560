"""Reading a Hermes Agent ``state.db`` while Hermes Agent may be using it: nothing is ever written beside it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hermes_memory_core.types import Message

from .content import clean, mapping, string
from .hermes_jsonl import KEY, session_record, stored_message
from .records import ImportedConversation, Record, SkippedItem, Tally
from .textfile import Source
from .timeline import with_times

MAGIC = b"SQLite format 3\x00"
JSON_PREFIX = "\x00json:"
"""Marks content that is a list or object (spec/builtin.md section 5.4)."""
BUSY_TIMEOUT_MS = 5000
CARRIED = "kept on by a compaction, imported where it was first said"

_SESSION = (
    "id", "source", "user_id", "chat_id", "model", "model_config", "title", "parent_session_id", "cwd",
    "started_at", "ended_at", "end_reason", "input_tokens", "output_tokens", "archived",
)  # fmt: skip
_MESSAGE = (
    "id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "active", "compacted",
)  # fmt: skip
_NEEDED = {"sessions": {"id"}, "messages": {"session_id", "role", "content"}}


class StateDb:
    """A connection that can only read, reopened when the way it was opened is no longer right.

    A database in WAL mode that nobody has open leaves no ``-wal`` file. Opening it ``mode=ro`` would make one, so
    it is opened ``immutable`` instead; that takes no locks, so as soon as the file changes or a ``-wal`` appears
    (Hermes Agent was started) the connection is replaced by an ordinary read-only one and the read is repeated.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._immutable = False
        self._mark: tuple[int, ...] | None = None
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        wal = self._path.with_name(self._path.name + "-wal")
        with self._path.open("rb") as file:
            header = file.read(20)
        self._immutable = header[18:20] == b"\x02\x02" and not wal.exists()
        self._mark = self._state()
        uri = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        uri += "&immutable=1" if self._immutable else ""
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        db.row_factory = sqlite3.Row
        return db

    def _state(self) -> tuple[int, ...]:
        info = self._path.stat()
        wal = self._path.with_name(self._path.name + "-wal").exists()
        return (info.st_ino, info.st_size, info.st_mtime_ns, int(wal))

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """All rows of one query: a short transaction, so that Hermes Agent's checkpoints never wait for us."""
        for _ in range(3):
            failed: sqlite3.Error | None = None
            found: list[dict[str, Any]] = []
            try:
                found = [dict(row) for row in self._db.execute(sql, values)]
            except sqlite3.Error as error:
                failed = error
            if not self._immutable or self._state() == self._mark:
                if failed:
                    raise failed
                return found
            self._db.close()
            self._db = self._open()
        raise sqlite3.OperationalError("the database changes while it is read")

    def columns(self, table: str) -> set[str]:
        """Names of a table's columns; empty when there is no such table."""
        return {row["name"] for row in self.rows("SELECT name FROM pragma_table_info(?)", table)}

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def is_state_db(path: Path) -> bool:
    """Whether the database has Hermes Agent's two tables.

    Raises:
        sqlite3.Error: It is locked, damaged, or no database at all.
    """
    with closing(StateDb(path)) as db:
        return all(needed <= db.columns(table) for table, needed in _NEEDED.items())


def read(source: Source) -> Iterator[Record]:
    """Every session, parents before children, one in memory at a time."""
    tally = Tally(source.name)
    try:
        with closing(StateDb(source.path)) as db:
            yield from _sessions(source, db, tally)
    except (sqlite3.Error, OSError) as error:
        yield SkippedItem(source.name, f"database cannot be read ({error})")
    source.meter.done += source.path.stat().st_size if source.path.exists() else 0
    yield from tally.drain()


def _sessions(source: Source, db: StateDb, tally: Tally) -> Iterator[Record]:
    known = db.columns("sessions")
    selected = ", ".join(name for name in _SESSION if name in known)
    message_columns = db.columns("messages")
    has_parent = "parent_session_id" in known
    order = _parents_first(
        db.rows(
            f"SELECT id, {'parent_session_id' if has_parent else 'NULL'} AS parent FROM sessions "  # noqa: S608 - column names from a fixed list
            f"ORDER BY {'started_at, ' if 'started_at' in known else ''}rowid"
        )
    )
    ends: dict[str, str | None] = {}
    for own in order:
        try:
            found = db.rows(f"SELECT {selected} FROM sessions WHERE id = ?", own)  # noqa: S608 - as above
            if not found:
                continue  # deleted since the list was made
            ends[own] = string(found[0].get("end_reason"))
            record = _session(found[0], ends, source.now)
            if record is None:
                tally.add("session without an id or messages")
                continue
            messages = tuple(_messages(db, own, message_columns, source.now, tally))
        except sqlite3.Error as error:
            tally.add(f"session cannot be read ({error})", own)
            continue
        if messages:
            yield with_times(replace(record, messages=messages), source.mtime)
        else:
            tally.add("conversation without messages", own)
        yield from tally.drain()


def _parents_first(rows: list[dict[str, Any]]) -> list[Any]:
    """Session ids, each after its parent; a cycle of parents is broken at its oldest session."""
    parent_of = {row["id"]: row["parent"] for row in rows if row["id"] is not None}
    done: set[Any] = set()
    order: list[Any] = []
    for own in parent_of:
        chain: list[Any] = []
        while own in parent_of and own not in done:
            done.add(own)
            chain.append(own)
            own = parent_of[own]
        order += reversed(chain)
    return order


def _session(
    row: dict[str, Any], ends: dict[str, str | None], now: float
) -> ImportedConversation | None:
    record = session_record(row, now)
    if record is None:
        return None
    try:
        config = mapping(json.loads(row.get("model_config") or "{}"))
    except (ValueError, TypeError, RecursionError):
        config = {}
    if config.get("_delegate_from"):
        record = replace(record, agent_context="subagent")
    parent = (record.parent_origin_key or "").removeprefix(f"{KEY}:")
    carried_on = ends.get(parent) == "compression" and record.agent_context == "primary"
    branched = bool(config.get("_branched_from"))
    return replace(record, continues_parent=carried_on and not branched)


def _messages(
    db: StateDb, session_id: Any, columns: set[str], now: float, tally: Tally
) -> Iterator[Message]:
    selected = ", ".join(name for name in _MESSAGE if name in columns)
    order = "id" if "id" in columns else "rowid"
    rows = db.rows(
        f"SELECT {selected} FROM messages WHERE session_id = ? ORDER BY {order}",  # noqa: S608 - fixed names
        session_id,
    )
    carried = _carried(rows)
    for place, row in enumerate(rows):
        at = row.get("id", place)
        if place in carried:
            tally.add(CARRIED, f"{session_id}/{at}")
            continue
        message = stored_message({**row, "content": decoded(row["content"])}, now)
        if isinstance(message, str):
            tally.add(message, f"{session_id}/{at}")
        else:
            yield message


def decoded(content: Any) -> Any:
    """Content as it was: lists and objects are stored as NUL, ``json:`` and their JSON."""
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if isinstance(content, str) and content.startswith(JSON_PREFIX):
        try:
            return json.loads(content[len(JSON_PREFIX) :])
        except (ValueError, RecursionError):
            return clean(content[len(JSON_PREFIX) :])
    return content


def _carried(rows: list[dict[str, Any]]) -> set[int]:
    """Places of rows that a compaction in place wrote again.

    It marks all live rows compacted and inserts the summary with copies of the rows it keeps, all in one moment. A
    copy is the same text as an earlier compacted row, with the same time, or inserted within 10 ms of a neighbour
    (nobody types that fast).
    """
    earlier: dict[tuple[Any, ...], set[Any]] = {}
    found: set[int] = set()
    for place, row in enumerate(rows):
        key = tuple(
            row.get(name) for name in ("role", "content", "tool_call_id", "tool_calls", "tool_name")
        )
        times = earlier.get(key)
        if times is not None and (row.get("timestamp") in times or _in_one_moment(rows, place)):
            found.add(place)
        if row.get("compacted") == 1 and row.get("active") == 0:
            earlier.setdefault(key, set()).add(row.get("timestamp"))
    return found


def _in_one_moment(rows: list[dict[str, Any]], place: int) -> bool:
    own = rows[place].get("timestamp")
    for other in (place - 1, place + 1):
        if 0 <= other < len(rows):
            beside = rows[other].get("timestamp")
            if (
                isinstance(own, float | int)
                and isinstance(beside, float | int)
                and abs(own - beside) < 0.01
            ):
                return True
    return False
