"""Export, import and migration of one open profile: who gives, who takes, what is remembered between runs.

The format and the handing over stand in ``moving``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

from hermes_memory_core.engine.moving import (
    BATCH,
    Ledger,
    Moved,
    dump_record,
    hand_over,
    header,
    read_export,
    records_of,
)
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import ImportCounts, MemoryRecord, Scope

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile

Progress = Callable[[Moved], None] | None


def export(profile: OpenProfile, providers: Sequence[str], scope: Scope | None) -> Iterator[str]:
    """Lines of an export: see ``Memory.export``."""
    roster = profile.roster
    chosen = [roster.borrow(name) for name in providers] or [
        one for one in roster.everyone if one.implements("export_memories")
    ]
    yield header(profile.place.name, profile.clock(), [one.name for one in chosen])
    for provider in chosen:
        for record in records_of(provider, scope):
            yield dump_record(provider.name, record)


def take_in(
    profile: OpenProfile, file: IO[str], *, to: str | None, dry_run: bool, progress: Progress
) -> dict[str, Moved]:
    """Import an export: see ``Memory.import_export``."""
    totals: dict[str, Moved] = {}
    broken = Moved()
    batches: dict[str, list[MemoryRecord]] = {}

    def send(name: str) -> None:
        batch = batches.pop(name)
        total = totals.setdefault(name, Moved())
        if dry_run:
            total.imported += len(batch)
            return
        part = hand_over(profile.roster.borrow(name), batch)
        total.add(ImportCounts(**vars(part)))
        if progress is not None:
            progress(total)

    for source, record in read_export(file, broken):
        name = to or _taker(profile, source)
        batches.setdefault(name, []).append(record)
        if len(batches[name]) >= BATCH:
            send(name)
    for name in list(batches):
        send(name)
    if broken.skipped:
        totals["(unreadable)"] = broken
    return totals


def migrate(
    profile: OpenProfile, source: str, target: str, *, dry_run: bool, progress: Progress
) -> Moved:
    """Copy from provider to provider: see ``Memory.migrate``."""
    giver, taker = profile.roster.borrow(source), profile.roster.borrow(target)
    if giver is taker:
        raise UsageError(f"`{source}` is both ends; nothing was moved.")
    ledger = Ledger(profile.place.path / "providers" / f"migration-{source}-{target}.json")
    fresh = (record for record in records_of(giver, None) if record.id not in ledger.done)
    if dry_run:
        return Moved(imported=sum(1 for _record in fresh), duplicates=len(ledger.done))
    moved = hand_over(taker, fresh, progress, ledger.add)
    ledger.finish()
    return moved


def _taker(profile: OpenProfile, source: str) -> str:
    """Who takes in records of ``source``: itself when it is here, else the active external provider."""
    roster = profile.roster
    if source in [provider.name for provider in roster.everyone]:
        return source
    if roster.external is not None:
        return roster.external.name
    raise UsageError(
        f"The records of `{source}` have nobody to go to: it is not active here.",
        hint=f"hermes memory use {source}, or name a provider with --to",
    )
