"""``hermes memory add | patch | replace | remove``: one change of one note each, with its receipt.

The rules (limits, matching, safety scan) are the store's; here is only how a person names things.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command, option_target
from hermes_memory_core.cli.notes_read import change_data, diff_text, find_note
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import (
    NoteAmbiguousError,
    NoteLimitError,
    NoteNotFoundError,
    UsageError,
)
from hermes_memory_core.types import NoteOperation, Origin

if TYPE_CHECKING:
    from hermes_memory_core.types import NotesStore, NoteWrite, Target

PERSON = Origin(who="person")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
_WHY = click.option("--why", default="", help="A reason to keep with the change.")


@click.command("add", cls=Command)
@click.argument("text", nargs=-1)
@option_target()
@_WHY
@_DRY_RUN
@click.pass_obj
def add(state: State, text: tuple[str, ...], target: str | None, why: str, dry_run: bool) -> None:
    """Remember TEXT. Without --target it goes to `memory`; without TEXT it is read from standard input.

    hermes memory add "The staging database is reset every Monday"
    hermes memory add --target user "Prefers short answers"
    pbpaste | hermes memory add
    """
    content = " ".join(text) if text and text != ("-",) else _piped_text()
    _change(state, _target(target), NoteOperation("add", content), why, dry_run, "remembered")


@click.command("patch", cls=Command)
@click.argument("fragment")
@click.argument("replacement")
@option_target()
@_WHY
@_DRY_RUN
@click.pass_obj
def patch(
    state: State, fragment: str, replacement: str, target: str | None, why: str, dry_run: bool
) -> None:
    """Put REPLACEMENT in place of FRAGMENT inside the one note that holds it; the rest of the note stays.

    hermes memory patch "port 8080" "port 9090"
    """
    operation = NoteOperation("patch", replacement, fragment)
    _change(state, target, operation, why, dry_run, "changed")


@click.command("replace", cls=Command)
@click.argument("note")
@click.argument("text")
@option_target()
@_WHY
@_DRY_RUN
@click.pass_obj
def replace(
    state: State, note: str, text: str, target: str | None, why: str, dry_run: bool
) -> None:
    """Put TEXT in place of a whole note. NOTE is its id from `list` or any part of its text.

    hermes memory replace 3f9a01bc "Prefers green tea"
    """
    _change(state, target, NoteOperation("replace", text, note), why, dry_run, "changed")


@click.command("remove", cls=Command)
@click.argument("note")
@option_target()
@_WHY
@_DRY_RUN
@click.option(
    "-y", "--yes", is_flag=True, help="Accepted for scripts; one note is never asked about."
)
@click.pass_obj
def remove(state: State, note: str, target: str | None, why: str, dry_run: bool, yes: bool) -> None:
    """Forget one note. NOTE is its id from `list` or any part of its text; `undo` brings it back.

    hermes memory remove 3f9a01bc
    """
    del yes  # undo takes the place of a question
    _change(state, target, NoteOperation("remove", None, note), why, dry_run, "removed")


def _target(name: str | None) -> Target:
    return cast("Target", name or "memory")


def _piped_text() -> str:
    """Standard input, unless that is a person at a terminal who has not typed anything."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("There is no text to remember.", hint='hermes memory add "…"')
    return sys.stdin.read()


def _change(
    state: State, target: str | None, operation: NoteOperation, why: str, dry_run: bool, done: str
) -> None:
    with state.open(told_anyway=("notes_full",)) as memory, in_a_persons_words(operation):
        store = state.notes(memory)
        where, operation = locate(store, target, operation)
        origin = Origin(who="person", why=why)
        if dry_run:
            change = store.apply(where, [operation], origin=origin, dry_run=True)
        else:
            change = _write(store, where, operation, origin)
        usage = store.usage(where)
    waiting = change.status == "proposed" and not dry_run
    unchanged = not change.before and not change.after
    data = {
        "change": change_data(change),
        "changed": not (dry_run or unchanged or waiting),
        "dry_run": dry_run,
        "waiting": waiting,
        "usage": {
            "chars": usage.chars,
            "limit": usage.limit,
            "percent": usage.percent,
            "entries": usage.entries,
        },
    }

    def human() -> str:
        if unchanged:
            return "That is remembered already; nothing was changed."
        head = f"Would have {done}" if dry_run else done.capitalize()
        if waiting:
            head = "Not written yet; it waits for approval"
        full = f"{where}: {usage.percent}% full, {output.count(usage.entries, 'note')}"
        return f"{head} ({full})\n{diff_text(change.before, change.after)}"

    state.result("memory-write", data, human)
    if data["changed"]:
        state.hint(f"take it back: hermes memory undo {change.id}")
    elif waiting:
        state.hint("hermes memory pending")


@contextmanager
def in_a_persons_words(operation: NoteOperation | None = None) -> Iterator[None]:
    """The store explains itself to a model (batches, arguments); here the same facts for a person."""
    named = f"{operation.old_text!r}" if operation and operation.old_text else "that"
    try:
        yield
    except NoteLimitError as error:
        facts = error.details
        if not {"over_by", "current", "limit"} <= facts.keys():
            raise
        target = f" --target {facts['target']}" if facts.get("target") else ""
        raise NoteLimitError(
            f"That is {facts['over_by']:,} characters too many: the limit is {facts['limit']:,} and "
            f"{facts['current']:,} are in use. Nothing was changed.",
            hint=f"make room: hermes memory edit{target}",
            details=facts,
        ) from error
    except NoteNotFoundError as error:
        raise NoteNotFoundError(
            f"No note holds {named}; nothing was changed.",
            hint="hermes memory list",
            details=error.details,
        ) from error
    except NoteAmbiguousError as error:
        if "matches" not in error.details:
            raise
        raise NoteAmbiguousError(
            f"Several notes hold {named}; nothing was changed.",
            hint="name one by its id: hermes memory list",
            details=error.details,
        ) from error


def _write(
    store: NotesStore, target: Target, operation: NoteOperation, origin: Origin
) -> NoteWrite:
    old, new = operation.old_text or "", operation.content or ""
    if operation.action == "add":
        return store.add(target, new, origin=origin)
    if operation.action == "patch":
        return store.patch(target, old, new, origin=origin)
    if operation.action == "replace":
        return store.replace(target, old, new, origin=origin)
    return store.remove(target, old, origin=origin)


def locate(
    store: NotesStore, target: str | None, operation: NoteOperation
) -> tuple[Target, NoteOperation]:
    """Which target is meant, and the operation with an id replaced by the note's own text.

    Raises:
        NoteAmbiguousError: Notes of both targets match and ``--target`` was not given.
    """
    if operation.old_text is None:
        return _target(target), operation
    if operation.action != "patch":
        note = find_note(store, operation.old_text, target)
        if note is not None:
            whole = NoteOperation(operation.action, operation.content, note.text)
            return note.target, whole
    if target is not None:
        return _target(target), operation
    wanted = operation.old_text.strip()
    holders = {note.target for note in store.list() if wanted in note.text}
    if len(holders) == 2:
        raise NoteAmbiguousError(
            f"Notes of both targets hold {operation.old_text!r}; nothing was changed.",
            hint="say which: --target memory or --target user",
            details={"targets": sorted(holders)},
        )
    return (holders.pop() if holders else "memory"), operation


def receipt(change: NoteWrite, **more: Any) -> dict[str, Any]:
    """What a writing command prints with ``--json``."""
    return {"change": change_data(change), **more}
