"""Writing the index: message rows and their contentless FTS entries, always together.

Ranking and query syntax live elsewhere; so does everything about transcripts and sessions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from hermes_memory_core.errors import StoreError
from hermes_memory_sessions import schema

from .scripts import clean
from .segmenter import TOKENISER_VERSION, count, entry, segment
from .stems import stemmer_version

MERGE_PAGES: Final = 64
"""Pages of index written by one call of ``merge``: a few milliseconds of work."""

_DIALOGUE = ("user", "assistant")
_COLUMNS = (
    "id, session, position, turn, state, tokens, flags, ts, role, name, tool_name, tool_call_id, "
    "tool_calls, content"
)
_VALUES = ", ".join("?" * len(_COLUMNS.split(", ")))
_INSERT: Final = f"INSERT INTO messages ({_COLUMNS}) VALUES ({_VALUES})"  # noqa: S608
_ENTER: Final = "INSERT INTO message_index(rowid, tokens) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message as the ``messages`` table takes it."""

    id: int
    session: int
    """``sessions.key`` of its session; that row must exist."""
    role: str
    content: str
    ts: float
    turn: int = 0
    name: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: str | None = None
    """OpenAI tool calls as a JSON array, or None."""
    state: int = schema.LIVE


class Index:
    """Messages and their index entries in one open database.

    No method commits: every call belongs to the transaction the caller has open (or autocommits).
    Not thread-safe on its own; one writer at a time.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._ready = False
        self._positions: dict[int, int] = {}
        """Last position of each session that ``add`` has met; only as long as nothing else moves them."""

    # ------------------------------------------------------------ messages

    def add(self, rows: Iterable[MessageRow]) -> int:
        """Insert messages and index those that are not undone; how many rows were added.

        Lone surrogates are replaced on the way in, since SQLite cannot hold them.

        Raises:
            StoreError: The index was made by another tokeniser: ``reset`` and ``reindex`` first.
            sqlite3.IntegrityError: An id is taken, or a session key is unknown.
        """
        self._require_current()
        messages: list[tuple[Any, ...]] = []
        entries: list[tuple[int, str]] = []
        for row in rows:
            message, tokens = self._prepared(row)
            messages.append(message)
            if tokens and row.state != schema.UNDONE:
                entries.append((row.id, tokens))
        self._db.executemany(_INSERT, messages)
        self._db.executemany(_ENTER, entries)
        return len(messages)

    def _prepared(self, row: MessageRow) -> tuple[tuple[Any, ...], str]:
        """The row of ``messages`` and its tokens."""
        content = clean(row.content)
        tool_calls = clean(row.tool_calls) if row.tool_calls else None
        tool_name = clean(row.tool_name) if row.tool_name else None
        more = _beside(tool_name, tool_calls)
        tokens, flags, language = entry(content, more)
        if language != "english":
            self._note_language(language)
        message = (
            row.id,
            row.session,
            self._next_position(row),
            row.turn,
            row.state,
            count(tokens),
            flags,
            row.ts,
            row.role,
            clean(row.name) if row.name else None,
            tool_name,
            row.tool_call_id,
            tool_calls,
            content,
        )
        return message, tokens

    def set_state(self, ids: Sequence[int], state: int) -> int:
        """Mark messages live, undone or compacted and keep the index in step; how many rows changed."""
        self._require_current()
        self._positions.clear()
        changed = 0
        for id_, old, tokens in self._stored(ids):
            if old == state:
                continue
            if tokens and state == schema.UNDONE:
                self._withdraw(id_, tokens)
            elif tokens and old == schema.UNDONE:
                self._enter(id_, tokens)
            self._db.execute("UPDATE messages SET state = ? WHERE id = ?", (state, id_))
            changed += 1
        return changed

    def remove(self, ids: Sequence[int]) -> int:
        """Delete messages and their index entries; how many rows went."""
        self._require_current()
        self._positions.clear()
        removed = 0
        for id_, state, tokens in self._stored(ids):
            if tokens and state != schema.UNDONE:
                self._withdraw(id_, tokens)
            self._db.execute("DELETE FROM messages WHERE id = ?", (id_,))
            removed += 1
        return removed

    # ------------------------------------------------------------ the index as a whole

    def merge(self, pages: int = MERGE_PAGES) -> bool:
        """Do a bounded piece of merging; False when nothing is left to merge.

        For the background writer, in a transaction of its own: never on the path of an append.
        """
        before = self._db.total_changes
        self._db.execute(
            "INSERT INTO message_index(message_index, rank) VALUES ('merge', ?)", (pages,)
        )
        # SQLite's documentation: a difference below 2 means the command found nothing to do
        return self._db.total_changes - before >= 2

    def clear(self) -> None:
        """Remove all messages and index entries and record the tokeniser, before a rebuild."""
        self._db.execute("DELETE FROM messages")
        self.reset()

    def reset(self) -> None:
        """Empty the index alone and record the tokeniser; ``reindex`` fills it from ``messages``."""
        schema.drop_search_tables(self._db)
        schema.create(self._db)
        self._db.execute("DELETE FROM meta WHERE key GLOB 'language.*'")
        self._record_version()
        self._ready = True

    def reindex(self, after: int = 0, limit: int = 1000) -> int | None:
        """Index up to ``limit`` stored messages with id > ``after``; the last id done, None at the end.

        For a new tokeniser over an unchanged ``messages`` table, after ``reset``: one transaction per call,
        and the caller keeps the number to go on from after a crash.
        """
        rows = self._db.execute(
            "SELECT id, state, content, tool_name, tool_calls FROM messages WHERE id > ? "
            "ORDER BY id LIMIT ?",
            (after, limit),
        ).fetchall()
        for id_, state, content, tool_name, tool_calls in rows:
            tokens, flags, language = entry(content, _beside(tool_name, tool_calls))
            self._db.execute(
                "UPDATE messages SET tokens = ?, flags = ? WHERE id = ?",
                (count(tokens), flags, id_),
            )
            if language != "english":
                self._note_language(language)
            if tokens and state != schema.UNDONE:
                self._enter(id_, tokens)
        return rows[-1][0] if rows else None

    def is_current(self) -> bool:
        """Whether the index was made by this tokeniser; a new, empty database becomes so."""
        if _recorded(self._db) == _version():
            return True
        empty = self._db.execute("SELECT NOT EXISTS (SELECT 1 FROM messages)").fetchone()[0]
        if empty:
            self._record_version()
        return bool(empty)

    def check(self) -> list[str]:
        """Problems found by real queries and FTS5's own integrity check; empty when healthy."""
        from .checks import problems

        return problems(self._db, _version(), _recorded(self._db))

    # ------------------------------------------------------------ inside

    def _note_language(self, name: str) -> None:
        """Count the messages of other languages: queries are stemmed by those that matter here."""
        self._db.execute(
            "INSERT INTO meta(key, value) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1",
            (f"language.{name}",),
        )

    def _require_current(self) -> None:
        if not self._ready and not self.is_current():
            raise StoreError(
                "The search index was made by another version; nothing was written.",
                hint="hermes sessions rebuild",
            )
        self._ready = True

    def _record_version(self) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO meta(key, value) VALUES ('tokeniser_version', ?)", (_version(),)
        )

    def _next_position(self, row: MessageRow) -> int:
        """Undone messages give their places back, so that what follows a rewind is next to what stayed."""
        known = self._positions
        last = known.get(row.session)
        if last is None:
            last = self._db.execute(
                "SELECT position FROM messages WHERE session = ? AND state != ? "
                "ORDER BY position DESC LIMIT 1",
                (row.session, schema.UNDONE),
            ).fetchone()
            last = last[0] if last else 0
        position = last + 1 if row.role in _DIALOGUE else last
        known[row.session] = last if row.state == schema.UNDONE else position
        return position

    def _stored(self, ids: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        for id_ in ids:
            row = self._db.execute(
                "SELECT state, content, tool_name, tool_calls FROM messages WHERE id = ?", (id_,)
            ).fetchone()
            if row is not None:
                yield id_, row[0], segment(searchable_text(row[1], row[2], row[3]))

    def _enter(self, id_: int, tokens: str) -> None:
        self._db.execute(_ENTER, (id_, tokens))

    def _withdraw(self, id_: int, tokens: str) -> None:
        # a contentless table forgets only what it is told again, token by token
        self._db.execute(
            "INSERT INTO message_index(message_index, rowid, tokens) VALUES ('delete', ?, ?)",
            (id_, tokens),
        )


def searchable_text(content: str, tool_name: str | None, tool_calls: str | None) -> str:
    """What of a message can be found: its text, the tool's name, and the words of the tool calls."""
    more = _beside(tool_name, tool_calls)
    return f"{content}\n{more}" if more else content


def _beside(tool_name: str | None, tool_calls: str | None) -> str:
    if not tool_name and not tool_calls:
        return ""
    return "\n".join([tool_name or "", *_call_words(tool_calls)])


def _call_words(tool_calls: str | None) -> Iterator[str]:
    if not tool_calls:
        return
    try:
        calls = json.loads(tool_calls)
    except ValueError:  # a foreign transcript: its raw text is still worth finding
        yield tool_calls
        return
    for call in calls if isinstance(calls, list) else [calls]:
        function = call.get("function", call) if isinstance(call, dict) else call
        if not isinstance(function, dict):
            yield from _strings(function)
            continue
        yield from _strings(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            # cut off or free text stays as it is
            with suppress(ValueError):
                arguments = json.loads(arguments)
        yield from _strings(arguments)


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(reversed([part for pair in item.items() for part in pair]))
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)


def _version() -> str:
    return f"{TOKENISER_VERSION}/{stemmer_version()}"


def _recorded(db: sqlite3.Connection) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = 'tokeniser_version'").fetchone()
    return str(row[0]) if row and row[0] is not None else None
