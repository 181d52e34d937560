"""``runtime.db``: what the core itself must remember between processes.

Open sessions with their frozen prompts, the outbox, the breakers, the figures that ``status`` shows. No text of
a conversation is here unless the sessions built-in is off; then a commit here is the commit point.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from hermes_memory_core.errors import StoreError
from hermes_memory_core.storage import forks, memos
from hermes_memory_core.storage.migrations import migrate
from hermes_memory_core.storage.sqlite import close, connect, transaction, translate_sqlite_errors
from hermes_memory_core.types import Scope, SessionInfo

APPLICATION_ID = 0x484D5254  # "HMRT"
REPAIR_HINT = "hermes doctor --fix"
FORK_WAIT_S = 2.0
"""How long a fork waits for a thread that is in the middle of a transaction."""

SCHEMA = """
CREATE TABLE open_sessions(
    id TEXT PRIMARY KEY,
    info TEXT NOT NULL,
    holder TEXT NOT NULL,
    detached INTEGER NOT NULL DEFAULT 0,
    turn_number INTEGER NOT NULL DEFAULT 0,
    last_seen REAL NOT NULL,
    snapshot TEXT,
    snapshot_at REAL,
    cursor INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE outbox(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    provider TEXT NOT NULL,
    lane TEXT NOT NULL,
    hook TEXT NOT NULL,
    session TEXT,
    ref TEXT,
    payload TEXT,
    bytes INTEGER NOT NULL,
    created_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    dead_at REAL
);
CREATE INDEX outbox_lane ON outbox(provider, dead_at, lane, seq);
CREATE TABLE lanes(
    provider TEXT NOT NULL,
    lane TEXT NOT NULL,
    holder TEXT,
    leased_until REAL NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    PRIMARY KEY(provider, lane)
) WITHOUT ROWID;
CREATE TABLE providers(
    name TEXT PRIMARY KEY,
    distribution TEXT NOT NULL DEFAULT '',
    version TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'on',
    why TEXT NOT NULL DEFAULT '',
    hint TEXT NOT NULL DEFAULT '',
    breaker TEXT,
    health TEXT,
    health_at REAL,
    delivered INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE figures(
    provider TEXT NOT NULL,
    hook TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    p50_ms REAL,
    p95_ms REAL,
    last_success_at REAL,
    last_error_at REAL,
    last_error TEXT,
    last_hint TEXT,
    PRIMARY KEY(provider, hook)
) WITHOUT ROWID;
CREATE TABLE notices(
    key TEXT PRIMARY KEY,
    at REAL NOT NULL,
    notice TEXT NOT NULL
) WITHOUT ROWID;
"""


def _create(db: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";"):
        if statement.strip():
            db.execute(statement)


class Runtime:
    """One connection to ``runtime.db``, shared by the threads of a process, reopened after a fork.

    Args:
        path: The file.
        clock: Epoch seconds.
        synchronous: FULL when commits here are the commit point (sessions built-in off).
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        *,
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
    ) -> None:
        self.path = path
        self.clock = clock
        self._synchronous: Literal["NORMAL", "FULL"] = synchronous
        self._db: sqlite3.Connection | None = None
        self._closed = False
        self._held = False
        self._new_process()
        forks.watch(self)  # before there is anything that a fork could cut in two
        with self._lock:
            self._open()

    def _new_process(self) -> None:
        self._lock = threading.RLock()
        # two open Memories of one process are two holders: each has its own delivery thread
        self.holder = f"{process_name()}#{uuid.uuid4().hex[:8]}"

    def _open(self) -> sqlite3.Connection:
        db = connect(
            self.path,
            application_id=APPLICATION_ID,
            synchronous=self._synchronous,
            repair_hint=REPAIR_HINT,
        )
        try:
            db.row_factory = sqlite3.Row
            with translate_sqlite_errors(self.path, REPAIR_HINT):
                migrate(db, [_create], self.path)
        except BaseException:
            close(db)
            raise
        self._db = db
        return db

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection, alone, with SQLite's errors translated."""
        with self._lock, translate_sqlite_errors(self.path, REPAIR_HINT):
            if self._closed:
                raise StoreError(
                    "This memory is closed; nothing was changed.",
                    hint="open it again: Memory.open(...)",
                )
            yield self._db or self._open()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """The same inside one write transaction."""
        with self.read() as db, transaction(db):
            yield db

    def close(self) -> None:
        """Let the file go; every use afterwards is an error."""
        with self._lock:
            self._closed = True
            self._drop()

    def before_fork(self) -> None:
        """Close the connection and let no thread open one."""
        self._held = self._lock.acquire(timeout=FORK_WAIT_S)
        if self._held and self._db is not None and not self._db.in_transaction:
            self._drop()

    def after_fork_in_parent(self) -> None:
        """The parent goes on; the connection opens again on use."""
        if self._held:
            self._held = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """A child is a holder of its own, with its own lock and connection."""
        if (
            self._db is not None
        ):  # busy in another thread of the parent: neither used nor closed here
            forks.abandon(self._db)
            self._db = None
        self._new_process()

    def _drop(self) -> None:
        if self._db is not None:
            close(self._db)
            self._db = None


def process_name() -> str:
    """Tells this process from every other, also after its number was given to a new one."""
    return f"{platform.node()}:{os.getpid()}:{_birth(os.getpid())}"


def is_alive(holder: str) -> bool:
    """Does the named process still run? True for other machines: we cannot know, so we do not guess."""
    holder = holder.partition("#")[0]
    host, _, rest = holder.rpartition(":")[0].rpartition(":")
    birth = holder.rpartition(":")[2]
    if host != platform.node() or not rest.isdigit():
        return True
    pid = int(rest)
    if pid == os.getpid():
        return birth == _birth(pid)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # gone, or no number a process can have
        return False
    except PermissionError:
        return True
    found = _birth(pid)
    return not found or found == birth


def _birth(pid: int) -> str:
    """Start time of a process in clock ticks since boot, where the system tells it; else ""."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


# ---------------------------------------------------------------- values in rows


@lru_cache(maxsize=256)  # the same value is written with every turn of its session
def dump_session(session: SessionInfo) -> str:
    """A session as stored in a row."""
    return json.dumps(asdict(session), ensure_ascii=False, separators=(",", ":"))


memos.register(dump_session.cache_clear)


def load_session(text: str) -> SessionInfo:
    """A session from a row; keys of later versions are ignored."""
    data: dict[str, Any] = json.loads(text)
    scope = data.pop("scope", None) or {}
    known = {name: data[name] for name in SessionInfo.__slots__ if name in data}
    return SessionInfo(**known, scope=Scope(**scope))
