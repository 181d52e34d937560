"""Who may write a note at once, whose write waits, and what a person's yes or no does (``memory.pending``).

The outcome matrix (spec/builtin.md section 3, with 14.3 mended) is ``outcome_of``, a pure function. The records
are kept by ``safety/approvals.py``; what is approved goes through the notes store like any other change, so
limits and the safety scan run again.
"""

from __future__ import annotations

import builtins
import difflib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from hermes_memory_core.errors import (
    HermesMemoryError,
    NoteError,
    NoteNotFoundError,
    ScopeRequired,
    StoreError,
    UsageError,
)
from hermes_memory_core.safety.approvals import PendingWrites
from hermes_memory_core.safety.pending_record import PendingWrite, Unreadable
from hermes_memory_core.types import (
    Decision,
    NoteOperation,
    NotesStore,
    NoteWrite,
    Notice,
    Origin,
    Scope,
)

logger = logging.getLogger(__name__)

MAX_WAITING = 500
"""Proposals that may wait at once: a review that runs wild must not fill the disk."""
NOTICE = "writes_pending"
SAFETY = "safety scan: "
"""How the notes store marks a write whose text a person should look at (``origin.why``)."""

Ask = Callable[[NoteWrite], Decision]
Outcome = Literal["allow", "ask", "stage", "deny"]


def outcome_of(write: NoteWrite, *, write_approval: bool, reviews: bool) -> tuple[Outcome, str]:
    """What becomes of a proposed write, and why, in words for a person.

    Args:
        write: The proposal.
        write_approval: ``memory.write_approval``.
        reviews: False when ``memory.nudge_interval`` is 0: no automatic write of any kind.
    """
    origin = write.origin
    if origin.who == "person":
        return "allow", ""
    if origin.who == "review" and not reviews:
        return "deny", "automatic memory writes are switched off (memory.nudge_interval is 0)"
    if SAFETY in origin.why:
        seen = origin.why.partition(SAFETY)[2]
        return "stage", f"the safety scan wants a person to look at it ({seen})"
    if write_approval:
        return ("ask" if origin.attended else "stage"), "memory.write_approval is on"
    if not origin.attended and takes_away(write):
        return "stage", (
            "nobody was watching and it changes or removes what is there; that always waits, also with "
            "memory.write_approval off"
        )
    return "allow", ""


def takes_away(write: NoteWrite) -> bool:
    """True unless the change only adds."""
    return bool(
        write.action != "add"
        or write.before
        or any(step.action != "add" for step in write.operations)
    )


