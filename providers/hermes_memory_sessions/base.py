"""What every part of the history store stands on: its files, its database, its clock, and mending.

No feature lives here; see ``store_write``, ``store_read``, ``care`` …
"""

from __future__ import annotations

import atexit
import math
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from hermes_memory_core.errors import (
    HermesMemoryError,
    ScopeRequired,
    StoreCorruptError,
    UsageError,
)
from hermes_memory_core.storage import forks
from hermes_memory_core.types import Message, Notice, ProviderContext, Scope

from .database import REBUILD_HINT, SIDECARS, Database, reserve_ids
from .ids import MessageIds
from .indexer import Indexer
from .last_turns import LastTurns
from .transcript import (
    Event,
    clean_text,
    event,
    messages_in,
    read_lines,
    session_fields,
    transcript_files,
)
from .writer import Transcripts, Written

Answer = TypeVar("Answer")

FOLDER: Final = "sessions"
DATABASE: Final = "history.db"
_ID_MARGIN: Final = 1 << 16
"""Ids left free after the highest one found: other processes may hold blocks nobody has written from."""
_TAIL_BYTES: Final = 1 << 18


class StoreBase:
    """The files of one profile's history, and what its parts share."""

    def __init__(self, context: ProviderContext) -> None:
        self.context = context
        self.folder = context.home / FOLDER
        self.clock: Callable[[], float] = context.clock
        self.database = Database(context.home / DATABASE, self._free_id)
        self.transcripts = Transcripts(self.folder, self._torn)
        self.ids = MessageIds(self._reserve)
        self.last_turns = LastTurns(self.transcripts)
        self.indexer = Indexer(
            self.database, self.transcripts, self.ids, self._indexing_failed, context.logger
        )
        self.begun: set[str] = set()
        self._looked = False
        self.torn = 0
        """Torn last lines set aside since open."""
        forks.watch(self)

    # ------------------------------------------------------------ reading

    def query(self, ask: Callable[[sqlite3.Connection], Answer], *, light: bool = False) -> Answer:
        """Run ``ask`` on a reading connection that sees all this process wrote.

        A damaged database is moved aside, built again from the transcripts, and asked once more.

        Args:
            ask: Only reads.
            light: It looks at no index entry: which tokeniser made those need not be known for it.
        """
        try:
            return self._ask(ask, light)
        except StoreCorruptError as error:
            self.set_aside(error)
            return self._ask(ask, light)

    def _ask(self, ask: Callable[[sqlite3.Connection], Answer], light: bool) -> Answer:
        if not self.database.newer():
            if not self._looked and not (light and not self.indexer.behind()):
                self._looked = True
                self.renew_index()
            self.indexer.flush()
        try:
            with self.database.read() as db:
                return ask(db)
        except UnicodeEncodeError as error:
            raise UsageError(
                "What is asked for holds half a character (a lone surrogate), which nothing stored can hold.",
                hint="check the encoding of the text",
            ) from error

    def scope_key(self, scope: Scope | None) -> str | None:
        """The ``scope_key`` to filter by; None means all sessions.

        Raises:
            ScopeRequired: Isolation is on and no scope was named.
        """
        isolation = (self.context.settings.get("memory") or {}).get("isolation", "profile")
        if scope is None:
            if isolation != "profile":
                raise ScopeRequired(
                    f"Memory is kept apart by {isolation}; say whose history is meant.",
                    hint=f"give the {isolation}'s id",
                )
            return None
        if scope.kind == "profile":
            return None
        return scope.key if scope.id else "nobody"  # an anonymous scope sees nothing

    # ------------------------------------------------------------ writing

    def write_events(
        self, session_id: str, items: Sequence[Event], opening: Callable[[], Event] | None = None
    ) -> list[Written]:
        """Append to the transcript, synced, and queue for the index."""
        if not session_id:
            raise UsageError("A session needs an id.", hint="pass a non-empty session id")
        lines = self.transcripts.append(
            session_id, items, opening or (lambda: self._unknown(session_id, items))
        )
        self.indexer.put(lines)
        return lines

    def _unknown(self, session_id: str, items: Sequence[Event]) -> Event:
        """The session line of a session nobody announced."""
        stamps = [fields.get("ts") for item in items for fields in messages_in(item)]
        started = min((stamp for stamp in stamps if stamp), default=self.clock())
        fields = {
            "id": session_id,
            "lineage": session_id,
            "profile": self.context.profile,
            "started_at": started,
        }
        return event("session", self.clock(), session=fields, reason="new")

    def opening(self, session: Any, reason: str) -> Event:
        """The session line for a ``SessionInfo``."""
        fields = session_fields(session)
        fields["started_at"] = session.started_at or self.clock()
        return event("session", self.clock(), session=fields, reason=reason)

    def known_id(self, session_id: str) -> str:
        """The id as files and rows hold it.

        Raises:
            UsageError: It is no text.
        """
        if not isinstance(session_id, str):
            raise UsageError(
                f"A session id is text, not {type(session_id).__name__}; nothing was changed."
            )
        return clean_text(session_id)

    def redacted(self, message: Message) -> Message:
        """The message with credentials masked, in its text and in its tool calls."""
        redact = self.context.redact
        content: Any = message.content
        text = redact(content if isinstance(content, str) else str(content or ""))
        stamp = message.timestamp
        return Message(
            message.role,
            text,
            name=message.name,
            tool_name=message.tool_name,
            tool_call_id=message.tool_call_id,
            tool_calls=tuple(_redact_deep(call, redact) for call in message.tool_calls),
            timestamp=stamp if stamp is not None and math.isfinite(stamp) else None,
        )

    # ------------------------------------------------------------ mending

    def set_aside(self, error: StoreCorruptError) -> Path | None:
        """Move a damaged database out of the way; the next read builds a new one from the transcripts.

        Returns:
            Where the damaged file is now; None when another process has mended it already.
        """
        damaged = self._inode()
        with self.database.exclusive():
            if damaged in (0, self._inode()):
                target = self.move_database("corrupt")
            else:
                target = None
        self.database.reset()
        self.indexer.start_over()
        if target is not None:
            self.context.logger.error("history: %s Moved to %s.", error, target)
            self.context.notify(
                Notice(
                    "history_damaged",
                    f"`{DATABASE}` was damaged and is kept as `{target.name}`. It is being built again "
                    "from the transcripts; no conversation is lost.",
                    hint="hermes sessions check",
                )
            )
        return target

    def renew_index(self) -> bool:
        """Build the index again when another tokeniser made it; see ``RebuildMixin``."""
        return False

    def move_database(self, label: str) -> Path | None:
        """Rename the database with its sidecars; the caller holds it exclusively."""
        path = self.database.path
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.clock() or time.time()))
        target = path.with_name(f"{path.name}.{label}-{stamp}")
        number = 1
        while target.exists():
            number += 1
            target = path.with_name(f"{path.name}.{label}-{stamp}-{number}")
        moved = None
        for suffix in SIDECARS:
            source = path.with_name(path.name + suffix)
            if source.exists():
                source.replace(target.with_name(target.name + suffix))
                moved = target
        return moved

    def _inode(self) -> int:
        try:
            return self.database.path.stat().st_ino
        except OSError:
            return 0

    def _indexing_failed(self, error: HermesMemoryError) -> None:
        """On the background thread: mend what can be mended, tell the person about the rest."""
        if isinstance(error, StoreCorruptError):
            self.set_aside(error)
            return
        if error.code == "store" and self.renew_index():
            return
        self.context.notify(
            Notice(
                f"history_{error.code}",
                f"{error.message} Conversations are being saved, but search does not see the newest.",
                hint=error.hint or REBUILD_HINT,
            )
        )

    def _torn(self, name: str, size: int) -> None:
        self.torn += 1
        self.context.logger.warning("history: %d torn bytes of `%s` set aside", size, name)
        self.context.notify(
            Notice(
                "transcript_torn",
                f"The last line of `{name}` was cut off by a crash; it had never been acknowledged. "
                f"Its {size} bytes are kept in `{FOLDER}/damaged/`.",
                level="info",
            )
        )

    # ------------------------------------------------------------ ids

    def _reserve(self, count: int) -> range:
        try:
            with self.database.write() as db:
                return reserve_ids(db, count)
        except StoreCorruptError as error:
            self.set_aside(error)
            with self.database.write() as db:
                return reserve_ids(db, count)

    def _free_id(self) -> int:
        """An id above all that stand in the transcripts, found from their last lines and a margin."""
        highest = 0
        for path in transcript_files(self.folder):
            with suppress(OSError), path.open("rb") as file:
                start = max(0, path.stat().st_size - _TAIL_BYTES)
                for line in read_lines(file, start):
                    if line.event is not None:
                        ids = [fields["id"] for fields in messages_in(line.event)]
                        highest = max(highest, *ids, 0)
        return highest + _ID_MARGIN if highest else 1

    # ------------------------------------------------------------ life

    def flush(self) -> None:
        """Index everything this process wrote."""
        self.indexer.flush()

    def close(self) -> None:
        """Index what waits, let files and connections go. Usable again afterwards."""
        self.indexer.close()
        self.transcripts.close()
        self.database.close()

    def before_fork(self) -> None:
        """See ``Database.before_fork``."""
        self.database.before_fork()

    def after_fork_in_parent(self) -> None:
        """The parent goes on."""
        self.database.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """The child starts with its own files, connections, ids and thread."""
        self.database.after_fork_in_child()
        self.transcripts.after_fork()
        self.ids.forget()
        self.indexer.after_fork()


def _redact_deep(value: Any, redact: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _redact_deep(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_deep(item, redact) for item in value]
    return value


@atexit.register
def _close_all() -> None:
    for store in forks.living(StoreBase):
        store.close()
