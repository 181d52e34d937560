"""Forgetting in ``runtime.db``: the outbox, frozen prompts, notices, error texts; then its free pages.

Rows are overwritten when they are deleted (``secure_delete``); ``scrub`` rebuilds the file and empties its log.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hermes_memory_core.engine.runtime import Runtime
from hermes_memory_core.types import ForgetReceipt, Scope

_PREVIEWS = 5
_NAMING = ("title", "cwd")
"""Fields of a stored session that may hold the text and can be left empty."""


class RuntimeRows:
    """Rows of one ``runtime.db`` that hold a text.

    Args:
        runtime: The database.
        holds: Does a text hold what is to be forgotten?
        scope: Only this scope's rows; None for all.
    """

    def __init__(self, runtime: Runtime, holds: Callable[[str], bool], scope: Scope | None) -> None:
        self._runtime = runtime
        self._holds = holds
        self._scope = scope

    def outbox(self, *, dry_run: bool) -> ForgetReceipt:
        """Items on their way to the external provider, dead letters included."""
        with self._write() as db:
            rows = [
                row
                for row in db.execute("SELECT seq, hook, session, payload, last_error FROM outbox")
                if self._any(row["session"], row["payload"], row["last_error"])
                and self._ours(row["session"], row["payload"])
            ]
            left = 0 if dry_run else sum(not self._clean_item(db, row) for row in rows)
        return ForgetReceipt(
            "outbox",
            len(rows),
            0 if dry_run else len(rows) - left,
            tuple(f"{row['hook']} #{row['seq']}" for row in rows[:_PREVIEWS]),
            f"{left} name a session by an id that holds the text" if left else "",
        )

    def _clean_item(self, db: sqlite3.Connection, row: sqlite3.Row) -> bool:
        """Drop the item when what it carries holds the text; else take the text off what describes it."""
        if self._any(row["payload"]):
            db.execute("DELETE FROM outbox WHERE seq=?", (row["seq"],))
            return True
        session = self._without(row["session"])
        error = None if self._any(row["last_error"]) else row["last_error"]
        db.execute(
            "UPDATE outbox SET session=?, last_error=? WHERE seq=?", (session, error, row["seq"])
        )
        return not self._any(session)

    def prompts(self, *, dry_run: bool) -> ForgetReceipt:
        """Prompts kept for replay, and titles of open sessions: the prompt is made anew at the next resume."""
        with self._write() as db:
            rows = [
                row
                for row in db.execute("SELECT id, info, snapshot FROM open_sessions")
                if self._any(row["info"], row["snapshot"]) and self._ours(row["info"], None)
            ]
            left = 0
            for row in () if dry_run else rows:
                info = self._without(row["info"])
                left += self._any(info)
                db.execute(
                    "UPDATE open_sessions SET info=?, snapshot=CASE WHEN ? THEN NULL ELSE snapshot END"
                    " WHERE id=?",
                    (info, self._any(row["snapshot"]), row["id"]),
                )
        return ForgetReceipt(
            "frozen prompts",
            len(rows),
            0 if dry_run else len(rows) - left,
            tuple(row["id"] for row in rows[:_PREVIEWS]),
            f"{left} open sessions have an id that holds the text" if left else "",
        )

    def news(self, *, dry_run: bool) -> ForgetReceipt:
        """Notices, health answers and error texts; they say nothing about whose they are, so all go."""
        with self._write() as db:
            notices = [
                row["key"]
                for row in db.execute("SELECT key, notice FROM notices")
                if self._any(row["key"], row["notice"])
            ]
            states = [
                row["name"]
                for row in db.execute("SELECT name, why, hint, breaker, health FROM providers")
                if self._any(row["why"], row["hint"], row["breaker"], row["health"])
            ]
            errors = [
                (row["provider"], row["hook"])
                for row in db.execute("SELECT provider, hook, last_error, last_hint FROM figures")
                if self._any(row["last_error"], row["last_hint"])
            ]
            if not dry_run:
                db.executemany("DELETE FROM notices WHERE key=?", [(key,) for key in notices])
                db.executemany(
                    "UPDATE providers SET why='', hint='', breaker=NULL, health=NULL WHERE name=?",
                    [(name,) for name in states],
                )
                db.executemany(
                    "UPDATE figures SET last_error=NULL, last_hint=NULL WHERE provider=? AND hook=?",
                    errors,
                )
        found = len(notices) + len(states) + len(errors)
        return ForgetReceipt("notices", found, 0 if dry_run else found)

    def others(self, active: Collection[str]) -> list[tuple[str, int]]:
        """External providers used before that took something, with how many items."""
        with self._runtime.read() as db:
            rows = db.execute("SELECT name, delivered FROM providers WHERE delivered>0").fetchall()
        return [(row["name"], row["delivered"]) for row in rows if row["name"] not in active]

    def under_way(self) -> bool:
        """True while some process holds a lane with something in it."""
        with self._runtime.read() as db:
            row = db.execute(
                "SELECT 1 FROM lanes l WHERE holder IS NOT NULL AND leased_until>? AND EXISTS"
                " (SELECT 1 FROM outbox o WHERE o.provider=l.provider AND o.lane=l.lane"
                " AND o.dead_at IS NULL) LIMIT 1",
                (self._runtime.clock(),),
            ).fetchone()
        return row is not None

    def scrub(self) -> ForgetReceipt:
        """Rebuild the file without free pages and empty its log."""
        with self._runtime.read() as db:
            db.execute(
                "PRAGMA temp_store=MEMORY"
            )  # the copy must not pass through a file elsewhere
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        reason = "another program is reading it; its log is emptied when that ends" if busy else ""
        return ForgetReceipt("runtime.db", 0, reason=reason)

    # ------------------------------------------------------------ inside

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._runtime.write() as db:
            db.execute("PRAGMA secure_delete=ON").fetchall()
            try:
                yield db
            finally:
                db.execute("PRAGMA secure_delete=OFF").fetchall()

    def _any(self, *texts: str | None) -> bool:
        return any(text is not None and self._holds(text) for text in texts)

    def _ours(self, session: str | None, payload: str | None) -> bool:
        if self._scope is None:
            return True
        for text in (session, payload):
            data = json.loads(text) if text else None
            if isinstance(data, Mapping) and isinstance(data.get("scope"), Mapping):
                scope: Mapping[str, Any] = data["scope"]
                return Scope(scope.get("kind", "profile"), scope.get("id")).key == self._scope.key
        return False

    def _without(self, session: str | None) -> str | None:
        """A stored session without names that hold the text."""
        if session is None or not self._any(session):
            return session
        data = json.loads(session)
        for name in _NAMING:
            if self._any(data.get(name)):
                data[name] = None
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
