"""``hermes memory forget``: preview, a yes, removal with a receipt per place, and what is left with the reason.

The work is ``engine/forgetting.py``'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command, option_whose
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import PROFILE_SCOPE
from hermes_memory_core.types.moving import FORGET_LAYERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_memory_core.memory import Memory
    from hermes_memory_core.types import ForgetReceipt, Scope


@click.command("forget", cls=Command)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    type=click.Choice(FORGET_LAYERS),
    help="Only there; repeat for several. Otherwise everywhere.",
)
@option_whose
@click.option("--all", "everybody", is_flag=True, help="Everybody's, where memory is kept apart.")
@click.option("--dry-run", is_flag=True, help="Show what would go and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(
    state: State,
    query: tuple[str, ...],
    layers: tuple[str, ...],
    everybody: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove everything that holds QUERY, wherever it is kept.

    Notes and their history, conversations and titles, pending changes, the outbox, frozen prompts, spilled
    recall, log lines, and what the external provider holds.

    QUERY is taken as it is, letters in either case. First it is shown what would go. It cannot be undone.
    Afterwards every file is searched for the text; what is left is named with the reason, and the exit code is 1.

    hermes memory forget "Elm Street 12" --dry-run
    hermes memory forget "Elm Street 12"
    """
    text = " ".join(query)
    with state.open() as memory:
        scope = _whose(state, memory, everybody)
        chosen = layers or None
        found = memory.forget(text, scope=scope, dry_run=True, layers=chosen)
        anything = any(one.matched for one in found)
        if dry_run or not (anything or yes):
            _answer(state, text, found, dry_run=True)
            if not (anything or dry_run):
                state.hint(
                    "add --yes to clean what was deleted before out of the databases as well"
                )
            return
        if not yes:
            state.say(_table(found, dry_run=True))
            if not state.confirm("Remove all of this for good?", yes=False):
                state.say("Nothing was removed.")
                raise click.exceptions.Exit(exits.FAILED)
        done = _remove(state, memory, text, scope, chosen)
    _answer(state, text, done, dry_run=False)
    if any(one.matched > one.removed or one.reason for one in done):
        raise click.exceptions.Exit(exits.FAILED)


def _whose(state: State, memory: Memory, everybody: bool) -> Scope | None:
    scope = state.scope(memory)
    if everybody and scope is not None:
        raise UsageError("`--all` means everybody's; name nobody with it. Nothing was removed.")
    return PROFILE_SCOPE if everybody else scope


def _remove(
    state: State, memory: Memory, text: str, scope: Scope | None, layers: Sequence[str] | None
) -> list[ForgetReceipt]:
    from hermes_memory_core.cli.sessions_common import Progress

    progress = Progress(state)
    try:
        return memory.forget(
            text, scope=scope, dry_run=False, layers=layers, progress=progress.show
        )
    finally:
        progress.done()


def _answer(state: State, text: str, receipts: Sequence[ForgetReceipt], *, dry_run: bool) -> None:
    data = {
        "query": text,
        "dry_run": dry_run,
        "places": [receipt_data(one) for one in receipts],
        "matched": sum(one.matched for one in receipts),
        "removed": sum(one.removed for one in receipts),
    }
    state.result("memory-forget", data, lambda: _table(receipts, dry_run=dry_run))


def _table(receipts: Sequence[ForgetReceipt], *, dry_run: bool) -> str:
    if not any(one.matched for one in receipts):
        head = "Nothing that is kept holds that text."
    else:
        head = "Would be removed:" if dry_run else "Removed:"
    lines = [head]
    for one in receipts:
        if one.matched:
            amount = f"{one.matched:,}" if dry_run else f"{one.removed:,} of {one.matched:,}"
            lines.append(f"  {output.clean(one.place, one_line=True)}: {amount}")
            if dry_run:
                lines += [f"      {output.cut(text, 80)}" for text in one.previews]
        if one.reason:
            place = "" if one.matched else f"{output.clean(one.place, one_line=True)}: "
            lines.append(f"    ! {place}{output.clean(one.reason, one_line=True)}")
    return "\n".join(lines)


def receipt_data(one: ForgetReceipt) -> dict[str, Any]:
    """One receipt for ``--json``."""
    return {
        "place": one.place,
        "matched": one.matched,
        "removed": one.removed,
        "previews": list(one.previews),
        "reason": one.reason,
    }
