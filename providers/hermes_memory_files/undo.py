"""Taking one recorded change back, on entries that may have changed since. Pure; the store writes it."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_core.errors import NoteError
from hermes_memory_files.document import note_id
from hermes_memory_files.history import Change
from hermes_memory_files.operations import Echo, short_list


def undone(change: Change, current: Sequence[str], echo: Echo) -> tuple[str, ...]:
    """The entries with the change taken back; everything it did not touch stays.

    Raises:
        NoteError: The entries the change left were altered or removed since, what it took away is there
            again, or its text was forgotten.
    """
    write = change.write
    if change.forgotten:
        raise NoteError(f"Change {write.id} cannot be undone: its text was forgotten on request.")
    if write.status == "aborted":
        raise NoteError(f"Change {write.id} never reached the notes, so there is nothing to undo.")
    if tuple(note_id(entry) for entry in current) == change.ids:
        return _reversed(change, current)
    missing = [entry for entry in write.after if entry not in current]
    if missing:
        raise NoteError(
            f"Change {write.id} cannot be undone: {len(missing)} of the entries it left were altered or "
            "removed since. Nothing was changed.",
            hint="hermes memory log",
            details={"changed_since": short_list(missing, echo)},
        )
    kept = set(current) - set(write.after)
    again = [entry for entry in write.before if entry in kept]
    if again:
        raise NoteError(
            f"Change {write.id} cannot be undone: what it took away is there again. "
            "Nothing was changed.",
            hint="hermes memory log",
            details={"already_there": short_list(again, echo)},
        )
    return _merged(change, current)


def _reversed(change: Change, current: Sequence[str]) -> tuple[str, ...]:
    """Nothing happened since: the exact earlier list."""
    entries = list(current)
    taken = len(change.write.before)
    for _i, gone, j, come in reversed(change.hunks):
        entries[j : j + come] = change.write.before[taken - gone : taken]
        taken -= gone
    return tuple(entries)


def _merged(change: Change, current: Sequence[str]) -> tuple[str, ...]:
    """Put each group back where its successor stands, or at its old place when it had none."""
    entries = list(current)
    returning: dict[int, tuple[str, ...]] = {}
    taken = placed = 0
    slots: list[str | int] = list(entries)
    for number, (_i, gone, j, come) in enumerate(change.hunks):
        returning[number] = change.write.before[taken : taken + gone]
        left = change.write.after[placed : placed + come]
        taken, placed = taken + gone, placed + come
        if left:
            slots[slots.index(left[0])] = number
            slots = [slot for slot in slots if slot not in left[1:]]
        else:
            slots.insert(min(j, len(slots)), number)
    merged: list[str] = []
    for slot in slots:
        merged.extend(returning[slot] if isinstance(slot, int) else (slot,))
    return tuple(dict.fromkeys(merged))
