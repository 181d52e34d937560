"""``hermes sessions import``: conversations of other programs, with progress and an account of what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import Progress, extra, history_of
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError, StoreError, UsageError

SHOWN = 12
"""Reasons named one by one; the rest is counted."""


@click.command("import", cls=Command)
@click.argument("path", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help="hermes-jsonl, hermes-transcript, hermes-state-db, openai, claude-code, codex or chatgpt "
    "[told by the content].",
)
@click.option("--dry-run", is_flag=True, help="Read and compare everything, write nothing.")
@click.pass_obj
def import_(state: State, path: tuple[str, ...], form: str | None, dry_run: bool) -> None:
    """Take in conversations from PATH: files, or directories that are searched for them.

    hermes sessions import ~/Downloads/conversations.json
    hermes sessions import ~/.claude/projects ~/.codex/sessions
    hermes sessions import old.jsonl --format openai --dry-run

    Times are kept. What was taken in before is not taken in twice; what has grown since is added. A Hermes
    Agent `state.db` is only read.
    """
    total = Totals()
    with history_of(state) as history:
        run = extra(history, "import_path")
        progress = Progress(state)
        try:
            for one in path:
                _one(run, one, form, dry_run, total, progress, alone=len(path) == 1)
        except HermesMemoryError as error:
            progress.done()
            if isinstance(error.details.get("report"), Mapping):
                total.add(error.details["report"])
                state.say(total.text(dry_run))  # what is in stays in
            raise
        progress.done()
    data = {**total.data(), "dry_run": dry_run}
    state.result("sessions-import", data, lambda: total.text(dry_run))
    if total.conversations:
        again = " ".join(path)
        state.hint("hermes sessions list" if not dry_run else f"hermes sessions import {again}")
    elif total.skipped:
        raise click.exceptions.Exit(exits.FAILED)


def _one(
    run: Any,
    path: str,
    form: str | None,
    dry_run: bool,
    total: Totals,
    progress: Progress,
    *,
    alone: bool,
) -> None:
    """Import one path. Among several, one that cannot be read is named with the rest, and the others go on."""

    def show(step: Any) -> None:
        share = f"{step.bytes_done * 100 // step.bytes_total}%" if step.bytes_total else ""
        report = step.report
        done = report.imported + report.unchanged + report.extended
        progress.show(f"{share} {output.count(done, 'conversation')}  {step.title}")

    try:
        report = run(Path(path).expanduser(), format=form, progress=show, dry_run=dry_run)
    except (UsageError, StoreError) as error:
        if alone or "report" in error.details:
            raise
        total.skip(path, error.message)
        return
    total.add(report.to_dict())


class Totals:
    """What became of everything, over all paths."""

    def __init__(self) -> None:
        self.imported = 0
        self.unchanged = 0
        self.extended = 0
        self.messages = 0
        self.skipped: dict[str, dict[str, Any]] = {}
        self.notes: dict[str, int] = {}

    @property
    def conversations(self) -> int:
        """Conversations that are in the history now."""
        return self.imported + self.unchanged + self.extended

    def add(self, report: Mapping[str, Any]) -> None:
        """One path's report."""
        for name in ("imported", "unchanged", "extended", "messages"):
            setattr(self, name, getattr(self, name) + int(report.get(name, 0)))
        for item in report.get("skipped", ()):
            known = self.skipped.setdefault(item["reason"], {**item, "count": 0})
            known["count"] += item["count"]
        for note, count in (report.get("notes") or {}).items():
            self.notes[note] = self.notes.get(note, 0) + count

    def skip(self, path: str, reason: str) -> None:
        """A path nothing could be read from."""
        known = self.skipped.setdefault(reason, {"reason": reason, "count": 0, "first": path})
        known["count"] += 1

    def data(self) -> dict[str, Any]:
        """For ``--json``; messages are those of all conversations read, also known ones."""
        return {
            "imported": self.imported,
            "unchanged": self.unchanged,
            "extended": self.extended,
            "messages": self.messages,
            "skipped": list(self.skipped.values()),
            "notes": self.notes,
        }

    def text(self, dry_run: bool) -> str:
        """For a person."""
        verb = "Would import" if dry_run else "Imported"
        lines = [f"{verb} {output.count(self.imported, 'conversation')}."]
        if self.extended:
            lines.append(f"{output.count(self.extended, 'conversation')} gained messages.")
        if self.unchanged:
            verb = "was" if self.unchanged == 1 else "were"
            lines.append(
                f"{output.count(self.unchanged, 'conversation')} {verb} there already, unchanged."
            )
        worst = sorted(self.skipped.values(), key=lambda item: -item["count"])
        if worst:
            lines.append("Left out:")
        for item in worst[:SHOWN]:
            where = f"  (first: {item['first']})" if item.get("first") else ""
            lines.append(f"  {item['count']:,} × {item['reason']}{where}")
        if len(worst) > SHOWN:
            lines.append(f"  … and {len(worst) - SHOWN:,} more reasons (--json)")
        lines += [
            f"Note, {output.count(count, 'conversation')}: {note}"
            for note, count in sorted(self.notes.items(), key=lambda pair: -pair[1])
        ]
        return output.clean("\n".join(lines))
