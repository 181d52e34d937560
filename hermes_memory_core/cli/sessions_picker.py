"""The picker behind ``hermes sessions browse``: keys in, lines out. No terminal, no store; tested as it is.

``Picker`` is the list with its live search, ``Reader`` one conversation. Both answer ``press`` with what to do
next and ``view`` with the lines of the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_memory_core.cli import output

Style = Literal["plain", "bold", "dim", "chosen"]
Action = Literal["", "open", "back", "leave"]

UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END = "up", "down", "page-up", "page-down", "home", "end"
ENTER, ESCAPE, BACKSPACE, CLEAR, ERASE_WORD, RESIZE = (
    "enter",
    "escape",
    "backspace",
    "clear",
    "erase-word",
    "resize",
)
_HEAD, _FOOT = 2, 1
"""Lines above and below the part that scrolls."""
PAGE = 10
"""Lines a page key moves while the height of the screen is not known yet."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the screen, no wider than asked for."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """One conversation in the list."""

    session_id: str
    name: str
    active: str
    source: str
    detail: str = ""
    """What the search found in it."""
    message_id: int | None = None
    """Where to open it; None means at its end."""


class Picker:
    """The list of conversations; what is typed searches.

    Args:
        load: Rows for a query; "" means the latest. Called by ``refresh``, never by ``press``, so that typing
            stays quick.
    """

    def __init__(self, load: Callable[[str], Sequence[Row]]) -> None:
        self._load = load
        self.query = ""
        self.rows: Sequence[Row] = ()
        self.selected = 0
        self.stale = True
        """The rows are those of an older query."""
        self.problem = ""
        """Why the last search failed; shown instead of a result, so that it is not taken for an empty one."""
        self._top = 0
        self._page = PAGE

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.selected] if self.rows else None

    def refresh(self) -> None:
        """Load the rows of the query as it is now."""
        self.stale = False
        self.problem = ""
        self.selected = self._top = 0
        self.rows = self._load(self.query)

    def press(self, key: str) -> Action:
        """Take one key: a name from above, or a character that is typed."""
        if key in (UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END):
            self._move(key)
        elif key == ENTER:
            return "open" if self.rows else ""
        elif key == ESCAPE:
            if not self.query:
                return "leave"
            self._search("")
        elif key == BACKSPACE:
            self._search(self.query[:-1])
        elif key == CLEAR:
            self._search("")
        elif key == ERASE_WORD:
            self._search(self.query.rstrip().rpartition(" ")[0])
        elif len(key) == 1 and key.isprintable():
            self._search(self.query + key)
        return ""

    def _search(self, query: str) -> None:
        self.stale = self.stale or query != self.query
        self.query = query

    def _move(self, key: str) -> None:
        last = max(0, len(self.rows) - 1)
        steps = {
            UP: self.selected - 1,
            DOWN: self.selected + 1,
            PAGE_UP: self.selected - self._page,
            PAGE_DOWN: self.selected + self._page,
            HOME: 0,
            END: last,
        }
        self.selected = min(last, max(0, steps[key]))

    def view(self, width: int, height: int) -> list[Line]:
        """Exactly ``height`` lines of at most ``width`` columns."""
        self._page = max(1, height - _HEAD - _FOOT)
        self._top = min(self._top, self.selected)
        self._top = max(self._top, self.selected - self._page + 1)
        shown = self.rows[self._top : self._top + self._page]
        lines = [Line(_tail(f"Search: {self.query}▏", width), "bold"), Line("")]
        if self.problem:
            lines.append(Line(output.cut(self.problem, width)))
        elif not self.rows and not self.stale:
            empty = "Nothing found." if self.query else "No conversations yet."
            lines.append(Line(empty[:width], "dim"))
        lines += [
            Line(
                _columns(row, width),
                "chosen" if self._top + index == self.selected else "plain",
            )
            for index, row in enumerate(shown)
        ]
        return _framed(lines, self._foot(), width, height)

    def _foot(self) -> str:
        place = f"{self.selected + 1} of {len(self.rows)}   " if self.rows else ""
        return f"{place}Enter shows · ↑↓ move · typing searches · Esc leaves"


class Reader:
    """One conversation, scrolled.

    Args:
        title: For the first line.
        lines: The text, already broken to the width of the screen.
        anchor: The line to begin at; None begins at the end.
    """

    def __init__(self, title: str, lines: Sequence[str], anchor: int | None = None) -> None:
        self.title = title
        self.lines = lines
        self._page = PAGE
        self.top = len(lines) if anchor is None else anchor

    def press(self, key: str) -> Action:
        """Take one key."""
        if key in (ESCAPE, BACKSPACE, "q", "h"):
            return "back"
        steps = {
            UP: -1,
            "k": -1,
            DOWN: 1,
            "j": 1,
            ENTER: 1,
            PAGE_UP: -self._page,
            PAGE_DOWN: self._page,
            " ": self._page,
            HOME: -len(self.lines),
            "g": -len(self.lines),
            END: len(self.lines),
            "G": len(self.lines),
        }
        self.top += steps.get(key, 0)
        self._settle()
        return ""

    def _settle(self) -> None:
        self.top = max(0, min(self.top, len(self.lines) - self._page))

    def view(self, width: int, height: int) -> list[Line]:
        """Exactly ``height`` lines of at most ``width`` columns."""
        self._page = max(1, height - _HEAD - _FOOT)
        self._settle()
        shown = self.lines[self.top : self.top + self._page]
        lines = [Line(output.cut(self.title, width), "bold"), Line("")]
        lines += [Line(text, "bold" if text.startswith("#") else "plain") for text in shown]
        end = min(len(self.lines), self.top + self._page)
        foot = f"line {end} of {len(self.lines)}   ↑↓ Space scroll · Esc goes back"
        return _framed(lines, foot, width, height)


def _columns(row: Row, width: int) -> str:
    """Name and finding to the left, age and source to the right where there is room."""
    right = f"  {output.pad(row.active, 12)}  {output.cut(row.source, 10)}" if width >= 60 else ""
    room = max(1, width - output.cells(right))
    name = output.clean(row.name, one_line=True)
    if row.detail and room > 40:
        head = output.pad(output.cut(name, room // 3), room // 3)
        name = f"{head}  {output.clean(row.detail, one_line=True)}"
    return output.pad(output.cut(name, room), room) + right


def _tail(text: str, width: int) -> str:
    """The end of a line that is too long: where typing goes on."""
    line = output.clean(text, one_line=True)
    if output.cells(line) <= width:
        return line
    while output.cells(line) >= width:
        line = line[1:]
    return "…" + line


def _framed(lines: list[Line], foot: str, width: int, height: int) -> list[Line]:
    """Filled up, cut to the height, with the last line at the bottom."""
    body = lines[: max(0, height - _FOOT)]
    body += [Line("")] * (height - _FOOT - len(body))
    return [*body, Line(output.cut(foot, width), "dim")][:height]
