"""Schema steps of a database: ordered, each in one transaction together with the number it reaches.

``PRAGMA user_version`` holds the number, so a crash between two steps continues at the right one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_memory_core.errors import StoreVersionError
from hermes_memory_core.storage.sqlite import transaction

Step = Callable[[sqlite3.Connection], None]


def version_of(db: sqlite3.Connection) -> int:
    """The schema number the file is at; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection, steps: Sequence[Step], path: Path) -> int:
    """Run the steps the file has not seen; returns the number it is at afterwards.

    Step ``i`` (from 0) brings the schema from number ``i`` to ``i + 1``. Safe when several processes open
    the file at once: the number is read again inside each transaction.

    Raises:
        StoreVersionError: The file is newer than this program; nothing was changed. Callers may go on
            reading.
    """
    while True:
        current = version_of(db)
        if current > len(steps):
            raise StoreVersionError(
                f"`{path.name}` has schema {current}; this program knows up to {len(steps)}. "
                "Nothing was changed.",
                hint="update Hermes Memory: pip install -U hermes-memory-core",
                details={"path": str(path), "found": current, "known": len(steps)},
            )
        if current == len(steps):
            return current
        with transaction(db):
            if version_of(db) == current:
                steps[current](db)
                db.execute(f"PRAGMA user_version={current + 1:d}")
