"""Taking sessions away: to the trash and back, for good, and by what a message says.

Order of a delete: copy kept and synced, rows gone, transcript gone. A crash in between leaves the session
there; only a delete that answered has happened.
"""

# Statements are put together from constants of this package; every value is a parameter.
# ruff: noqa: S608

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hermes_memory_core.errors import SessionError, SessionNotFoundError
from hermes_memory_core.safety.spellings import holder
from hermes_memory_core.storage.atomic import sync_dir, write_atomic
from hermes_memory_core.types import ForgetReceipt, Scope

from . import search
from .base import StoreBase
from .titles import one_line
from .transcript import Line, encode, event, fill, messages_in, plain, read_lines, session_info
from .writer import DAMAGED

TRASH: Final = "trash"
_CHUNK: Final = 200
_PREVIEWS: Final = 5
_MERGE_PAGES: Final = 500
SCRUB_BYTES: Final = 256 << 20
"""Database size up to which a permanent delete merges the whole index at once."""
_STAMPED = re.compile(r"(?P<name>.+)\.(?P<at>\d{10,})")


@dataclass(frozen=True, slots=True)
class TrashedSession:
    """A deleted session that can still come back."""

    id: str
    title: str | None
    deleted_at: float
    messages: int
    bytes: int
    path: Path


