from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.cli import output


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("茶館", 4),
        ("e\u0301", 1),
        ("ｱ", 1),
        ("Ａ", 2),
        ("🍵", 2),
        ("a\u200bb", 2),
        ("", 0),
    ],
)
def test_cells_counts_terminal_columns(text, width):
    assert output.cells(text) == width


@given(st.text(max_size=60), st.integers(2, 40))
def test_cut_never_exceeds_its_width_and_keeps_short_text(text, width):
    line = output.cut(text, width)
    assert output.cells(line) <= width
    assert "\n" not in line
    whole = output.clean(text, one_line=True)
    if output.cells(whole) <= width:
        assert line == whole


@given(st.text(max_size=80))
def test_clean_lets_nothing_through_that_steers_a_terminal(text):
    shown = output.clean(text)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert not output._BIDI.intersection(shown)


def test_clean_shows_what_it_replaces():
    assert output.clean("a\x1b[31mb\u202ec") == "a\\x1b[31mb\\u202ec"
    assert output.clean("two\nlines\t茶") == "two\nlines\t茶"
    assert output.clean("two\nlines", one_line=True) == "two lines"


def test_table_aligns_columns_of_wide_and_narrow_characters():
    text = output.table(("Name", "Size"), [["茶館的筆記", "1"], ["short", "1,234"]], right=(1,))
    lines = text.splitlines()
    assert {output.cells(line) for line in lines} == {output.cells(lines[0])}
    assert lines[1].endswith("    1")


def test_table_shortens_only_the_flexible_column():
    text = output.table(("Id", "Text"), [["12345678", "x" * 200]], flexible=1, width=40)
    assert "12345678" in text
    assert max(output.cells(line) for line in text.splitlines()) <= 40
    assert "…" in text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_345_678, "2.3 MB"), (123_000, "123 kB")],
)
def test_size(count, text):
    assert output.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (5.9, "5 s"), (61, "1 min"), (7200, "2 h"), (864_000, "10 days")],
)
def test_age(seconds, text):
    assert output.age(seconds) == text


def test_json_is_ascii_only_where_the_stream_needs_it(monkeypatch):
    assert "茶" in output.to_json("x", {"text": "茶"})
    broken = output.to_json("x", {"text": "half \ud83c"})
    assert json.loads(broken)["data"]["text"] == "half \ud83c"

    class Latin:
        encoding = "latin-1"

    monkeypatch.setattr(sys, "stdout", Latin())
    text = output.to_json("x", {"text": "茶"})
    assert text.isascii()
    assert json.loads(text) == {"schema": "hermes-memory/x/1", "data": {"text": "茶"}}


def test_characters_the_terminal_cannot_show_do_not_end_a_command(home):
    home.mkdir(parents=True)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "HERMES_HOME": str(home / "茶")}
    done = subprocess.run(
        [sys.executable, "-m", "hermes_memory_core", "config", "path"],
        env=environment,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u8336" in done.stdout
