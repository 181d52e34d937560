"""The tables of ``history.db``: DDL, constants and nothing that reads or writes rows.

``history.db`` is derived from ``sessions/<id>.jsonl`` and can always be built again (design.md section 7).
The text of a message stands here once; the index beside it is contentless (spec/search.md section 3).
"""

from __future__ import annotations

import sqlite3
from typing import Final

APPLICATION_ID: Final = 0x484D_484D
"""``PRAGMA application_id`` of our databases ("HMHM"): another program's file is never taken for ours."""

SCHEMA_VERSION: Final = 1
"""Stored in ``meta.schema_version``; a greater number in a file means a newer Hermes Memory wrote it."""

LIVE: Final = 0
UNDONE: Final = 1
COMPACTED: Final = 2
STATES: Final = ("live", "undone", "compacted")
"""Names of ``messages.state``, by number. Undone messages have no entry in the index; compacted ones keep theirs."""

QUESTION: Final = 1
TEMPORAL: Final = 2
"""Bits of ``messages.flags``, computed from the text when it is indexed."""

TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS meta (
        key   TEXT PRIMARY KEY,
        value ANY
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS sessions (
        key           INTEGER PRIMARY KEY,
        id            TEXT NOT NULL UNIQUE,
        source        TEXT NOT NULL DEFAULT 'cli',
        title         TEXT,
        user_id       TEXT,
        chat_id       TEXT,
        cwd           TEXT,
        model         TEXT,
        parent_id     TEXT,
        lineage       TEXT NOT NULL DEFAULT '',
        agent_context TEXT NOT NULL DEFAULT 'primary',
        scope_key     TEXT NOT NULL DEFAULT 'profile',
        started_at    REAL NOT NULL DEFAULT 0,
        last_active   REAL NOT NULL DEFAULT 0,
        ended_at      REAL,
        end_reason    TEXT,
        message_count INTEGER NOT NULL DEFAULT 0,
        turn_count    INTEGER NOT NULL DEFAULT 0,
        input_tokens  INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        archived      INTEGER NOT NULL DEFAULT 0,
        pinned        INTEGER NOT NULL DEFAULT 0,
        preview       TEXT NOT NULL DEFAULT ''
    )
    """,
    # position counts the user and assistant messages of a session: who speaks next to whom.
    # Small columns stand before content so that ranking never reads overflow pages.
    """
    CREATE TABLE IF NOT EXISTS messages (
        id           INTEGER PRIMARY KEY,
        session      INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
        position     INTEGER NOT NULL,
        turn         INTEGER NOT NULL DEFAULT 0,
        state        INTEGER NOT NULL DEFAULT 0,
        tokens       INTEGER NOT NULL DEFAULT 0,
        flags        INTEGER NOT NULL DEFAULT 0,
        ts           REAL NOT NULL,
        role         TEXT NOT NULL,
        name         TEXT,
        tool_name    TEXT,
        tool_call_id TEXT,
        tool_calls   TEXT,
        content      TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS transcripts (
        session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
        path    TEXT NOT NULL,
        inode   INTEGER NOT NULL DEFAULT 0,
        size    INTEGER NOT NULL DEFAULT 0
    )
    """,
)
"""``transcripts.size`` is the byte offset up to which the file has been taken in."""

INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS messages_by_position ON messages (session, position)",
    "CREATE INDEX IF NOT EXISTS sessions_by_activity ON sessions (last_active)",
    "CREATE INDEX IF NOT EXISTS sessions_by_lineage ON sessions (lineage)",
)

# The segmenter (search/segmenter.py) hands over tokens parted by spaces. The ascii tokeniser keeps every
# character above 127, and these few below it, as they are.
SEARCH_TABLES: Final = (
    """
    CREATE VIRTUAL TABLE IF NOT EXISTS message_index
    USING fts5(tokens, content='', tokenize="ascii tokenchars '+#_'")
    """,
    "CREATE VIRTUAL TABLE IF NOT EXISTS index_terms USING fts5vocab(message_index, row)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS index_postings USING fts5vocab(message_index, instance)",
)
"""``index_terms`` gives document frequencies, ``index_postings`` every (term, message, offset)."""

SEARCH_TABLE_NAMES: Final = ("message_index", "index_terms", "index_postings")


def create(db: sqlite3.Connection) -> None:
    """Make every table that is missing; harmless on a complete database.

    The caller has opened a transaction or accepts autocommit, and has set the connection's pragmas.

    Raises:
        sqlite3.Error: The file cannot be written, or this SQLite has no FTS5.
    """
    for statement in (*TABLES, *INDEXES, *SEARCH_TABLES):
        db.execute(statement)


def drop_search_tables(db: sqlite3.Connection) -> None:
    """Remove the index alone (messages stay), for a rebuild with another tokeniser."""
    for name in reversed(SEARCH_TABLE_NAMES):
        db.execute(f"DROP TABLE IF EXISTS {name}")
