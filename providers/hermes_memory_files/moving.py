"""Notes in bulk: export, import, forget. Single changes are the store's.

Forgetting goes further than removing: the text also leaves the history of changes and the backups, so that no
file of ours still holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from hermes_memory_core.errors import (
    HermesMemoryError,
    NoteBlockedError,
    NoteLimitError,
    StoreError,
    UsageError,
)
from hermes_memory_core.safety.lines import one_line
from hermes_memory_core.storage.atomic import read_bytes
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import (
    ForgetReceipt,
    ImportCounts,
    MemoryRecord,
    NoteOperation,
    Origin,
    ProviderContext,
    Scope,
    Target,
)
from hermes_memory_files.document import FILE_NAMES, TARGETS, decode, note_id
from hermes_memory_files.match import key_of
from hermes_memory_files.places import Place, backups, known_places
from hermes_memory_files.store import FilesStore

KIND = "note"
FORGOTTEN = "[forgotten]"
PREVIEW_CHARS = 120
_FAILURES: tuple[tuple[type[HermesMemoryError], str], ...] = (
    (NoteLimitError, "over the limit"),
    (NoteBlockedError, "refused by the safety scan or a person"),
    (StoreError, "the file could not be used"),
)


def exported(
    store: FilesStore, context: ProviderContext, scope: Scope | None
) -> Iterator[MemoryRecord]:
    """Every entry of one scope, or of all."""
    for place in _places(store, context, scope):
        for target in TARGETS:
            entries = store.document(place, target).entries
            times = _times(place, target) if entries else {}
            for text in entries:
                one = note_id(text)
                yield MemoryRecord(
                    id=f"note:{place.scope.key}:{target}:{one}",
                    kind=KIND,
                    content=text,
                    created_at=times.get(text),
                    scope=place.scope,
                    metadata={"target": target, "file": FILE_NAMES[target]},
                )


def imported(store: FilesStore, records: Iterable[MemoryRecord]) -> ImportCounts:
    """Add what is not there yet, through the same checks as every other change."""
    tally: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for record in records:
        target = record.metadata.get("target", "memory")
        if record.kind != KIND or target not in TARGETS:
            tally["skipped"] += 1
            reasons["not a note" if record.kind != KIND else "unknown target"] += 1
            continue
        try:
            outcome = store.change(
                target,
                [NoteOperation("add", record.content)],
                scope=record.scope,
                origin=Origin(who="import"),
            )
        except HermesMemoryError as error:
            tally["failed"] += 1
            reasons[
                next((why for kind, why in _FAILURES if isinstance(error, kind)), error.message)
            ] += 1
            continue
        if outcome.staged:
            tally["skipped"] += 1
            reasons["waits for approval"] += 1
        else:
            tally["imported" if outcome.changed else "duplicates"] += 1
    return ImportCounts(
        imported=tally["imported"],
        duplicates=tally["duplicates"],
        skipped=tally["skipped"],
        failed=tally["failed"],
        reasons=dict(reasons),
    )


def forgotten(
    store: FilesStore, context: ProviderContext, scope: Scope | None, query: str, dry_run: bool
) -> list[ForgetReceipt]:
    """Find, and unless ``dry_run`` remove, every text that contains the query.

    Raises:
        UsageError: The query is blank: it would be in everything.
    """
    wanted = key_of(query)
    if not wanted:
        raise UsageError("Forget needs some text to look for; nothing was removed.")

    def holds(text: str) -> bool:
        return wanted in key_of(text)

    receipts: list[ForgetReceipt] = []
    for place in _places(store, context, scope):
        if not place.folder.is_dir():
            continue
        where = "" if place.scope.kind == "profile" else f" of {place.scope.key}"
        try:
            with ExitStack() as locks:
                for target in () if dry_run else TARGETS:
                    locks.enter_context(file_lock(place.lock(target)))
                receipts.append(_from_notes(store, place, holds, where, dry_run))
                gone = place.log.purge(holds, FORGOTTEN, dry_run=dry_run)
                receipts.append(_receipt(f"notes history{where}", gone, dry_run))
                receipts.append(_from_backups(place, holds, where, dry_run))
        except StoreError as error:
            reason = f"not all could be looked at: {error.message}"
            receipts.append(ForgetReceipt(f"notes files{where}", 0, reason=reason))
    return [receipt for receipt in receipts if receipt.matched or receipt.reason]


def _from_notes(
    store: FilesStore, place: Place, holds: Callable[[str], bool], where: str, dry_run: bool
) -> ForgetReceipt:
    found: list[str] = []
    reason = ""
    for target in TARGETS:
        try:
            if dry_run:
                found += [text for text in store.document(place, target).entries if holds(text)]
            else:
                found += store.strike(place, target, holds, FORGOTTEN)
        except StoreError as error:
            reason = error.message
    return _receipt(f"notes{where}", found, dry_run, reason)


def _from_backups(
    place: Place, holds: Callable[[str], bool], where: str, dry_run: bool
) -> ForgetReceipt:
    found: list[Path] = []
    for target in TARGETS:
        for path in backups(place.file(target)):
            raw = read_bytes(path)
            if raw is not None and holds(decode(raw)[0]):
                found.append(path)
                if not dry_run:
                    path.unlink(missing_ok=True)
    return _receipt(f"notes backups{where}", [path.name for path in found], dry_run)


def _receipt(place: str, found: Sequence[str], dry_run: bool, reason: str = "") -> ForgetReceipt:
    previews = tuple(one_line(text, PREVIEW_CHARS) for text in found[:5])
    removed = 0 if dry_run else len(found)
    return ForgetReceipt(place, len(found), removed, previews, reason)


def _places(store: FilesStore, context: ProviderContext, scope: Scope | None) -> Iterator[Place]:
    if scope is None:
        yield from known_places(context.home, context.logger)
    else:
        yield store.place(scope)


def _times(place: Place, target: Target) -> dict[str, float]:
    """When each entry was last written, as far as the history knows."""
    times: dict[str, float] = {}
    for change in place.log.changes(target):
        for text in change.write.after:
            times.setdefault(text, change.write.at)
    return times
