"""A small history database to search in, without transcripts or Memory."""

from __future__ import annotations

import sqlite3
from datetime import UTC

import pytest
from hermes_memory_sessions import schema
from hermes_memory_sessions.search import Filters, Index, MessageRow, search

NOW = 1_773_765_000.0  # 2026-03-17 16:30 UTC, 00:30 on the 18th in Shanghai


class Shelf:
    """Messages by short calls, and their ids by searching."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        schema.create(self.db)
        self.index = Index(self.db)
        self.keys: dict[str, int] = {}
        self.last = 0

    def session(self, id_: str, **columns) -> int:
        if id_ not in self.keys:
            key = self.keys[id_] = len(self.keys) + 1
            columns = {
                "source": "cli",
                "started_at": NOW - 40 * 86_400,
                "last_active": NOW,
                **columns,
            }
            names = ", ".join(columns)
            marks = ", ".join("?" * len(columns))
            self.db.execute(
                f"INSERT INTO sessions (key, id, {names}) VALUES (?, ?, {marks})",
                (key, id_, *columns.values()),
            )
        return self.keys[id_]

    def say(self, text: str, session: str = "s", role: str = "user", **fields) -> int:
        self.last += 1
        fields = {"ts": NOW - 10_000 + self.last, **fields}
        self.index.add([MessageRow(self.last, self.session(session), role, text, **fields)])
        return self.last

    def result(self, query: str, now: float = NOW, tz=UTC, **filters):
        return search(self.db, query, Filters(**filters), now=now, tz=tz)

    def find(self, query: str, **filters) -> list[int]:
        return [hit.message_id for hit in self.result(query, **filters).hits]


@pytest.fixture
def shelf():
    shelf = Shelf()
    yield shelf
    shelf.db.close()
