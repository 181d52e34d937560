"""``hermes memory pending | approve | reject``: what waits for a person, why, and deciding on it.

The rules are ``engine/approval.py``'s. The owner of the machine sees what waits for everybody; ``--user`` and
``--chat`` narrow it where memory is kept apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command, option_whose
from hermes_memory_core.cli.notes_read import change_data
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import PROFILE_SCOPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_memory_core.engine.approval import Settled
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.safety.pending_record import PendingWrite
    from hermes_memory_core.types import Scope

ALL = "all"


@click.command("pending", cls=Command)
@click.argument("id", required=False)
@option_whose
@click.option("--log", "log", is_flag=True, help="What was decided so far, newest first.")
@click.pass_obj
def pending(state: State, id: str | None, log: bool) -> None:
    """List changes of notes that wait for your approval, each with the reason; with ID show that one as a diff.

    Some wait although memory.write_approval is off: changes of existing notes made while nobody was watching, and
    texts that the safety scan wants a person to look at.

    hermes memory pending 1f3a9c0e
    hermes memory approve 1f3a9c0e
    hermes memory reject all
    """
    with state.open() as memory:
        if log:
            _log(state, memory)
        elif id is not None:
            _show(state, memory, id)
        else:
            _list(state, memory)


def _list(state: State, memory: Memory) -> None:
    items = memory.pending.list(scope=_whose(state, memory))
    unreadable = [one for one in memory.pending.unreadable() if not one.foreign]
    now = memory.now()
    data = {
        "pending": [item_data(item) for item in items],
        "unreadable": [{"path": str(one.path), "reason": one.reason} for one in unreadable],
        "write_approval": memory.write_approval,
    }
    state.result("memory-pending", data, lambda: _table(items, now))
    for one in unreadable:
        state.say(f"{one.path.name} cannot be read: {one.reason}")
    if items:
        state.hint("hermes memory pending ID shows it; hermes memory approve ID|all, reject ID|all")


def _table(items: Sequence[PendingWrite], now: float) -> str:
    if not items:
        return "Nothing waits for approval."
    blocks = []
    for item in items:
        who = item.write.origin.who + (", unattended" if item.unattended else "")
        left = output.age(item.expires_at - now)
        blocks.append(
            f"{item.id}  {output.clean(item.summary, one_line=True)}\n"
            f"          {who}, {output.moment(item.created_at)}, expires in {left}\n"
            f"          because {output.clean(item.why, one_line=True)}"
        )
    return "\n".join(blocks)


def _show(state: State, memory: Memory, pending_id: str) -> None:
    scope = _whose(state, memory)
    item = memory.pending.get(pending_id, scope=scope)
    diff = memory.pending.diff(pending_id, scope=scope)

    def human() -> str:
        rows = [
            ("Pending", item.id),
            ("Proposed", f"{output.moment(item.created_at)} by {item.write.origin.who}"),
            ("Because", item.why),
            ("Expires", output.moment(item.expires_at)),
        ]
        if item.write.origin.session_id:
            rows.append(("Session", item.write.origin.session_id))
        if item.write.scope.kind != "profile":
            rows.append(("Whose", f"{item.write.scope.kind} {item.write.scope.id}"))
        return f"{output.fields(rows)}\n\n{coloured(diff)}"

    state.result("memory-pending-write", {**item_data(item), "diff": diff}, human)


def coloured(diff: str) -> str:
    """A unified diff for a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return "\n".join(
        click.style(output.clean(line), fg=colours.get(line[:1])) for line in diff.splitlines()
    )


def _log(state: State, memory: Memory) -> None:
    lines = memory.pending.decisions()
    rows = [
        [
            output.moment(float(line.get("at") or 0)),
            *(str(line.get(key) or "") for key in ("id", "event", "who", "summary")),
        ]
        for line in lines
    ]
    state.result(
        "memory-decisions",
        {"decisions": lines},
        lambda: (
            output.table(("When", "ID", "What", "Who", "Change"), rows, flexible=4)
            if rows
            else "Nothing was decided yet."
        ),
    )


@click.command("approve", cls=Command)
@click.argument("ids", nargs=-1, metavar="ID…|all")
@option_whose
@click.option("-y", "--yes", is_flag=True, help="Do not ask before approving all.")
@click.pass_obj
def approve(state: State, ids: tuple[str, ...], yes: bool) -> None:
    """Let pending changes through: those named, or `all` after a preview, oldest first.

    Each is checked again (the note still says what it said then, limit, safety scan). One that cannot be applied
    says why and still waits; the others go on.
    """
    _decide(state, ids, yes=yes, verb="approve")


@click.command("reject", cls=Command)
@click.argument("ids", nargs=-1, metavar="ID…|all")
@option_whose
@click.option("-y", "--yes", is_flag=True, help="Do not ask before rejecting all.")
@click.pass_obj
def reject(state: State, ids: tuple[str, ...], yes: bool) -> None:
    """Refuse pending changes: those named, or `all`. The notes stay as they are."""
    _decide(state, ids, yes=yes, verb="reject")


def _decide(state: State, ids: tuple[str, ...], *, yes: bool, verb: str) -> None:
    if not ids:
        raise UsageError(f"Name what to {verb}.", hint="hermes memory pending")
    with state.open() as memory:
        scope = _whose(state, memory)
        everything = ids == (ALL,)
        waiting = memory.pending.list(scope=scope) if everything else []
        if everything and waiting and not yes:
            state.say(_table(waiting, memory.now()))
            question = f"{verb.capitalize()} {'it' if len(waiting) == 1 else 'these'}?"
            if not state.confirm(question, yes=False):
                state.say("Nothing was changed.")
                raise click.exceptions.Exit(exits.FAILED)
        # the ids that were shown, so that nothing is decided that came in while the question stood there
        wanted = tuple(item.id for item in waiting) if everything else ids
        act = memory.pending.approve if verb == "approve" else memory.pending.reject
        done = act(*wanted, scope=scope) if wanted else []
    data = {"done": [settled_data(one) for one in done]}
    state.result(f"memory-{verb}", data, lambda: _done(done))
    failed = [one for one in done if one.outcome == "failed"]
    for hint in dict.fromkeys(one.hint for one in failed):
        state.hint(hint)
    if failed:
        raise click.exceptions.Exit(exits.FAILED)


def _done(done: Sequence[Settled]) -> str:
    if not done:
        return "Nothing waits for approval."
    return "\n".join(
        f"{one.id} "
        + (
            f"not settled: {output.clean(one.error)}"
            if one.outcome == "failed"
            else f"{one.outcome}: {output.clean(one.summary, one_line=True)}"
        )
        for one in done
    )


def _whose(state: State, memory: Memory) -> Scope:
    return state.scope(memory) or PROFILE_SCOPE


def item_data(item: PendingWrite) -> dict[str, Any]:
    """One waiting change for ``--json``; times are epoch seconds."""
    return {
        "id": item.id,
        "created_at": item.created_at,
        "expires_at": item.expires_at,
        "because": item.why,
        "summary": item.summary,
        "unattended": item.unattended,
        "change": change_data(item.write),
    }


def settled_data(one: Settled) -> dict[str, Any]:
    """What became of one, for ``--json``."""
    return {
        "id": one.id,
        "outcome": one.outcome,
        "summary": one.summary,
        "change": change_data(one.write) if one.write is not None else None,
        "error": one.error,
        "hint": one.hint,
    }
