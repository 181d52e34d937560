"""The notebook: entries in one SQLite file. Knows nothing of hooks.

Every call opens the file for itself: hooks run on several threads at a time, in several processes, and after a
fork, and a connection may not travel between them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import (
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from hermes_memory_core.types import MemoryRecord, Scope

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries(
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    folded TEXT NOT NULL,
    at REAL NOT NULL,
    scope TEXT NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT,
    metadata TEXT NOT NULL
)
"""
BUSY_S = 5.0
CANDIDATES = 500
"""Entries looked at for one question, the latest first."""
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts written without spaces: matched by pairs of characters."""


class Notebook:
    """Entries of one profile.

    Args:
        path: The file; made on first use, for its owner alone.
        clock: Epoch seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.path = path
        self.clock = clock

    def fact(self, text: str, scope: Scope) -> MemoryRecord:
        """A record for a fact; the same fact of the same scope has the same id."""
        digest = hashlib.sha256(f"{scope.key}\n{text}".encode("utf-8", "replace")).hexdigest()
        return MemoryRecord(f"fact-{digest[:24]}", "fact", text, self.clock(), scope)

    def add(self, records: Sequence[MemoryRecord]) -> int:
        """Keep records whose ids are new; how many were."""
        rows = [self._row(record) for record in records]
        with self._open() as db, db:
            before = db.total_changes
            db.executemany(
                "INSERT INTO entries VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", rows
            )
            return db.total_changes - before

    def find(
        self, text: str, scope: Scope, limit: int, deadline: float | None = None
    ) -> list[MemoryRecord]:
        """Entries of a scope that share most with a text, best first, newer before older."""
        words = terms(text)
        if not words:
            return []
        any_word = " OR ".join("instr(folded, ?)" for _ in words)
        with self._open(deadline) as db:
            rows = db.execute(
                f"SELECT * FROM entries WHERE scope=? AND ({any_word}) ORDER BY at DESC LIMIT ?",
                (scope.key, *words, CANDIDATES),
            ).fetchall()
        return [_record(row) for row in ranked(rows, words)[:limit]]

    def containing(self, text: str, scope: Scope | None) -> list[MemoryRecord]:
        """Entries that contain a text, whatever its case; none for an empty text."""
        if not text.strip():
            return []
        with self._open() as db:
            rows = db.execute(
                "SELECT * FROM entries WHERE instr(folded, ?) AND (? IS NULL OR scope=?)",
                (clean(text).casefold(), scope and scope.key, scope and scope.key),
            ).fetchall()
        return [_record(row) for row in rows]

    def records(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """All entries, oldest first."""
        with self._open() as db:
            rows = db.execute(
                "SELECT * FROM entries WHERE ? IS NULL OR scope=? ORDER BY at, id",
                (scope and scope.key, scope and scope.key),
            ).fetchall()
        return iter([_record(row) for row in rows])

    def remove(self, ids: Sequence[str]) -> int:
        """Delete entries; how many were there. Deleted text is overwritten in the file."""
        with self._open() as db, db:
            before = db.total_changes
            db.executemany("DELETE FROM entries WHERE id=?", [(one,) for one in ids])
            return db.total_changes - before

    def check(self) -> int:
        """Write, read, and look for damage; the number of entries."""
        with self._open() as db:
            damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise ProviderUnavailableError(f"`{self.path}` is damaged: {damage}")
            db.execute("PRAGMA user_version=1")
            return int(db.execute("SELECT count(*) FROM entries").fetchone()[0])

    # ------------------------------------------------------------ inside

    @contextmanager
    def _open(self, deadline: float | None = None) -> Iterator[sqlite3.Connection]:
        try:
            self._make_private()
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as db:
                db.row_factory = sqlite3.Row
                db.execute("PRAGMA secure_delete=ON")
                db.execute(SCHEMA)
                if deadline is not None:
                    db.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
                yield db
        except (sqlite3.Error, OSError) as error:
            if deadline is not None and "interrupted" in str(error):
                raise ProviderTimeoutError("The notebook did not answer in time.") from error
            raise ProviderUnavailableError(
                f"The notebook `{self.path}` cannot be used ({error}); what it holds was kept.",
                hint="hermes doctor",
            ) from error

    def _make_private(self) -> None:
        if self.path.exists():
            return
        for directory in (self.path.parent.parent, self.path.parent):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(self.path, flags, 0o600))

    def _row(self, record: MemoryRecord) -> tuple[Any, ...]:
        content = clean(record.content)
        at = record.created_at if record.created_at is not None else self.clock()
        metadata = clean(json.dumps(dict(record.metadata), ensure_ascii=False, default=str))
        scope = record.scope
        return (
            *(clean(record.id), record.kind, content, content.casefold(), at),
            *(scope.key, scope.kind, scope.id, metadata),
        )


def terms(text: str) -> list[str]:
    """What to look for: words, the short ones only if there is no other; pairs where a script has no spaces."""
    found: dict[str, None] = {}
    short: dict[str, None] = {}
    for word in re.findall(r"\w+", clean(text).casefold()):
        if UNSPACED.search(word):
            pairs = [word[at : at + 2] for at in range(max(1, len(word) - 1))]
            found.update(dict.fromkeys(pairs))
        elif len(word) > 3:
            found[word] = None
        else:
            short[word] = None
    return list(found or short)[:40]


def ranked(rows: Sequence[sqlite3.Row], words: Sequence[str]) -> list[sqlite3.Row]:
    """Rows by the words they share, a rare word counting for more; those far below the best are left out."""
    counts = {word: sum(word in row["folded"] for row in rows) for word in words}
    scores = {
        row["id"]: sum(1 / counts[word] for word in words if word in row["folded"]) for row in rows
    }
    enough = max(scores.values(), default=0) / 2
    return sorted(
        (row for row in rows if scores[row["id"]] >= enough), key=lambda row: -scores[row["id"]]
    )


def clean(text: str) -> str:
    """Text a database takes: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _record(row: sqlite3.Row) -> MemoryRecord:
    return MemoryRecord(
        id=row["id"],
        kind=row["kind"],
        content=row["content"],
        created_at=row["at"],
        scope=Scope(row["scope_kind"], row["scope_id"]),
        metadata=json.loads(row["metadata"]),
    )
