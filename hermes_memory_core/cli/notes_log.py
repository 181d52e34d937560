"""``hermes memory log``, ``diff`` and ``undo``: the history of changes, and taking one back."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command, option_target, option_whose
from hermes_memory_core.cli.notes_read import (
    ADD_SOMETHING,
    ALL,
    change_data,
    diff_text,
    find_change,
)
from hermes_memory_core.cli.notes_write import PERSON, receipt
from hermes_memory_core.cli.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_memory_core.types import NotesStore, NoteWrite


@click.command("log", cls=Command)
@option_target()
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="Lines to show."
)
@click.option("--aborted", is_flag=True, help="Also changes that were begun and never finished.")
@click.pass_obj
def log(state: State, target: str | None, limit: int, aborted: bool) -> None:
    """List every change, newest first: when, who, what.

    hermes memory log -n 5
    hermes memory show CHANGE     one change, whole
    hermes memory undo CHANGE     take it back
    """
    with state.open() as memory:
        changes = state.notes(memory).log(
            target=target,  # type: ignore[arg-type]
            limit=ALL,
            include_aborted=aborted,
        )
    shown, total = changes[:limit], len(changes)
    data = {"changes": [change_data(change) for change in shown], "total": total}
    state.result("memory-log", data, lambda: _table(shown) if shown else "Nothing has changed yet.")
    if total > len(shown):
        state.say(f"… {total - len(shown):,} more (--limit {min(total, limit * 10)})")
    elif not shown:
        state.hint(ADD_SOMETHING)


def _table(changes: Sequence[NoteWrite]) -> str:
    rows = [
        [
            change.id,
            output.moment(change.at),
            change.target,
            change.action if change.status == "committed" else f"{change.action} ({change.status})",
            change.origin.who,
            _summary(change),
        ]
        for change in changes
    ]
    return output.table(("Change", "When", "Target", "Action", "Who", "What"), rows, flexible=5)


def _summary(change: NoteWrite) -> str:
    if change.undoes:
        return f"takes back {change.undoes}"
    if len(change.before) + len(change.after) > 2:
        return f"{output.count(len(change.before), 'note')} out, {len(change.after):,} in"
    return " → ".join(text for text in (*change.before, *change.after) if text)


@click.command("diff", cls=Command)
@click.argument("change_id", metavar="[CHANGE]", required=False)
@option_whose
@click.pass_obj
def diff(state: State, change_id: str | None) -> None:
    """Show what CHANGE took away and put in, line by line; the newest change when none is named."""
    with state.open() as memory:
        change = _pick(state.notes(memory), change_id, undoable=False)
    if change is None:
        state.result("memory-change", None, lambda: "Nothing has changed yet.")
        return
    found = change
    state.result("memory-change", change_data(found), lambda: _unified(found))


def _unified(change: NoteWrite) -> str:
    before = [line for text in change.before for line in [*output.clean(text).split("\n"), "§"]][
        :-1
    ]
    after = [line for text in change.after for line in [*output.clean(text).split("\n"), "§"]][:-1]
    name = f"{change.target} {output.moment(change.at)} {change.id}"
    lines = difflib.unified_diff(before, after, f"before {name}", f"after {name}", lineterm="")
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return "\n".join(click.style(line, fg=colours.get(line[:1])) for line in lines)


@click.command("undo", cls=Command)
@click.argument("change_id", metavar="[CHANGE]", required=False)
@option_whose
@click.option("--dry-run", is_flag=True, help="Show what would come back and write nothing.")
@click.pass_obj
def undo(state: State, change_id: str | None, dry_run: bool) -> None:
    """Take back CHANGE (an id from `log`), or the newest change that still stands.

    Typed again and again without an id it goes back step by step. Undoing is a change itself: to have the
    change again, undo the undo by its id.
    """
    with state.open() as memory:
        store = state.notes(memory)
        change = _pick(store, change_id, undoable=True)
        if change is None:
            state.result(
                "memory-undo",
                {"undone": None, "changed": False},
                lambda: "There is nothing to take back.",
            )
            return
        if dry_run:
            state.result(
                "memory-undo",
                {"undone": change_data(change), "changed": False, "dry_run": True},
                lambda: f"Would take back {change.id}\n{diff_text(change.after, change.before)}",
            )
            return
        done = store.undo(change.id, origin=PERSON)
    state.result(
        "memory-undo",
        receipt(done, undone=change_data(change), changed=True),
        lambda: f"Took back {change.id} ({change.action})\n{diff_text(done.before, done.after)}",
    )
    state.hint(f"have it again: hermes memory undo {done.id}")


def _pick(store: NotesStore, change_id: str | None, *, undoable: bool) -> NoteWrite | None:
    """The change named, or the newest one (that is no undo and was not taken back).

    Raises:
        NoteNotFoundError: There is no such change.
    """
    if change_id is not None:
        return find_change(store, change_id)
    changes = store.log(limit=ALL)
    taken_back = {change.undoes for change in changes if change.undoes}
    for change in changes:
        if not undoable:
            return change
        if change.action != "undo" and change.id not in taken_back:
            return change
    return None
