"""``memory.notes``: the notes store over MEMORY.md and USER.md, as ``types.NotesStore`` describes it.

Thin on purpose: each method turns its arguments into a ``Request`` for ``commit.Committer`` (writes) or reads a
document. Reading takes no lock; a missing file is empty, an unreadable one raises.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_memory_core.errors import (
    NoteAmbiguousError,
    NoteNotFoundError,
    ScopeRequired,
    StoreError,
    StoreUnreadableError,
    UsageError,
)
from hermes_memory_core.safety.lines import one_line
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import (
    Note,
    NoteOperation,
    NoteUsage,
    NoteWrite,
    Notice,
    Origin,
    ProviderContext,
    Scope,
    Target,
)
from hermes_memory_files import operations as ops
from hermes_memory_files import snapshot as snapshots
from hermes_memory_files.commit import Committer, Outcome, Request, action_of
from hermes_memory_files.document import (
    FILE_NAMES,
    TARGETS,
    Document,
    count,
    note_id,
    read_document,
)
from hermes_memory_files.history import Change
from hermes_memory_files.places import Place, Settings, place_of
from hermes_memory_files.screen import Screen, placeholder
from hermes_memory_files.undo import undone


class FilesStore:
    """The notes of one profile, safe to use from several threads and processes."""

    def __init__(self, context: ProviderContext) -> None:
        self.settings = Settings.of(context)
        self.screen = Screen()
        self._context = context
        self._committer = Committer(context, self.settings, self.screen)
        self._documents: dict[Path, Document] = {}

    # -- reading -------------------------------------------------------------
    def list(
        self, target: Target | None = None, *, scope: Scope | None = None
    ) -> builtins.list[Note]:
        """Live entries in file order, both targets when None."""
        place = self.place(scope)
        notes: builtins.list[Note] = []
        for one in self._targets(target):
            entries = self.document(place, one).entries
            for text, reasons in zip(entries, self.screen.blocked_of(entries), strict=True):
                notes.append(Note(note_id(text), one, text, reasons))
        return notes

    def usage(self, target: Target, *, scope: Scope | None = None) -> NoteUsage:
        """Characters, limit and entries of the live file."""
        (one,) = self._targets(target)
        entries = self.document(self.place(scope), one).entries
        return NoteUsage(one, count(entries), self.settings.limits[one], len(entries))

    def snapshot(self, *, scope: Scope | None = None) -> str:
        """The block for the system prompt, from the files as they are now; "" when there is nothing."""
        place = self.place(scope)
        blocks = [self._block(place, target) for target in self.settings.enabled]
        return "\n\n".join(block for block in blocks if block)

    def path(self, target: Target, *, scope: Scope | None = None) -> Path:
        """The real file."""
        (one,) = self._targets(target)
        return self._named_place(scope).file(one)

    def log(
        self,
        *,
        target: Target | None = None,
        limit: int = 50,
        scope: Scope | None = None,
        include_aborted: bool = False,
    ) -> Sequence[NoteWrite]:
        """Changes, newest first; edits made outside since the last change are recorded before."""
        place = self.place(scope)
        if place.anonymous or limit <= 0:
            return []
        for one in self._targets(target):
            self._catch_up(place, one)
        writes: builtins.list[NoteWrite] = []
        for change in place.log.changes(target, include_aborted=include_aborted):
            writes.append(change.write)
            if len(writes) == limit:
                break
        return writes

    # -- changing ------------------------------------------------------------
    def add(
        self, target: Target, text: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Append one entry; one that is there already changes nothing and gives an empty write."""
        return self.apply(target, [NoteOperation("add", text)], scope=scope, origin=origin)

    def patch(
        self,
        target: Target,
        fragment: str,
        replacement: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Change only ``fragment`` inside the one entry that holds it."""
        step = NoteOperation("patch", replacement, fragment)
        return self.apply(target, [step], scope=scope, origin=origin)

    def replace(
        self,
        target: Target,
        old_text: str,
        text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Put ``text`` in place of the whole entry that ``old_text`` names."""
        step = NoteOperation("replace", text, old_text)
        return self.apply(target, [step], scope=scope, origin=origin)

    def remove(
        self,
        target: Target,
        old_text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Take one entry away; ``old_text`` is a fragment, the whole entry, or its id."""
        step = NoteOperation("remove", None, old_text)
        return self.apply(target, [step], scope=scope, origin=origin)

    def apply(
        self,
        target: Target,
        operations: Sequence[NoteOperation],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        dry_run: bool = False,
    ) -> NoteWrite:
        """All operations in order on one target, or none; the limit counts on the final state only."""
        return self.change(target, operations, scope=scope, origin=origin, dry_run=dry_run).write

    def change(
        self,
        target: Target,
        operations: Sequence[NoteOperation],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Like ``apply``, with what each operation did and the usage afterwards."""
        (one,) = self._targets(target)
        if not operations:
            raise UsageError("There is no operation to apply; nothing was changed.")
        echo = self._committer.echo(one)

        def plan(entries: tuple[str, ...]) -> ops.Applied:
            return ops.apply(entries, operations, one, echo)

        request = Request(one, action_of(operations), plan, origin or Origin())
        return self._committer.change(self._named_place(scope), request, dry_run=dry_run)

    def rewrite(
        self,
        target: Target,
        texts: Sequence[str],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        base: Sequence[str] | None = None,
    ) -> NoteWrite:
        """Replace all entries (an editor session, an import).

        Args:
            target: Which notes.
            texts: The new entries; blank ones are dropped.
            scope: Whose notes.
            origin: Who asks.
            base: The entries the new ones were made from; those added by others since are kept.
        """
        (one,) = self._targets(target)
        wanted = tuple(dict.fromkeys(ops.usable(text, "rewrite") for text in texts if text.strip()))

        def plan(entries: tuple[str, ...]) -> ops.Applied:
            added = () if base is None else tuple(set(entries) - set(base) - set(wanted))
            late = tuple(entry for entry in entries if entry in added)
            return ops.Applied((*wanted, *late))

        return self._request(scope, Request(one, "rewrite", plan, origin or Origin())).write

    def reset(
        self,
        target: Target | None = None,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> Sequence[Path]:
        """Empty the target after a backup that was read back; the backups' paths.

        Empty also when a person has to approve it first: nothing was emptied then.
        """
        kept: builtins.list[Path] = []
        for one in self._targets(target):
            request = Request(
                one, "reset", lambda _entries: ops.Applied(()), origin or Origin(), keep_backup=True
            )
            backup = self._request(scope, request).backup
            if backup is not None:
                kept.append(backup)
        return kept

    def undo(
        self, change_id: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Take one change back; itself a change, so it can be undone too.

        Args:
            change_id: The change's id, or enough of its beginning (4 characters) to be the only one.
            scope: Whose notes.
            origin: Who asks.
        """
        place = self._named_place(scope)
        for one in TARGETS:
            self._catch_up(place, one)
        change = _change_named(place, change_id)
        target = change.write.target
        echo = self._committer.echo(target)

        def plan(entries: tuple[str, ...]) -> ops.Applied:
            return ops.Applied(undone(change, entries, echo))

        request = Request(target, "undo", plan, origin or Origin(), undoes=change.write.id)
        return self._committer.change(place, request).write

    # -- for the provider ----------------------------------------------------
    def place(self, scope: Scope | None) -> Place:
        """The folder and history of a scope; raises ScopeRequired when one must be named."""
        return place_of(self._context.home, scope, self.settings.isolation, self._context.logger)

    def document(self, place: Place, target: Target) -> Document:
        """The file as it is now; the bytes are read each time, parsed only when they differ."""
        if place.anonymous:
            return Document(None)
        path = place.file(target)
        document = read_document(path, self._documents.get(path))
        self._documents[path] = document
        return document

    def oddities(self, target: Target, document: Document) -> tuple[str, ...]:
        """What is unusual about a file, in words."""
        return self._committer.oddities(target, document)

    def strike(
        self, place: Place, target: Target, holds: Callable[[str], bool], stand_in: str
    ) -> Sequence[str]:
        """Remove entries for ``forget``; the caller holds the target's lock."""
        return self._committer.strike(place, target, holds, stand_in)

    # -- helpers -------------------------------------------------------------
    def _request(self, scope: Scope | None, request: Request) -> Outcome:
        return self._committer.change(self._named_place(scope), request)

    def _named_place(self, scope: Scope | None) -> Place:
        place = self.place(scope)
        if place.anonymous:
            raise ScopeRequired(
                f"This conversation has no {place.scope.kind} id, so nothing can be kept for it; "
                "nothing was changed.",
                hint=f"the host must name the {place.scope.kind} when it opens the session",
            )
        return place

    @staticmethod
    def _targets(target: Target | None) -> tuple[Target, ...]:
        if target is None:
            return TARGETS
        if target not in TARGETS:
            raise UsageError(
                f"There is no target {target!r}; the targets are memory and user. Nothing was changed."
            )
        return (target,)

    def _catch_up(self, place: Place, target: Target) -> None:
        """Let the history know of edits made outside; a home that cannot be written is only read."""
        document = self.document(place, target)
        last = place.log.last(target)
        if document.sha == (last.write.sha_after if last else ""):
            return
        try:
            with file_lock(place.lock(target)):
                self._committer.settle(place, target)
        except StoreUnreadableError:
            raise
        except StoreError as error:
            self._context.logger.warning("outside edits were not recorded: %s", error)

    def _block(self, place: Place, target: Target) -> str:
        try:
            document = self.document(place, target)
        except StoreUnreadableError as error:
            self._context.notify(
                Notice(
                    code="notes_unreadable",
                    message=error.message,
                    hint=error.hint,
                    level="error",
                    key=place.notice_key("notes_unreadable", target),
                )
            )
            return snapshots.unreadable(target)
        reasons = self.screen.blocked_of(document.entries)
        shown = [
            placeholder(target, text, why) if why else text
            for text, why in zip(document.entries, reasons, strict=True)
        ]
        self._tell(place, target, document, reasons)
        return snapshots.render(target, shown, self.settings.limits[target])

    def _tell(
        self, place: Place, target: Target, document: Document, reasons: Sequence[Sequence[str]]
    ) -> None:
        """Tell the person, once each, what the prompt does not show as the file has it."""
        name = FILE_NAMES[target]
        for text, why in zip(document.entries, reasons, strict=True):
            if why:
                one = note_id(text)
                preview = one_line(text, ops.MATCH_CHARS)
                self._context.notify(
                    Notice(
                        code="note_blocked",
                        message=f"An entry of {name} is kept out of the prompt "
                        f"({', '.join(why)}): “{preview}”. The file keeps it; "
                        "the other entries are shown.",
                        hint=f"hermes memory remove --target {target} {one}",
                        key=place.notice_key(f"note_blocked:{one}", target),
                    )
                )
        if oddities := self.oddities(target, document):
            self._context.notify(
                Notice(
                    code="notes_unusual",
                    message=f"{name} has {', '.join(oddities)}; it was read as far as possible. "
                    "A backup is kept before it is next rewritten.",
                    hint=f"hermes memory edit --target {target}",
                    key=place.notice_key("notes_unusual", target),
                )
            )


def _change_named(place: Place, change_id: str) -> Change:
    """The change with this id or unique beginning of it."""
    wanted = change_id.strip().lower()
    found: dict[str, Change] = {}
    if len(wanted) >= 4:
        for change in place.log.changes(include_aborted=True):
            if change.write.id == wanted:
                return change
            if change.write.id.startswith(wanted):
                found.setdefault(change.write.id, change)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise NoteAmbiguousError(
            f"{len(found)} changes begin with {change_id!r}; nothing was changed.",
            hint="hermes memory log",
            details={"matches": sorted(found)[: ops.SHORT_LIST]},
        )
    raise NoteNotFoundError(
        f"There is no change {change_id!r}; nothing was changed.", hint="hermes memory log"
    )
