"""``hermes sessions delete`` and ``prune``: preview, ask, move to the trash, say what it freed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import (
    absolute,
    conversations,
    extra,
    filters,
    history_of,
    session_data,
    session_table,
    store_bytes,
)
from hermes_memory_core.cli.state import State
from hermes_memory_core.types import ForgetReceipt, HistoryStore, SessionRecord

SHOWN = 20
"""Sessions a preview names; the rest is counted."""


def _danger(function: Any) -> Any:
    """``--yes``, ``--dry-run`` and ``--permanently``."""
    for option in (
        click.option(
            "--permanently", is_flag=True, help="Not to the trash: they cannot come back."
        ),
        click.option("--dry-run", is_flag=True, help="Show what would go and change nothing."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
    ):
        function = option(function)
    return function


@click.command("delete", cls=Command)
@click.argument("session", nargs=-1, required=True)
@_danger
@click.pass_obj
def delete(
    state: State, session: tuple[str, ...], yes: bool, dry_run: bool, permanently: bool
) -> None:
    """Move whole conversations to the trash, with the sessions of their sub-agents.

    hermes sessions delete "Trip to Lisbon"
    hermes sessions trash restore ID
    """
    with history_of(state) as history:
        records = conversations(history, session)
        sizes = extra(history, "transcript_sizes")([record.id for record in records])
        plan = {
            "sessions": [session_data(record) for record in records],
            "messages": sum(record.message_count for record in records),
            "transcript_bytes": sum(sizes.values()),
        }
        if _carry_out(state, history, "sessions-delete", records, plan, yes, dry_run, permanently):
            _report(state, "sessions-delete", plan)


@click.command("prune", cls=Command)
@click.option("--older-than", metavar="AGE", help="Not active for that long: 90d, 12w [90d].")
@click.option("--since", metavar="WHEN", help="Last active then or later: 2026-03-01, last month.")
@click.option("--until", metavar="WHEN", help="Last active before then.")
@filters("source", "user_id", "chat_id", "cwd", "title", "include_archived")
@click.option("--end-reason", metavar="NAME", help="How it ended: exit, idle, crash, import …")
@click.option("--model", metavar="TEXT", help="Part of the model's name.")
@click.option("--min-messages", type=click.IntRange(0), metavar="N", help="At least N messages.")
@click.option("--max-messages", type=click.IntRange(0), metavar="N", help="At most N messages.")
@click.option("--min-tokens", type=click.IntRange(0), metavar="N", help="At least N tokens.")
@click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="At most N tokens.")
@click.option("--include-open", is_flag=True, help="Also sessions that have not ended.")
@_danger
@click.pass_obj
def prune(
    state: State,
    /,
    older_than: str | None,
    source: Sequence[str],
    since: str | None,
    until: str | None,
    cwd: str | None,
    yes: bool,
    dry_run: bool,
    permanently: bool,
    **named: Any,
) -> None:
    """Move old conversations to the trash. Pinned ones stay always, archived and open ones unless asked for.

    Without any filter: what has not been active for 90 days.

    hermes sessions prune --dry-run
    hermes sessions prune --source cron --older-than 2w --yes
    """
    before = older_than if older_than is not None else until
    if older_than is not None and until is not None:
        raise click.UsageError("--older-than and --until say the same; give one of them.")
    with state.open() as memory:
        history = state.history(memory)
        plans = [
            extra(history, "plan_prune")(
                before=before, after=since, cwd=absolute(cwd), source=one, **named
            )
            for one in (*dict.fromkeys(source),) or (None,)
        ]
        records = [record for plan in plans for record in plan.sessions]
        facts = {
            "sessions": [session_data(record) for record in records],
            "messages": sum(plan.messages for plan in plans),
            "transcript_bytes": sum(plan.transcript_bytes for plan in plans),
            "kept_pinned": sum(plan.kept_pinned for plan in plans),
        }
        size = store_bytes(history)
        if _carry_out(state, history, "sessions-prune", records, facts, yes, dry_run, permanently):
            settings = memory.settings.plain["sessions"]
            vacuum = None if settings["vacuum_after_prune"] else False
            extra(history, "optimise")(vacuum=vacuum)
            facts |= {"bytes_before": size, "bytes_after": store_bytes(history)}
            _report(state, "sessions-prune", facts)
    if not records and not named["include_open"]:
        state.hint("sessions that never ended are left out: hermes sessions prune --include-open")


def _carry_out(
    state: State,
    history: HistoryStore,
    schema: str,
    records: Sequence[SessionRecord],
    facts: dict[str, Any],
    yes: bool,
    dry_run: bool,
    permanently: bool,
) -> bool:
    """The same steps for both: nothing to do, preview, ask, do; True when something was removed."""
    facts |= {"dry_run": dry_run, "permanently": permanently, "removed": 0, "reason": ""}
    if dry_run or not records:
        state.result(schema, facts, lambda: _preview(records, facts))
        return False
    if not yes:
        state.say(_preview(records, facts))
    where = "Delete these for good?" if permanently else "Move these to the trash?"
    if not state.confirm(where, yes=yes):
        state.say("Nothing was changed.")
        raise click.exceptions.Exit(exits.FAILED)
    receipt = _remove(history, [record.id for record in records], permanently)
    facts |= {"removed": receipt.removed, "reason": receipt.reason}
    return True


def _report(state: State, schema: str, facts: dict[str, Any]) -> None:
    """What was done, how to have it back, and the exit code of what was not done."""
    state.result(schema, facts, lambda: _done(facts))
    if not facts["permanently"]:
        state.hint(f"bring one back: hermes sessions trash restore {facts['sessions'][-1]['id']}")
    if facts["reason"]:
        state.say(facts["reason"])
        raise click.exceptions.Exit(exits.FAILED)


def _remove(history: HistoryStore, ids: Sequence[str], permanently: bool) -> ForgetReceipt:
    """To the trash, which every store has; for good, which the built-in has."""
    if not permanently:
        return history.delete_sessions(ids)
    receipt: ForgetReceipt = extra(history, "delete_sessions")(ids, permanently=True)
    return receipt


def _preview(records: Sequence[SessionRecord], facts: dict[str, Any]) -> str:
    pinned = facts.get("kept_pinned") or 0
    stay = (
        f" {output.count(pinned, 'pinned session')} {'stays' if pinned == 1 else 'stay'}."
        if pinned
        else ""
    )
    if not records:
        return "Nothing matches; nothing would go." + stay
    lines = [session_table(records[:SHOWN])]
    if len(records) > SHOWN:
        lines.append(f"… and {len(records) - SHOWN:,} more")
    open_ones = [record for record in records if record.ended_at is None]
    if open_ones:
        lines.append(f"{output.count(len(open_ones), 'session')} of these have not ended.")
    lines.append(
        f"{output.count(len(records), 'session')}, {output.count(facts['messages'], 'message')}, "
        f"{output.size(facts['transcript_bytes'])} of transcripts.{stay}"
    )
    return "\n".join(lines)


def _done(facts: dict[str, Any]) -> str:
    verb = "Deleted for good" if facts["permanently"] else "Moved to the trash"
    text = (
        f"{verb}: {output.count(facts['removed'], 'session')}, "
        f"{output.count(facts['messages'], 'message')}, "
        f"{output.size(facts['transcript_bytes'])} of transcripts."
    )
    if "bytes_after" in facts:
        sizes = output.size(facts["bytes_before"]), output.size(facts["bytes_after"])
        text += f" The history went from {sizes[0]} to {sizes[1]}."
    return text
