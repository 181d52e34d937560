"""``hermes sessions list``, ``show`` and ``stats``: looking at conversations. Changes nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import (
    BEGIN,
    absolute,
    ago,
    filters,
    find_session,
    history_of,
    list_of,
    name_of,
    paging,
    parts_of,
    session_data,
    session_table,
)
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import SessionNotFoundError
from hermes_memory_core.types import HistoryStore, SessionRecord, StoredMessage

TOOL_LINES = 12
"""Lines of a tool's answer that are shown unless everything is asked for."""
_COLOURS = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


@click.command("list", cls=Command)
@filters("source", "user_id", "chat_id", "cwd", "since", "until", "title")
@filters("include_archived", "include_subagents")
@paging(20)
@click.pass_obj
def list_sessions(
    state: State, /, source: Sequence[str], limit: int, offset: int, cwd: str | None, **named: Any
) -> None:
    """List conversations, most recently active first.

    A conversation that was compressed on the way is one row: its newest part.

    hermes sessions list --source telegram --since "last week"
    """
    with history_of(state) as history:
        found = list_of(
            history, source=source, limit=limit + 1, offset=offset, cwd=absolute(cwd), **named
        )
        empty = not found and not history.stats().get("sessions")
    shown, more = found[:limit], len(found) > limit
    data = {
        "sessions": [session_data(record) for record in shown],
        "count": len(shown),
        "offset": offset,
        "more": more,
    }
    nothing = "No conversations yet." if empty else "No conversation matches."
    state.result("sessions-list", data, lambda: session_table(shown) if shown else nothing)
    if more:
        state.say(f"… more (--offset {offset + limit})")
    elif empty:
        state.hint(BEGIN)


@click.command("show", cls=Command)
@click.argument("session", required=False)
@click.option("--around", type=int, metavar="MESSAGE", help="Only what surrounds this message id.")
@click.option(
    "--window",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Messages before and after it.",
)
@click.option("-n", "--limit", type=click.IntRange(1), help="How many messages to show [all].")
@click.option("--offset", type=click.IntRange(0), default=0, help="Leave out the first ones.")
@click.option("--undone", is_flag=True, help="Also messages that were taken back.")
@click.option("--full", is_flag=True, help="Tool calls and tools' answers in whole.")
@click.pass_obj
def show(
    state: State,
    session: str | None,
    around: int | None,
    window: int,
    limit: int | None,
    offset: int,
    undone: bool,
    full: bool,
) -> None:
    """Show one conversation: the latest one, or SESSION.

    hermes sessions show "Trip to Lisbon"
    hermes sessions show 20260301_14 --around 4711
    """
    with history_of(state) as history:
        record = _meant(history, session, around)
        messages = history.messages(
            record.id,
            around=around,
            window=window,
            limit=limit,
            offset=offset,
            include_undone=undone,
        )
        parts = [found for one in parts_of(history, record.id) if (found := history.session(one))]
    parts.sort(key=lambda part: part.started_at)
    data = {
        "session": session_data(record),
        "parts": [part.id for part in parts],
        "around": around,
        "offset": offset,
        "messages": [message_data(message) for message in messages],
    }
    state.result(
        "sessions-show",
        data,
        lambda: "\n\n".join(
            [_head(record, parts), *(message_text(one, full, around) for one in messages)]
        ),
    )
    if around is None and limit and offset + len(messages) < record.message_count:
        state.say(f"… more (--offset {offset + len(messages)})")


def _meant(history: HistoryStore, text: str | None, around: int | None) -> SessionRecord:
    """The session named, the one that holds the message, or the latest.

    Raises:
        SessionNotFoundError: There is none.
    """
    owner_of = getattr(history, "owner_of", None)
    owner = owner_of(around) if around is not None and callable(owner_of) else None
    if text is None and around is not None and owner is None:
        raise SessionNotFoundError(
            f"There is no message {around}.", hint="hermes sessions search WORDS"
        )
    if text is None and owner is None:
        latest = list_of(history, source=(), limit=1, offset=0, include_archived=True)
        if not latest:
            raise SessionNotFoundError(
                "No conversations yet; there is nothing to show.", hint=BEGIN
            )
        return latest[0]
    record = find_session(history, text if text is not None else str(owner))
    if owner is not None and owner in parts_of(history, record.id):
        return history.session(owner) or record
    return record


def message_data(message: StoredMessage) -> dict[str, Any]:
    """One message for ``--json``, whole; times are epoch seconds."""
    return dataclasses.asdict(message)


