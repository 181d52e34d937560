"""Writing the index: message rows and their contentless FTS entries, always together.

Ranking and query syntax live elsewhere; so does everything about transcripts and sessions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_memory_sessions import schema

from .segmenter import TOKENISER_VERSION, count, segment, traits

MERGE_PAGES: Final = 64
"""Pages of index written by one call of ``merge``: a few milliseconds of work."""

_DIALOGUE = ("user", "assistant")


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

    def add(self, rows: Iterable[MessageRow]) -> int:
        """Insert messages and index those that are not undone; how many rows were added.

        Raises:
            sqlite3.IntegrityError: An id is taken, or a session key is unknown.
        """
        raise NotImplementedError

    def set_state(self, ids: Sequence[int], state: int) -> int:
        """Mark messages live, undone or compacted and keep the index in step; how many rows changed."""
        raise NotImplementedError

    def remove(self, ids: Sequence[int]) -> int:
        """Delete messages and their index entries; how many rows went."""
        raise NotImplementedError

    def merge(self, pages: int = MERGE_PAGES) -> bool:
        """Do a bounded piece of merging; False when nothing is left to merge.

        For the background writer, in a transaction of its own: never on the path of an append.
        """
        raise NotImplementedError

    def check(self) -> list[str]:
        """Problems found by a real query and FTS5's own integrity check; empty when healthy."""
        raise NotImplementedError

    def clear(self) -> None:
        """Empty the index and the messages, and record the tokeniser's version, before a rebuild."""
        raise NotImplementedError

    def reindex(self, after: int = 0, limit: int = 1000) -> int | None:
        """Index up to ``limit`` stored messages with id > ``after``; the last id done, None at the end.

        For a new tokeniser over an unchanged ``messages`` table: resumable, one transaction per call.
        """
        raise NotImplementedError

    def tokeniser_version(self) -> int | None:
        """The version the index was written with; None when it was never recorded."""
        raise NotImplementedError
