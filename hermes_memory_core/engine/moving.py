"""Memories on their way out, in, and from one provider to another, in an open format.

The format (version 1) is JSON Lines: a header ``{"format": "hermes-memory-export", "version": 1, …}``, then one
record a line: ``provider``, ``id``, ``kind``, ``content``, ``created_at``, ``scope``, ``metadata``. Importing is
idempotent because the record's id is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from hermes_memory_core.engine.calls import Provider, describe
from hermes_memory_core.errors import ProviderError, StoreUnreadableError, UsageError
from hermes_memory_core.plugins.load import GUARDED
from hermes_memory_core.storage.atomic import read_bytes, write_atomic
from hermes_memory_core.types import ImportCounts, MemoryRecord, Scope

FORMAT = "hermes-memory-export"
VERSION = 1
BATCH = 200
"""Records handed over at once; progress is kept after each batch."""
MAX_LINE = 16 * 1024 * 1024
IMPORT_TIMEOUT_S = 600.0
"""For one batch: a service may derive for minutes."""


@dataclass
class Moved:
    """What an import or a migration did so far."""

    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    failed: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, counts: ImportCounts) -> None:
        """Add the counts of one batch."""
        self.imported += counts.imported
        self.duplicates += counts.duplicates
        self.skipped += counts.skipped
        self.failed += counts.failed
        for reason, number in counts.reasons.items():
            self.count(reason, number)

    def count(self, reason: str, number: int = 1) -> None:
        """Count why something was left out."""
        self.reasons[reason] = self.reasons.get(reason, 0) + number


def records_of(provider: Provider, scope: Scope | None) -> Iterator[MemoryRecord]:
    """Everything a provider remembers.

    Raises:
        ProviderError: It cannot export, or stopped half-way; nothing is silently short.
    """
    if not provider.implements("export_memories"):
        raise ProviderError(
            f"`{provider.name}` cannot export what it holds.",
            hint=f"hermes plugins info {provider.name}",
        )
    outcome = provider.call("export_memories", IMPORT_TIMEOUT_S, probe=True, scope=scope)
    if not outcome.ok:
        raise _stopped(provider, 0, outcome.error)
    number = 0
    records = iter(outcome.value or ())
    while True:
        try:
            record = next(records, None)
        except GUARDED as error:
            raise _stopped(provider, number, error) from error
        if record is None:
            return
        number += 1
        yield record


def hand_over(
    provider: Provider,
    records: Iterable[MemoryRecord],
    progress: Callable[[Moved], None] | None = None,
    done: Callable[[list[MemoryRecord]], None] | None = None,
) -> Moved:
    """Give records to a provider, batch by batch.

    Args:
        provider: Who takes them.
        records: What to give.
        progress: Told after each batch.
        done: Told which records a batch held, once it was taken.

    Raises:
        ProviderError: It cannot import, or a batch failed; earlier batches stand.
    """
    if not provider.implements("import_memories"):
        raise ProviderError(
            f"`{provider.name}` cannot take in memories.",
            hint=f"hermes plugins info {provider.name}",
        )
    moved = Moved()
    source = iter(records)
    while batch := list(islice(source, BATCH)):
        outcome = provider.call("import_memories", IMPORT_TIMEOUT_S, probe=True, records=batch)
        if not outcome.ok or not isinstance(outcome.value, ImportCounts):
            reason = describe(outcome.error) or "it gave no counts"
            raise ProviderError(
                f"`{provider.name}` stopped taking in: {reason}. "
                f"{moved.imported + moved.duplicates} records are in; run it again to go on.",
                hint="hermes memory status --check",
                details=vars(moved),
            )
        moved.add(outcome.value)
        if done is not None:
            done(batch)
        if progress is not None:
            progress(moved)
    return moved


def _stopped(provider: Provider, number: int, error: BaseException | None) -> ProviderError:
    return ProviderError(
        f"`{provider.name}` stopped exporting after {number} records: {describe(error)}.",
        hint="hermes memory status --check",
        details={"records": number},
    )


# ---------------------------------------------------------------- the format


def header(profile: str, at: float, providers: list[str]) -> str:
    """The first line of an export."""
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "profile": profile,
            "created_at": at,
            "providers": providers,
        },
        ensure_ascii=False,
    )


def dump_record(provider: str, record: MemoryRecord) -> str:
    """One line of an export."""
    return json.dumps(
        {
            "provider": provider,
            "id": record.id,
            "kind": record.kind,
            "content": record.content,
            "created_at": record.created_at,
            "scope": {"kind": record.scope.kind, "id": record.scope.id},
            "metadata": dict(record.metadata),
        },
        ensure_ascii=False,
        default=str,
    )


def read_export(file: IO[str], moved: Moved) -> Iterator[tuple[str, MemoryRecord]]:
    """(provider, record) of an export; lines that cannot be read are counted in ``moved`` and left out.

    Raises:
        UsageError: It is not an export of this format, or of a later version.
    """
    try:
        head = json.loads(file.readline(MAX_LINE) or "null")
    except ValueError:
        head = None
    if not isinstance(head, Mapping) or head.get("format") != FORMAT:
        raise UsageError(
            "This is not an export of Hermes Memory; nothing was taken in.",
            hint="for conversations of other programs: hermes sessions import PATH",
        )
    if not isinstance(head.get("version"), int) or head["version"] > VERSION:
        raise UsageError(
            f"The export has version {head.get('version')}; this program knows up to {VERSION}. "
            "Nothing was taken in.",
            hint="pip install -U hermes-memory-core",
        )
    while line := file.readline(MAX_LINE):
        if not line.strip():
            continue
        try:
            yield _load_record(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            moved.skipped += 1
            moved.count("a line that is no record")


def _load_record(data: Mapping[str, Any]) -> tuple[str, MemoryRecord]:
    scope = data.get("scope") or {}
    if scope.get("kind", "profile") not in ("profile", "user", "chat", "project"):
        raise ValueError("scope")
    created = data.get("created_at")
    return str(data["provider"]), MemoryRecord(
        id=str(data["id"]),
        kind=str(data["kind"]),
        content=str(data["content"]),
        created_at=float(created) if created is not None else None,
        scope=Scope(scope.get("kind", "profile"), scope.get("id")),
        metadata=dict(data.get("metadata") or {}),
    )


class Ledger:
    """Which records a migration has moved, so that an interrupted one goes on where it was."""

    def __init__(self, path: Path) -> None:
        self._path = path
        data = read_bytes(path)
        try:
            self.done: set[str] = set(json.loads(data)) if data else set()
        except ValueError as error:
            raise StoreUnreadableError(
                f"`{path}` cannot be understood; nothing was moved.",
                hint=f"move `{path}` away; what was moved before is then counted as duplicates",
            ) from error

    def add(self, records: list[MemoryRecord]) -> None:
        """Note a batch, durably."""
        self.done.update(record.id for record in records)
        write_atomic(self._path, json.dumps(sorted(self.done)).encode())

    def finish(self) -> None:
        """The migration is complete."""
        self._path.unlink(missing_ok=True)
