"""``hermes sessions browse``: the picker by its keys and lines, and once on a real terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time

import pytest
from cli.sessions_kit import compressed, fill

from hermes_memory_core import Memory
from hermes_memory_core.cli import output
from hermes_memory_core.cli import sessions_picker as keys
from hermes_memory_core.cli.sessions_browse import key_name, reader_for, rows_for
from hermes_memory_core.cli.sessions_picker import Picker, Reader, Row

NAMES = ["Trip to Lisbon", "厨房装修的预算" * 9, "🚀 launch", "e\u0301clair", ""]


def rows(count):
    return [
        Row(f"s{number}", NAMES[number % len(NAMES)] or f"s{number}", "3 days ago", "cli")
        for number in range(count)
    ]


def picker(count=30):
    made = Picker(lambda query: [row for row in rows(count) if query in row.name])
    made.refresh()
    return made


def typed(made, text):
    return [made.press(character) for character in text]


def test_typing_changes_the_query_at_once_and_the_rows_when_it_rests():
    made = picker()
    assert typed(made, "Lis") == ["", "", ""]
    assert (made.query, made.stale, len(made.rows)) == ("Lis", True, 30)
    made.refresh()
    assert {row.name for row in made.rows} == {"Trip to Lisbon"}
    assert not made.stale
    typed(made, "装")
    made.refresh()
    assert made.chosen is None
    for _ in range(4):
        made.press(keys.BACKSPACE)
    made.refresh()
    assert (made.query, len(made.rows)) == ("", 30)


def test_a_search_begins_at_the_top_again():
    made = picker()
    made.press(keys.END)
    made.press("L")
    made.refresh()
    assert made.selected == 0


@pytest.mark.parametrize(
    ("pressed", "at"),
    [
        ([keys.DOWN], 1),
        ([keys.UP], 0),
        ([keys.END], 29),
        ([keys.END, keys.DOWN], 29),
        ([keys.END, keys.HOME], 0),
        ([keys.PAGE_DOWN], 7),
        ([keys.END, keys.PAGE_UP], 22),
    ],
)
def test_moving_stops_at_both_ends(pressed, at):
    made = picker()
    made.view(80, 10)
    for key in pressed:
        made.press(key)
    assert made.selected == at
    chosen = [line for line in made.view(80, 10) if line.style == "chosen"]
    assert len(chosen) == 1, "the chosen row is always on the screen"


def test_escape_first_clears_the_query_then_leaves():
    made = picker()
    made.press("x")
    assert made.press(keys.ESCAPE) == ""
    assert made.query == ""
    assert made.press(keys.ESCAPE) == "leave"


def test_enter_opens_only_when_there_is_something_to_open():
    assert picker().press(keys.ENTER) == "open"
    assert picker(0).press(keys.ENTER) == ""


def test_words_are_erased_one_by_one_and_unknown_keys_do_nothing():
    made = picker()
    typed(made, "two words")
    made.press(keys.ERASE_WORD)
    assert made.query == "two"
    made.press(keys.CLEAR)
    assert made.query == ""
    for key in ("", keys.RESIZE, "\x01", "\t"):
        assert made.press(key) == ""
    assert made.query == ""


@pytest.mark.parametrize("width", [1, 8, 20, 41, 60, 61, 100, 250])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 24])
def test_the_screen_is_filled_exactly_and_never_overrun(width, height):
    made = picker()
    made.query = "a question in 中文 that is rather long for a small window"
    reader = Reader("标题 " * 30, ["short", "", "#1 user"] * 20, anchor=6)
    for shown in (made.view(width, height), reader.view(width, height)):
        assert len(shown) == height
    for line in made.view(width, height):
        assert output.cells(line.text) <= max(width, 2), line


def test_age_and_source_stand_in_one_column_for_every_script():
    lines = [line.text for line in picker(5).view(100, 24)[2:7]]
    places = {output.cells(line.partition("3 days ago")[0]) for line in lines}
    assert len(places) == 1


def test_an_empty_store_an_empty_search_and_a_failed_one_look_different():
    made = picker(0)
    assert made.view(80, 10)[2].text == "No conversations yet."
    made.press("x")
    made.refresh()
    assert made.view(80, 10)[2].text == "Nothing found."
    made.problem = "The database is locked."
    assert made.view(80, 10)[2].text == "The database is locked."


def test_the_reader_opens_at_its_anchor_or_the_end_and_scrolls_within_the_text():
    lines = [f"line {number}" for number in range(100)]
    reader = Reader("t", lines, anchor=40)
    assert reader.view(80, 13)[2].text == "line 40"
    assert Reader("t", lines).view(80, 13)[11].text == "line 99"
    for key in (keys.PAGE_DOWN, "j", keys.UP, " ", "k"):
        reader.press(key)
    assert reader.top == 59
    reader.press("G")
    reader.press(keys.DOWN)
    assert reader.view(80, 13)[11].text == "line 99"
    reader.press("g")
    assert reader.press(keys.UP) == ""
    assert reader.top == 0
    assert reader.press(keys.ESCAPE) == "back"


def test_rows_come_from_the_store_and_open_where_the_search_found(home):
    fill(home)
    first, second = compressed(home)
    with Memory.open(home=home) as memory:
        history = memory.history
        assert [row.session_id for row in rows_for(history, "  ")] == [
            second,
            "hello_0004",
            "deploy_0003",
            "kitchen_0002",
            "lisbon_0001",
        ]
        [row] = rows_for(history, "预算")
        assert (row.session_id, row.name) == ("kitchen_0002", "厨房装修")
        assert "预算" in row.detail
        reader = reader_for(history, row, 40)
        shown = [line.text for line in reader.view(40, 20)]
        assert any("预算" in text for text in shown)
        assert all(output.cells(line) <= 40 for line in reader.lines)
        assert [one.session_id for one in rows_for(history, "Long talk")] == [second]
        assert first != second


def test_keys_of_curses_have_names():
    curses = pytest.importorskip("curses")
    assert key_name("\n", curses) == keys.ENTER
    assert key_name(curses.KEY_UP, curses) == keys.UP
    assert key_name(curses.KEY_RESIZE, curses) == keys.RESIZE
    assert key_name(curses.KEY_F5, curses) == ""
    assert key_name("预", curses) == "预"


def test_without_a_terminal_the_list_is_printed(hermes, home):
    fill(home)
    assert hermes("sessions", "browse").out == hermes("sessions", "list").out
    assert hermes("sessions", "browse", "--json").data["count"] == 4


class Terminal:
    """The program on a pseudo terminal of 24 lines and 90 columns."""

    def __init__(self, home):
        import pty

        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:  # pragma: no cover - the child becomes the program
            os.environ |= {"TERM": "xterm", "LINES": "24", "COLUMNS": "90", "LC_ALL": "C.UTF-8"}
            arguments = ["-m", "hermes_memory_core", "--home", str(home), "sessions", "browse"]
            os.execv(sys.executable, [sys.executable, *arguments])
        self.text = ""

    def until(self, *wanted):
        """Read until all of these texts stood on the screen."""
        deadline = time.monotonic() + 20
        seen = ""
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.descriptor], [], [], 0.2)
            if ready:
                try:
                    data = os.read(self.descriptor, 65536)
                except OSError:
                    break
                if not data:
                    break
                seen += data.decode("utf-8", "replace")
            if all(text in re.sub(r"\x1b[\[(][0-9;?]*[A-Za-z]", "", seen) for text in wanted):
                return seen
        raise AssertionError(f"never saw {wanted}: {seen[-2000:]!r}")

    def press(self, keys_):
        os.write(self.descriptor, keys_.encode())

    def wait(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            done, code = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(code)
            select.select([self.descriptor], [], [], 0.05)
            try:
                os.set_blocking(self.descriptor, False)
                os.read(self.descriptor, 65536)
            except OSError:
                pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("it did not leave")


@pytest.mark.process
@pytest.mark.timeout(45)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="pseudo terminals are POSIX")
def test_on_a_real_terminal_one_searches_in_chinese_reads_and_leaves(home):
    pytest.importorskip("curses")
    fill(home)
    terminal = Terminal(home)
    terminal.until("Search:", "Trip to Lisbon", "厨房装修", "4")
    terminal.press("预算")
    terminal.until("assistant: 预算定在")
    terminal.press("\r")
    terminal.until("kitchen_0002", "Space scroll")
    terminal.press("\x1b")
    terminal.until("Search:")
    terminal.press("\x1b")
    time.sleep(0.2)
    terminal.press("\x1b")
    assert terminal.wait() == 0
