"""Telling "nothing matches" from "the index has gone blind": a look at a few messages that must be found.

A damaged index segment may answer with nothing instead of an error, so an empty answer is not believed before
some stored messages were found by their own words.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from hermes_memory_core.errors import StoreCorruptError

from . import schema
from .database import REBUILD_HINT

SAMPLES: Final = 8
_LONG: Final = 4000
"""Longer messages are not looked at: the probe must cost next to nothing."""


def confirm(db: sqlite3.Connection) -> None:
    """Return when the index finds messages it must know.

    Raises:
        StoreCorruptError: It does not; an empty answer would be a lie.
    """
    from .search import segment
    from .search.index import searchable_text

    low, high = db.execute("SELECT min(id), max(id) FROM messages").fetchone()
    if low is None:
        return
    for number in range(SAMPLES):
        row = db.execute(
            "SELECT id, content, tool_name, tool_calls FROM messages "
            "WHERE id >= ? AND state != ? AND length(content) < ? ORDER BY id LIMIT 1",
            (low + (high - low) * number // (SAMPLES - 1), schema.UNDONE, _LONG),
        ).fetchone()
        # the very words that were indexed: what a segmenter makes of a part may differ
        word = segment(searchable_text(*row[1:])).partition(" ")[0] if row else ""
        if word and not _finds(db, word, row[0]):
            raise StoreCorruptError(
                "The search index no longer finds messages that are stored; the messages are all there.",
                hint=REBUILD_HINT,
                details={"message_id": row[0]},
            )


def _finds(db: sqlite3.Connection, word: str, message_id: int) -> bool:
    quoted = '"' + word.replace('"', '""') + '"'
    found = db.execute(
        "SELECT 1 FROM message_index WHERE message_index MATCH ? AND rowid = ?",
        (quoted, message_id),
    ).fetchone()
    return found is not None
