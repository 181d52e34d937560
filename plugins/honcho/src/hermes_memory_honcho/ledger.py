"""What this profile has sent: one small SQLite file, so that a retry after any crash knows what may be there already.

A row is written before the request and settled after it. Holds ids and, for turns that are collected on purpose
(``write_frequency``), the text until it is sent. Knows nothing of the server.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.storage.atomic import make_private_dir
from hermes_memory_core.storage.migrations import migrate
from hermes_memory_core.storage.sqlite import connect, transaction, translate_sqlite_errors

APPLICATION_ID = 0x484D486F
KEEP_S = 45 * 86_400.0
"""Longer than the outbox keeps an item: what is older cannot come again."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One thing that was sent: a turn, a record, a delegation."""

    key: str
    run: str
    """Which request took it along; also in the metadata of the messages."""
    done: bool
    quiet_until: float
    """Before this time the server may still be storing it: do not send again."""


def _schema(db: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        (
            "CREATE TABLE sent(key TEXT PRIMARY KEY, run TEXT NOT NULL, done INT NOT NULL, quiet REAL NOT NULL,"
            " messages INT NOT NULL, at REAL NOT NULL)"
        ),
        "CREATE INDEX sent_at ON sent(at)",
        (
            "CREATE TABLE held(id INTEGER PRIMARY KEY, session TEXT NOT NULL, key TEXT NOT NULL UNIQUE,"
            " item TEXT NOT NULL)"
        ),
        "CREATE INDEX held_session ON held(session)",
        "CREATE TABLE sessions(name TEXT PRIMARY KEY, flags TEXT NOT NULL, at REAL NOT NULL)",
        "CREATE TABLE names(lineage TEXT PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL)",
        (
            "CREATE TABLE conclusions(note TEXT NOT NULL, pair TEXT NOT NULL, id TEXT NOT NULL,"
            " PRIMARY KEY(note, pair))"
        ),
        "CREATE TABLE migrations(key TEXT PRIMARY KEY, report TEXT NOT NULL, at REAL NOT NULL)",
    ):
        db.execute(statement)


