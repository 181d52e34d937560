"""What a person's door asks of the history store beyond the Protocol: import a path, explain a search, sizes.

Thin: the work is done by ``importers``, ``search`` and ``care``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.types import Message, Scope, SessionInfo

from . import search
from .care import CareMixin, ImportOutcome, _content_key
from .store_read import ReadMixin
from .store_write import WriteMixin
from .titles import MAX_CHARS, clean_title, next_title, same, split_number
from .transcript import event

if TYPE_CHECKING:
    from .importers import ImportProgress, ImportReport
    from .search import SearchResult


class PeopleMixin(WriteMixin, ReadMixin, CareMixin):
    """Import of files, explained search, and sizes of ``memory.history``."""

    def import_path(
        self,
        path: Path,
        *,
        format: str | None = None,  # noqa: A002 - the word people type: --format
        progress: Callable[[ImportProgress], None] | None = None,
        dry_run: bool = False,
    ) -> ImportReport:
        """Import every conversation of a file or directory; the same path again changes nothing.

        Args:
            path: A file or directory of any format in ``importers.DESCRIPTIONS``.
            format: A ``Format`` value, or None to look at the content.
            progress: Called after every conversation, in this thread.
            dry_run: Read and compare everything, write nothing.

        Raises:
            UsageError: The path or format cannot be used; nothing was imported.
            StoreFullError, StoreLockedError: What was imported before stays; ``details["report"]`` counts it.
        """
        from .importers import import_path  # the readers are many, and few runs need one

        target = _Rehearsal(self) if dry_run else Batch(self)
        return import_path(target, Path(path), format=format, progress=progress)

    def search_explained(
        self, query: str, limit: int = 20, *, scope: Scope | None = None, **filters: Any
    ) -> SearchResult:
        """``search`` with what a person should know: ignored syntax, and whether there is more.

        Args:
            query: As in ``search``.
            limit: As in ``search``.
            scope: As in ``search``.
            **filters: Fields of ``search.Filters``; ``session_id`` may be several.
        """
        return self.search_filtered(query, search.Filters(limit=limit, **filters), scope=scope)

    def transcript_sizes(self, session_ids: Iterable[str]) -> dict[str, int]:
        """Bytes of each session's transcript; 0 for one that has none."""
        paths = {session_id: self.transcripts.path(session_id) for session_id in session_ids}
        return {
            session_id: path.stat().st_size if path is not None else 0
            for session_id, path in paths.items()
        }

    def compare_import(self, session: SessionInfo, messages: Sequence[Message]) -> ImportOutcome:
        """What ``import_session`` would do; writes nothing."""
        known, existing = self._contents(session.id)
        left = Counter(existing)
        new = 0
        for message in map(self.redacted, messages):
            key = _content_key(message.role, message.content)
            if left[key] > 0:
                left[key] -= 1
            else:
                new += 1
        outcome = "imported" if not known else "extended" if new else "unchanged"
        return ImportOutcome(outcome, session.id, new)  # type: ignore[arg-type]


class Batch:
    """The store as a long import sees it: titles are read once, and to end a new session nothing is looked up."""

    def __init__(self, store: PeopleMixin) -> None:
        self._store = store
        self._titles: dict[str, list[str]] | None = None
        self._new: set[str] = set()

    def import_session(
        self, session: SessionInfo, messages: Sequence[Message], *, origin_key: str
    ) -> ImportOutcome:
        """See ``History.import_session``."""
        done = self._store.import_session(
            session, messages, origin_key=origin_key, free_title=self._free_title
        )
        if done.outcome == "imported":
            self._new.add(session.id)
        return done

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:
        """See ``History.end_session``."""
        if session_id not in self._new:
            return self._store.end_session(session_id, reason, at=at)
        self._new.discard(session_id)
        moment = self._store.clock() if at is None else at
        self._store.write_events(session_id, [event("end", moment, reason=reason)])
        return True

    def update_session(self, session_id: str, **fields: Any) -> None:
        """See ``History.update_session``."""
        self._store.update_session(session_id, **fields)

    def _free_title(self, title: str | None) -> str | None:
        wanted = clean_title((title or "")[:MAX_CHARS])
        if wanted is None:
            return None
        if self._titles is None:
            self._titles = {}
            for known in self._store.all_titles():
                self._titles.setdefault(_base(known), []).append(known)
        kin = self._titles.setdefault(_base(wanted), [])
        free = next_title(wanted, kin) if any(same(wanted, other) for other in kin) else wanted
        self._titles.setdefault(_base(free), []).append(free)
        return free


def _base(title: str) -> str:
    return split_number(title)[0].casefold()


class _Rehearsal:
    """The store as an import sees it, with every write left out."""

    def __init__(self, store: PeopleMixin) -> None:
        self._store = store
        self._seen: set[str] = set()

    def import_session(
        self,
        session: SessionInfo,
        messages: Sequence[Message],
        *,
        origin_key: str,  # noqa: ARG002 - the store's signature
    ) -> ImportOutcome:
        if session.id in self._seen:
            return ImportOutcome("unchanged", session.id, 0)
        self._seen.add(session.id)
        return self._store.compare_import(session, messages)

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:  # noqa: ARG002
        return False

    def update_session(self, session_id: str, **fields: Any) -> None:
        """Nothing: nothing is written."""