class TrashMixin(StoreBase):
    """Deleting and forgetting of ``HistoryStore``."""

    # ------------------------------------------------------------ delete and restore

    def delete_sessions(
        self, session_ids: Sequence[str], *, permanently: bool = False
    ) -> ForgetReceipt:
        """Remove sessions with transcripts, rows and index entries; sub-agents' sessions go with theirs.

        Args:
            session_ids: Exact ids; unknown ones are named in the receipt.
            permanently: False keeps the transcript in the trash, see ``restore_session``.
        """
        wanted = list(dict.fromkeys(session_ids))
        rows = self.query(lambda db: _with_children(db, wanted))
        unknown = [id_ for id_ in wanted if id_ not in rows]
        removed = 0
        for session_id in rows:
            self._take_away(session_id, keep=not permanently)
            removed += 1
        if permanently and removed:
            self._scrub()
        return ForgetReceipt(
            "history",
            len(rows) + len(unknown),
            removed,
            tuple(one_line(rows[id_] or id_, 60) for id_ in list(rows)[:_PREVIEWS]),
            f"no such session: {', '.join(unknown)}" if unknown else "",
        )

    def _take_away(self, session_id: str, *, keep: bool) -> None:
        path = self.transcripts.path(session_id)
        if keep and path is not None:
            stamp = int((self.clock() or time.time()) * 1000)
            write_atomic(self.folder / TRASH / f"{path.name}.{stamp}", path.read_bytes())
        self._remove_rows(session_id)
        self.transcripts.remove(session_id)
        self._remove_rows(session_id)  # another process may have read the file in between

    def _remove_rows(self, session_id: str) -> None:
        while True:
            with self.database.write() as db, zeroing(db):
                found = db.execute(
                    "SELECT m.id FROM messages m JOIN sessions s ON s.key = m.session "
                    "WHERE s.id = ? LIMIT ?",
                    (session_id, _CHUNK),
                ).fetchall()
                search.Index(db).remove([row[0] for row in found])
                if len(found) < _CHUNK:
                    db.execute(
                        "DELETE FROM transcripts WHERE session = (SELECT key FROM sessions WHERE id = ?)",
                        (session_id,),
                    )
                    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
                    return

    def trashed(self) -> list[TrashedSession]:
        """What the trash holds, latest first."""
        found = []
        for path in (self.folder / TRASH).glob("*"):
            match = _STAMPED.fullmatch(path.name)
            if match is None or path.name.startswith("."):
                continue
            id_, title, count = _describe(path, match["name"].removesuffix(".jsonl"))
            found.append(
                TrashedSession(
                    id_, title, int(match["at"]) / 1000, count, path.stat().st_size, path
                )
            )
        return sorted(found, key=lambda item: item.deleted_at, reverse=True)

    def restore_session(self, session_id: str) -> str:
        """Bring the session deleted last under this id back from the trash; its id.

        Raises:
            SessionNotFoundError: The trash does not hold it.
            SessionError: A session of this id has been started since.
        """
        item = next((item for item in self.trashed() if item.id == session_id), None)
        if item is None:
            raise SessionNotFoundError(
                f"The trash holds no session `{session_id}`.", hint="hermes sessions trash"
            )
        if self.transcripts.path(session_id) is not None:
            raise SessionError(
                f"A session `{session_id}` has been started since; the deleted one stays in the trash.",
                hint=f"hermes sessions delete {session_id}, then restore again",
            )
        name = item.path.name.rpartition(".")[0]
        write_atomic(self.folder / name, item.path.read_bytes())
        item.path.unlink()
        self.indexer.mark(name, session_id)
        self.indexer.flush()
        return session_id

    def empty_trash(self, *, older_than_s: float = 0.0) -> int:
        """Delete for good what has lain in the trash that long; how many sessions."""
        limit = self.clock() - older_than_s
        gone = [item for item in self.trashed() if item.deleted_at <= limit]
        for item in gone:
            item.path.unlink(missing_ok=True)
        if gone:
            sync_dir(self.folder / TRASH)
            self._scrub()
        return len(gone)

    # ------------------------------------------------------------ forget

    def forget(
        self, query: str, *, scope: Scope | None = None, dry_run: bool = False
    ) -> list[ForgetReceipt]:
        """Find, and unless ``dry_run`` remove for good, every message and title that contains ``query``.

        Letters match in either case; nothing else is interpreted. The line stays in the transcript with
        the message taken out, so offsets that others keep stay true.
        """
        key = self.scope_key(scope)
        self.indexer.scan()  # what another process wrote last may not be in the database yet
        matches = self.query(lambda db: _containing(db, query, key))
        previews = tuple(one_line(text, 60) for texts in matches.values() for _, text in texts)
        count = sum(len(texts) for texts in matches.values())
        removed = 0
        if not dry_run:
            for session_id, texts in matches.items():
                removed += self._forget_in(session_id, {id_ for id_, _ in texts}, query)
            if (
                query.strip()
            ):  # also when no row matches: words of deleted rows may linger in the index
                self._scrub()
        history = ForgetReceipt("history", count, removed, previews[:_PREVIEWS])
        return [history, self._forget_leftovers(query, key, dry_run=dry_run)]

    def _forget_in(self, session_id: str, ids: set[int], query: str) -> int:
        """Take messages and titles out of one transcript and the database."""
        gone: set[int] = set()

        def change(line: Line, raw: bytes) -> bytes:
            new, hit = _without(line, raw, ids, query)
            gone.update(hit)
            return new

        name = self.transcripts.rewrite(session_id, change)
        if name is not None:
            self._remove_rows(session_id)
            self.indexer.mark(name, session_id)
            self.indexer.flush()
        return len(ids)

    def _forget_leftovers(
        self, query: str, scope_key: str | None, *, dry_run: bool
    ) -> ForgetReceipt:
        """The same text in the trash, among torn lines, and in databases set aside.

        Of one scope only what says itself that it is that scope's: torn lines and databases do not.
        """
        holds = _holder(query)
        hits, kept = [], []
        folders = (self.folder / TRASH, self.folder / DAMAGED)
        for path in [item for folder in folders for item in folder.glob("*") if item.is_file()]:
            text = path.read_bytes().decode("utf-8", "replace")
            if holds(text) and (scope_key is None or _scope_of(path) == scope_key):
                hits.append(path)
        if scope_key is None:
            kept = [
                path.name
                for path in self.database.path.parent.glob("history.db.*-*")
                if path.is_file()
            ]
        if not dry_run:
            for path in hits:
                path.unlink(missing_ok=True)
            for folder in {path.parent for path in hits}:
                sync_dir(folder)
        return ForgetReceipt(
            "trash",
            len(hits),
            0 if dry_run else len(hits),
            tuple(path.name for path in hits[:_PREVIEWS]),
            f"not looked into: {', '.join(sorted(kept))}" if kept else "",
        )

    def _scrub(self) -> bool:
        """Leave no deleted word in index segments, free pages or the log; False on a store too big for it.

        Rows are overwritten when they are deleted; the words of an index entry go when its segments merge,
        which on a big store is the work of ``optimise``.
        """
        small = self.database.size() <= SCRUB_BYTES
        pages = -_MERGE_PAGES  # a negative number makes every segment take part
        more = small
        while more:
            with self.database.write() as db, zeroing(db):
                more = search.Index(db).merge(pages)
            pages = _MERGE_PAGES
        with self.database.maintain() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return small


