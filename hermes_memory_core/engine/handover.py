"""What a session committed reaches the outbox: every turn once, in order, and the end behind the last of them.

The cursor of an open session is the transcript offset up to which its turns are queued. Several processes may hold
one session, and one may die between a turn's line and its outbox row: whoever comes next queues what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_memory_core.engine.outbox import dump_turn
from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import EndReason, Notice, SessionInfo, Turn, TurnRef

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile


class HandOver:
    """The way from transcript to outbox of one open profile."""

    def __init__(self, profile: OpenProfile) -> None:
        self._profile = profile

    def turn(self, session: SessionInfo, turn: Turn, ref: TurnRef | None) -> bool:
        """Register a turn and queue it, with those before it that nobody queued; one transaction.

        Args:
            session: Whose turn.
            turn: As committed.
            ref: Where it stands; None when no transcript holds it, then the row carries the text.

        Returns:
            True when it is queued.

        Raises:
            StoreError: It is not registered; the next turn or the end of the session makes up for it.
        """
        profile = self._profile
        missed, anew = self._missed(session, before=ref.offset if ref else 0)
        with profile.runtime.write() as db:
            cursor = profile.open_sessions.cursor(session.id, db=db)
            known = 0 if anew or cursor is None else cursor
            queued = False
            for one in missed:
                if one.offset >= known:
                    profile.observe("sync_turn", session, ref=one, db=db)
            if not turn.interrupted:
                # a cursor beyond this turn: another process was faster and queued this one too
                queued = (ref is not None and known >= ref.end) or profile.observe(
                    "sync_turn",
                    session,
                    ref=ref,
                    payload=None if ref else dump_turn(turn),
                    db=db,
                )
            reached = max(known, ref.end) if ref else known
            if not profile.open_sessions.advance(session.id, turn.number, reached, db=db):
                # another process ended it while this one goes on: it is open again
                profile.open_sessions.put(session, turn_number=turn.number, cursor=reached, db=db)
        if queued or missed:
            profile.nudge()
        return queued

    def end(self, session: SessionInfo, reason: EndReason) -> bool:
        """End a session once, whoever asks first: what is missing, then the end, in one transaction.

        History is told before, so a crash in between leaves the session to be ended again, never half ended.

        Returns:
            True for the one caller who ended it.

        Raises:
            StoreError: It could not be written; the session is still open and ends at a later start.
        """
        profile = self._profile
        if profile.open_sessions.cursor(session.id) is None:
            return False
        missed, anew = self._missed_or_told(session)
        if profile.history is not None:
            profile.history.end_session(session.id, reason, at=profile.clock())
        with profile.runtime.write() as db:
            cursor = profile.open_sessions.cursor(session.id, db=db)
            if not profile.open_sessions.take_ended(session.id, db=db):
                return False
            for one in missed:
                if anew or one.offset >= (cursor or 0):
                    profile.observe("sync_turn", session, ref=one, db=db)
            queued = profile.observe("end_session", session, payload={"reason": reason}, db=db)
        for provider in profile.roster.built_ins:
            provider.call("end_session", 0.0, session=session, reason=reason)
        profile.gatherer.drop(session.id)
        if queued or missed:
            profile.nudge()
        return True

    def _missed(
        self, session: SessionInfo, *, before: int | None = None
    ) -> tuple[list[TurnRef], bool]:
        """Committed turns that are not queued, those that start before ``before``.

        Returns:
            The turns, and True when the transcript was begun anew since the cursor was set (it was deleted
            while the session was open).
        """
        profile = self._profile
        external, history = profile.roster.external, profile.history
        if external is None or history is None or not external.implements("sync_turn"):
            return [], False
        cursor = profile.open_sessions.cursor(session.id)
        if cursor is None or cursor == before:
            return [], False
        anew = cursor > history.transcript_end(session.id)
        found = [
            ref
            for ref, turn in history.turns_after(session.id, 0 if anew else cursor)
            if not turn.interrupted and (before is None or ref.offset < before)
        ]
        return found, anew

    def _missed_or_told(self, session: SessionInfo) -> tuple[list[TurnRef], bool]:
        """The same at the end of a session, which an unreadable history must not hold up."""
        try:
            return self._missed(session)
        except HermesMemoryError as error:
            self._profile.notices.tell(
                Notice(
                    "catch_up_failed",
                    f"Turns of session {session.id} could not be handed to the external provider: "
                    f"{error.message}",
                    hint=error.hint,
                    key=f"catch_up_failed:{session.id}",
                )
            )
            return [], False
