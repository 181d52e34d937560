"""``hermes sessions trash``: what was deleted and can come back, and emptying it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Group
from hermes_memory_core.cli.sessions_common import ago, extra, history_of, session_data
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import SessionNotFoundError, UsageError

DAY_S = 86_400.0
_UNITS = {"h": 3600.0, "d": DAY_S, "w": 7 * DAY_S}


@click.group("trash", cls=Group, default="list")
def trash() -> None:
    """See what was deleted, bring it back, or empty the trash. Alone it lists.

    hermes sessions trash restore ID
    hermes sessions trash empty --older-than 30d
    """


@trash.command("list")
@click.pass_obj
def list_trash(state: State) -> None:
    """List deleted sessions, latest first."""
    with history_of(state) as history:
        items = list(extra(history, "trashed")())
    data = {"sessions": [_data(item) for item in items], "count": len(items)}
    state.result("sessions-trash", data, lambda: _table(items) if items else "The trash is empty.")


@trash.command("restore")
@click.argument("session", nargs=-1, required=True)
@click.pass_obj
def restore(state: State, session: tuple[str, ...]) -> None:
    """Bring sessions back: SESSION is an id, the first characters of one, or a title."""
    with history_of(state) as history:
        items = list(extra(history, "trashed")())
        ids = list(dict.fromkeys(_find(items, name) for name in session))
        back = [extra(history, "restore_session")(one) for one in ids]
        records = [record for one in back if (record := history.session(one)) is not None]
    data = {"sessions": [session_data(record) for record in records], "restored": back}
    state.result("sessions-restore", data, lambda: "\n".join(f"Restored {one}" for one in back))
    state.hint(f"hermes sessions show {back[0]}")


@trash.command("empty")
@click.option("--older-than", metavar="AGE", help="Only what was deleted that long ago: 30d, 2w.")
@click.option("--dry-run", is_flag=True, help="Show what would go and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def empty(state: State, older_than: str | None, dry_run: bool, yes: bool) -> None:
    """Delete what is in the trash for good."""
    seconds = _seconds(older_than)
    with state.open() as memory:
        history = state.history(memory)
        items = list(extra(history, "trashed")())
        limit = _now() - seconds
        doomed = [item for item in items if item.deleted_at <= limit]
        data: dict[str, Any] = {
            "sessions": [_data(item) for item in doomed],
            "bytes": sum(item.bytes for item in doomed),
            "dry_run": dry_run,
            "removed": 0,
        }
        if dry_run or not doomed:
            nothing = "Nothing in the trash is that old." if items else "The trash is empty."
            state.result("sessions-trash", data, lambda: _table(doomed) if doomed else nothing)
            return
        if not yes:
            state.say(_table(doomed))
        if not state.confirm("Delete these for good?", yes=yes):
            state.say("Nothing was changed.")
            raise click.exceptions.Exit(exits.FAILED)
        data["removed"] = extra(history, "empty_trash")(older_than_s=seconds)
    state.result(
        "sessions-trash",
        data,
        lambda: (
            f"Deleted {output.count(data['removed'], 'session')} for good, {output.size(data['bytes'])}."
        ),
    )


def _now() -> float:
    import time

    return time.time()


def _seconds(text: str | None) -> float:
    """``30d`` and the like, in seconds; a bare number is days.

    Raises:
        UsageError: It is no age.
    """
    if text is None:
        return 0.0
    value, unit = text.strip().lower(), "d"
    if value[-1:] in _UNITS:
        value, unit = value[:-1], value[-1]
    if not value.isdecimal():
        raise UsageError(f"`{text}` is no age; nothing was deleted.", hint="for example 30d, 2w")
    return int(value) * _UNITS[unit]


def _find(items: Sequence[Any], name: str) -> str:
    """The id in the trash that is meant.

    Raises:
        SessionNotFoundError: None, or more than one.
    """
    exact = [item.id for item in items if item.id == name]
    titled = [item.id for item in items if item.title and item.title.casefold() == name.casefold()]
    begun = [item.id for item in items if item.id.startswith(name)] if len(name) > 2 else []
    found: list[str] = list(dict.fromkeys(exact or titled or begun))
    if len(found) == 1:
        return found[0]
    what = f"more than one session named {name!r}" if found else f"no session {name!r}"
    raise SessionNotFoundError(
        f"The trash holds {what}; nothing was restored.",
        hint="hermes sessions trash list",
        details={"matches": found},
    )


def _data(item: Any) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "deleted_at": item.deleted_at,
        "messages": item.messages,
        "bytes": item.bytes,
    }


def _table(items: Sequence[Any]) -> str:
    rows = [
        [
            item.title or "",
            ago(item.deleted_at),
            output.number(item.messages),
            output.size(item.bytes),
            item.id,
        ]
        for item in items
    ]
    return output.table(
        ("Title", "Deleted", "Messages", "Size", "ID"), rows, right=(2, 3), flexible=0
    )
