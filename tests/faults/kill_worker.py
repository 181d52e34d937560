"""The process that gets killed: holds a conversation, prints each turn that was acknowledged, delivers to SQLite.

    python kill_worker.py HOME RECORD SESSION FIRST LAST

``RECORD`` is the provider's own database: every delivery is an attempt, every turn id a row.
"""

from __future__ import annotations

import sqlite3
import sys
import threading

from hermes_memory_core import Memory, hookimpl

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS turns(seq INTEGER PRIMARY KEY, id TEXT UNIQUE, session TEXT, text TEXT)",
    "CREATE TABLE IF NOT EXISTS attempts(id TEXT, text TEXT)",
    "CREATE TABLE IF NOT EXISTS ends(session TEXT, reason TEXT)",
)


def recorder(path):
    class Recorder:
        name = "recorder"

        def __init__(self, context):
            self.lock = threading.Lock()
            self.db = sqlite3.connect(
                path, timeout=20, check_same_thread=False, isolation_level=None
            )
            self.db.execute("PRAGMA journal_mode=WAL")
            for statement in SCHEMA:
                self.db.execute(statement)

        @hookimpl
        def sync_turn(self, session, turn):
            with self.lock:
                self.db.execute("BEGIN IMMEDIATE")
                self.db.execute("INSERT INTO attempts VALUES(?,?)", (turn.id, turn.user))
                self.db.execute(
                    "INSERT OR IGNORE INTO turns(id, session, text) VALUES(?,?,?)",
                    (turn.id, session.id, turn.user),
                )
                self.db.execute("COMMIT")

        @hookimpl
        def end_session(self, session, reason):
            with self.lock:
                self.db.execute("INSERT INTO ends VALUES(?,?)", (session.id, reason))

        @hookimpl
        def close(self):
            self.db.close()

    return Recorder


def talk(home, record, session_id, first, last):
    with Memory.open(home, providers=[recorder(record)]) as memory:
        session = memory.session(session_id=session_id)
        for number in range(first, last):
            receipt = session.end_turn(f"turn {number:06d} of {session_id}", f"reply {number:06d}")
            if receipt.saved:
                sys.stdout.write(f"{number}\n")
                sys.stdout.flush()
        session.end()


if __name__ == "__main__":
    talk(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