def _head(record: SessionRecord, parts: Sequence[SessionRecord]) -> str:
    ended = f", ended {output.moment(record.ended_at)}" if record.ended_at else ""
    pairs = [
        ("id", record.id),
        ("source", " · ".join(filter(None, (record.source, record.model, record.cwd)))),
        ("started", f"{output.moment(record.started_at)}, active {ago(record.last_active)}{ended}"),
        ("messages", output.number(record.message_count)),
    ]
    who = [("user", record.user_id), ("chat", record.chat_id)]
    pairs += [(name, value) for name, value in who if value]
    flags = [name for name in ("pinned", "archived") if getattr(record, name)]
    if flags:
        pairs.append(("kept as", ", ".join(flags)))
    place = next((index for index, part in enumerate(parts) if part.id == record.id), 0)
    if place > 0:
        pairs.append(("continues", parts[place - 1].id))
    if place + 1 < len(parts):
        pairs.append(("goes on in", parts[place + 1].id))
    return click.style(output.clean(name_of(record), one_line=True), bold=True) + (
        "\n" + output.fields(pairs)
    )


def message_text(message: StoredMessage, full: bool = False, anchor: int | None = None) -> str:
    """One message as lines: who and when, then what was said."""
    who = " ".join(filter(None, (message.role, message.name, message.tool_name)))
    state = "" if message.state == "live" else f"  ({message.state})"
    here = "  <<<" if message.id == anchor else ""
    head = f"#{message.id}  {output.clean(who, one_line=True)}  {output.moment(message.timestamp)}"
    lines = [click.style(head, fg=_COLOURS.get(message.role), bold=True) + state + here]
    text = output.clean(message.content).splitlines()
    if message.role == "tool" and not full and len(text) > TOOL_LINES:
        left = len(text) - TOOL_LINES
        text = [*text[:TOOL_LINES], f"… {output.count(left, 'more line')} (--full)"]
    lines += text
    for call in message.tool_calls:
        line = _call(call, whole=full)
        lines.append(click.style(line if full else output.cut(line, 200), dim=True))
    return "\n".join(lines)


def _call(call: Mapping[str, Any], *, whole: bool) -> str:
    function = call.get("function")
    if not isinstance(function, Mapping):
        return "→ " + output.clean(json.dumps(dict(call), ensure_ascii=False), one_line=not whole)
    arguments = function.get("arguments", "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return output.clean(f"→ {function.get('name', '?')} {text}", one_line=not whole)


@click.command("stats", cls=Command)
@click.pass_obj
def stats(state: State) -> None:
    """Show how many conversations there are, from where, since when, and how large the files are."""
    with history_of(state) as history:
        numbers = dict(history.stats())
        trashed = getattr(history, "trashed", None)
        trash = list(trashed()) if callable(trashed) else []
    numbers["trash"] = {
        "sessions": len(trash),
        "bytes": sum(int(getattr(item, "bytes", 0)) for item in trash),
    }
    state.result("sessions-stats", numbers, lambda: _numbers(numbers))
    if not numbers.get("sessions"):
        state.hint(BEGIN)


def _numbers(numbers: Mapping[str, Any]) -> str:
    if not numbers.get("sessions"):
        return "No conversations yet."
    kept = [f"{numbers[name]:,} {name}" for name in ("pinned", "archived") if numbers.get(name)]
    text = [output.count(int(numbers["sessions"]), "conversation")]
    text.append(output.count(int(numbers.get("messages", 0)), "message"))
    first = output.moment(numbers.get("first_started_at"))
    pairs = [
        ("Kept", ", ".join(text)),
        ("Between", f"{first} and {output.moment(numbers.get('last_active'))}"),
        ("Database", output.size(int(numbers.get("database_bytes", 0)))),
        ("Transcripts", output.size(int(numbers.get("transcript_bytes", 0)))),
    ]
    if kept:
        pairs.append(("Of them", ", ".join(kept)))
    if numbers["trash"]["sessions"]:
        trash = numbers["trash"]
        pairs.append(
            ("Trash", f"{output.count(trash['sessions'], 'part')}, {output.size(trash['bytes'])}")
        )
    rows = [
        [name, output.number(found["sessions"]), output.number(found["messages"] or 0)]
        for name, found in (numbers.get("sources") or {}).items()
    ]
    table = output.table(("Source", "Sessions", "Messages"), rows, right=(1, 2))
    return output.fields(pairs) + "\n\n" + table
