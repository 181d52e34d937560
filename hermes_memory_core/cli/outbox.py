"""``hermes memory outbox``: what the external provider has not yet taken, and what a person can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Group
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import ProviderUnavailableError, UsageError

if TYPE_CHECKING:
    from hermes_memory_core.engine.outbox import Item


@click.group("outbox", cls=Group, default="list")
def outbox() -> None:
    """See and steer what waits for the external provider.

    hermes memory outbox
    hermes memory outbox flush
    hermes memory outbox list --dead
    """


@outbox.command("list")
@click.option("--dead", is_flag=True, help="Only what the provider refused for good.")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="Lines to show."
)
@click.pass_obj
def list_items(state: State, dead: bool, limit: int) -> None:
    """List what waits, oldest first: what, for whom, since when, and the last error."""
    with state.open() as memory:
        counts = memory.outbox.counts()
        items = memory.outbox.items(dead=True if dead else None, limit=limit)
        now = memory.now()
    data = {"items": [_data(item) for item in items], **counts}
    state.result("memory-outbox", data, lambda: _table(items, now, counts))
    total = counts["dead"] if dead else counts["pending"] + counts["dead"]
    if total > len(items):
        state.say(f"… {total - len(items):,} more (--limit {total})")
    if counts["dead"]:
        state.hint("hermes memory outbox retry ID, or hermes memory outbox drop ID")
    elif counts["pending"]:
        state.hint("hermes memory outbox flush")


@outbox.command("flush")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, 3600),
    default=30.0,
    show_default=True,
    help="Seconds to wait.",
)
@click.pass_obj
def flush(state: State, timeout_s: float) -> None:
    """Deliver now, without waiting for the next attempt. Ends with 4 when something is left."""
    with state.open() as memory:
        before = memory.outbox.counts()["pending"]
        emptied = memory.flush(timeout_s, force=True) if before else True
        counts = memory.outbox.counts()
        reasons = sorted(
            {item.last_error for item in memory.outbox.items(dead=False) if item.last_error}
        )
    left = counts["pending"]
    data = {"delivered": before - left, "left": left, "dead": counts["dead"], "errors": reasons}
    if emptied and not left:
        state.result(
            "memory-outbox-flush",
            data,
            lambda: f"{output.count(before, 'item')} delivered." if before else "Nothing waits.",
        )
        return
    raise ProviderUnavailableError(
        f"{output.count(left, 'item')} still waiting"
        + (f": {'; '.join(reasons)}" if reasons else "")
        + ". Nothing is lost; delivery goes on by itself.",
        hint="hermes memory status --check",
        details=data,
    )


@outbox.command("retry")
@click.argument("ids", nargs=-1, type=int)
@click.pass_obj
def retry(state: State, ids: tuple[int, ...]) -> None:
    """Bring refused items back (all, or those with these IDs) and try every lane again."""
    with state.open() as memory:
        revived = memory.outbox.retry(list(ids) or None)
    state.result(
        "memory-outbox-retry",
        {"revived": revived},
        lambda: f"{output.count(revived, 'item')} will be tried again.",
    )
    state.hint("hermes memory outbox flush")


@outbox.command("drop")
@click.argument("ids", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Everything, also what is still waiting.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def drop(state: State, ids: tuple[int, ...], everything: bool, yes: bool) -> None:
    """Throw items away: those with these IDs, or all that were refused for good.

    The conversations themselves stay in the history; only their delivery is given up.
    """
    if ids and everything:
        raise UsageError("Name IDs or say --all, not both; nothing was changed.")
    with state.open() as memory:
        counts = memory.outbox.counts()
        number = len(ids) or (counts["dead"] + (counts["pending"] if everything else 0))
        question = f"Give up the delivery of {output.count(number, 'item')}?"
        if number and not state.confirm(question, yes=yes):
            raise click.exceptions.Exit(1)
        dropped = memory.outbox.drop(list(ids) if ids else None, dead_only=not (ids or everything))
    state.result(
        "memory-outbox-drop",
        {"dropped": dropped},
        lambda: f"{output.count(dropped, 'item')} dropped.",
    )


def _table(items: list[Item], now: float, counts: dict[str, Any]) -> str:
    if not items:
        return "Nothing waits." if not counts["pending"] else "Nothing was refused."
    rows = [
        [
            str(item.seq),
            item.provider,
            item.hook,
            item.session.id if item.session else "",
            output.age(max(0.0, now - item.created_at)),
            "refused"
            if item.dead_at
            else f"tried {item.attempts}×"
            if item.attempts
            else "waiting",
            item.last_error or "",
        ]
        for item in items
    ]
    return output.table(
        ("ID", "Provider", "What", "Session", "Since", "State", "Error"), rows, flexible=6
    )


def _data(item: Item) -> dict[str, Any]:
    return {
        "id": item.seq,
        "provider": item.provider,
        "lane": item.lane,
        "hook": item.hook,
        "session_id": item.session.id if item.session else None,
        "turn_id": item.ref.turn_id if item.ref else None,
        "created_at": item.created_at,
        "attempts": item.attempts,
        "last_error": item.last_error,
        "dead_at": item.dead_at,
    }
