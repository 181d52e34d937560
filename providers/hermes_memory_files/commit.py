"""The one path every change of a note takes: plan, limit, scan, approve, lock, re-read, history, file, tell.

The store, the tool, imports, undo and reset all come through ``Committer.change``; nothing else writes a notes
file. Another program (Hermes Agent, an editor) may write the same file at any time: it is read again under the
lock, and what others did is recorded as an ``external`` change before ours is applied on top.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_core.errors import NoteBlockedError, NoteError, NoteLimitError, StoreError
from hermes_memory_core.storage.atomic import refuse_symlink, write_atomic
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import (
    Decision,
    Finding,
    NoteAction,
    NoteOperation,
    NoteUsage,
    NoteWrite,
    Notice,
    Origin,
    ProviderContext,
    Target,
)
from hermes_memory_files import messages
from hermes_memory_files.document import (
    FILE_NAMES,
    Document,
    count,
    note_id,
    read_document,
    serialise,
    sha_of,
)
from hermes_memory_files.history import Change, diff
from hermes_memory_files.operations import Applied, Step, check_limit
from hermes_memory_files.places import Place, Settings, keep_backup, sweep_temporaries
from hermes_memory_files.screen import Screen, ids_of

Plan = Callable[[tuple[str, ...]], Applied]
"""Pure: from the entries as they are to the entries as they shall be, or a NoteError."""

ATTEMPTS = 5
"""How often a change is proposed again because the notes changed while it was being approved."""


_ALLOWED = Decision("allow")


@dataclass(frozen=True, slots=True)
class Request:
    """A change somebody asks for."""

    target: Target
    action: NoteAction
    plan: Plan
    origin: Origin
    undoes: str | None = None
    keep_backup: bool = False
    """Keep a backup whatever the file looks like (reset)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request."""

    write: NoteWrite
    """Its status says whether it was committed or only proposed."""
    entries: tuple[str, ...]
    steps: tuple[Step, ...]
    usage: NoteUsage
    decision: Decision = _ALLOWED
    backup: Path | None = None
    risky: tuple[str, ...] = ()
    """Ids of findings that a person should look at before this is written."""

    @property
    def changed(self) -> bool:
        """False when the notes already said what was asked."""
        return bool(self.write.before or self.write.after)

    @property
    def staged(self) -> bool:
        """True when a person has to approve it first."""
        return self.decision.outcome == "stage"


class Committer:
    """Carries out requests for the notes of one profile."""

    def __init__(self, context: ProviderContext, settings: Settings, screen: Screen) -> None:
        self._context = context
        self._settings = settings
        self._screen = screen
        self._swept: set[Path] = set()

    def change(self, place: Place, request: Request, *, dry_run: bool = False) -> Outcome:
        """Carry out one request; durable before it returns.

        Raises:
            NoteError: It cannot be done, is over the limit, or was refused; nothing was written.
            StoreError: The file cannot be used; nothing was lost.
        """
        try:
            return self._attempts(place, request, dry_run)
        except NoteLimitError as error:
            self._tell_full(place, request.target, error)
            raise

    def _attempts(self, place: Place, request: Request, dry_run: bool) -> Outcome:
        path = place.file(request.target)
        for _attempt in range(ATTEMPTS):
            proposal = self._propose(place, request, read_document(path))
            if dry_run or not proposal.changed:
                return proposal
            refuse_symlink(path)
            decision = self._decide(proposal)
            if decision.outcome == "stage":
                write = replace(proposal.write, id=decision.pending_id or proposal.write.id)
                return replace(proposal, write=write, decision=decision)
            done = self._carry_out(place, request, proposal)
            if done is not None:
                if done.changed:
                    self._context.notes_changed(done.write)
                return done
        raise NoteError(
            f"{FILE_NAMES[request.target]} kept changing while this change was being approved; "
            "nothing was written.",
            hint="run the command again",
        )

    # -- before the lock -----------------------------------------------------
    def _propose(self, place: Place, request: Request, document: Document) -> Outcome:
        """What the request would do to these entries; every check that needs no lock."""
        target = request.target
        limit = self._settings.limits[target]
        applied = request.plan(document.entries)
        before, after, _hunks = diff(document.entries, applied.entries)
        risky = self._scan(applied.entries, before, after)
        check_limit(document.entries, applied.entries, target, limit, self.echo(target))
        write = NoteWrite(
            id=uuid.uuid4().hex[:12],
            at=self._context.clock(),
            target=target,
            action=request.action,
            before=before,
            after=after,
            origin=request.origin,
            scope=place.scope,
            sha_before=document.sha,
            sha_after=sha_of(serialise(applied.entries).encode("utf-8", "replace")),
            status="proposed",
            operations=applied.operations,
            undoes=request.undoes,
        )
        usage = NoteUsage(target, count(applied.entries), limit, len(applied.entries))
        return Outcome(write, applied.entries, applied.steps, usage, risky=risky)

    def _decide(self, proposal: Outcome) -> Decision:
        """Ask. Text that needs a look by a person is never let through on anybody else's word."""
        write, risky = proposal.write, proposal.risky
        if risky and write.origin.who != "person":
            why = f"safety scan: {', '.join(risky)}"
            why = f"{write.origin.why}; {why}" if write.origin.why else why
            write = replace(write, origin=replace(write.origin, attended=False, why=why))
        decision = self._context.approve(write)
        if decision.outcome == "deny":
            raise NoteBlockedError(
                f"The change was refused: {decision.reason or 'a person said no'}. Nothing was written.",
                details={"denied": True},
            )
        if risky and decision.outcome == "allow" and write.origin.who != "person":
            raise NoteBlockedError(
                f"The text needs a person's look ({', '.join(risky)}) and none was to be had; "
                "nothing was written.",
                hint=f"hermes memory add --target {write.target} TEXT",
                details={"findings": list(risky)},
            )
        return decision

    def _scan(
        self, entries: Sequence[str], before: Sequence[str], after: Sequence[str]
    ) -> tuple[str, ...]:
        """Ids of findings a person should look at; raises NoteBlockedError for those nobody should."""
        fresh = set(after) - set(before)
        findings: list[Finding] = []
        for text in dict.fromkeys(after):
            if text in fresh:
                findings.extend(self._screen.findings(text))
        spread = self._screen.across(entries, fresh) if fresh else {}
        for index, found in spread.items():
            if entries[index] in fresh:
                findings.extend(found)
        blocking = [item for item in findings if item.severity == "block"]
        if blocking:
            reasons = ids_of(blocking, "block")
            raise NoteBlockedError(
                messages.blocked(reasons, blocking[0].reason),
                details={"findings": list(reasons)},
            )
        return ids_of(findings, "review")

    def echo(self, target: Target) -> Callable[[str], str]:
        """How entries of a target are shown in errors: blocked ones never raw."""
        return lambda text: self._screen.shown(target, text)

    # -- under the lock ------------------------------------------------------
    def _carry_out(self, place: Place, request: Request, approved: Outcome) -> Outcome | None:
        """Write what was approved; None when the notes changed so that it would now be another change."""
        target = request.target
        with file_lock(place.lock(target)):
            self._sweep(place)
            document = self.settle(place, target)
            outcome = approved
            if document.sha != approved.write.sha_before:
                outcome = self._propose(place, request, document)
                if not outcome.changed:
                    return outcome
                if (outcome.write.before, outcome.write.after) != (
                    approved.write.before,
                    approved.write.after,
                ):
                    return None
            write = replace(
                outcome.write, id=approved.write.id, at=approved.write.at, status="committed"
            )
            backup = self._back_up(place, request, document)
            self._write(place, write, document, outcome.entries)
            return replace(outcome, write=write, backup=backup)

    def _write(
        self,
        place: Place,
        write: NoteWrite,
        document: Document,
        entries: Sequence[str],
        *,
        forgotten: bool = False,
    ) -> None:
        """History first, then the file: a crash between the two is seen and marked at the next use.

        Raises:
            StoreError: The file could not be written, or is written and its directory could not be synced.
        """
        _before, _after, hunks = diff(document.entries, entries)
        ids = tuple(note_id(entry) for entry in entries)
        place.log.append(Change(write, ids, hunks, forgotten))
        path = place.file(write.target)
        try:
            write_atomic(path, serialise(entries).encode("utf-8", "replace"))
        except StoreError:
            with suppress(
                StoreError
            ):  # no room for the mark either: the next use sees it by the hashes
                if read_document(path).sha != write.sha_after:
                    place.log.mark_aborted(write.id, self._context.clock())
            raise

    def _back_up(self, place: Place, request: Request, document: Document) -> Path | None:
        oddities = self.oddities(request.target, document)
        if document.raw is None or not (oddities or (request.keep_backup and document.raw)):
            return None
        backup = keep_backup(place.file(request.target), document.raw, self._context.clock())
        if oddities and not request.keep_backup:
            self._context.notify(
                Notice(
                    code="notes_backed_up",
                    message=f"{FILE_NAMES[request.target]} had {', '.join(oddities)}; it is rewritten in "
                    f"the plain format and the old file is kept as {backup.name}.",
                    level="info",
                    key=f"notes_backed_up:{sha_of(document.raw)}",
                )
            )
        return backup

    def oddities(self, target: Target, document: Document) -> tuple[str, ...]:
        """Why the file is not as this program would have written it, size included."""
        limit = self._settings.limits[target]
        size = count(document.entries)
        if 0 < limit < size:
            return (*document.oddities, f"{size:,} characters for a limit of {limit:,}")
        return document.oddities

    def settle(self, place: Place, target: Target) -> Document:
        """Read the file under its lock and bring the history up to it.

        A last change that never reached the file is marked aborted; what others wrote since is recorded
        as an ``external`` change, with the text that disappeared where the history knows it.
        """
        document = read_document(place.file(target))
        last = place.log.last(target)
        if (
            last is not None
            and last.write.action != "external"
            and last.write.sha_after != document.sha == last.write.sha_before
        ):
            place.log.mark_aborted(last.write.id, self._context.clock())
            self._context.logger.warning(
                "change %s of %s was cut off before it reached the file",
                last.write.id,
                place.file(target),
            )
            last = place.log.last(target)
        if last is not None and last.write.sha_after == document.sha:
            return document
        self._record_external(place, target, document, last)
        return document

    def _record_external(
        self, place: Place, target: Target, document: Document, last: Change | None
    ) -> None:
        known = last.ids if last else ()
        ids = tuple(note_id(entry) for entry in document.entries)
        if ids == known:
            return  # white space or byte shape only: the notes say the same
        texts = dict(zip(ids, document.entries, strict=True))
        texts |= place.log.texts(target, set(known) - set(ids), note_id)
        earlier = [texts.get(one, f"[an entry with id {one}]") for one in known]
        before, after, hunks = diff(earlier, document.entries)
        write = NoteWrite(
            id=uuid.uuid4().hex[:12],
            at=self._context.clock(),
            target=target,
            action="external",
            before=before,
            after=after,
            origin=Origin(
                who="external", why="found in the file" if last else "there at first use"
            ),
            scope=place.scope,
            sha_before=last.write.sha_after if last else "",
            sha_after=document.sha,
        )
        place.log.append(Change(write, ids, hunks))

    def strike(
        self, place: Place, target: Target, holds: Callable[[str], bool], stand_in: str
    ) -> list[str]:
        """Remove entries without keeping their text anywhere; those removed. The caller holds the lock.

        The way of ``forget`` only: no approval and no mirror, since the person asked every store to forget.
        """
        document = self.settle(place, target)
        gone = [text for text in document.entries if holds(text)]
        if not gone:
            return gone
        refuse_symlink(place.file(target))
        kept = tuple(text for text in document.entries if text not in gone)
        write = NoteWrite(
            id=uuid.uuid4().hex[:12],
            at=self._context.clock(),
            target=target,
            action="remove",
            before=(stand_in,) * len(gone),
            after=(),
            origin=Origin(why="forget"),
            scope=place.scope,
            sha_before=document.sha,
            sha_after=sha_of(serialise(kept).encode("utf-8", "replace")),
        )
        self._write(place, write, document, kept, forgotten=True)
        return gone

    def _sweep(self, place: Place) -> None:
        if place.folder not in self._swept:
            self._swept.add(place.folder)
            sweep_temporaries(place.folder, self._context.logger)

    def _tell_full(self, place: Place, target: Target, error: NoteLimitError) -> None:
        self._context.notify(
            Notice(
                code="notes_full",
                message=f"{FILE_NAMES[target]} is full ({error.details['usage']} characters): a note was "
                f"refused because it would be {error.details['over_by']:,} over. Nothing was lost.",
                hint=f"hermes memory edit --target {target}",
                key=place.notice_key("notes_full", target),
            )
        )


def action_of(operations: Sequence[NoteOperation]) -> NoteAction:
    """One name for a batch; a batch that takes anything away is never called an add."""
    actions = {operation.action for operation in operations}
    if len(actions) == 1:
        return next(iter(actions))
    return "rewrite"
