"""Bringing conversations into the history store, and counting what became of each. Writes only through the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hermes_memory_core.errors import HermesMemoryError, StoreFullError, StoreLockedError
from hermes_memory_core.types import Message, SessionInfo

from .read import read_conversations
from .records import ImportedConversation, ImportReport, SkippedItem
from .textfile import Meter

MAX_WAITING = 200_000
"""Messages of conversations held back for a parent that comes later; beyond that the oldest goes without it."""

_MAX_ID = 200
_OUTCOMES = ("imported", "unchanged", "extended")


class ImportTarget(Protocol):
    """What an import needs of the history store."""

    def import_session(
        self, session: SessionInfo, messages: Sequence[Message], *, origin_key: str
    ) -> Any:
        """Store a conversation once: ``imported``, ``unchanged`` or ``extended`` (or an object with ``outcome``)."""
        ...

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:
        """Mark the end."""
        ...

    def update_session(self, session_id: str, **fields: Any) -> None:
        """Set archived, add token counts."""
        ...


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Where an import stands; given to the callback after every conversation."""

    report: ImportReport
    bytes_done: int
    bytes_total: int
    title: str


def session_id_for(origin_key: str, own: str | None = None) -> str:
    """The id a conversation gets here: its own where it is one of ours, else one made of its origin key.

    The same conversation gets the same id on every machine and at every import.
    """
    kind, _, rest = origin_key.partition(":")
    if own is None and kind == "hermes":
        own = rest
    # the store makes a safe file name of any id; a changed id would make a second session of the same one
    if own and len(own) <= _MAX_ID and own.isprintable():
        return own
    digest = hashlib.sha256(origin_key.encode("utf-8", "replace")).hexdigest()[:20]
    return f"{kind}-{digest}"


def import_path(
    store: ImportTarget,
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word people type: --format
    progress: Callable[[ImportProgress], None] | None = None,
) -> ImportReport:
    """Import every conversation of a file or directory; the same path again changes nothing.

    Args:
        store: The history store.
        path: A file or directory, see ``read_conversations``.
        format: A ``Format`` value, or None to look at the content.
        progress: Called after every conversation, in this thread.

    Raises:
        UsageError: The path or format cannot be used; nothing was imported.
        StoreFullError, StoreLockedError: The store could not go on. What was imported before stays;
            ``details["report"]`` counts it, and the same command continues.
    """
    return _Run(store, progress).run(path, format)


class _Run:
    """One import: order, lineages and counts."""

    def __init__(
        self, store: ImportTarget, progress: Callable[[ImportProgress], None] | None
    ) -> None:
        self.store = store
        self.progress = progress
        self.report = ImportReport()
        self.meter = Meter()
        self.lineage: dict[str, str] = {}
        """Origin key → lineage of what was stored in this run."""

    def run(self, path: Path, format_: str | None) -> ImportReport:
        records = read_conversations(path, format=format_, meter=self.meter)
        for conversation in self._parents_first(records):
            try:
                self._store(conversation)
            except (StoreFullError, StoreLockedError) as error:
                error.details["report"] = self.report.to_dict()
                raise
            except HermesMemoryError as error:
                self.report.skip(
                    SkippedItem(conversation.origin_key, f"refused by the store: {error.message}")
                )
            if self.progress:
                title = conversation.title or conversation.origin_key
                self.progress(ImportProgress(self.report, self.meter.done, self.meter.total, title))
        return self.report

    def _parents_first(
        self, records: Iterator[ImportedConversation | SkippedItem]
    ) -> Iterator[ImportedConversation]:
        """Conversations in order, a sub-agent or branch held back while its parent may still come."""
        held = _Held()
        for record in records:
            if isinstance(record, SkippedItem):
                self.report.skip(record)
            elif held.must_wait(record):
                held.hold(record)
                while held.messages > MAX_WAITING:
                    yield from held.release(held.pop_oldest())
            else:
                yield from held.release(record)
        while held.waiting:
            yield from held.release(held.pop_oldest())

    def _store(self, conversation: ImportedConversation) -> None:
        info = self._info(conversation)
        answer = self.store.import_session(
            info, conversation.messages, origin_key=conversation.origin_key
        )
        outcome = str(getattr(answer, "outcome", answer))
        self.lineage[conversation.origin_key] = info.lineage
        if outcome not in _OUTCOMES:
            self.report.skip(SkippedItem(conversation.origin_key, outcome))
            return
        setattr(self.report, outcome, getattr(self.report, outcome) + 1)
        self.report.messages += len(conversation.messages)
        self.report.notes.update(conversation.notes)
        if outcome == "imported":
            self._finish(info.id, conversation)

    def _info(self, conversation: ImportedConversation) -> SessionInfo:
        own = session_id_for(conversation.origin_key, conversation.session_id)
        parent_key = conversation.parent_origin_key
        parent = session_id_for(parent_key) if parent_key else None
        lineage = own
        if conversation.continues_parent and parent_key and parent:
            lineage = self.lineage.get(parent_key, parent)
        return SessionInfo(
            id=own,
            lineage=lineage,
            source=conversation.source,
            title=conversation.title,
            user_id=conversation.user_id,
            chat_id=conversation.chat_id,
            cwd=conversation.cwd,
            model=conversation.model,
            parent_id=parent,
            agent_context=conversation.agent_context,
            started_at=conversation.started_at or 0.0,
        )

    def _finish(self, session_id: str, conversation: ImportedConversation) -> None:
        """What a new session also needs; token counts are added, so never twice."""
        fields: dict[str, Any] = {}
        if conversation.archived:
            fields["archived"] = True
        for name in ("input_tokens", "output_tokens"):
            if getattr(conversation, name):
                fields[name] = getattr(conversation, name)
        if fields:
            self.store.update_session(session_id, **fields)
        last = max((message.timestamp or 0.0 for message in conversation.messages), default=0.0)
        ended = conversation.ended_at or last or conversation.started_at
        self.store.end_session(session_id, conversation.end_reason or "import", at=ended)


class _Held:
    """Conversations that wait for their parent."""

    def __init__(self) -> None:
        self.waiting: dict[str, ImportedConversation] = {}
        self.messages = 0
        self._children: dict[str, list[str]] = {}
        self._given: set[str] = set()

    def must_wait(self, record: ImportedConversation) -> bool:
        """Whether it has a parent that was not given out yet."""
        parent = record.parent_origin_key
        return parent is not None and parent not in self._given and parent != record.origin_key

    def hold(self, record: ImportedConversation) -> None:
        """Keep it back."""
        self.waiting[record.origin_key] = record
        self.messages += len(record.messages) + 1
        self._children.setdefault(record.parent_origin_key or "", []).append(record.origin_key)

    def pop_oldest(self) -> ImportedConversation:
        """The one that waits longest, or the highest of its ancestors that waits too."""
        key = next(iter(self.waiting))
        seen = {key}
        while (parent := self.waiting[key].parent_origin_key or "") in self.waiting:
            if parent in seen:
                break  # a circle of parents
            seen.add(parent)
            key = parent
        return self._pop(key)

    def release(self, record: ImportedConversation) -> Iterator[ImportedConversation]:
        """It, and then everything that waited for it."""
        ready = [record]
        while ready:
            current = ready.pop(0)
            self._given.add(current.origin_key)
            yield current
            children = self._children.pop(current.origin_key, [])
            ready += [self._pop(key) for key in children if key in self.waiting]

    def _pop(self, key: str) -> ImportedConversation:
        record = self.waiting.pop(key)
        self.messages -= len(record.messages) + 1
        return record
