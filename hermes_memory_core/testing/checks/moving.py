# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``export_memories`` and ``import_memories``: everything goes out, and comes in once."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.checks.turns import deliver, ended
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import ImportCounts, MemoryRecord, Scope

EXPORT = ("export_memories",)
BOTH = ("export_memories", "import_memories")


@check("`export_memories` yields records with an id each, fit for JSON", hooks=EXPORT)
def exports_are_well_formed(h: Harness) -> str | None:
    subject = h.start()
    _fill(subject)
    records = _export(subject)
    seen: set[str] = set()
    for record in records:
        if not isinstance(record, MemoryRecord):
            raise CheckFailed(f"It yields a {type(record).__name__}.", "yield `MemoryRecord`s")
        if not record.id or record.id in seen:
            raise CheckFailed(
                f"The id {record.id!r} is empty or comes twice.", "use the service's own id"
            )
        seen.add(record.id)
        if not record.kind or not isinstance(record.content, str):
            raise CheckFailed(f"Record {record.id} lacks its kind or has no text as content.")
        try:
            json.dumps({"m": dict(record.metadata), "at": record.created_at}, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise CheckFailed(
                f"The metadata of {record.id} cannot be written as JSON: {error}",
                "plain values only",
            ) from error
    return f"{len(records)} records"


@check("`export_memories` of an empty memory is empty", hooks=EXPORT)
def an_empty_export(h: Harness) -> str | None:
    if h.backend is not None:
        raise Skip("the test's backend may hold something already")
    records = _export(h.start())
    if records:
        raise CheckFailed(f"A memory that was told nothing exports {len(records)} records.")
    return None


@check("two exports name the same records", hooks=EXPORT)
def export_ids_are_stable(h: Harness) -> str | None:
    subject = h.start()
    _fill(subject)
    first = {record.id for record in _export(subject)}
    again = {record.id for record in _export(h.start())}
    if first != again:
        raise CheckFailed(
            "The ids of two exports differ, though nothing was changed.",
            "derive the id from what is stored, not from the time of the export",
        )
    return None


@check("`export_memories` of a scope holds that scope only", hooks=(*EXPORT, "sync_turn"))
def exports_respect_the_scope(h: Harness) -> str | None:
    subject, word = h.start(), inputs.marker()
    scope = Scope("user", "ada")
    session = inputs.session_info(user="ada", scope=scope)
    deliver(subject, session, f"My locker is {word}.")
    ended(subject, session)
    strange = [one for one in _export(subject, Scope("user", "bo")) if word in one.content]
    if strange:
        raise CheckFailed(
            "The export of one user's scope holds another's words.", "filter by `scope.key`"
        )
    everything = any(word in one.content for one in _export(subject))
    own = any(word in one.content for one in _export(subject, scope))
    if everything and not own:
        raise CheckFailed(
            "A user's words are in the whole export and not in the export of that user's scope."
        )
    return None


@check("its own export goes into an empty memory, and every record is accounted for", hooks=BOTH)
def an_export_can_be_imported(h: Harness) -> str | None:
    source, target = h.start("default"), h.start("work")
    _fill(source)
    records = _export(source)
    counts = _import(target, records)
    if h.backend is None and counts.imported + counts.duplicates == 0 and records:
        raise CheckFailed(f"None of {len(records)} records went in: {dict(counts.reasons)}.")
    if h.backend is None and not counts.skipped and not counts.failed:
        missing = {one.content for one in records} - {one.content for one in _export(target)}
        if missing:
            raise CheckFailed(
                f"{len(missing)} records were counted as imported and are not in the export afterwards."
            )
    return f"{counts.imported} imported, {counts.skipped} skipped of {len(records)}"


@check("a second import of the same records changes nothing", hooks=BOTH)
def a_second_import_is_a_no_op(h: Harness) -> str | None:
    source, target = h.start("default"), h.start("work")
    _fill(source)
    records = _export(source)
    _import(target, records)
    before = len(_export(target))
    counts = _import(target, records)
    after = len(_export(target))
    if counts.imported or after != before:
        raise CheckFailed(
            f"The second import took in {counts.imported} records; there are {after} instead of {before}.",
            "keep `record.id` with what you import and count known ones as duplicates",
        )
    return None


@check(
    "records of another provider are imported, or skipped with a reason", hooks=("import_memories",)
)
def strange_records_are_imported(h: Harness) -> str | None:
    subject, word = h.start(), inputs.marker()
    records = [
        MemoryRecord(f"{word}-1", "fact", "Likes the sea."),
        MemoryRecord(f"{word}-2", "conclusion", inputs.TEXTS["Chinese"], created_at=inputs.STARTED),
        MemoryRecord(f"{word}-3", "something-new", inputs.LONG, metadata={"a": [1, {"b": None}]}),
        MemoryRecord(f"{word}-4", "note", ""),
        MemoryRecord(f"{word}-5", "turn", "hello", scope=Scope("user", "ada")),
    ]
    counts = _import(subject, records)
    return f"{counts.imported} imported, {counts.skipped + counts.failed} not"


def _fill(subject: Subject) -> None:
    session = inputs.session_info()
    if "sync_turn" in subject.hooks:
        for number in range(1, 4):
            deliver(subject, session, f"Fact {number}: {inputs.marker()}.", number=number)
    if "notes_written" in subject.hooks:
        write = inputs.note_write("add", (), (f"Sails {inputs.marker()}",))
        subject.call("notes_written", session=None, write=write)
    ended(subject, session)


def _export(subject: Subject, scope: Scope | None = None) -> list[MemoryRecord]:
    return list(subject.call("export_memories", scope=scope) or ())


def _import(subject: Subject, records: Sequence[MemoryRecord]) -> ImportCounts:
    counts = subject.call("import_memories", records=iter(records))
    if not isinstance(counts, ImportCounts):
        raise CheckFailed(
            f"`import_memories` returned a {type(counts).__name__}.", "return `ImportCounts(…)`"
        )
    total = counts.imported + counts.duplicates + counts.skipped + counts.failed
    if total != len(records):
        raise CheckFailed(
            f"{len(records)} records went in and {total} were accounted for.",
            "count every record as imported, duplicate, skipped or failed",
        )
    if (counts.skipped or counts.failed) and not counts.reasons:
        raise CheckFailed("Records were left out without a reason.", "fill in `reasons`")
    return counts