@contextmanager
def zeroing(db: sqlite3.Connection) -> Iterator[None]:
    """Overwrite what is deleted, instead of leaving it on free pages."""
    db.execute("PRAGMA secure_delete=ON").fetchall()
    try:
        yield
    finally:
        db.execute("PRAGMA secure_delete=OFF").fetchall()


def _with_children(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """Known ids with their titles, and the sessions of their sub-agents."""
    rows = db.execute(
        "WITH RECURSIVE doomed(id) AS (SELECT value FROM json_each(?) UNION "
        "SELECT s.id FROM sessions s JOIN doomed d ON s.parent_id = d.id "
        "WHERE s.agent_context = 'subagent') "
        "SELECT s.id, coalesce(s.title, s.preview) FROM sessions s JOIN doomed d ON d.id = s.id",
        (json.dumps(list(ids)),),
    )
    return dict(rows.fetchall())


def _containing(
    db: sqlite3.Connection, query: str, scope_key: str | None
) -> dict[str, list[tuple[int, str]]]:
    """Messages whose text or tool calls hold the query, by session; id 0 stands for the title."""
    if not query.strip():
        return {}
    db.create_function("holds", 1, _holder(query), deterministic=True)
    found: dict[str, list[tuple[int, str]]] = {}
    limit, values = ("AND s.scope_key = ?", (scope_key,)) if scope_key else ("", ())
    in_messages = (
        "SELECT s.id, m.id, m.content FROM messages m JOIN sessions s ON s.key = m.session "
        f"WHERE (holds(m.content) OR holds(m.tool_calls) OR holds(m.name)) {limit}"
    )
    in_titles = f"SELECT s.id, 0, s.title FROM sessions s WHERE holds(s.title) {limit}"
    for statement in (in_messages, in_titles):
        for session_id, id_, text in db.execute(statement, values):
            found.setdefault(session_id, []).append((id_, text or ""))
    return found


def _holder(query: str) -> Callable[[Any], bool]:
    holds_text = holder(query)

    def holds(value: Any) -> bool:
        return isinstance(value, str) and holds_text(value)

    return holds


def _without(line: Line, raw: bytes, ids: Iterable[int], query: str) -> tuple[bytes, set[int]]:
    """The line without these messages and without the query, at its old length; the ids taken out."""
    holds = _holder(query)
    item = line.event
    if item is None:  # unreadable, but a person may read it
        text = raw.decode("utf-8", "replace")
        return (fill(None, len(raw)) if holds(text) else raw), set()
    hit = {fields["id"] for fields in messages_in(item)} & set(ids)
    text = encode(item)[0].decode("utf-8")
    if not hit and not holds(text):
        return raw, set()
    if item["type"] == "message":
        gone = event("delete", item["at"], message_ids=sorted(hit))
        return fill(gone, len(raw)), hit
    item = dict(item)
    if item["type"] == "turn":
        head = {
            key: value for key, value in item["turn"].items() if not (key != "id" and holds(value))
        }
        left = [fields for fields in item["messages"] if fields.get("id") not in hit]
        item |= {"turn": head, "messages": left}
        if not left:
            item = event("delete", item["at"], message_ids=sorted(hit))
    elif item["type"] == "title" and holds(item.get("title")):
        item["title"] = None
    elif item["type"] == "session":
        session = item["session"]
        item["session"] = {
            key: value for key, value in session.items() if key != "title" or not holds(value)
        }
    return fill(item, len(raw)), hit


def _scope_of(path: Path) -> str | None:
    """The scope key of the session in a transcript, as last stored; None when it says nothing."""
    found = None
    with path.open("rb") as file:
        for line in read_lines(file):
            if line.event is not None and line.event["type"] == "session":
                found = session_info(line.event["session"]).scope.key
    return found


def _describe(path: Path, default: str) -> tuple[str, str | None, int]:
    """Id, title and number of messages of a transcript."""
    id_, title, count = default, None, 0
    with path.open("rb") as file:
        for line in read_lines(file):
            if line.event is None:
                continue
            count += len(messages_in(line.event))
            if line.event["type"] == "session":
                fields = line.event.get("session")
                if isinstance(fields, dict):
                    id_ = plain(fields.get("id")) or id_
                    title = plain(fields.get("title")) or title
            elif line.event["type"] == "title":
                title = plain(line.event.get("title"))
    return id_, title, count
