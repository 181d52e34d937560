"""``hermes memory reset``: empty the notes. Shows what goes, backs up first, then asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command, option_target
from hermes_memory_core.cli.notes_read import TARGETS
from hermes_memory_core.cli.notes_write import PERSON
from hermes_memory_core.cli.state import State

if TYPE_CHECKING:
    from hermes_memory_core.types import NotesStore


@click.command("reset", cls=Command)
@option_target(both=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would go and write nothing.")
@click.pass_obj
def reset(state: State, target: str, yes: bool, dry_run: bool) -> None:
    """Empty MEMORY.md, USER.md or both. A backup is made first, and `undo` brings the notes back.

    Conversations, settings and an external provider's data are not touched: see `hermes memory forget` and
    `hermes sessions delete`.
    """
    targets = [name for name in TARGETS if target in ("all", name)]
    with state.open() as memory:
        store = state.notes(memory)
        preview = [_what_goes(store, name) for name in targets]
        doomed = [item for item in preview if item["bytes"]]
        if dry_run or not doomed:
            data = {"reset": False, "dry_run": dry_run, "files": preview, "done": []}
            state.result("memory-reset", data, lambda: _preview(preview, bool(doomed)))
            return
        if not yes:
            state.say(_preview(preview, found=True))
        if not state.confirm("Empty these?", yes=yes):
            state.say("Nothing was changed.")
            raise click.exceptions.Exit(exits.FAILED)
        done = [_empty(store, item["target"]) for item in doomed]
    data = {"reset": all(item["emptied"] for item in done), "dry_run": False}
    data |= {"files": preview, "done": done}
    state.result("memory-reset", data, lambda: _done(done))
    for item in done:
        state.hint(_next(item))
    if not data["reset"]:
        raise click.exceptions.Exit(exits.FAILED)


def _empty(store: NotesStore, target: Any) -> dict[str, Any]:
    """Empty one target and look whether it really is."""
    backups = [str(path) for path in store.reset(target, origin=PERSON)]
    emptied = store.usage(target).entries == 0
    newest = store.log(target=target, limit=1)
    change = newest[0].id if emptied and newest else None
    return {"target": target, "emptied": emptied, "backups": backups, "change": change}


def _next(item: dict[str, Any]) -> str:
    if item["emptied"]:
        return f"bring {item['target']} back: hermes memory undo {item['change']}"
    return "hermes memory pending"


def _what_goes(store: NotesStore, target: Any) -> dict[str, Any]:
    path = store.path(target)
    usage = store.usage(target)
    try:
        length = path.stat().st_size
    except FileNotFoundError:
        length = 0
    return {
        "target": target,
        "path": str(path),
        "entries": usage.entries,
        "chars": usage.chars,
        "bytes": length,
    }


def _preview(files: list[dict[str, Any]], found: bool) -> str:
    if not found:
        return "Nothing remembered yet; there is nothing to empty."
    rows = [
        [
            item["target"],
            output.count(item["entries"], "note"),
            output.size(item["bytes"]),
            item["path"],
        ]
        for item in files
    ]
    return output.table(("Target", "Notes", "Size", "File"), rows, right=(2,))


def _done(done: list[dict[str, Any]]) -> str:
    lines = []
    for item in done:
        if item["emptied"]:
            lines.append(f"Emptied {item['target']}.")
        else:
            lines.append(f"{item['target']} was not emptied; it waits for approval.")
        lines += [f"  backup: {path}" for path in item["backups"]]
    return "\n".join(lines)
