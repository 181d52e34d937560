"""Building ``history.db`` again beside the old one, and putting it in its place in one step.

While it is built the old database goes on answering. A rebuild that was stopped goes on where it stopped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from hermes_memory_core.errors import HermesMemoryError, StoreError, StoreUnreadableError
from hermes_memory_core.storage.atomic import sync_dir
from hermes_memory_core.storage.sqlite import connect
from hermes_memory_core.types import Notice

from . import schema
from .base import StoreBase
from .database import NEXT_ID, REBUILD_HINT, SIDECARS, Database, raise_ids
from .ids import BLOCK
from .indexer import stale_files
from .transcript import transcript_files

_CHUNK: Final = 512
"""Messages per transaction: a stopped rebuild loses no more than that."""
UNASKED_BYTES: Final = 16 << 20
"""Transcripts up to this size (some ten seconds of indexing) are indexed again without asking."""

Progress = Callable[[int, int], None]


class RebuildMixin(StoreBase):
    """``rebuild`` of ``HistoryStore``."""

    def rebuild(self, progress: Progress | None = None) -> int:
        """Derive the database again from the transcripts; messages in it afterwards.

        Args:
            progress: Called with bytes of transcripts taken in, and bytes in all.

        Raises:
            StoreFullError: No room for a second database; the old one stands, the same command goes on.
            StoreLockedError: Another process does not let the file go.
        """
        fresh = self._half_built()
        try:
            count = self._fill(fresh, progress)
            with self.database.exclusive():
                count = self._fill(fresh, None)  # what came in the meantime
                with fresh.write() as db:
                    raise_ids(db, self._next_id() + BLOCK)
                with fresh.maintain() as db:
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                fresh.close()
                self._swap(fresh.path)
        finally:
            fresh.close()
        self.database.reset()
        self.ids.forget()
        self.indexer.start_over()
        return count

    def renew_index(self) -> bool:
        """Build the database again when another version's tokeniser made its index; True when done.

        A big history is not rebuilt unasked: the person is told the command.
        """
        from .search import Index

        with self.database.write() as db:
            if Index(db).is_current():
                return False
        size = self.transcripts.total_bytes()
        if size <= UNASKED_BYTES:
            self.rebuild()
            return True
        self.context.notify(
            Notice(
                "history_outdated",
                "The search index was made by another version of Hermes Memory. Conversations are saved, "
                "but search may miss some until it is built again.",
                hint=REBUILD_HINT,
            )
        )
        return False

    def _half_built(self) -> Database:
        """The database under construction: a new one, or what an earlier rebuild left."""
        from .search import Index

        path = self.database.path.with_name(self.database.path.name + ".new")
        fresh = Database(path, self._free_id, swap_lock=False)
        try:
            with fresh.write() as db:
                if Index(db).is_current():
                    return fresh
        except StoreError:  # not usable: begin again
            pass
        fresh.close()
        remove_database(path)
        return Database(path, self._free_id, swap_lock=False)

    def _fill(self, fresh: Database, progress: Progress | None) -> int:
        from .apply import Applier

        total = self.transcripts.total_bytes()
        refuse_unreadable(unreadable_files(self.folder))
        files = stale_files(fresh, self.folder)
        ahead = sum(self._size(name) for name in files)
        for name, session_id in files.items():
            at_end = False
            while not at_end:
                with fresh.write() as db:
                    applier = Applier(db, self.folder)
                    at_end = applier.take_file(name, session_id, _CHUNK)
                    applier.finish()
                refuse_unreadable(applier.unreadable)
            ahead -= self._size(name)
            if progress is not None:
                progress(max(0, total - ahead), total)
        with fresh.read() as db:
            return int(db.execute("SELECT count(*) FROM messages").fetchone()[0])

    def _size(self, name: str) -> int:
        try:
            return (self.folder / name).stat().st_size
        except FileNotFoundError:
            return 0

    def _next_id(self) -> int:
        """The old database's counter; 1 when it cannot be read (the new one keeps a margin)."""
        path = self.database.path
        if not path.exists():
            return 1
        try:
            with closing(connect(path, application_id=schema.APPLICATION_ID, read_only=True)) as db:
                row = db.execute("SELECT value FROM meta WHERE key = ?", (NEXT_ID,)).fetchone()
                return int(row[0]) if row else 1
        except (HermesMemoryError, sqlite3.Error, ValueError):
            return 1

    def _swap(self, fresh: Path) -> None:
        path = self.database.path
        old = self.move_database("old")
        fresh.replace(path)
        sync_dir(path.parent)
        if old is not None:
            remove_database(old)


def remove_database(path: Path) -> None:
    """Delete a database with its sidecars."""
    for suffix in SIDECARS:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def unreadable_files(folder: Path) -> dict[str, str]:
    """Transcripts that are there and cannot be opened, and why."""
    found: dict[str, str] = {}
    for path in transcript_files(folder):
        try:
            path.open("rb").close()
        except FileNotFoundError:  # taken away just now
            continue
        except OSError as error:
            found[path.name] = error.strerror or type(error).__name__
    return found


def refuse_unreadable(found: Mapping[str, str]) -> None:
    """Stop a rebuild that would leave conversations out.

    Raises:
        StoreUnreadableError: There are such files; the present database stands.
    """
    if found:
        name, why = next(iter(found.items()))
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise StoreUnreadableError(
            f"The transcript `{name}`{more} cannot be read ({why}); the present index was left as it is.",
            hint="make it readable, then: hermes sessions rebuild",
            details={"files": list(found)},
        )
