"""Note writes that wait for a person: one record file each, and a log of what became of them.

Here is only the keeping: names, files, expiry, the audit log. Who must be asked is decided in
``engine/approval.py``; writing what was approved is the notes store's work.

``pending/memory/<8 hex>.json`` holds the whole proposed ``NoteWrite``; ``pending/decisions.jsonl`` gets a line
when one is staged, approved, rejected, or expires. Hermes Agent keeps records of its own shape in the same
directory of a shared home: they are named, never touched.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import NoteNotFoundError, StoreUnreadableError
from hermes_memory_core.safety.lines import one_line
from hermes_memory_core.safety.pending_record import (
    FORGOTTEN,
    SUBSYSTEM,
    Event,
    PendingWrite,
    Unreadable,
    dump,
    load,
    log_line,
    mentions,
    parsed,
    same_change,
    summary_of,
)
from hermes_memory_core.storage.atomic import (
    append_synced,
    make_private_dir,
    open_private,
    refuse_symlink,
    sync_dir,
    translate_os_errors,
    write_atomic,
)
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import NoteWrite, Scope

FOLDER = "pending"
DECISIONS = "decisions.jsonl"
EXPIRES_AFTER_S = 30 * 86_400.0
"""A proposal nobody decided on in thirty days was about notes that have moved on."""
MAX_RECORD_BYTES = 8 << 20

_ID = re.compile(r"[0-9a-f]{8}")
_RECORD = re.compile(r"[0-9a-f]{8}\.json")


class PendingWrites:
    """The waiting writes of one profile. Safe between threads and processes.

    Args:
        home: The profile's directory.
        clock: Epoch seconds.
        lifetime_s: Seconds after which a record expires.
    """

    def __init__(
        self, home: Path, clock: Callable[[], float], *, lifetime_s: float = EXPIRES_AFTER_S
    ) -> None:
        self.base = home / FOLDER
        self.folder = self.base / SUBSYSTEM
        self.decisions = self.base / DECISIONS
        self._clock = clock
        self._lifetime_s = lifetime_s

    # ------------------------------------------------------------ reading

    def count(self) -> int:
        """How many records wait; looks at names only."""
        return sum(1 for _path in self._record_paths())

    def waiting(self, scope: Scope | None = None) -> list[PendingWrite]:
        """Waiting writes, oldest first; those past their time are expired first.

        Args:
            scope: Only this scope's; None for all.
        """
        found: list[PendingWrite] = []
        late: list[PendingWrite] = []
        for path in self._record_paths():
            item = self._read(path)
            if isinstance(item, PendingWrite):
                (late if item.expires_at <= self._clock() else found).append(item)
        for item in late:
            self._settle(item, "expired", who="time")
        wanted = [item for item in found if scope is None or item.write.scope.key == scope.key]
        return sorted(wanted, key=lambda item: (item.created_at, item.id))

    def get(self, pending_id: str, scope: Scope | None = None) -> PendingWrite:
        """One waiting write.

        Raises:
            NoteNotFoundError: No such id, or not one at all, or another scope's.
            StoreUnreadableError: Its record cannot be understood.
        """
        wanted = pending_id.strip().lower()
        path = self.folder / f"{wanted}.json"
        if not _ID.fullmatch(wanted) or self._linked or not os.path.lexists(path):
            raise _unknown(pending_id)
        item = self._read(path)
        if isinstance(item, Unreadable):
            raise StoreUnreadableError(
                f"The pending write {wanted} cannot be used: {item.reason}. It was left as it is.",
                hint="hermes doctor",
                details={"path": str(path)},
            )
        if scope is not None and item.write.scope.key != scope.key:
            raise _unknown(pending_id)
        if item.expires_at <= self._clock():
            self._settle(item, "expired", who="time")
            raise _unknown(pending_id)
        return item

    def unreadable(self) -> list[Unreadable]:
        """Files among the records that are none, or cannot be read."""
        if not self.folder.is_dir():
            return []
        found = []
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith(".") or path.suffix in (".lock", ".tmp"):
                continue
            item: PendingWrite | Unreadable
            if _RECORD.fullmatch(path.name):
                item = self._read(path)
            else:
                item = Unreadable(path, "its name is not the id of a pending write")
            if isinstance(item, Unreadable):
                found.append(item)
        return found

    # ------------------------------------------------------------ changing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the records: held from looking at one until it is settled."""
        self._prepare()
        with file_lock(self.base / "pending.lock"):
            yield

    def stage(self, write: NoteWrite, why: str) -> PendingWrite:
        """Keep a proposed write; durable before it returns.

        The same proposal again (same notes, same change) is the record that waits already.

        Raises:
            StoreError: It could not be kept; nothing waits.
        """
        with self.locked():
            for known in self.waiting(write.scope):
                if same_change(known.write, write):
                    return known
            item = self._record(write, why)
            write_atomic(self.folder / f"{item.id}.json", dump(item))
            self._log("staged", item, who=write.origin.who, why=why)
        return item

    def settle(self, item: PendingWrite, event: Event, *, who: str, why: str = "") -> None:
        """Write down what became of it, then drop the record. The caller holds ``locked``."""
        self._settle(item, event, who=who, why=why)

    def _settle(self, item: PendingWrite, event: Event, *, who: str, why: str = "") -> None:
        # the log first: a crash in between leaves a record that can be decided again, never an unlogged one
        self._log(event, item, who=who, why=why)
        path = self.folder / f"{item.id}.json"
        with translate_os_errors(path):
            path.unlink(missing_ok=True)
            if self.folder.is_dir():
                sync_dir(self.folder)

    def forget(
        self, holds: Callable[[str], bool], *, scope: Scope | None = None, dry_run: bool = True
    ) -> tuple[list[PendingWrite], int]:
        """Drop waiting writes, and blank log lines, that hold a text; (records, lines) found."""
        if not self.base.is_dir():
            return [], 0
        found = [item for item in self.waiting(scope) if mentions(item, holds)]
        if dry_run:
            return found, self._blank(holds, scope, dry_run=True)
        with self.locked():
            for item in found:
                (self.folder / f"{item.id}.json").unlink(missing_ok=True)
            lines = self._blank(holds, scope, dry_run=False)
            for item in found:
                self._append(
                    log_line("forgotten", self._clock(), item, "person", "forget", bare=True)
                )
        return found, lines

    def history(self, limit: int = 100) -> list[dict[str, Any]]:
        """Lines of the decisions log, newest first; unreadable ones are left out."""
        lines = [parsed(raw) for raw in self._lines()]
        return [line for line in reversed(lines) if line is not None][:limit]

    # ------------------------------------------------------------ inside

    @property
    def _linked(self) -> bool:
        """A link in the place of a directory could lead anywhere: nothing behind one is read or written."""
        return self.base.is_symlink() or self.folder.is_symlink()

    def _prepare(self) -> None:
        for folder in (self.base, self.folder):
            refuse_symlink(folder)
            make_private_dir(folder)

    def _record_paths(self) -> Iterator[Path]:
        if self._linked or not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if _RECORD.fullmatch(path.name):
                yield path

    def _record(self, write: NoteWrite, why: str) -> PendingWrite:
        now = self._clock()
        while True:
            new_id = uuid.uuid4().hex[:8]
            if not os.path.lexists(self.folder / f"{new_id}.json"):
                break
        return PendingWrite(new_id, write, now, now + self._lifetime_s, why, summary_of(write))

    def _read(self, path: Path) -> PendingWrite | Unreadable:
        try:
            data = json.loads(_read_plain(path))
        except FileNotFoundError:
            return Unreadable(path, "it is gone")
        except OSError as error:
            return Unreadable(path, f"it cannot be read ({error.strerror or error})")
        except ValueError:
            return Unreadable(path, "it is not JSON")
        if isinstance(data, dict) and "v" not in data and "payload" in data:
            return Unreadable(path, "Hermes Agent wrote it and decides on it", foreign=True)
        try:
            return load(data, path.stem)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return Unreadable(path, f"its content is not a pending write ({error})")

    def _log(self, event: Event, item: PendingWrite, *, who: str, why: str = "") -> None:
        self._append(log_line(event, self._clock(), item, who, why))

    def _append(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
        self._prepare()
        refuse_symlink(self.decisions)
        with translate_os_errors(self.decisions):
            descriptor = open_private(self.decisions, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                append_synced(descriptor, data + b"\n")
            finally:
                os.close(descriptor)

    def _lines(self) -> list[bytes]:
        if self.decisions.is_symlink() or not self.decisions.is_file():
            return []
        with translate_os_errors(self.decisions):
            return [line for line in self.decisions.read_bytes().split(b"\n") if line.strip()]

    def _blank(self, holds: Callable[[str], bool], scope: Scope | None, *, dry_run: bool) -> int:
        kept, hits = [], 0
        for raw in self._lines():
            line = parsed(raw)
            if not holds(raw.decode("utf-8", "replace")) or (
                scope is not None and line is not None and line.get("scope") != scope.key
            ):
                kept.append(raw)
                continue
            hits += 1
            if line is not None:  # what happened stays, what was said goes
                line |= {key: FORGOTTEN for key in ("summary", "why") if key in line}
                raw = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
                if not holds(raw.decode()):
                    kept.append(raw)
        if hits and not dry_run:
            write_atomic(self.decisions, b"".join(line + b"\n" for line in kept))
        return hits


def _unknown(pending_id: str) -> NoteNotFoundError:
    return NoteNotFoundError(
        f"There is no pending write {one_line(pending_id, 40)!r}; nothing was changed.",
        hint="hermes memory pending",
    )


def _read_plain(path: Path) -> bytes:
    """The bytes of a real file of bounded size; a link, a pipe or a giant is refused."""
    descriptor = open_private(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        if status.st_size > MAX_RECORD_BYTES:
            raise OSError(0, f"{status.st_size:,} bytes are more than a record can have")
        return file.read()
