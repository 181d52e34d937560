"""``hermes sessions check``, ``repair``, ``rebuild``, ``backup``, ``restore``, ``optimize``: care of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import Progress, extra, history_of
from hermes_memory_core.cli.state import State
from hermes_memory_core.storage.atomic import make_private_dir

BACKUPS = "backups"
"""Directory of the profile that backups go to unless another place is named."""


@click.command("check", cls=Command)
@click.pass_obj
def check(state: State) -> None:
    """Probe the database, its index and every transcript for damage. Changes nothing; exit 1 when there is any."""
    with history_of(state) as history:
        problems = list(history.check())
    state.result(
        "sessions-check",
        {"ok": not problems, "problems": problems},
        lambda: _problems(state, problems),
    )
    if problems:
        state.hint("hermes sessions repair")
        raise click.exceptions.Exit(exits.FAILED)


def _problems(state: State, problems: list[str]) -> str:
    if not problems:
        return "The history is sound."
    return "\n".join("✗ " + output.clean(state.naming.text(problem)) for problem in problems)


@click.command("repair", cls=Command)
@click.option("--dry-run", is_flag=True, help="Only say what is damaged, like `check`.")
@click.pass_obj
def repair(state: State, dry_run: bool) -> None:
    """Mend what `check` finds. Conversations are never dropped; damaged files are kept beside the mended ones."""
    with history_of(state) as history:
        before = list(history.check())
        done = list(extra(history, "repair")()) if before and not dry_run else []
        left = list(history.check()) if done else before
    data = {"problems": before, "done": done, "left": left, "dry_run": dry_run}

    def human() -> str:
        if dry_run or not before:
            return _problems(state, before)
        lines = ["✓ " + output.clean(text) for text in done]
        return "\n".join(lines + ([_problems(state, left)] if left else []))

    state.result("sessions-repair", data, human)
    if left:
        state.hint("hermes sessions repair" if dry_run else "hermes sessions rebuild")
        raise click.exceptions.Exit(exits.FAILED)


@click.command("rebuild", cls=Command)
@click.pass_obj
def rebuild(state: State) -> None:
    """Derive the database from the transcripts again. The old one goes on answering until the new one is whole.

    A rebuild that was stopped goes on where it stopped.
    """
    with history_of(state) as history:
        progress = Progress(state)

        def show(done: int, total: int) -> None:
            share = done * 100 // total if total else 100
            progress.show(f"{share}%  {output.size(done)} of {output.size(total)}")

        count = history.rebuild(show)
        progress.done()
    state.result(
        "sessions-rebuild",
        {"messages": count},
        lambda: f"Built again from the transcripts: {output.count(count, 'message')}.",
    )


@click.command("backup", cls=Command)
@click.argument("path", required=False)
@click.pass_obj
def backup(state: State, path: str | None) -> None:
    """Make a verified copy of the database while others write: at PATH, or in the profile's `backups`.

    The transcripts are plain files and can be copied as they are; `hermes profile export` packs everything.
    """
    with state.open() as memory:
        history = state.history(memory)
        if path is None:
            target = make_private_dir(memory.profile.path / BACKUPS)
        else:
            target = Path(path).expanduser()
        made = history.backup(target)
        length = made.stat().st_size
    state.result(
        "sessions-backup",
        {"path": str(made), "bytes": length},
        lambda: f"{made}  {output.size(length)}",
    )
    state.hint(f"hermes sessions restore {made}")


@click.command("restore", cls=Command)
@click.argument("path")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def restore(state: State, path: str, yes: bool) -> None:
    """Put a backup in the database's place; the replaced one is kept beside it.

    Conversations the transcripts hold beyond the backup are taken in again, so nothing newer is lost.
    """
    with history_of(state) as history:
        run = extra(history, "restore_backup")
        if not state.confirm(f"Put {output.clean(path)} in the place of the database?", yes=yes):
            state.say("Nothing was changed.")
            raise click.exceptions.Exit(exits.FAILED)
        count = run(Path(path).expanduser())
    state.result(
        "sessions-restore-backup",
        {"messages": count},
        lambda: f"Restored; the history holds {output.count(count, 'message')}.",
    )


@click.command("optimize", cls=Command)
@click.option(
    "--vacuum/--no-vacuum",
    default=None,
    help="Give free space back to the disk [when it is worth it].",
)
@click.pass_obj
def optimize(state: State, vacuum: bool | None) -> None:
    """Merge the search index and give free space back. Refuses a vacuum while another program reads."""
    with history_of(state) as history:
        report = extra(history, "optimise")(vacuum=vacuum)
    data: dict[str, Any] = {
        "bytes_before": report.before_bytes,
        "bytes_after": report.after_bytes,
        "merged": report.merged,
        "vacuumed": report.vacuumed,
        "reason": report.reason,
    }

    def human() -> str:
        sizes = (
            f"{output.size(report.before_bytes)} before, {output.size(report.after_bytes)} after"
        )
        return sizes + ("." if report.vacuumed else f"; not vacuumed: {report.reason}.")

    state.result("sessions-optimize", data, human)
