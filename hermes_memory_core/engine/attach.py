"""How a session begins, and how somebody goes on with one: in history, in the register, told to the providers.

How it ends, and how its turns travel, is ``handover``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hermes_memory_core.engine.open_sessions import OpenSession
from hermes_memory_core.engine.runtime import is_alive
from hermes_memory_core.engine.scopes import scope_for
from hermes_memory_core.errors import HermesMemoryError, UsageError
from hermes_memory_core.types import PROFILE_SCOPE, Scope, SessionInfo, SessionRecord, StartReason

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile


@dataclass(frozen=True, slots=True)
class Attached:
    """A session somebody goes on with."""

    info: SessionInfo
    turns: int
    """Completed so far."""
    auto_title: str | None = None
    """What history calls it although nobody named it."""


class Attach:
    """The beginnings of the sessions of one open profile."""

    def __init__(self, profile: OpenProfile) -> None:
        self._profile = profile

    def new_id(self) -> str:
        """An id that sorts by the moment it was made."""
        moment = datetime.fromtimestamp(self._profile.clock(), UTC)
        return f"{moment:%Y%m%d_%H%M%S}_{uuid.uuid4().hex[:8]}"

    def begin(self, info: SessionInfo, title: str | None) -> SessionInfo:
        """Begin a new session; as it is then, with the title it got.

        Raises:
            StoreError: It could not be written; it has not begun.
        """
        profile = self._profile
        self.register(info, "new")
        profile.start_session(info, "new", None)
        if not title:
            return info
        history = profile.history
        if history is None:
            return replace(info, title=title)
        try:
            return replace(info, title=history.set_title(info.id, title, dedupe=True))
        except HermesMemoryError:  # nobody will hold this session: it must not stay open
            profile.end_session(info, "exit")
            raise

    def register(self, info: SessionInfo, reason: StartReason, title: str | None = None) -> None:
        """Make a session known to history (there with ``title``, if it has none of its own) and register, durably."""
        history = self._profile.history
        turns, cursor = 0, 0
        if history is not None:
            known = history.transcript_end(info.id) > 0
            history.open_session(replace(info, title=info.title or title), reason=reason)
            record = history.session(info.id) if known else None  # a new one has no turns yet
            turns = record.turn_count if record else 0
            cursor = history.transcript_end(info.id)
        self._profile.open_sessions.put(info, turn_number=turns, cursor=cursor)

    def find(self, session_id: str, scope: Scope) -> Attached | None:
        """The session with this id, open or stored, taken over by this process; None when there is none.

        Raises:
            UsageError: It belongs to another user or chat.
        """
        profile = self._profile
        row = profile.open_sessions.get(session_id)
        if row is not None and not row.detached and not is_alive(row.holder):
            profile.end_session(row.info, "crash")  # its process died; then it goes on
            row = None
        return self._resume(session_id, scope) if row is None else self._take_over(row, scope)

    def _take_over(self, row: OpenSession, scope: Scope) -> Attached:
        profile = self._profile
        info = replace(row.info, scope=scope_of(row.info, profile.settings))
        same_owner(info.id, info.scope, scope)
        ttl = profile.settings["memory"]["snapshot_ttl_s"]
        if info != row.info or profile.clock() - row.last_seen > ttl:
            # too old, or frozen before its owner's accounts were linked or isolation was switched on
            profile.open_sessions.thaw(info.id)
        profile.open_sessions.put(info)
        history = profile.history
        stored = history.session(info.id) if history is not None and info.title is None else None
        return Attached(info, row.turn_number, stored.title if stored is not None else None)

    def _resume(self, session_id: str, scope: Scope) -> Attached | None:
        profile = self._profile
        history = profile.history
        known = history.session(session_id) if history is not None else None
        if history is None or known is None:
            return None
        same_owner(known.id, scope_of(known, profile.settings), scope)
        record = history.resolve(session_id, scope=PROFILE_SCOPE)
        row = profile.open_sessions.get(record.id)
        if row is not None:
            return self._take_over(row, scope)
        info = info_from(record, profile.place.name, scope_of(record, profile.settings))
        same_owner(info.id, info.scope, scope)
        self.register(info, "resume")
        profile.start_session(info, "resume", None)
        return Attached(info, record.turn_count)


def scope_of(session: SessionInfo | SessionRecord, settings: Mapping[str, Any]) -> Scope:
    """Whose it is by the settings of now, not of when it was stored."""
    return scope_for(
        settings, source=session.source, user_id=session.user_id, chat_id=session.chat_id
    )


def info_from(record: SessionRecord, profile: str, scope: Scope) -> SessionInfo:
    """A stored session as the value providers get."""
    return SessionInfo(
        id=record.id,
        lineage=record.lineage or record.id,
        profile=profile,
        source=record.source,
        title=record.title,
        user_id=record.user_id,
        chat_id=record.chat_id,
        cwd=record.cwd,
        model=record.model,
        parent_id=record.parent_id,
        agent_context=record.agent_context,  # type: ignore[arg-type] # as it was stored
        scope=scope,
        started_at=record.started_at,
    )


def same_owner(session_id: str, whose: Scope, asked: Scope) -> None:
    """Refuse a session of somebody else.

    Raises:
        UsageError: It belongs to another user or chat.
    """
    if whose != asked:
        raise UsageError(
            f"Session {session_id} belongs to another {asked.kind}; it was not opened.",
            hint="leave `session_id` out to begin a new session",
        )
