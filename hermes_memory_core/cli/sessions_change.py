"""``hermes sessions rename``, ``archive``, ``unarchive``, ``pin``, ``unpin``: changes that lose nothing."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import (
    conversations,
    find_session,
    history_of,
    name_of,
    session_data,
)
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import SessionError, UsageError
from hermes_memory_core.types import SessionRecord


@click.command("rename", cls=Command)
@click.argument("session")
@click.argument("title", nargs=-1)
@click.option("--clear", is_flag=True, help="Take the title away.")
@click.pass_obj
def rename(state: State, session: str, title: tuple[str, ...], clear: bool) -> None:
    """Give SESSION the title TITLE. Titles are unique; a taken one is refused, naming who has it.

    hermes sessions rename 20260301_14 Trip to Lisbon
    """
    if clear == bool(title):
        raise UsageError(
            "A title is needed, or --clear; nothing was changed.",
            hint="hermes sessions rename SESSION TITLE",
        )
    with history_of(state) as history:
        record = find_session(history, session)
        wanted = None if clear else " ".join(title)
        stored = history.set_title(record.id, wanted)
        if wanted is not None and stored is None:  # only the store knows what it leaves of a title
            history.set_title(record.id, record.title)
            raise SessionError(
                f"{wanted!r} has no visible character; the title is as it was.",
                hint=f"hermes sessions rename {record.id} --clear",
            )
        after = history.session(record.id) or record
    data = {"session": session_data(after), "before": record.title, "title": stored}
    text = f"Titled {record.id}: {stored}" if stored else f"{record.id} has no title now."
    state.result("sessions-rename", data, lambda: output.clean(text))


@click.command("archive", cls=Command)
@click.argument("session", nargs=-1, required=True)
@click.pass_obj
def archive(state: State, session: tuple[str, ...]) -> None:
    """Put whole conversations out of the list. They stay searchable, and a prune leaves them.

    hermes sessions archive "Trip to Lisbon"
    """
    _set(state, session, "archived", True, "Archived")


@click.command("unarchive", cls=Command)
@click.argument("session", nargs=-1, required=True)
@click.pass_obj
def unarchive(state: State, session: tuple[str, ...]) -> None:
    """Put archived conversations back into the list."""
    _set(state, session, "archived", False, "Back in the list")


@click.command("pin", cls=Command)
@click.argument("session", nargs=-1, required=True)
@click.pass_obj
def pin(state: State, session: tuple[str, ...]) -> None:
    """Keep whole conversations from every prune, whatever its filters."""
    _set(state, session, "pinned", True, "Pinned")


@click.command("unpin", cls=Command)
@click.argument("session", nargs=-1, required=True)
@click.pass_obj
def unpin(state: State, session: tuple[str, ...]) -> None:
    """Let a prune take these conversations again."""
    _set(state, session, "pinned", False, "No longer pinned")


def _set(state: State, names: Sequence[str], flag: str, value: bool, done: str) -> None:
    """Set one flag on every part of every conversation named; all are found before the first is changed."""
    with history_of(state) as history:
        records = conversations(history, names)
        changed = [record for record in records if getattr(record, flag) is not value]
        for record in changed:
            history.update_session(record.id, **{flag: value})
        after = [history.session(record.id) or record for record in records]
    data = {
        "sessions": [session_data(record) for record in after],
        "changed": [record.id for record in changed],
    }
    state.result(f"sessions-{flag}", data, lambda: "\n".join(_line(done, one) for one in after))


def _line(done: str, record: SessionRecord) -> str:
    return f"{done}: {output.cut(name_of(record), 60)}  {record.id}"
