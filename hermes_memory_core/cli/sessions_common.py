"""What the commands of ``hermes sessions`` share: the store, which session is meant, filters, rows, progress.

No command here, and nothing of the history store beyond its Protocol except by name (``extra``).
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import SessionNotFoundError, UsageError
from hermes_memory_core.types import PROFILE_SCOPE, HistoryStore, SessionRecord

BEGIN = "hermes sessions import PATH"
AUTOMATED = frozenset({"cron", "tool", "subagent"})
"""Sources nobody talked in: shown after the others, never hidden by a search."""


@contextmanager
def history_of(state: State) -> Iterator[HistoryStore]:
    """The history store of the chosen profile, closed when the command is done."""
    with state.open() as memory:
        yield state.history(memory)


def extra(history: HistoryStore, name: str) -> Callable[..., Any]:
    """A method that this history store offers beyond the Protocol.

    Raises:
        UsageError: It does not; another provider may have taken the place of the built-in.
    """
    method = getattr(history, name, None)
    if not callable(method):
        raise UsageError(
            f"The history store of this profile ({type(history).__name__}) has no `{name}`, "
            "so this command cannot work with it; nothing was changed.",
            hint="hermes memory status",
        )
    found: Callable[..., Any] = method
    return found


# ---------------------------------------------------------------- which session


def parts_of(history: HistoryStore, session_id: str) -> list[str]:
    """Ids of the whole conversation: the parts that were compressed, and the newest."""
    lineage = getattr(history, "lineage_ids", None)
    return list(lineage(session_id)) if callable(lineage) else [session_id]


def find_session(history: HistoryStore, text: str) -> SessionRecord:
    """The session meant: an id or its beginning is that session, a title the newest of its conversation.

    Raises:
        SessionNotFoundError: Nothing, or more than one, is meant.
    """
    wanted = text.strip()
    if not wanted:
        raise SessionNotFoundError("A session needs an id or a title.", hint="hermes sessions list")
    exact = history.session(wanted)
    if exact is not None:
        return exact
    newest = history.resolve(wanted, scope=PROFILE_SCOPE)
    if newest.id.startswith(wanted):
        return newest
    older = [one for one in parts_of(history, newest.id) if one.startswith(wanted)]
    named = history.session(older[0]) if len(older) == 1 else None
    return named or newest


def conversations(history: HistoryStore, names: Sequence[str]) -> list[SessionRecord]:
    """Every part of every conversation named, each once."""
    ids = dict.fromkeys(
        part for name in names for part in parts_of(history, find_session(history, name).id)
    )
    records = [history.session(one) for one in ids]
    return [record for record in records if record is not None]


# ---------------------------------------------------------------- filters

_OPTIONS: Mapping[str, Any] = {
    "source": click.option(
        "--source",
        multiple=True,
        metavar="NAME",
        help="Where it took place: cli, telegram, cron … Repeat for several.",
    ),
    "role": click.option(
        "--role",
        multiple=True,
        type=click.Choice(["user", "assistant", "tool", "system"]),
        help="Who speaks. Repeat for several.",
    ),
    "user_id": click.option(
        "--user", "--user-id", "user_id", metavar="ID", help="Sessions of this user."
    ),
    "chat_id": click.option(
        "--chat", "--chat-id", "chat_id", metavar="ID", help="Sessions of this chat."
    ),
    "cwd": click.option("--cwd", metavar="DIR", help="Sessions in this directory or below it."),
    "session": click.option(
        "--session", "--session-id", "session", metavar="SESSION", help="Only this conversation."
    ),
    "since": click.option(
        "--since", metavar="WHEN", help="From then on: 2026-03-01, 3d, yesterday, last week, 上周."
    ),
    "until": click.option("--until", metavar="WHEN", help="Up to then, that day included."),
    "title": click.option("--title", metavar="TEXT", help="Part of the title."),
    "include_subagents": click.option(
        "--include-subagents", is_flag=True, help="Also what sub-agents and tools said."
    ),
    "include_archived": click.option(
        "--include-archived", is_flag=True, help="Also archived conversations."
    ),
}


def filters(*names: str) -> Callable[[Any], Any]:
    """The named filter options, in that order, named as in ``HistoryStore.search``."""

    def decorate(function: Any) -> Any:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


def paging(limit: int) -> Callable[[Any], Any]:
    """``--limit`` and ``--offset``."""

    def decorate(function: Any) -> Any:
        function = click.option(
            "--offset", type=click.IntRange(0), default=0, help="Leave out the first ones."
        )(function)
        return click.option(
            "-n",
            "--limit",
            type=click.IntRange(1),
            default=limit,
            show_default=True,
            help="How many to show.",
        )(function)

    return decorate


def absolute(path: str | None) -> str | None:
    """A directory as sessions record it."""
    return None if path is None else str(Path(path).expanduser().absolute())


def list_of(
    history: HistoryStore, *, source: Sequence[str], limit: int, offset: int, **named: Any
) -> list[SessionRecord]:
    """``history.sessions`` for any number of sources."""
    wanted = list(dict.fromkeys(source))
    if len(wanted) < 2:
        only = wanted[0] if wanted else None
        return history.sessions(
            source=only, limit=limit, offset=offset, scope=PROFILE_SCOPE, **named
        )
    reach = -1 if limit < 0 else limit + offset
    found = [
        record
        for one in wanted
        for record in history.sessions(source=one, limit=reach, scope=PROFILE_SCOPE, **named)
    ]
    found.sort(key=lambda record: record.last_active, reverse=True)
    return found[offset:] if limit < 0 else found[offset : offset + limit]


# ---------------------------------------------------------------- showing


def session_data(record: SessionRecord) -> dict[str, Any]:
    """One session for ``--json``; times are epoch seconds."""
    return dataclasses.asdict(record)


def name_of(record: SessionRecord) -> str:
    """What a person calls it: the title, else how it began, else its id."""
    return record.title or record.preview or record.id


def ago(at: float | None, now: float | None = None) -> str:
    """``just now``, ``5 min ago``, ``yesterday``, ``3 days ago``, then the date; in local time."""
    if not at:
        return ""
    current = time.time() if now is None else now
    passed = current - at
    if passed < -60:  # a clock was wrong somewhere
        return output.moment(at)[:10]
    if passed < 60:
        return "just now"
    if passed < 3600:
        return f"{int(passed) // 60} min ago"
    days = (datetime.fromtimestamp(current).date() - datetime.fromtimestamp(at).date()).days
    if days == 0 or passed < 6 * 3600:
        return f"{int(passed) // 3600} h ago"
    if days == 1:
        return "yesterday"
    return f"{days} days ago" if days < 7 else output.moment(at)[:10]


def session_table(records: Sequence[SessionRecord], *, width: int | None = None) -> str:
    """A row per session; titles and beginnings share what the terminal leaves."""
    columns = output.terminal_width() if width is None else width
    titled = any(record.title for record in records) and columns >= 90
    rows = []
    for record in records:
        mark = "".join(
            text
            for there, text in ((record.pinned, "[pinned] "), (record.archived, "[archived] "))
            if there
        )
        title = output.cut(mark + (record.title or ""), 30)
        words = [title, record.preview] if titled else [mark + name_of(record)]
        rows.append([*words, ago(record.last_active), record.source, record.id])
    head = [*(("Title", "Begins with") if titled else ("Conversation",)), "Active", "Source", "ID"]
    if columns < 64:
        rows = [[*row[:-2], row[-1]] for row in rows]
        head = [*head[:-2], head[-1]]
    return output.table(head, rows, flexible=1 if titled else 0, width=columns)


def store_bytes(history: HistoryStore) -> int:
    """Database and transcripts on disk."""
    stats = history.stats()
    return int(stats.get("database_bytes", 0)) + int(stats.get("transcript_bytes", 0))


class Progress:
    """One line on standard error that changes while something long goes on."""

    def __init__(self, state: State) -> None:
        self._on = not (state.quiet or state.json)
        self._live = self._on and sys.stderr.isatty()
        self._next = time.monotonic() + (0.0 if self._live else 5.0)
        self._shown = False

    def show(self, text: str) -> None:
        """At most ten times a second on a terminal, every five seconds elsewhere."""
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + (0.1 if self._live else 5.0)
        line = output.cut(text, output.terminal_width() - 1)
        click.echo(f"\r\x1b[K{line}" if self._live else line, err=True, nl=not self._live)
        self._shown = True

    def done(self) -> None:
        """Clear the line."""
        if self._live and self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
