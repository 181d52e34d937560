"""Looking for damage, mending it, and keeping the database small: check, repair, backup, restore, optimise."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hermes_memory_core.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    UsageError,
)
from hermes_memory_core.storage.atomic import create_private, refuse_symlink, sync_dir
from hermes_memory_core.storage.sqlite import connect, translate_sqlite_errors

from . import schema, search
from .database import REBUILD_HINT
from .rebuild import RebuildMixin, remove_database
from .rows import tool_calls_of
from .transcript import SUFFIX, event, is_regular, read_lines, session_of, transcript_files
from .writer import DAMAGED

FREE_SHARE: Final = 0.25
"""Share of free pages from which a vacuum is worth its time (spec/builtin.md section 5.7)."""
FREE_BYTES: Final = 1 << 20
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class OptimiseReport:
    """What ``optimise`` did."""

    before_bytes: int
    after_bytes: int
    merged: int
    """Steps of index merging."""
    vacuumed: bool
    reason: str = ""
    """Why there was no vacuum; "" when there was."""


class MendMixin(RebuildMixin):
    """Care of the database itself."""

    # ------------------------------------------------------------ check and repair

    def check(self) -> list[str]:
        """Problems found by a real probe of tables and index, and of every transcript; empty when healthy.

        Changes nothing and never raises: a database that cannot be read is a problem among others.
        """
        return [*self.check_database(), *self._check_transcripts()]

    def check_database(self) -> list[str]:
        """The database's part of ``check``."""
        path = self.database.path
        if not path.exists():
            lost = any(self.folder.glob("*.jsonl"))
            return [f"`{path.name}` is missing; mend it with: {REBUILD_HINT}"] if lost else []
        try:
            with self.database.read() as db:
                if _int(db, "SELECT value FROM meta WHERE key = 'schema_version'") > (
                    schema.SCHEMA_VERSION
                ):
                    return [f"`{path.name}` was written by a newer Hermes Memory"]
                problems = [
                    f"`{path.name}`: {row[0]}"
                    for row in db.execute("PRAGMA integrity_check(20)")
                    if row[0] != "ok"
                ]
                orphans = _int(
                    db,
                    "SELECT count(*) FROM messages WHERE session NOT IN (SELECT key FROM sessions)",
                )
                if orphans:
                    problems.append(f"{orphans} messages belong to no session")
            with self.database.maintain() as db:  # FTS5 checks itself by a special insert
                problems += search.Index(db).check()
            return problems
        except StoreError as error:
            return [f"{error.message} Mend it with: {error.hint or REBUILD_HINT}"]

    def _check_transcripts(self) -> list[str]:
        problems = []
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            bad = end = 0
            if not is_regular(path):
                problems.append(f"`{path.name}` is not a file; what it stands for is not read")
                continue
            try:
                with path.open("rb") as file:
                    for line in read_lines(file):
                        bad += line.event is None
                        end = line.end
                torn = path.stat().st_size - end
            except OSError as error:
                problems.append(f"`{path.name}` cannot be read ({error.strerror or error})")
                continue
            if bad:
                problems.append(f"`{path.name}` has {bad} lines that cannot be read")
            if torn:
                problems.append(f"`{path.name}` ends with {torn} bytes of an unfinished line")
        missing = self._missing()
        if missing:
            shown = ", ".join(f"`{id_}`" for id_ in missing[:_SHOWN])
            problems.append(
                f"{len(missing)} sessions have no transcript ({shown}); "
                "write them again with: hermes sessions repair"
            )
        return problems

    def repair(self) -> list[str]:
        """Mend what ``check`` finds; one sentence per thing done.

        Sessions without a transcript get one from their rows, torn lines are set aside, and a damaged or
        incomplete database is built again from the transcripts.
        """
        done = [
            f"Wrote the transcript of `{session_id}` again from the database."
            for session_id in self._missing()
            if self._write_transcript(session_id)
        ]
        for path in transcript_files(self.folder):
            before = self.torn
            self.transcripts.mend_tail(session_of(path) or "")
            if self.torn > before:
                done.append(f"Set the torn last line of `{path.name}` aside in `{DAMAGED}/`.")
        if self.check_database():
            try:
                with self.database.read() as db:
                    db.execute("SELECT count(*) FROM messages").fetchone()
            except StoreCorruptError as error:
                kept = self.set_aside(error)
                done.append(f"Kept the damaged database as `{kept.name if kept else '?'}`.")
            count = self.rebuild()
            done.append(f"Built the database again: {count} messages.")
        return done

    def _missing(self) -> list[str]:
        """Sessions in the database whose transcript is gone; none when it cannot be read."""
        try:
            with self.database.read() as db:
                rows = db.execute(
                    "SELECT s.id, t.path FROM sessions s JOIN transcripts t ON t.session = s.key"
                ).fetchall()
        except (StoreError, sqlite3.Error):
            return []
        return [id_ for id_, name in rows if not (self.folder / name).exists()]

    def _write_transcript(self, session_id: str) -> bool:
        """A transcript made of the session's rows: what the database knows, with the same message ids."""
        record = self.session_record(session_id)
        if record is None:
            return False
        with self.database.read() as db:
            rows = db.execute(
                "SELECT m.id, m.role, m.content, m.ts, m.name, m.tool_name, m.tool_call_id, "
                "m.tool_calls, m.state FROM messages m JOIN sessions s ON s.key = m.session "
                "WHERE s.id = ? ORDER BY m.position, m.id",
                (session_id,),
            ).fetchall()
        lines = []
        for row in rows:
            fields = {"id": row[0], "role": row[1], "content": row[2], "ts": row[3]}
            extra = {"name": row[4], "tool_name": row[5], "tool_call_id": row[6]}
            fields |= {key: value for key, value in extra.items() if value}
            if row[7]:
                fields["tool_calls"] = list(tool_calls_of(row[7]))
            lines.append(event("message", row[3], message=fields))
        for state, type_ in ((schema.UNDONE, "undo"), (schema.COMPACTED, "compact")):
            ids = [row[0] for row in rows if row[8] == state]
            if ids:
                lines.append(event(type_, self.clock(), message_ids=ids))
        flags = {key: True for key in ("archived", "pinned") if record[key]}
        counts = {key: record[key] for key in ("input_tokens", "output_tokens") if record[key]}
        if flags or counts:
            lines.append(event("update", self.clock(), fields=flags | counts))
        if record["ended_at"] is not None:
            lines.append(event("end", record["ended_at"], reason=record["end_reason"]))
        kind, _, _ = record["scope_key"].partition("/")
        head = {
            key: record[key]
            for key in [
                "id",
                "lineage",
                "source",
                "title",
                "user_id",
                "chat_id",
                "cwd",
                "model",
                "parent_id",
                "agent_context",
                "started_at",
            ]
            if record[key] is not None
        }
        head["profile"] = self.context.profile
        head["scope"] = {"kind": kind, "id": record.get(f"{kind}_id")}
        self.write_events(
            session_id,
            lines,
            lambda: event("session", self.clock(), session=head, reason="import"),
        )
        return True

    def session_record(self, session_id: str) -> dict[str, Any] | None:
        """A session's row by column name."""
        with self.database.read() as db:
            cursor = db.execute("SELECT * FROM sessions WHERE id = ?", (session_id,))
            row = cursor.fetchone()
            names = [column[0] for column in cursor.description]
        return dict(zip(names, row, strict=True)) if row else None

    # ------------------------------------------------------------ backup and restore

    def backup(self, path: Path) -> Path:
        """A consistent, verified copy of the database while others write.

        Args:
            path: The new file; a directory gets ``history-<time>.db`` in it. An existing file is refused.

        Raises:
            UsageError: The file exists.
            StoreError: The copy failed or is not sound; it was removed.
        """
        if path.is_dir():
            import time

            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.clock() or time.time()))
            path = path / f"history-{stamp}.db"
        if path.exists() or path.is_symlink():
            raise UsageError(f"`{path}` exists; the backup was not made.", hint="name a new file")
        self.indexer.flush()
        create_private(path)
        try:
            with self.database.read() as db:
                _copy(db, path)
            _verify(path)
        except BaseException:
            remove_database(path)
            raise
        sync_dir(path.parent)
        return path

    def restore_backup(self, path: Path) -> int:
        """Put a backup in the database's place; messages in it afterwards.

        Sessions that only the backup knows get their transcripts back; what the transcripts hold beyond
        the backup is taken in again. The replaced database is kept beside it.

        Raises:
            StoreCorruptError: The backup is not sound; nothing was changed.
        """
        refuse_symlink(path)
        _verify(path)
        fresh = self.database.path.with_name(self.database.path.name + ".new")
        remove_database(fresh)
        create_private(fresh)
        with closing(connect(path, application_id=schema.APPLICATION_ID, read_only=True)) as source:
            _copy(source, fresh)
        with self.database.exclusive():
            self.move_database("replaced")
            fresh.replace(self.database.path)
            sync_dir(self.database.path.parent)
        self.database.reset()
        self.ids.forget()
        self.indexer.start_over()
        for session_id in self._missing():
            self._write_transcript(session_id)
        self.indexer.flush()
        with self.database.read() as db:
            return _int(db, "SELECT count(*) FROM messages")

    # ------------------------------------------------------------ size

    def optimise(self, *, vacuum: bool | None = None) -> OptimiseReport:
        """Merge the index, cut the log, and give free space back when it is worth it.

        Args:
            vacuum: None decides by the share of free pages (a quarter, at least 1 MB); True insists.

        Raises:
            StoreLockedError: A vacuum was insisted on while another program reads the database.
        """
        self.indexer.flush()
        before = self.database.size()
        merged = 0
        more = True
        while more and merged < 10_000:
            with self.database.write() as db:
                more = search.Index(db).merge(500)
            merged += more
        with self.database.exclusive(), closing(self._direct()) as db:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            reason = self._against_vacuum(db, busy=bool(busy), wanted=vacuum)
            if not reason:
                with translate_sqlite_errors(self.database.path, REBUILD_HINT):
                    db.execute("VACUUM")
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            elif vacuum and busy:
                raise StoreLockedError(
                    "Another program is reading the history, so it was not vacuumed; nothing was changed.",
                    hint="close the other program, then: hermes sessions optimize",
                )
        return OptimiseReport(before, self.database.size(), merged, not reason, reason)

    def _direct(self) -> sqlite3.Connection:
        db = connect(
            self.database.path, application_id=schema.APPLICATION_ID, repair_hint=REBUILD_HINT
        )
        db.execute("PRAGMA busy_timeout=200")
        return db

    @staticmethod
    def _against_vacuum(db: sqlite3.Connection, *, busy: bool, wanted: bool | None) -> str:
        """Why there should be no vacuum now; "" when there should."""
        if wanted is False:
            return "not asked for"
        if busy:
            return "another program is reading"
        if wanted:
            return ""
        free, pages, size = (
            _int(db, f"PRAGMA {name}") for name in ("freelist_count", "page_count", "page_size")
        )
        if free * size < FREE_BYTES or free < pages * FREE_SHARE:
            return f"only {free * size // 1024} kB of {pages * size // 1024} kB are free"
        return ""


def _copy(source: sqlite3.Connection, target: Path) -> None:
    with translate_sqlite_errors(target), closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, readable without sidecars


def _verify(path: Path) -> None:
    """Raise unless the file is one of our databases and sound."""
    if not path.is_file():
        raise UsageError(f"There is no backup `{path}`.", hint="name a file that `backup` made")
    with (
        closing(connect(path, application_id=schema.APPLICATION_ID, read_only=True)) as db,
        translate_sqlite_errors(path, "take an older backup"),
    ):
        found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    if found != "ok" or "messages" not in tables:
        raise StoreCorruptError(
            f"`{path.name}` is not a sound history database ({found}); nothing was changed.",
            hint="take an older backup",
            details={"path": str(path)},
        )


def _int(db: sqlite3.Connection, statement: str) -> int:
    row = db.execute(statement).fetchone()
    return int(row[0]) if row and row[0] is not None else 0
