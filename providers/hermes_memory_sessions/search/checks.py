"""Is the index healthy? Real queries and counts over ``history.db``; nothing is repaired here."""

from __future__ import annotations

import sqlite3
from typing import Final

from hermes_memory_sessions import schema

from .segmenter import segment

_SAMPLES: Final = 25


def problems(db: sqlite3.Connection, version: str, recorded: str | None) -> list[str]:
    """One sentence per fault; empty when a person can rely on searching (case B13)."""
    missing = [name for name in schema.SEARCH_TABLE_NAMES if not _exists(db, name)]
    if missing:
        return [f"The search index is missing ({', '.join(missing)})."]
    found: list[str] = []
    if recorded != version and _any_message(db):
        found.append(f"The search index was made by tokeniser {recorded}, this is {version}.")
    for probe in (_structure, _counts, _queries):
        try:
            found.extend(probe(db))
        except sqlite3.DatabaseError as error:
            found.append(f"The search index is damaged: {error}.")
            break
    return found


def _exists(db: sqlite3.Connection, name: str) -> bool:
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())


def _any_message(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM messages)").fetchone()[0])


def _structure(db: sqlite3.Connection) -> list[str]:
    # SQLite treats this command as a write, a file opened for reading only skips it
    if not db.execute("PRAGMA query_only").fetchone()[0]:
        db.execute("INSERT INTO message_index(message_index) VALUES ('integrity-check')")
    return []


def _counts(db: sqlite3.Connection) -> list[str]:
    entries = db.execute("SELECT count(*) FROM message_index_docsize").fetchone()[0]
    expected = db.execute(
        "SELECT count(*) FROM messages WHERE state != ? AND tokens > 0", (schema.UNDONE,)
    ).fetchone()[0]
    if entries == expected:
        return []
    return [f"The search index holds {entries} messages where {expected} are stored."]


def _queries(db: sqlite3.Connection) -> list[str]:
    """The newest, the oldest and some messages between must be found by a word of their own."""
    low, high = db.execute("SELECT min(id), max(id) FROM messages").fetchone()
    if low is None:
        return []
    step = max(1, (high - low) // _SAMPLES)
    for start in range(low, high + 1, step):
        row = db.execute(
            "SELECT id, content FROM messages WHERE id >= ? AND state != ? AND tokens > 0 "
            "ORDER BY id LIMIT 1",
            (start, schema.UNDONE),
        ).fetchone()
        tokens = segment(row[1]) if row else ""
        if not tokens:
            continue
        word = max(tokens.split(" "), key=len)
        phrase = '"' + word.replace('"', '""') + '"'
        # rank is read as well: a damaged docsize table answers MATCH and fails there
        hit = db.execute(
            "SELECT rowid, rank FROM message_index WHERE message_index MATCH ? AND rowid = ?",
            (phrase, row[0]),
        ).fetchone()
        if hit is None:
            return [f"Message {row[0]} is stored but cannot be found by its own word {word!r}."]
    return []
