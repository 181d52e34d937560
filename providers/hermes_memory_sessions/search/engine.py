"""One search from query string to hits: parse, gather evidence, rank, cut, explain."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import tzinfo

from hermes_memory_core.types import Hit

from .filters import Filters


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first (or by time, as asked), and what a person should know about them."""

    hits: list[Hit]
    warnings: list[str]
    """Sentences: which part of the query's syntax or which filter was ignored, and why."""
    considered: int
    """Messages that were ranked before paging; ``offset + limit`` below this means there is more."""


def search(
    db: sqlite3.Connection,
    query: str,
    filters: Filters | None = None,
    *,
    now: float,
    tz: tzinfo | None = None,
) -> SearchResult:
    """Find messages. No query string raises or goes silently empty because of its syntax.

    Args:
        db: An open history database; only read.
        query: Words, a phrase, FTS5 syntax, or a whole question, in any script; up to 100,000 characters.
        filters: None means no filter, 20 hits by relevance.
        now: Epoch seconds, for "yesterday" in the query or the filters.
        tz: The person's time zone; None means the machine's.

    Raises:
        hermes_memory_core.errors.UsageError: A filter value cannot be understood (a date, a sort order).
        sqlite3.Error: The database cannot be read; mapping it to a StoreError is the store's business.
    """
    raise NotImplementedError
