"""Connections to ``history.db``: opened, checked, pooled, told apart from a file that was put in its place.

One writing connection under a mutex, a small pool for readers. A rebuild swaps the file as a whole, so every
use looks at the inode first, and every write holds the swap lock shared. No SQL about sessions here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hermes_memory_core.errors import StoreCorruptError, StoreVersionError
from hermes_memory_core.storage import forks
from hermes_memory_core.storage.atomic import create_private, open_private, translate_os_errors
from hermes_memory_core.storage.sqlite import close, connect, transaction, translate_sqlite_errors

from . import flock, schema

REBUILD_HINT: Final = "hermes sessions rebuild"
SIDECARS: Final = ("", "-wal", "-shm")
READERS: Final = 4
"""Idle reading connections kept."""
NEXT_ID: Final = "next_message_id"

_TABLES = frozenset({"meta", "sessions", "messages", "transcripts", *schema.SEARCH_TABLE_NAMES})


class Database:
    """``history.db`` of one profile.

    Args:
        path: The file.
        floor: Gives the smallest message id that is certainly free, asked when the file is new.
        swap_lock: False for the half-built file of a rebuild, which nobody else opens.
    """

    def __init__(self, path: Path, floor: Callable[[], int], *, swap_lock: bool = True) -> None:
        self.path = path
        self._floor = floor
        self._swap_lock = swap_lock
        self._lock_descriptor = -1
        self._inode = 0
        self._judged = (-1, False)
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._reading = 0
        self._new_locks()

    def _new_locks(self) -> None:
        self._mutex = threading.RLock()
        self._pool = threading.Condition(threading.Lock())
        self._held = (False, False)

    # ------------------------------------------------------------ use

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One write transaction, alone in this process and safe from a swap.

        Raises:
            StoreLockedError, StoreFullError, StoreCorruptError, StoreVersionError, StoreError: As the file is.
        """
        with self._mutex, self._shared(), translate_sqlite_errors(self.path, REBUILD_HINT):
            db = self._writing()
            with transaction(db):
                yield db

    @contextmanager
    def maintain(self) -> Iterator[sqlite3.Connection]:
        """The writing connection outside a transaction, for checkpoint, vacuum and backup."""
        with self._mutex, self._shared(), translate_sqlite_errors(self.path, REBUILD_HINT):
            yield self._writing()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A reading connection, given back afterwards."""
        with translate_sqlite_errors(self.path, REBUILD_HINT):
            db = self._borrow()
            healthy = False
            try:
                yield db
                healthy = True
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    raise StoreCorruptError(
                        f"`{self.path.name}` lacks a table ({error}); the transcripts hold everything.",
                        hint=REBUILD_HINT,
                        details={"path": str(self.path)},
                    ) from error
                raise
            finally:
                self._give_back(db, keep=healthy)

    def newer(self) -> bool:
        """True when a newer program wrote the file: then it is only read. Asked once per file."""
        inode = self._current_inode()
        if inode != self._judged[0]:
            with self.read() as db:
                version = _meta(db, "schema_version", schema.SCHEMA_VERSION)
            self._judged = (inode, version > schema.SCHEMA_VERSION)
        return self._judged[1]

    def size(self) -> int:
        """Bytes of the file and its write-ahead log."""
        total = 0
        for suffix in SIDECARS[:2]:
            with suppress(OSError):
                total += os.stat(f"{self.path}{suffix}").st_size  # noqa: PTH116 - a suffix, not a child
        return total

    def reset(self) -> None:
        """Close all connections; the next use opens the file that stands there then."""
        with self._mutex:
            self._drop_writer()
        with self._pool:
            idle, self._readers = self._readers, []
        for db in idle:
            close(db)

    def close(self) -> None:
        """Let everything go."""
        self.reset()
        with self._mutex:
            if self._lock_descriptor >= 0:
                os.close(self._lock_descriptor)
                self._lock_descriptor = -1

    # ------------------------------------------------------------ swap and fork

    @contextmanager
    def exclusive(self, timeout_s: float = 30.0) -> Iterator[None]:
        """Keep every process from opening or writing the file while it is put in its place."""
        with self._mutex:
            descriptor = self._lock_file()
            flock.lock(descriptor, self.path, timeout_s=timeout_s)
            try:
                self._drop_writer()
                yield
            finally:
                flock.unlock(descriptor)

    def before_fork(self, timeout_s: float = 2.0) -> None:
        """Close connections so that no child inherits one: SQLite's locks do not survive a fork.

        Both locks stay held over the fork: a thread inside SQLite at that moment would leave the child with
        a mutex of the library that nobody ever opens again.
        """
        mutex, pool = self._mutex.acquire(timeout=timeout_s), self._pool.acquire(timeout=timeout_s)
        self._held = (mutex, pool)
        deadline = time.monotonic() + timeout_s
        while pool and self._reading and time.monotonic() < deadline:
            self._pool.wait(0.05)
        if mutex:
            self._drop_writer()
        if pool:
            idle, self._readers = self._readers, []
            for db in idle:
                close(db)

    def after_fork_in_parent(self) -> None:
        """The parent goes on; connections open again on use."""
        mutex, pool = self._held
        self._held = (False, False)
        if pool:
            self._pool.release()
        if mutex:
            self._mutex.release()

    def after_fork_in_child(self) -> None:
        """A child starts with nothing open. What a busy thread of the parent held is left alone."""
        if self._writer is not None:
            forks.abandon(self._writer)
        self._writer, self._readers, self._reading = None, [], 0
        if self._lock_descriptor >= 0:
            os.close(self._lock_descriptor)
            self._lock_descriptor = -1
        self._new_locks()

    # ------------------------------------------------------------ inside

    def _lock_file(self) -> int:
        if self._lock_descriptor < 0:
            path = self.path.with_name(self.path.name + ".lock")
            create_private(path)
            with translate_os_errors(path):
                self._lock_descriptor = open_private(path, os.O_RDWR)
        return self._lock_descriptor

    @contextmanager
    def _shared(self) -> Iterator[None]:
        if not self._swap_lock:
            yield
            return
        descriptor = self._lock_file()
        flock.lock(descriptor, self.path, shared=True)
        try:
            yield
        finally:
            flock.unlock(descriptor)

    def _writing(self) -> sqlite3.Connection:
        if self._writer is not None and self._current_inode() != self._inode:
            self.reset()
        if self._writer is None:
            db = connect(self.path, application_id=schema.APPLICATION_ID, repair_hint=REBUILD_HINT)
            try:
                self._prepare(db)
            except BaseException:
                close(db)
                raise
            self._inode = self._current_inode()
            self._writer = db
        return self._writer

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute(
            "PRAGMA wal_autocheckpoint=0"
        )  # the background writer does it, off the readers' path
        db.execute("PRAGMA journal_size_limit=4194304")
        db.execute("PRAGMA cache_size=-16000")
        present = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        if present & _TABLES and not present >= _TABLES:
            missing = ", ".join(sorted(_TABLES - present))
            raise StoreCorruptError(
                f"`{self.path.name}` lacks {missing}; the transcripts hold everything.",
                hint=REBUILD_HINT,
                details={"path": str(self.path), "missing": missing},
            )
        if present >= _TABLES:
            found = _meta(db, "schema_version", schema.SCHEMA_VERSION)
            if found > schema.SCHEMA_VERSION:
                raise StoreVersionError(
                    f"`{self.path.name}` has schema {found}; this program knows up to "
                    f"{schema.SCHEMA_VERSION}. It is opened for reading only.",
                    hint="update Hermes Memory: pip install -U hermes-memory-core",
                    details={"path": str(self.path), "found": found},
                )
            return
        floor = self._floor()
        with transaction(db):
            schema.create(db)
            for key, value in (
                ("schema_version", schema.SCHEMA_VERSION),
                (NEXT_ID, floor),
            ):
                db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))

    def _borrow(self) -> sqlite3.Connection:
        if self._current_inode() != self._inode:
            with self._mutex, self._shared():
                try:
                    self._writing()  # makes or checks the file, or says what is wrong with it
                except StoreVersionError:  # a newer program's file may still be read
                    self._inode = self._current_inode()
        with self._pool:
            self._reading += 1
            if self._readers:
                return self._readers.pop()
        try:
            db = connect(self.path, application_id=schema.APPLICATION_ID, repair_hint=REBUILD_HINT)
            db.execute("PRAGMA query_only=ON")
            db.execute("PRAGMA cache_size=-16000")
            db.execute("PRAGMA wal_autocheckpoint=0")
        except BaseException:
            with self._pool:
                self._reading -= 1
            raise
        return db

    def _give_back(self, db: sqlite3.Connection, *, keep: bool) -> None:
        with self._pool:
            keep = keep and len(self._readers) < READERS and self._current_inode() == self._inode
            if keep:
                self._readers.append(db)
        if not keep:
            close(db)  # while it still counts as being read: see before_fork
        with self._pool:
            self._reading -= 1
            self._pool.notify_all()

    def _current_inode(self) -> int:
        try:
            return os.stat(self.path).st_ino  # noqa: PTH116 - looked at before every use
        except OSError:
            return -1

    def _drop_writer(self) -> None:
        if self._writer is not None:
            close(self._writer)
        self._writer, self._inode = None, 0


def _meta(db: sqlite3.Connection, key: str, default: int) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    try:
        return int(row[0]) if row else default
    except (TypeError, ValueError):
        return default


def reserve_ids(db: sqlite3.Connection, count: int) -> range:
    """Take ``count`` message ids for good, in the caller's transaction."""
    row = db.execute(
        "UPDATE meta SET value = value + ? WHERE key = ? RETURNING value", (count, NEXT_ID)
    ).fetchone()
    end = int(row[0])
    return range(end - count, end)


def raise_ids(db: sqlite3.Connection, seen: int) -> None:
    """Ids up to ``seen`` are in use: never give them out again."""
    db.execute("UPDATE meta SET value = max(value, ?) WHERE key = ?", (seen + 1, NEXT_ID))
