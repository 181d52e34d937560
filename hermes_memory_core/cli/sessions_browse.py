"""``hermes sessions browse``: the picker on a real terminal. What it shows and does is in ``sessions_picker``."""

from __future__ import annotations

import contextlib
import locale
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli import sessions_picker as keys
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import ago, history_of, list_of, name_of
from hermes_memory_core.cli.sessions_picker import Picker, Reader, Row
from hermes_memory_core.cli.sessions_read import list_sessions, message_text
from hermes_memory_core.cli.sessions_search import run_search, wrap
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import HistoryStore

if TYPE_CHECKING:
    import curses

PAUSE_MS = 120
"""How long typing must rest before it is searched."""
MOST_LINES = 1_000_000
ROWS = 500


@click.command("browse", cls=Command)
@click.pass_obj
def browse(state: State) -> None:
    """Pick and read conversations full-screen: typing searches, Enter shows, Esc leaves.

    Where there is no terminal to draw on, the list is printed instead.
    """
    module = _curses()
    if module is None or state.json or not (sys.stdout.isatty() and sys.stdin.isatty()):
        click.get_current_context().invoke(list_sessions, source=(), limit=20, offset=0)
        return
    with history_of(state) as history:
        locale.setlocale(locale.LC_CTYPE, "")  # curses draws by the locale's encoding
        os.environ.setdefault("ESCDELAY", "25")
        module.wrapper(_Screen(module, history, plain=state.color is False).run)


def _curses() -> Any:
    """The module, or None where Python has none (Windows) or the terminal is unknown to it."""
    try:
        import curses

        curses.setupterm()
    except ImportError:
        return None
    except Exception:  # noqa: BLE001 - curses.error, which only exists when the import worked
        return None
    return curses


def rows_for(history: HistoryStore, query: str) -> list[Row]:
    """The latest conversations, or those a search finds, best first."""
    if not query.strip():
        return [
            Row(record.id, name_of(record), ago(record.last_active), record.source)
            for record in list_of(history, source=(), limit=ROWS, offset=0)
        ]
    rows, seen = [], set()
    for group in run_search(history, query, limit=60).groups:
        best = group.hits[0]
        seen.add(group.record.lineage or group.record.id)
        snippet = best.snippet.replace(">>>", "").replace("<<<", "")
        rows.append(
            Row(
                best.session_id,
                name_of(group.record),
                ago(group.record.last_active),
                group.record.source,
                f"{best.role}: {snippet}",
                best.message_id,
            )
        )
    titled = list_of(history, source=(), limit=20, offset=0, title=query.strip())
    rows += [
        Row(record.id, name_of(record), ago(record.last_active), record.source)
        for record in titled
        if (record.lineage or record.id) not in seen
    ]
    return rows


def reader_for(history: HistoryStore, row: Row, width: int) -> Reader:
    """The conversation of a row, broken to the width, opened at what was found."""
    lines: list[str] = []
    anchor = None
    for message in history.messages(row.session_id):
        if message.id == row.message_id:
            anchor = len(lines)
        for text in click.unstyle(message_text(message, full=True)).split("\n"):
            lines += wrap(text, width, MOST_LINES) or [""]
        lines.append("")
    return Reader(f"{row.name}  {row.session_id}", lines, anchor)


class _Screen:
    """Draws what picker or reader show, and hands them keys."""

    def __init__(self, module: Any, history: HistoryStore, *, plain: bool) -> None:
        self._curses = module
        self._history = history
        self._plain = plain
        self._picker = Picker(lambda query: rows_for(history, query))
        self._reader: Reader | None = None

    def run(self, window: curses.window) -> None:
        """Until the person leaves."""
        with contextlib.suppress(self._curses.error):  # a terminal that cannot hide it
            self._curses.curs_set(0)
        if not self._plain and self._curses.has_colors():
            self._curses.use_default_colors()
        window.keypad(True)
        self._load()
        while True:
            self._draw(window)
            window.timeout(PAUSE_MS if self._picker.stale else -1)
            key = self._key(window)
            if key is None:
                if self._picker.stale:
                    self._load()
            elif self._act(key, window) == "leave":
                return

    def _act(self, key: str, window: curses.window) -> str:
        if self._reader is not None:
            if self._reader.press(key) == "back":
                self._reader = None
            return ""
        if key == keys.ENTER and self._picker.stale:
            self._load()
        action = self._picker.press(key)
        if action == "open" and self._picker.chosen is not None:
            self._guard(lambda row=self._picker.chosen: self._open(row, window))
        return action

    def _open(self, row: Row, window: curses.window) -> None:
        self._reader = reader_for(self._history, row, max(1, window.getmaxyx()[1] - 1))

    def _load(self) -> None:
        self._guard(self._picker.refresh)

    def _guard(self, action: Any) -> None:
        """A search that fails is shown as such, and the picker goes on."""
        try:
            action()
        except HermesMemoryError as error:
            self._picker.rows = ()
            self._picker.problem = output.clean(f"{error.message} → {error.hint}", one_line=True)

    def _draw(self, window: curses.window) -> None:
        height, width = window.getmaxyx()
        # the last column stays free: writing into the lower right corner scrolls
        shown = (self._reader or self._picker).view(max(1, width - 1), height)
        window.erase()
        for number, line in enumerate(shown):
            with contextlib.suppress(self._curses.error):  # the window shrank meanwhile
                window.addstr(number, 0, line.text, self._attribute(line.style))
        window.refresh()

    def _attribute(self, style: str) -> int:
        names = {"bold": "A_BOLD", "dim": "A_DIM", "chosen": "A_REVERSE", "plain": "A_NORMAL"}
        return int(getattr(self._curses, names[style]))

    def _key(self, window: curses.window) -> str | None:
        """One key by name; None when nothing was pressed for a while."""
        try:
            pressed = window.get_wch()
        except self._curses.error:
            return None
        return key_name(pressed, self._curses)


def key_name(pressed: str | int, module: Any) -> str:
    """What curses gives, as the picker's names."""
    if isinstance(pressed, str):
        return {
            "\n": keys.ENTER,
            "\r": keys.ENTER,
            "\x1b": keys.ESCAPE,
            "\x7f": keys.BACKSPACE,
            "\b": keys.BACKSPACE,
            "\x15": keys.CLEAR,
            "\x17": keys.ERASE_WORD,
            "\x0e": keys.DOWN,
            "\x10": keys.UP,
        }.get(pressed, pressed)
    names: dict[int, str] = {
        module.KEY_UP: keys.UP,
        module.KEY_DOWN: keys.DOWN,
        module.KEY_PPAGE: keys.PAGE_UP,
        module.KEY_NPAGE: keys.PAGE_DOWN,
        module.KEY_HOME: keys.HOME,
        module.KEY_END: keys.END,
        module.KEY_ENTER: keys.ENTER,
        module.KEY_BACKSPACE: keys.BACKSPACE,
        module.KEY_RESIZE: keys.RESIZE,
    }
    return names.get(pressed, "")
