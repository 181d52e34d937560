"""Care of stored sessions: titles, archive, pin, import. Deleting stands in ``trash``, mending in ``mend``."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from hermes_memory_core.errors import SessionNotFoundError, TitleConflictError, UsageError
from hermes_memory_core.types import Message, SessionInfo

from .base import StoreBase
from .titles import MAX_CHARS, clean_title, next_title, same, split_number
from .transcript import clean_text, event, message_fields, messages_in

_FLAGS: Final = ("archived", "pinned")
_COUNTS: Final = ("input_tokens", "output_tokens")
_TEXTS: Final = ("model", "source")


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What ``import_session`` did."""

    outcome: Literal["imported", "extended", "unchanged"]
    session_id: str
    added: int
    """Messages that were new."""


class CareMixin(StoreBase):
    """Titles, flags and imports of ``HistoryStore``."""

    # ------------------------------------------------------------ titles

    def set_title(
        self,
        session_id: str,
        title: str | None,
        *,
        dedupe: bool = False,
        only_if_empty: bool = False,
    ) -> str | None:
        """Clean and set; with ``dedupe`` a taken title gets ``#N``, else TitleConflictError.

        With ``only_if_empty`` a title that is there stays, and is the answer. A title held by an earlier session of the same lineage is no conflict: it is taken over.

        Raises:
            SessionNotFoundError, SessionError (too long), TitleConflictError.
        """
        wanted = clean_title(self.context.redact(title) if title else title)
        self.indexer.flush()
        with self.database.write() as db:  # two processes cannot take one title at once
            row = db.execute(
                "SELECT key, lineage, title FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
            if row is None:
                raise SessionNotFoundError(
                    f"There is no session `{session_id}`; no title was set.",
                    hint="hermes sessions list",
                )
            if only_if_empty and row[2]:
                return str(row[2])
            released: list[str] = []
            if wanted is not None:
                others = db.execute(
                    "SELECT title, id, source, archived, lineage FROM sessions "
                    "WHERE title IS NOT NULL AND key != ?1 "
                    # another person's titles are neither in the way nor named in an error
                    "AND scope_key = (SELECT scope_key FROM sessions WHERE key = ?1)",
                    (row[0],),
                ).fetchall()
                holders = [other for other in others if same(other[0], wanted)]
                foreign = [other for other in holders if other[4] != row[1]]
                if foreign and dedupe:
                    wanted = next_title(wanted, [other[0] for other in others])
                elif foreign:
                    raise _conflict(wanted, foreign[0])
                else:
                    released = [other[1] for other in holders]
            lines = []
            for id_, text in [*((id_, None) for id_ in released), (session_id, wanted)]:
                lines += self.transcripts.append(
                    id_,
                    [event("title", self.clock(), title=text)],
                    lambda id_=id_: self._unknown(id_, []),  # type: ignore[misc]
                )
                db.execute("UPDATE sessions SET title = ? WHERE id = ?", (text, id_))
        self.indexer.put(lines)
        return wanted

    def next_title(self, title: str) -> str:
        """The first free title of the lineage of ``title``: itself, or ``base #N``."""
        base = split_number(clean_title(title) or "")[0]
        rows = self.query(
            lambda db: db.execute("SELECT title FROM sessions WHERE title IS NOT NULL").fetchall()
        )
        return next_title(base, [row[0] for row in rows])

    # ------------------------------------------------------------ flags and counts

    def update_session(self, session_id: str, **fields: Any) -> None:
        """Set archived, pinned, model or source; add input_tokens or output_tokens.

        Raises:
            UsageError: Another field, or a value of the wrong kind.
            SessionNotFoundError: There is no such session.
        """
        values: dict[str, Any] = {}
        for name, value in fields.items():
            if name in _FLAGS:
                values[name] = bool(value)
            elif name in _COUNTS and isinstance(value, int) and not isinstance(value, bool):
                values[name] = value
            elif name in _TEXTS and isinstance(value, str):
                values[name] = clean_text(value)
            else:
                raise UsageError(
                    f"`{name}` of a session cannot be set to {value!r}.",
                    hint="archived, pinned, model, source, input_tokens, output_tokens",
                )
        if self.transcripts.path(session_id) is None:
            raise SessionNotFoundError(
                f"There is no session `{session_id}`; nothing was changed.",
                hint="hermes sessions list",
            )
        if values:
            self.write_events(session_id, [event("update", self.clock(), fields=values)])

    def archive(self, session_id: str, archived: bool = True) -> None:
        """Put a session out of the lists (it stays searchable), or back."""
        self.update_session(session_id, archived=archived)

    def pin(self, session_id: str, pinned: bool = True) -> None:
        """Keep a session from every prune, or no longer."""
        self.update_session(session_id, pinned=pinned)

    # ------------------------------------------------------------ import

    def import_session(
        self,
        session: SessionInfo,
        messages: Sequence[Message],
        *,
        origin_key: str,
        free_title: Callable[[str | None], str | None] | None = None,
    ) -> ImportOutcome:
        """Store a conversation that another program recorded, timestamps kept, one sync for all.

        The same content again is a no-op; a source that has grown adds only what is new. Messages are the
        same when role and text are, so times that a source does not record do not matter.

        Args:
            session: Where it goes; ``session.id`` must be the same at every import.
            messages: All messages of the source, in order.
            origin_key: The source's own name for the conversation, kept with it.
            free_title: Gives a title nobody has; None looks at all titles there are.
        """
        known, existing = self._contents(session.id)
        fresh = [self.redacted(message) for message in messages]
        left = Counter(existing)
        new = []
        for message in fresh:
            key = _content_key(message.role, message.content)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(message)
        if known and not new:
            return ImportOutcome("unchanged", session.id, 0)
        now = self.clock()
        ids = self.ids.take(len(new))
        started = session.started_at or now
        lines = [
            event(
                "message",
                now,
                message=message_fields(message, id_, message.timestamp or started),
            )
            for message, id_ in zip(new, ids, strict=True)
        ]
        digest = hashlib.sha256(
            "".join(_content_key(message.role, message.content) for message in fresh).encode()
        ).hexdigest()
        lines.append(event("import", now, origin=origin_key, count=len(fresh), digest=digest))
        title = None if known else (free_title or self._free_title)(session.title)
        self.write_events(session.id, lines, lambda: self._imported(session, title))
        return ImportOutcome("extended" if known else "imported", session.id, len(new))

    def _contents(self, session_id: str) -> tuple[bool, list[str]]:
        """Whether the session has a transcript, and a key of each message in it."""
        known, keys = False, []
        for line in self.transcripts.lines(session_id):
            known = True
            if line.event is not None:
                keys += [
                    _content_key(str(fields.get("role")), str(fields.get("content")))
                    for fields in messages_in(line.event)
                ]
        return known, keys

    def _free_title(self, title: str | None) -> str | None:
        wanted = clean_title((title or "")[:MAX_CHARS])
        if wanted is None:
            return None
        taken = self.all_titles()
        return next_title(wanted, taken) if any(same(wanted, other) for other in taken) else wanted

    def all_titles(self) -> list[str]:
        """Every title there is."""
        rows = self.query(
            lambda db: db.execute("SELECT title FROM sessions WHERE title IS NOT NULL").fetchall()
        )
        return [row[0] for row in rows]

    def _imported(self, session: SessionInfo, title: str | None) -> dict[str, Any]:
        line = self.opening(session, "import")
        if title is None:
            line["session"].pop("title", None)
        else:
            line["session"]["title"] = title
        return line


def _content_key(role: str, content: str) -> str:
    raw = json.dumps([role, clean_text(content)])
    return hashlib.sha256(raw.encode("ascii")).hexdigest()[:32]


def _conflict(title: str, holder: tuple[Any, ...]) -> TitleConflictError:
    _, id_, source, archived, _ = holder
    state = "archived " if archived else ""
    return TitleConflictError(
        f"The title {title!r} belongs to the {state}{source} session `{id_}`; nothing was changed.",
        hint=f"hermes sessions rename {id_} NEW-TITLE, or choose another title",
        details={"title": title, "session_id": id_, "source": source, "archived": bool(archived)},
    )
