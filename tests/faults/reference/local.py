"""A local provider: one SQLite file, turns by id. The smallest one that keeps every promise."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import closing

from pydantic import BaseModel, ConfigDict, Field

from hermes_memory_core import hookimpl
from hermes_memory_core.storage.atomic import make_private_dir, open_private
from hermes_memory_core.types import (
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    Recall,
    Scope,
    ToolResult,
    ToolSpec,
)

SCHEMA = """
CREATE TABLE IF NOT EXISTS items(
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, scope TEXT NOT NULL, scope_kind TEXT NOT NULL, scope_id TEXT,
    content TEXT NOT NULL, at REAL, metadata TEXT NOT NULL)
"""


class LocalProvider:
    name = "local"

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        max_items: int = Field(3, ge=1, le=50, description="How many turns one recall shows.")

    def __init__(self, context):
        self.context = context
        self.path = context.data_dir / "local.db"
        self.lock = threading.Lock()
        self._db = None

    @hookimpl
    def system_block(self):
        return "A local notebook of past conversations is searched before each turn."

    @hookimpl
    def tools(self):
        return [
            ToolSpec(
                "local_search",
                "Find past turns that contain a text.",
                {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "What to look for."},
                        "limit": {"type": "integer", "description": "At most this many."},
                    },
                    "required": ["text"],
                },
            )
        ]

    @hookimpl
    def call_tool(self, session, name, arguments):
        if name != "local_search":
            return ToolResult({"error": f"unknown tool {name}"}, ok=False)
        text, limit = arguments.get("text"), arguments.get("limit", 5)
        if not isinstance(text, str) or not text:
            return ToolResult({"error": "`text` must be a string that is not empty"}, ok=False)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            return ToolResult({"error": "`limit` must be a whole number above 0"}, ok=False)
        found = self._find(session.scope, text, min(limit, 50))
        return {"success": True, "found": [row["content"] for row in found]}

    @hookimpl
    def prefetch(self, session, query):
        words = {_valid(word) for word in query.split() if len(word) > 3}
        rows = []
        for word in sorted(words, key=len, reverse=True)[:20]:
            rows += self._find(session.scope, word, self.context.config.max_items)
        texts = list(dict.fromkeys(row["content"] for row in rows))[: self.context.config.max_items]
        return (
            Recall("\n".join(f"- {text}" for text in texts), f"{len(texts)} past turns")
            if texts
            else None
        )

    @hookimpl
    def sync_turn(self, session, turn):
        text = turn.user or turn.assistant
        self._put(turn.id, "turn", session.scope, text, turn.at, {"session": session.id})

    @hookimpl
    def notes_written(self, write):
        for number, text in enumerate(write.after):
            self._put(f"{write.id}/{number}", "note", write.scope, text, write.at, {})

    @hookimpl
    def end_session(self, session, reason):
        """Nothing is held back."""

    @hookimpl
    def health(self):
        with self.lock:
            count = self._connection().execute("SELECT count(*) FROM items").fetchone()[0]
        return Health(True, f"{count} items", details={"items": count})

    @hookimpl
    def export_memories(self, scope):
        with self.lock:
            rows = (
                self._connection()
                .execute(
                    "SELECT * FROM items WHERE ?1 IS NULL OR scope=?1 ORDER BY at, id",
                    (scope.key if scope else None,),
                )
                .fetchall()
            )
        for row in rows:
            yield MemoryRecord(
                row["id"],
                row["kind"],
                row["content"],
                row["at"],
                Scope(row["scope_kind"], row["scope_id"]),
                json.loads(row["metadata"]),
            )

    @hookimpl
    def import_memories(self, records):
        counts = {"imported": 0, "duplicates": 0}
        for record in records:
            new = self._put(
                record.id,
                record.kind,
                record.scope,
                record.content,
                record.created_at,
                dict(record.metadata),
            )
            counts["imported" if new else "duplicates"] += 1
        return ImportCounts(**counts)

    @hookimpl
    def forget(self, scope, query, dry_run):
        if not query.strip():
            return []
        where = "instr(content, ?1) AND (?2 IS NULL OR scope=?2)"
        values = (_valid(query), scope.key if scope else None)
        with self.lock:
            db = self._connection()
            rows = db.execute(f"SELECT content FROM items WHERE {where}", values).fetchall()
            removed = (
                0 if dry_run else db.execute(f"DELETE FROM items WHERE {where}", values).rowcount
            )
        previews = tuple(row["content"][:60] for row in rows[:3])
        return [ForgetReceipt("local", len(rows), removed, previews)]

    @hookimpl
    def close(self):
        with self.lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _connection(self):
        if self._db is None:
            make_private_dir(self.path.parent)
            os.close(open_private(self.path, os.O_RDWR | os.O_CREAT))
            self._db = sqlite3.connect(
                self.path, timeout=10, check_same_thread=False, isolation_level=None
            )
            self._db.row_factory = sqlite3.Row
            self._db.execute(SCHEMA)
        return self._db

    def _put(self, item_id, kind, scope, content, at, metadata):
        with self.lock:
            return (
                self._connection()
                .execute(
                    "INSERT OR IGNORE INTO items VALUES(?,?,?,?,?,?,?,?)",
                    (
                        item_id,
                        kind,
                        scope.key,
                        scope.kind,
                        scope.id,
                        content,
                        at,
                        json.dumps(metadata),
                    ),
                )
                .rowcount
                == 1
            )

    def _find(self, scope, text, limit):
        with (
            self.lock,
            closing(
                self._connection().execute(
                    "SELECT content FROM items WHERE scope=? AND instr(content, ?) ORDER BY at DESC LIMIT ?",
                    (scope.key, _valid(text), limit),
                )
            ) as cursor,
        ):
            return cursor.fetchall()


def _valid(text):
    return text.encode("utf-8", "replace").decode("utf-8")
