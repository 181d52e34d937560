"""``hermes memory edit``: notes in the person's own editor, merged with what changed meanwhile.

The text in the editor is one entry after another with a line ``§`` between them, as in the file. What was
typed is never lost: when it cannot be saved it stands in a draft file that the message names.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command, option_target
from hermes_memory_core.cli.editor import in_editor
from hermes_memory_core.cli.notes_read import change_data, diff_text, find_note
from hermes_memory_core.cli.notes_write import PERSON, in_a_persons_words
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import (
    HermesMemoryError,
    NoteNotFoundError,
    StoreLockedError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_memory_core.types import Note, NotesStore, NoteWrite, Target

SEPARATOR = "§"
_HEADER = (
    "#: One note after another, with a line holding only § between them.",
    "#: Save and leave to apply; leave without saving to change nothing.",
)


@click.command("edit", cls=Command)
@click.argument("id", required=False)
@option_target()
@click.option(
    "--draft",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Go on from a draft that could not be saved.",
)
@click.pass_obj
def edit(state: State, id: str | None, target: str | None, draft: Path | None) -> None:
    """Change all notes of a target (default `memory`), or the one with ID, in $VISUAL or $EDITOR.

    Notes added by the agent while the editor is open are kept. Everything is checked (limit, safety scan) and
    written as one change.
    """
    if state.no_input:
        raise UsageError(
            "An editor needs a person; nothing was changed.", hint='hermes memory replace ID "…"'
        )
    with state.open(told_anyway=("notes_full",)) as memory:
        store = state.notes(memory)
        if id is not None:
            change = _edit_one(store, id, target)
        else:
            change = _edit_all(store, cast("Target", target or "memory"), draft)
    if change is None:
        state.result("memory-edit", {"changed": False}, lambda: "Nothing was changed.")
        return
    state.result(
        "memory-edit",
        {"changed": True, "change": change_data(change)},
        lambda: f"Saved ({change.target}).\n{diff_text(change.before, change.after)}",
    )
    state.hint(f"take it back: hermes memory undo {change.id}")


def _edit_one(store: NotesStore, id: str, target: str | None) -> NoteWrite | None:
    note = find_note(store, id, target)
    if note is None:
        raise NoteNotFoundError(f"No note has the id `{id}`.", hint="hermes memory list")
    text = in_editor(note.text, ".md")
    if text is None or text.strip() == note.text:
        return None
    if not text.strip():
        raise UsageError(
            "An empty text would be no note; nothing was changed.",
            hint=f"hermes memory remove {note.id}",
        )
    with _kept_as_draft(store, note.target, text, note_id=note.id), in_a_persons_words():
        return store.replace(note.target, note.text, text, origin=PERSON)


def _edit_all(store: NotesStore, target: Target, draft: Path | None) -> NoteWrite | None:
    before = [note.text for note in store.list(target)]
    start = draft.read_text("utf-8") if draft else f"\n{SEPARATOR}\n".join(before)
    text = in_editor("\n".join([*_HEADER, "", start]), ".md")
    if text is None and draft is None:
        return None
    entries = parse(text if text is not None else start)
    if entries == before:
        return None
    with _kept_as_draft(store, target, f"\n{SEPARATOR}\n".join(entries)), in_a_persons_words():
        refuse_conflict(before, store.list(target))
        # `base` lets the store keep, under its lock, what others added; the Protocol has no word for it yet
        return store.rewrite(target, entries, origin=PERSON, base=before)


def parse(text: str) -> list[str]:
    """Entries of an edited text, without the header lines put on top of it."""
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and (lines[0] in _HEADER or not lines[0].strip()):
        del lines[0]
    entries: list[list[str]] = [[]]
    for line in lines:
        if line == SEPARATOR:  # as exact as in the file: "§ " belongs to a note
            entries.append([])
        else:
            entries[-1].append(line)
    return [entry for entry in ("\n".join(lines).strip() for lines in entries) if entry]


def refuse_conflict(before: Sequence[str], live: Sequence[Note]) -> None:
    """Nothing to refuse when others only added notes: those are kept beside what the person made.

    Raises:
        StoreLockedError: Others changed or removed notes too, and only the person can put both together.
    """
    now = {note.text for note in live}
    gone = [text for text in before if text not in now]
    if gone:
        raise StoreLockedError(
            f"{output.count(len(gone), 'note')} changed while the editor was open; "
            "nothing was overwritten.",
            details={"changed_meanwhile": gone},
            retryable=False,
        )


@contextlib.contextmanager
def _kept_as_draft(
    store: NotesStore, target: Target, text: str, note_id: str | None = None
) -> Iterator[None]:
    """When saving fails, put what was typed into a file and name it in the error."""
    try:
        yield
    except HermesMemoryError as error:
        from hermes_memory_core.storage.atomic import write_atomic

        path = store.path(target).parent / f"edit-{time.strftime('%Y%m%d-%H%M%S')}.draft.md"
        write_atomic(path, text.encode("utf-8", "surrogatepass"))
        error.message = f"{error.message} What you typed is kept in {path}"
        error.details["draft"] = str(path)
        if note_id is None:
            error.hint = f"hermes memory edit --target {target} --draft '{path}'"
        raise
