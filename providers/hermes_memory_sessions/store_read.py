"""Reading conversations: search, lists, one session, its messages, numbers. Writes nothing."""

# Statements are put together from constants of this package; every value is a parameter.
# ruff: noqa: S608

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hermes_memory_core.errors import SessionNotFoundError, UsageError
from hermes_memory_core.types import (
    Hit,
    Scope,
    SessionRecord,
    SessionSort,
    StoredMessage,
)

from . import schema, search
from .base import StoreBase
from .probe import confirm
from .rows import MESSAGE_COLUMNS, SESSION_COLUMNS, session_record, stored_message
from .times import epoch
from .titles import same, split_number

if TYPE_CHECKING:
    from .search import Filters, SearchResult

MIN_PREFIX: Final = 3
"""Characters of an id that may stand for the whole."""

_NEWEST = (
    "NOT EXISTS (SELECT 1 FROM sessions n WHERE n.lineage = s.lineage "
    "AND (n.started_at, n.key) > (s.started_at, s.key))"
)


class ReadMixin(StoreBase):
    """The reading half of ``HistoryStore``."""

    # ------------------------------------------------------------ search

    def search(
        self,
        query: str,
        limit: int = 20,
        *,
        offset: int = 0,
        sort: SessionSort = "relevance",
        source: str | Sequence[str] | None = None,
        role: str | Sequence[str] | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        cwd: str | None = None,
        session_id: str | None = None,
        exclude_sessions: str | Sequence[str] = (),
        since: str | float | None = None,
        until: str | float | None = None,
        title: str | None = None,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """Messages of all sessions, best first, ungrouped. Never raises because of the query's syntax.

        Raises:
            UsageError: The query is no text, or a filter's value cannot be understood.
            ScopeRequired: Isolation is on and no scope was named.
            StoreError: The database cannot be read; the hint names the command that mends it.
        """
        _check(query, limit, offset)
        _check_words(user_id=user_id, chat_id=chat_id, cwd=cwd, session_id=session_id, title=title)
        _check_words(several=True, source=source, role=role, exclude_sessions=exclude_sessions)
        filters = search.Filters(
            source=source,
            role=role,
            user_id=user_id,
            chat_id=chat_id,
            cwd=cwd,
            session_id=session_id,
            exclude_sessions=(exclude_sessions,)
            if isinstance(exclude_sessions, str)
            else tuple(exclude_sessions),
            since=since,
            until=until,
            title=title,
            include_subagents=include_subagents,
            sort=sort,
            offset=offset,
            limit=limit,
        )
        return self.search_filtered(query, filters, scope=scope).hits

    def search_filtered(
        self, query: str, filters: Filters, *, scope: Scope | None = None
    ) -> SearchResult:
        """Like ``search``, with the warnings (which part of the query was ignored) and the count."""
        key = self.scope_key(scope)
        if key is not None:
            filters = replace(filters, scope_key=key)

        def ask(db: sqlite3.Connection) -> SearchResult:
            result = search.search(db, query, filters, now=self.clock())
            if not result.hits and not result.considered:
                confirm(db)
            return result

        return self.query(ask)

    # ------------------------------------------------------------ sessions

    def session(self, session_id: str) -> SessionRecord | None:
        """One session by its exact id."""
        row = self.query(
            lambda db: db.execute(
                f"SELECT {SESSION_COLUMNS} FROM sessions s WHERE s.id = ?", (session_id,)
            ).fetchone(),
            light=True,
        )
        return session_record(row) if row else None

    def sessions(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        source: str | None = None,
        title: str | None = None,
        cwd: str | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        since: str | float | None = None,
        until: str | float | None = None,
        include_archived: bool = False,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[SessionRecord]:
        """Most recently active first; a lineage is one row, its newest. ``limit`` -1 means all."""
        from .search.filters import UNATTENDED_CONTEXTS, UNATTENDED_SOURCES

        where, values = [_NEWEST], list[Any]()
        for column, wanted in (("source", source), ("user_id", user_id), ("chat_id", chat_id)):
            if wanted is not None:
                where.append(f"s.{column} = ?")
                values.append(wanted)
        key = self.scope_key(scope)
        if key is not None:
            where.append("s.scope_key = ?")
            values.append(key)
        if title:
            where.append(
                "EXISTS (SELECT 1 FROM sessions n WHERE n.lineage = s.lineage "
                "AND instr(lower(n.title), lower(?)))"
            )
            values.append(title)
        if cwd:
            where.append("(s.cwd = ? OR substr(s.cwd, 1, ?) = ?)")
            inside = cwd.rstrip("/\\") + "/"
            values += [cwd.rstrip("/\\") or cwd, len(inside), inside]
        for word, named, end in (("last_active >=", since, False), ("started_at <", until, True)):
            moment = epoch(named, now=self.clock(), end=end)
            if moment is not None:
                where.append(f"s.{word} ?")
                values.append(moment)
        if not include_archived:
            where.append("s.archived = 0")
        if not include_subagents and source not in UNATTENDED_SOURCES:
            where.append(
                f"s.agent_context NOT IN {UNATTENDED_CONTEXTS} AND s.source NOT IN {UNATTENDED_SOURCES}"
            )
        statement = (
            f"SELECT {SESSION_COLUMNS} FROM sessions s WHERE {' AND '.join(where)} "
            "ORDER BY s.last_active DESC, s.key DESC LIMIT ? OFFSET ?"
        )
        rows = self.query(
            lambda db: db.execute(statement, (*values, limit, offset)).fetchall(), light=True
        )
        return [session_record(row) for row in rows]

    def records(self, session_ids: Iterable[str]) -> dict[str, SessionRecord]:
        """Several sessions by id; unknown ones are left out."""
        rows = self.query(
            lambda db: db.execute(
                f"SELECT {SESSION_COLUMNS} FROM json_each(?) j JOIN sessions s ON s.id = j.value",
                (json.dumps(sorted(session_ids)),),
            ).fetchall()
        )
        return {row[0]: session_record(row) for row in rows}

    def all_ids(self, scope_key: str | None = None) -> list[str]:
        """Every session, oldest first."""
        rows = self.query(
            lambda db: db.execute(
                "SELECT id FROM sessions WHERE ? IS NULL OR scope_key = ? ORDER BY started_at, key",
                (scope_key, scope_key),
            ).fetchall()
        )
        return [row[0] for row in rows]

    def sources(self) -> list[str]:
        """Every source there is."""
        rows = self.query(
            lambda db: db.execute("SELECT DISTINCT source FROM sessions ORDER BY 1").fetchall()
        )
        return [row[0] for row in rows]

    def owner_of(self, message_id: int) -> str | None:
        """The session a message belongs to."""
        row = self.query(
            lambda db: db.execute(
                "SELECT s.id FROM messages m JOIN sessions s ON s.key = m.session WHERE m.id = ?",
                (message_id,),
            ).fetchone()
        )
        return row[0] if row else None

    def has_compacted(self, session_id: str) -> bool:
        """Whether messages of this session have left the model's context."""
        row = self.query(
            lambda db: db.execute(
                "SELECT 1 FROM messages m JOIN sessions s ON s.key = m.session "
                "WHERE s.id = ? AND m.state = ? LIMIT 1",
                (session_id, schema.COMPACTED),
            ).fetchone()
        )
        return row is not None

    def lineage_ids(self, session_id: str) -> list[str]:
        """Ids of all sessions in this one's chain of compressions, itself included."""
        rows = self.query(
            lambda db: db.execute(
                "SELECT o.id FROM sessions s JOIN sessions o ON o.lineage = s.lineage WHERE s.id = ?",
                (session_id,),
            ).fetchall()
        )
        return [row[0] for row in rows] or [session_id]

    def resolve(self, text: str, *, scope: Scope | None = None) -> SessionRecord:
        """By exact id, then title, then unique prefix of an id; to the newest of its lineage.

        Of several sessions of one title (``Trip``, ``Trip #2``) the most recently active is meant, unless
        the number is given.

        Raises:
            SessionNotFoundError: Nothing, or more than one id, matches.
        """
        key = self.scope_key(scope)
        wanted = text.strip()
        return self.query(lambda db: self._resolve(db, wanted, key))

    def _resolve(self, db: sqlite3.Connection, text: str, scope_key: str | None) -> SessionRecord:
        limit, values = ("AND s.scope_key = ?", (scope_key,)) if scope_key else ("", ())
        found = db.execute(
            f"SELECT s.lineage FROM sessions s WHERE s.id = ? {limit}", (text, *values)
        )
        lineages = [row[0] for row in found] or self._by_title(db, text, limit, values)
        if not lineages and len(text) >= MIN_PREFIX:
            lineages = self._by_prefix(db, text, limit, values)
        if not lineages:
            raise SessionNotFoundError(
                f"No session has the id or title {text!r}.",
                hint="hermes sessions list",
                details={"text": text},
            )
        row = db.execute(
            f"SELECT {SESSION_COLUMNS} FROM sessions s WHERE s.lineage = ? {limit} "
            "ORDER BY s.started_at DESC, s.key DESC LIMIT 1",
            (lineages[0], *values),
        ).fetchone()
        return session_record(row)

    @staticmethod
    def _by_title(
        db: sqlite3.Connection, text: str, limit: str, values: tuple[Any, ...]
    ) -> list[str]:
        rows = db.execute(
            "SELECT s.title, s.lineage FROM sessions s WHERE s.title IS NOT NULL "
            f"{limit} ORDER BY s.last_active DESC, s.key DESC",
            values,
        ).fetchall()
        _, number = split_number(text)
        if number > 1:
            return [lineage for title, lineage in rows if same(title, text)]
        return [lineage for title, lineage in rows if same(split_number(title)[0], text)]

    @staticmethod
    def _by_prefix(
        db: sqlite3.Connection, text: str, limit: str, values: tuple[Any, ...]
    ) -> list[str]:
        rows = db.execute(
            f"SELECT s.id, s.lineage FROM sessions s WHERE substr(s.id, 1, ?) = ? {limit} "
            "ORDER BY s.last_active DESC LIMIT 50",
            (len(text), text, *values),
        ).fetchall()
        if len({lineage for _, lineage in rows}) > 1:
            shown = ", ".join(f"`{id_}`" for id_, _ in rows[:5])
            raise SessionNotFoundError(
                f"{len(rows)} sessions begin with {text!r}: {shown}.",
                hint="give more of the id",
                details={"text": text, "matches": [id_ for id_, _ in rows]},
            )
        return [lineage for _, lineage in rows]

    # ------------------------------------------------------------ messages

    def messages(
        self,
        session_id: str,
        *,
        around: int | None = None,
        window: int = 5,
        limit: int | None = None,
        offset: int = 0,
        include_undone: bool = False,
    ) -> list[StoredMessage]:
        """In order; with ``around`` (a message id) the ``window`` before and after it.

        Raises:
            SessionNotFoundError: ``around`` is no message of this session.
        """
        hidden = -1 if include_undone else schema.UNDONE
        return self.query(
            lambda db: (
                self._window(db, session_id, around, window, hidden)
                if around is not None
                else [
                    stored_message(session_id, row)
                    for row in db.execute(
                        f"SELECT {MESSAGE_COLUMNS} FROM messages m JOIN sessions s ON s.key = m.session "
                        "WHERE s.id = ? AND m.state != ? ORDER BY m.position, m.id LIMIT ? OFFSET ?",
                        (session_id, hidden, -1 if limit is None else limit, offset),
                    )
                ]
            )
        )

    @staticmethod
    def _window(
        db: sqlite3.Connection, session_id: str, around: int, window: int, hidden: int
    ) -> list[StoredMessage]:
        anchor = db.execute(
            "SELECT m.session, m.position, m.id FROM messages m JOIN sessions s ON s.key = m.session "
            "WHERE m.id = ? AND s.id = ?",
            (around, session_id),
        ).fetchone()
        if anchor is None:
            raise SessionNotFoundError(
                f"Message {around} is not in session `{session_id}`.",
                hint="use an id that a search gave",
                details={"session_id": session_id, "message_id": around},
            )
        found = []
        for sign, order, count in ((">=", "ASC", window + 1), ("<", "DESC", window)):
            rows = db.execute(
                f"SELECT {MESSAGE_COLUMNS} FROM messages m WHERE m.session = ? "
                f"AND (m.position, m.id) {sign} (?, ?) AND m.state != ? "
                f"ORDER BY m.position {order}, m.id {order} LIMIT ?",
                (*anchor, hidden, count),
            ).fetchall()
            found += rows if sign == ">=" else []
            if sign == "<":
                found = rows[::-1] + found
        return [stored_message(session_id, row) for row in found]

    # ------------------------------------------------------------ numbers

    def stats(self) -> Mapping[str, Any]:
        """Counts of sessions and messages, per source, bytes on disk, schema and tokeniser version."""

        def ask(db: sqlite3.Connection) -> dict[str, Any]:
            sources = {
                row[0]: {"sessions": row[1], "messages": row[2]}
                for row in db.execute(
                    "SELECT source, count(*), sum(message_count) FROM sessions GROUP BY source "
                    "ORDER BY 2 DESC"
                )
            }
            totals = db.execute(
                "SELECT count(*), coalesce(sum(archived), 0), coalesce(sum(pinned), 0), "
                "coalesce(sum(turn_count), 0), min(started_at), max(last_active) FROM sessions"
            ).fetchone()
            meta = dict(db.execute("SELECT key, value FROM meta"))
            return {
                "sessions": totals[0],
                "archived": totals[1],
                "pinned": totals[2],
                "turns": totals[3],
                "messages": db.execute("SELECT count(*) FROM messages").fetchone()[0],
                "first_started_at": totals[4],
                "last_active": totals[5],
                "sources": sources,
                "schema_version": meta.get("schema_version"),
                "tokeniser_version": meta.get("tokeniser_version"),
            }

        numbers = self.query(ask, light=True)
        numbers["database_bytes"] = self.database.size()
        numbers["transcript_bytes"] = self.transcripts.total_bytes()
        numbers["bytes"] = numbers["database_bytes"] + numbers["transcript_bytes"]
        numbers["unreadable_lines"] = self.indexer.skipped
        numbers["torn_lines"] = self.torn
        return numbers


def _check_words(*, several: bool = False, **named: object) -> None:
    for name, value in named.items():
        words = list(value) if several and isinstance(value, list | tuple | set) else [value]
        if not all(isinstance(word, str | None) for word in words):
            raise UsageError(f"The filter {name} is a word, not {value!r:.40}.")


def _check(query: object, *numbers: object) -> None:
    if not isinstance(query, str):
        raise UsageError(f"A query is text, not {type(query).__name__}.")
    if not all(isinstance(number, int) for number in numbers):
        raise UsageError("limit and offset are whole numbers of messages.")