class Ledger:
    """The file of one profile. Safe between threads and processes.

    Args:
        path: Made on first use, 0600.
        clock: Epoch seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._pid = 0

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_sqlite_errors(self.path):
            if self._db is None or self._pid != os.getpid():
                make_private_dir(self.path.parent)
                db = connect(self.path, application_id=APPLICATION_ID, synchronous="FULL")
                db.execute("PRAGMA secure_delete=ON")  # what is forgotten leaves no bytes
                migrate(db, (_schema,), self.path)
                now = self._clock()
                db.execute(
                    "INSERT INTO facts VALUES('began', ?) ON CONFLICT DO NOTHING", (str(now),)
                )
                db.execute(
                    "DELETE FROM sent WHERE (done AND at < ?) OR at < ?",
                    (now - KEEP_S, now - 2 * KEEP_S),
                )
                db.execute("DELETE FROM names WHERE at < ?", (now - 4 * KEEP_S,))
                self._db, self._pid = db, os.getpid()
            yield self._db

    def close(self) -> None:
        """Let the file go; the next use opens it again."""
        with self._lock:
            if self._db is not None and self._pid == os.getpid():
                self._db.close()
            self._db = None

    # ------------------------------------------------------------ what was sent

    @property
    def began(self) -> float:
        """When this ledger was begun: what is older may have been sent by one before it."""
        with self._open() as db:
            return float(db.execute("SELECT value FROM facts WHERE name='began'").fetchone()[0])

    def known(self, keys: Sequence[str]) -> dict[str, Sent]:
        """Rows of these keys."""
        found: dict[str, Sent] = {}
        with self._open() as db:
            for at in range(0, len(keys), 500):
                some = keys[at : at + 500]
                marks = ",".join("?" * len(some))
                rows = db.execute(
                    f"SELECT key, run, done, quiet FROM sent WHERE key IN ({marks})",  # noqa: S608 - only marks
                    tuple(some),
                )
                found.update({row[0]: Sent(row[0], row[1], bool(row[2]), row[3]) for row in rows})
        return found

    def sending(self, rows: Mapping[str, tuple[str, int]], quiet_until: float) -> None:
        """Written before the request: key → run and number of messages."""
        now = self._clock()
        with self._open() as db, transaction(db):
            db.executemany(
                "INSERT INTO sent VALUES(?,?,0,?,?,?) ON CONFLICT(key) DO UPDATE SET quiet=excluded.quiet,"
                " run=excluded.run, messages=excluded.messages",
                [(key, run, quiet_until, count, now) for key, (run, count) in rows.items()],
            )

    def quiet(self, keys: Iterable[str], until: float) -> None:
        """The request failed: before this time the server may still be storing it."""
        with self._open() as db, transaction(db):
            db.executemany(
                "UPDATE sent SET quiet=? WHERE key=? AND NOT done", [(until, key) for key in keys]
            )

    def done(self, keys: Iterable[str]) -> None:
        """The server has them; what was held of them is let go."""
        keys = list(keys)
        with self._open() as db, transaction(db):
            db.executemany("UPDATE sent SET done=1 WHERE key=?", [(key,) for key in keys])
            db.executemany("DELETE FROM held WHERE key=?", [(key,) for key in keys])

    def accepted(self) -> tuple[int, float | None]:
        """Messages the server has taken from here, and when the first of them went."""
        with self._open() as db:
            row = db.execute(
                "SELECT coalesce(sum(messages),0), min(at) FROM sent WHERE done"
            ).fetchone()
        return int(row[0]), row[1]

    # ------------------------------------------------------------ held back

    def hold(self, session: str, key: str, item: Mapping[str, Any]) -> int:
        """Keep a turn until it is sent; how many wait for this session. A key held already changes nothing."""
        with self._open() as db, transaction(db):
            db.execute(
                "INSERT INTO held(session, key, item) VALUES(?,?,?) ON CONFLICT DO NOTHING",
                (session, key, json.dumps(item, ensure_ascii=False)),
            )
            row = db.execute("SELECT count(*) FROM held WHERE session=?", (session,)).fetchone()
        return int(row[0])

    def held(self, session: str) -> list[dict[str, Any]]:
        """Turns that wait for this session, in order."""
        with self._open() as db:
            rows = db.execute("SELECT item FROM held WHERE session=? ORDER BY id", (session,))
            return [json.loads(row[0]) for row in rows]

    def waiting(self) -> dict[str, int]:
        """Session → turns held."""
        with self._open() as db:
            rows = db.execute("SELECT session, count(*) FROM held GROUP BY session ORDER BY 1")
            return {row[0]: int(row[1]) for row in rows}

    def drop_held(self, query: str, dry_run: bool) -> int:
        """Held turns that contain the text; removed unless it is a trial."""
        folded = query.casefold()
        with self._open() as db, transaction(db):
            rows = db.execute("SELECT key, item FROM held").fetchall()
            keys = [
                row[0]
                for row in rows
                if any(folded in str(text).casefold() for text in json.loads(row[1])["texts"])
            ]
            if not dry_run:
                db.executemany("DELETE FROM held WHERE key=?", [(key,) for key in keys])
        if keys and not dry_run:
            with self._open() as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(keys)

    # ------------------------------------------------------------ sessions

    def flags_of(self, session: str) -> str | None:
        """Flags this session's peers were given; None when it was never set up from here."""
        with self._open() as db:
            row = db.execute("SELECT flags FROM sessions WHERE name=?", (session,)).fetchone()
        return row[0] if row else None

    def set_flags(self, session: str, flags: str) -> None:
        """Remember them."""
        with self._open() as db:
            db.execute(
                "INSERT INTO sessions VALUES(?,?,?) ON CONFLICT(name) DO UPDATE SET flags=excluded.flags",
                (session, flags, self._clock()),
            )

    def name_of(self, lineage: str, name: str) -> str:
        """The name this conversation was given first."""
        with self._open() as db:
            found = db.execute("SELECT name FROM names WHERE lineage=?", (lineage,)).fetchone()
            if found is None:
                db.execute(
                    "INSERT INTO names VALUES(?,?,?) ON CONFLICT DO NOTHING",
                    (lineage, name, self._clock()),
                )
                found = db.execute("SELECT name FROM names WHERE lineage=?", (lineage,)).fetchone()
        return str(found[0])

    # ------------------------------------------------------------ notes and migrations

    def conclusion_of(self, note: str, pair: str) -> str | None:
        """Id of the conclusion that mirrors a note."""
        with self._open() as db:
            row = db.execute(
                "SELECT id FROM conclusions WHERE note=? AND pair=?", (note, pair)
            ).fetchone()
        return row[0] if row else None

    def keep_conclusion(self, note: str, pair: str, conclusion_id: str | None) -> None:
        """Remember it; None forgets."""
        with self._open() as db:
            if conclusion_id is None:
                db.execute("DELETE FROM conclusions WHERE note=? AND pair=?", (note, pair))
            else:
                db.execute(
                    "INSERT INTO conclusions VALUES(?,?,?) ON CONFLICT DO UPDATE SET id=excluded.id",
                    (note, pair, conclusion_id),
                )

    def migration(self, key: str) -> dict[str, Any] | None:
        """Report of a file that was uploaded."""
        with self._open() as db:
            row = db.execute("SELECT report FROM migrations WHERE key=?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def migrations(self) -> list[dict[str, Any]]:
        """All reports."""
        with self._open() as db:
            rows = db.execute("SELECT report FROM migrations ORDER BY at").fetchall()
        return [json.loads(row[0]) for row in rows]

    def set_migration(self, key: str, report: Mapping[str, Any] | None) -> None:
        """Keep a report; None takes it back."""
        with self._open() as db:
            if report is None:
                db.execute("DELETE FROM migrations WHERE key=?", (key,))
            else:
                db.execute(
                    "INSERT INTO migrations VALUES(?,?,?) ON CONFLICT(key) DO UPDATE SET report=excluded.report",
                    (key, json.dumps(report), self._clock()),
                )
