"""``hermes memory export``, ``import`` and ``migrate``: memories in an open format, and from provider to provider."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.storage.atomic import replacing

if TYPE_CHECKING:
    from hermes_memory_core.engine.moving import Moved


@click.command("export", cls=Command)
@click.argument("path", default="-")
@click.option(
    "--provider", "providers", multiple=True, metavar="NAME", help="Only this one; may be repeated."
)
@click.option("--force", is_flag=True, help="Write over an existing file.")
@click.pass_obj
def export(state: State, path: str, providers: tuple[str, ...], force: bool) -> None:
    """Write everything remembered to PATH (or `-`), one JSON object a line.

    The format is open and documented; nothing is removed. Secrets of `.env` are not in it.

    hermes memory export memories.jsonl
    hermes memory export - --provider files
    """
    target = None if path == "-" else Path(path)
    if target is not None and target.exists() and not force:
        raise UsageError(
            f"`{target}` exists; it was left as it is.", hint="add --force to write over it"
        )
    number = -1  # the header is no record
    with state.open() as memory:
        lines = memory.export(providers=providers)
        if target is None:
            for line in lines:
                click.echo(line)
                number += 1
        else:
            with replacing(target) as file:
                for line in lines:
                    file.write(f"{line}\n".encode("utf-8", "replace"))
                    number += 1
    if target is None:
        state.say(f"{output.count(number, 'record')} written.")
        return
    state.result(
        "memory-export",
        {"path": str(target), "records": number},
        lambda: f"{output.count(number, 'record')} written to {target}.",
    )


@click.command("import", cls=Command)
@click.argument("path")
@click.option("--to", metavar="NAME", help="Give every record to this provider.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.pass_obj
def import_(state: State, path: str, to: str | None, dry_run: bool) -> None:
    """Take in an export (PATH or `-`). What is there already is not doubled.

    hermes memory import memories.jsonl --dry-run
    """
    source = None if path == "-" else Path(path)
    if source is not None and not source.is_file():
        raise UsageError(f"There is no file `{path}`; nothing was taken in.")
    with state.open() as memory:
        if source is None:
            totals = memory.import_export(sys.stdin, to=to, dry_run=dry_run)
        else:
            with source.open(encoding="utf-8-sig", errors="replace") as file:
                totals = memory.import_export(file, to=to, dry_run=dry_run)
    data = {"dry_run": dry_run, "providers": {name: vars(moved) for name, moved in totals.items()}}
    state.result("memory-import", data, lambda: _table(totals, dry_run))


@click.command("migrate", cls=Command)
@click.option("--from", "source", required=True, metavar="NAME", help="Provider to read from.")
@click.option("--to", "target", required=True, metavar="NAME", help="Provider to write to.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def migrate(state: State, source: str, target: str, dry_run: bool, yes: bool) -> None:
    """Copy everything one provider holds into another. Interrupted, the same command goes on.

    Nothing is removed from the first, and the active provider stays what it is.

    hermes memory migrate --from honcho --to mem0 --dry-run
    """
    with state.open() as memory:
        preview = memory.migrate(source, target, dry_run=True)
        if not dry_run:
            count = output.count(preview.imported, "record")
            if preview.imported and not state.confirm(
                f"Copy {count} from `{source}` to `{target}`?", yes=yes
            ):
                raise click.exceptions.Exit(1)
            moved = memory.migrate(
                source,
                target,
                progress=lambda so_far: state.say(f"… {so_far.imported + so_far.duplicates:,}"),
            )
        else:
            moved = preview
    data = {"dry_run": dry_run, "from": source, "to": target, **vars(moved)}
    state.result("memory-migrate", data, lambda: _table({target: moved}, dry_run))
    if not dry_run:
        state.hint(f"hermes memory use {target}")


def _table(totals: dict[str, Moved], dry_run: bool) -> str:
    if not totals:
        return "There is nothing in it."
    rows = [
        [
            name,
            f"{moved.imported:,}",
            f"{moved.duplicates:,}",
            f"{moved.skipped + moved.failed:,}",
            "; ".join(f"{reason} ({number:,})" for reason, number in moved.reasons.items()),
        ]
        for name, moved in totals.items()
    ]
    first = "Would go in" if dry_run else "Taken in"
    return output.table(("Provider", first, "There already", "Left out", "Why"), rows, flexible=4)
