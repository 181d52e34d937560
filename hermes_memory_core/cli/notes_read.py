"""``hermes memory list`` and ``show``: reading the notes. Changes nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command, option_target
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import NoteNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_memory_core.types import Note, NotesStore, NoteWrite

ADD_SOMETHING = 'hermes memory add "…"'
TARGETS = ("memory", "user")


@click.command("list", cls=Command)
@option_target()
@click.pass_obj
def list_notes(state: State, target: str | None) -> None:
    """List all notes with their ids.

    A note marked `kept from the model` stays in its file but does not enter the prompt, because the safety scan
    found something in it.
    """
    with state.open() as memory:
        store = state.notes(memory)
        targets = [target] if target else list(TARGETS)
        notes = {name: store.list(name) for name in targets}  # type: ignore[arg-type]
        usage = {name: store.usage(name) for name in targets}  # type: ignore[arg-type]
    data = {
        "notes": [note_data(note) for name in targets for note in notes[name]],
        "usage": {
            name: {
                "chars": full.chars,
                "limit": full.limit,
                "percent": full.percent,
                "entries": full.entries,
            }
            for name, full in usage.items()
        },
    }

    def human() -> str:
        blocks = [
            "\n".join(
                [
                    f"{name}  {full.percent}%  {full.chars:,} of {full.limit:,} characters",
                    *(_line(note) for note in notes[name]),
                ]
            )
            for name, full in usage.items()
            if notes[name]
        ]
        return "\n\n".join(blocks) or "Nothing remembered yet."

    state.result("memory-list", data, human)
    if not data["notes"]:
        state.hint(ADD_SOMETHING)


@click.command("show", cls=Command)
@click.argument("id", required=False)
@click.option("--raw", is_flag=True, help="The file as it is (or the bare text of the note).")
@option_target()
@click.pass_obj
def show(state: State, id: str | None, raw: bool, target: str | None) -> None:
    """Show the block as the model gets it, one note, or one change.

    Without ID the block is what a session started now would have in its prompt; sessions already running keep
    the one they started with. ID is a note's id from `list` or a change's id from `log`; the first few
    characters are enough.
    """
    with state.open() as memory:
        store = state.notes(memory)
        if id is None:
            _show_all(state, store, raw, target)
            return
        note = find_note(store, id, target)
        if note is not None:
            state.result("memory-note", note_data(note), lambda: _note(note, raw))
            return
        change = find_change(store, id)
    state.result("memory-change", change_data(change), lambda: change_text(change))


def _show_all(state: State, store: NotesStore, raw: bool, target: str | None) -> None:
    if raw:
        from hermes_memory_core.storage.atomic import read_bytes

        paths = {name: store.path(name) for name in TARGETS if target in (None, name)}  # type: ignore[arg-type]
        texts = {
            name: (read_bytes(path) or b"").decode("utf-8", "backslashreplace")
            for name, path in paths.items()
        }
        files = [
            {"target": name, "path": str(path), "text": texts[name]} for name, path in paths.items()
        ]
        state.result(
            "memory-files", {"files": files}, lambda: exact("\n".join(filter(None, texts.values())))
        )
        empty = not any(texts.values())
    else:
        block = store.snapshot()
        state.result("memory-block", {"block": block, "chars": len(block)}, lambda: exact(block))
        empty = not block
    if empty:
        state.say("Nothing remembered yet.")
        state.hint(ADD_SOMETHING)


def exact(text: str) -> str:
    """Unchanged into a file or pipe; made safe where it would reach a terminal."""
    return output.clean(text) if sys.stdout.isatty() else text


def find_note(store: NotesStore, id: str, target: str | None = None) -> Note | None:
    """The one note whose id starts so; None when none or several do (an exact id always wins)."""
    notes = store.list(target)  # type: ignore[arg-type]
    if len(id) < 4:
        return None
    found = [note for note in notes if note.id == id] or [
        note for note in notes if note.id.startswith(id)
    ]
    return found[0] if found and len({note.text for note in found}) == 1 else None


def find_change(store: NotesStore, id: str) -> NoteWrite:
    """The one change whose id starts so; an exact id always wins.

    Raises:
        NoteNotFoundError: There is none, or there are several.
    """
    changes = store.log(limit=ALL, include_aborted=True)
    found = [change for change in changes if change.id == id] or [
        change for change in changes if change.id.startswith(id)
    ]
    if len(found) == 1:
        return found[0]
    raise NoteNotFoundError(
        f"{len(found)} changes have ids that start with `{id}`; write more of it."
        if found
        else f"No note and no change has an id that starts with `{id}`.",
        hint="hermes memory log",
    )


ALL = 1_000_000_000
"""More changes than any history holds."""


def note_data(note: Note) -> dict[str, Any]:
    """One note for ``--json``."""
    return {
        "id": note.id,
        "target": note.target,
        "text": note.text,
        "chars": len(note.text),
        "blocked": list(note.blocked),
    }


def change_data(change: NoteWrite) -> dict[str, Any]:
    """One change for ``--json``."""
    return {
        "id": change.id,
        "at": change.at,
        "target": change.target,
        "action": change.action,
        "before": list(change.before),
        "after": list(change.after),
        "who": change.origin.who,
        "why": change.origin.why,
        "attended": change.origin.attended,
        "session_id": change.origin.session_id,
        "scope": change.scope.key,
        "status": change.status,
        "undoes": change.undoes,
    }


def change_text(change: NoteWrite) -> str:
    """One change, whole."""
    rows = [
        ("Change", change.id),
        ("When", output.moment(change.at)),
        ("Target", change.target),
        ("Action", change.action + (f" of {change.undoes}" if change.undoes else "")),
        ("Who", change.origin.who + (f", {change.origin.why}" if change.origin.why else "")),
    ]
    if change.origin.session_id:
        rows.append(("Session", change.origin.session_id))
    if change.status != "committed":
        rows.append(("Status", change.status))
    return output.fields(rows) + "\n\n" + diff_text(change.before, change.after)


def diff_text(before: Sequence[str], after: Sequence[str]) -> str:
    """Lines taken away with ``-``, lines put in with ``+``."""
    lines = [f"- {line}" for text in before for line in output.clean(text).split("\n")]
    lines += [f"+ {line}" for text in after for line in output.clean(text).split("\n")]
    return "\n".join(lines)


def _note(note: Note, raw: bool) -> str:
    if raw:
        return exact(note.text)
    rows = [
        ("Note", note.id),
        ("Target", note.target),
        ("Length", f"{len(note.text):,} characters"),
    ]
    if note.blocked:
        rows.append(("Blocked", "kept from the model: " + ", ".join(note.blocked)))
    return output.fields(rows) + "\n\n" + output.clean(note.text)


def _line(note: Note) -> str:
    mark = click.style(f"  [kept from the model: {', '.join(note.blocked)}]", fg="yellow")
    text = output.clean(note.text).replace("\n", "\n" + " " * 12)
    return f"  {note.id}  {text}{mark if note.blocked else ''}"