class Gate:
    """Answers ``ProviderContext.approve`` for one open profile.

    Args:
        settings: The core's plain settings.
        waiting: Where proposals are kept.
        ask: The host's callback, when it has one.
        tell: Where the person hears that something waits.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        waiting: PendingWrites,
        ask: Ask | None,
        tell: Callable[[Notice], None],
    ) -> None:
        self.write_approval = bool(settings["memory"]["write_approval"])
        """``memory.write_approval``, as it is now."""
        self._reviews = settings["memory"]["nudge_interval"] != 0
        self._waiting = waiting
        self._ask = ask
        self._tell = tell

    def decide(self, write: NoteWrite) -> Decision:
        """What becomes of a proposed note write.

        Raises:
            StoreError: It should wait for a person and could not be kept: nothing is written, nothing waits.
        """
        outcome, why = outcome_of(write, write_approval=self.write_approval, reviews=self._reviews)
        if outcome == "ask":
            answer = self._answer(write)
            if answer is not None and answer.outcome in ("allow", "deny"):
                return answer
            outcome = "stage"
            if self._ask is not None:
                why += "; the question was left open"
        if outcome == "stage":
            return self._stage(write, why)
        return Decision("deny" if outcome == "deny" else "allow", reason=why)

    def _answer(self, write: NoteWrite) -> Decision | None:
        """The host's answer; None when there is none to be had, or it is no answer."""
        if self._ask is None:
            return None
        try:
            answer = self._ask(write)
        except Exception:
            # the host's own code, and any failure of it must keep the write from happening unseen
            logger.exception("the host's approve callback failed; the write waits instead")
            return None
        if isinstance(answer, Decision):  # an outcome that is none is taken for "stage"
            return answer
        logger.warning("the host's approve callback answered %r; the write waits instead", answer)
        return None

    def _stage(self, write: NoteWrite, why: str) -> Decision:
        if self._waiting.count() >= MAX_WAITING:
            return Decision(
                "deny", reason=f"{MAX_WAITING} changes wait for a person already; no more are kept"
            )
        item = self._waiting.stage(write, why)
        self._tell(
            Notice(
                NOTICE,
                f"The notes have changes that wait for your approval; the last one: {why}.",
                hint="hermes memory pending",
                level="info",
            )
        )
        return Decision("stage", item.id, why)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one pending write."""

    id: str
    outcome: Literal["approved", "rejected", "failed"]
    """``failed`` writes still wait."""
    summary: str = ""
    write: NoteWrite | None = None
    """The committed change; None when it was rejected, failed, or in place already."""
    error: str = ""
    hint: str = ""


class Pending:
    """``memory.pending``: see, approve and reject the writes that wait for a person.

    With isolation on every call needs a scope; the profile's own scope stands for all of them, and is the
    owner's to give.
    """

    def __init__(
        self,
        waiting: PendingWrites,
        notes: Callable[[], NotesStore | None],
        isolation: str,
        settled: Callable[[str], None],
    ) -> None:
        self._waiting = waiting
        self._notes = notes
        self._isolation = isolation
        self._settled = settled

    # ------------------------------------------------------------ seeing

    def count(self) -> int:
        """How many wait, of all scopes."""
        return self._waiting.count()

    def list(self, *, scope: Scope | None = None) -> builtins.list[PendingWrite]:
        """What waits, oldest first; ``item.why`` says why.

        Raises:
            ScopeRequired: Isolation is on and no scope was named.
        """
        return self._waiting.waiting(self._whose(scope))

    def get(self, pending_id: str, *, scope: Scope | None = None) -> PendingWrite:
        """One of them. Raises NoteNotFoundError."""
        return self._waiting.get(pending_id, self._whose(scope))

    def diff(self, pending_id: str, *, scope: Scope | None = None) -> str:
        """What it would change, as a unified diff."""
        item = self.get(pending_id, scope=scope)
        return unified(item.write, item.id)

    def unreadable(self) -> builtins.list[Unreadable]:
        """Records that cannot be decided on here, and why."""
        return self._waiting.unreadable()

    def decisions(self, limit: int = 100) -> builtins.list[dict[str, Any]]:
        """The log of what was staged, approved, rejected and expired, newest first (the owner's view)."""
        return self._waiting.history(limit)

    # ------------------------------------------------------------ deciding

    def approve(
        self, *pending_ids: str, scope: Scope | None = None, who: str = "person"
    ) -> builtins.list[Settled]:
        """Write what was proposed; without ids everything that waits, oldest first.

        Each is applied on its own: one that fails (the note changed since, the limit, the safety scan) says
        why and still waits; the others go on.
        """
        return self._each(pending_ids, scope, lambda item: self._approve(item, who))

    def reject(
        self, *pending_ids: str, scope: Scope | None = None, who: str = "person"
    ) -> builtins.list[Settled]:
        """Refuse; without ids everything that waits."""
        return self._each(pending_ids, scope, lambda item: self._reject(item, who))

    def _each(
        self,
        pending_ids: Sequence[str],
        scope: Scope | None,
        act: Callable[[PendingWrite], Settled],
    ) -> builtins.list[Settled]:
        whose = self._whose(scope)
        wanted = list(dict.fromkeys(one.strip().lower() for one in pending_ids))
        if not wanted:
            wanted = [item.id for item in self._waiting.waiting(whose)]
        done = []
        for one in wanted:
            # one lock for looking and settling: a second approval of the same id finds nothing
            with self._waiting.locked():
                try:
                    done.append(act(self._waiting.get(one, whose)))
                except HermesMemoryError as error:
                    done.append(Settled(one, "failed", error=error.message, hint=error.hint))
        if done and not self._waiting.count():
            with suppress(StoreError):  # a stale notice is all that is left behind
                self._settled(NOTICE)
        return done

    def _approve(self, item: PendingWrite, who: str) -> Settled:
        try:
            write = self._carry_out(item)
        except HermesMemoryError as error:
            return Settled(item.id, "failed", item.summary, error=error.message, hint=error.hint)
        self._waiting.settle(item, "approved", who=who)
        return Settled(item.id, "approved", item.summary, write)

    def _reject(self, item: PendingWrite, who: str) -> Settled:
        self._waiting.settle(item, "rejected", who=who)
        return Settled(item.id, "rejected", item.summary)

    def _carry_out(self, item: PendingWrite) -> NoteWrite | None:
        """Apply it as the person who approved it; None when it is in place already."""
        notes = self._notes()
        if notes is None:
            raise UsageError("Notes are switched off, so nothing can be written.")
        proposed = item.write
        live = [note.text for note in notes.list(proposed.target, scope=proposed.scope)]
        if _in_place(proposed, live):
            return None
        missing = [text for text in proposed.before if text not in live]
        if missing:
            raise NoteNotFoundError(
                f"The notes changed since {item.id} was proposed: {len(missing)} of the entries it was "
                "about are not there any more as they were. Nothing was changed.",
                hint=f"hermes memory reject {item.id}",
                details={"changed_since": len(missing)},
            )
        origin = Origin(
            who="person",
            session_id=proposed.origin.session_id,
            turn_id=proposed.origin.turn_id,
            why=f"approved {item.id}: {proposed.origin.why or 'proposed by ' + proposed.origin.who}",
        )
        return _apply(notes, proposed, live, origin)

    def _whose(self, scope: Scope | None) -> Scope | None:
        if scope is None and self._isolation != "profile":
            raise ScopeRequired(
                f"Notes are kept per {self._isolation} in this profile, so a {self._isolation} must be "
                "named; nothing was read or changed.",
                hint=f"name the {self._isolation}, or run: hermes memory pending",
            )
        return None if scope is None or scope.kind == "profile" else scope


def _in_place(write: NoteWrite, live: Sequence[str]) -> bool:
    """The notes say already what was proposed (approved before a crash, or done by hand).

    Of a proposal that only takes away this cannot be told: the entry may have been reworded instead.
    """
    return (
        bool(write.after)
        and all(text in live for text in write.after)
        and not any(text in live for text in write.before if text not in write.after)
    )


def _apply(
    notes: NotesStore, proposed: NoteWrite, live: Sequence[str], origin: Origin
) -> NoteWrite | None:
    target, scope = proposed.target, proposed.scope
    if proposed.action == "undo" and proposed.undoes:
        return notes.undo(proposed.undoes, scope=scope, origin=origin)
    if proposed.action == "reset":
        if set(live) != set(proposed.before):
            raise NoteError(
                "Notes were added since the reset was proposed, and it would take them too. "
                "Nothing was changed.",
                hint="hermes memory reset",
            )
        notes.reset(target, scope=scope, origin=origin)
        return next(iter(notes.log(target=target, limit=1, scope=scope)), None)
    steps = proposed.operations or operations_of(proposed)
    return notes.apply(target, steps, scope=scope, origin=origin)


def operations_of(write: NoteWrite) -> tuple[NoteOperation, ...]:
    """The same change as operations, each naming its entry by the whole text.

    What a rewrite put into another order stays in its old one: a change records texts, not places.
    """
    gone = [text for text in write.before if text not in write.after]
    come = [text for text in write.after if text not in write.before]
    steps = []
    for old, new in zip_longest(gone, come):
        if old is None:
            steps.append(NoteOperation("add", new))
        elif new is None:
            steps.append(NoteOperation("remove", None, old))
        else:
            steps.append(NoteOperation("replace", new, old))
    return tuple(steps)


def unified(write: NoteWrite, name: str) -> str:
    """What a write takes away and puts in, as a unified diff with nothing unprintable in it."""

    def lines(texts: Sequence[str]) -> builtins.list[str]:
        split = [line for text in texts for line in (*text.split("\n"), "§")][:-1]
        return ["".join(c if c.isprintable() or c == "\t" else "�" for c in line) for line in split]

    return "\n".join(
        difflib.unified_diff(
            lines(write.before),
            lines(write.after),
            f"{write.target} now",
            f"{write.target} after {name}",
            lineterm="",
        )
    )
