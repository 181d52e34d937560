"""Opening SQLite files the one right way, and saying in words what SQLite says in codes.

Rules kept here: the file is made 0600 before the first connection; WAL; every connection waits for locks
instead of failing at once; ``application_id`` tells our files from others; a newer schema is opened for
reading only; a file that is not a database is never replaced by an empty one. The database file itself is
never opened and closed by hand while connections exist: that would drop SQLite's POSIX locks.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from hermes_memory_core.errors import (
    HermesMemoryError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)
from hermes_memory_core.storage import forks
from hermes_memory_core.storage.atomic import create_private

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_TIMEOUT_S = 10.0


def connect(
    path: Path,
    *,
    application_id: int,
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
    read_only: bool = False,
    repair_hint: str = "",
) -> sqlite3.Connection:
    """Open (or create) one of our databases in WAL mode, in autocommit, usable from any thread.

    Args:
        path: The file.
        application_id: Ours; another program's number is refused, so no foreign file is written.
        synchronous: NORMAL for derived data, FULL where this database is the commit point.
        read_only: Open without any chance to write.
        repair_hint: The command that mends this file, put into corruption errors.

    Raises:
        StoreCorruptError: The file is not a database, or damaged. It is left as it is.
        StoreLockedError: Another process holds it.
    """
    with forks.opening(), translate_sqlite_errors(path, repair_hint):
        if read_only:
            uri = f"file:{quote(str(path))}?mode=ro"
            db = sqlite3.connect(
                uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        else:
            create_private(path)
            db = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        try:
            found = db.execute("PRAGMA application_id").fetchone()[0]
            empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if found != application_id and not (empty and found == 0):
                raise StoreError(
                    f"`{path}` belongs to another program (application id {found}); it was not touched.",
                    hint=f"move `{path}` away",
                    details={"path": str(path), "application_id": found},
                )
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute(f"PRAGMA synchronous={synchronous}")
                if empty:
                    db.execute(f"PRAGMA application_id={application_id:d}")
        except BaseException:
            db.close()
            raise
        return db


def close(db: sqlite3.Connection) -> None:
    """Close a connection; never in the middle of a fork, whose child would find SQLite's own lock taken."""
    with forks.opening():
        db.close()


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: taken at once (BEGIN IMMEDIATE), committed, or rolled back on any error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DENIED = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def error_from(error: sqlite3.Error, path: Path, repair_hint: str = "") -> HermesMemoryError:
    """The error of our tree that says what this SQLite error means."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    details = {"path": str(path), "sqlite": str(error)}
    if code in _LOCKED:
        return StoreLockedError(
            f"`{path.name}` is in use by another process; nothing was changed.",
            hint="try again, or close the other program that uses this home",
            details=details,
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(
            f"No room on the disk for `{path.name}`; what was saved before is unchanged.",
            hint="free some space, then run the command again",
            details=details,
        )
    if code in _DAMAGED:
        return StoreCorruptError(
            f"`{path.name}` is damaged ({error}); it was left as it is and not written.",
            hint=repair_hint or f"move `{path}` away and restore a backup",
            details=details,
        )
    if code in _DENIED:
        return StoreError(
            f"`{path}` cannot be opened for writing ({error}); nothing was changed.",
            hint=f"check the permissions of `{path}` and of `{path.parent}`",
            details=details,
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"The disk did not take or give what `{path.name}` needed ({error}); what was saved before is "
            "unchanged.",
            hint="check the free space and the health of the disk, then run the command again",
            details=details,
        )
    return StoreError(
        f"`{path.name}` refused the operation: {error}.", hint=repair_hint, details=details
    )


@contextmanager
def translate_sqlite_errors(path: Path, repair_hint: str = "") -> Iterator[None]:
    """Raise our errors instead of ``sqlite3.Error``, the cause kept."""
    try:
        yield
    except sqlite3.Error as error:
        raise error_from(error, path, repair_hint) from error
