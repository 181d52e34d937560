from __future__ import annotations

import os
import socket

import pytest
from hermes_memory_files.document import (
    count,
    decode,
    holds_mark_line,
    parse,
    read_document,
    serialise,
    tidy,
)
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.errors import StoreUnreadableError

PIECES = st.sampled_from(
    [
        "a",
        "b c",
        "§",
        " §",
        "§ ",
        "\n",
        "\n§\n",
        "\r\n",
        "\r",
        " ",
        "\u3000",
        "偏好",
        "\0",
        "\ud800",
        "👩‍👩‍👧",
        "x\u0301",
    ]
)
MESSY = st.lists(PIECES, max_size=14).map("".join)


@given(MESSY)
def test_what_is_parsed_once_is_read_back_the_same_for_ever(text):
    entries = parse(tidy(text))
    assert parse(serialise(entries)) == entries
    assert all(entry == entry.strip() and entry and not holds_mark_line(entry) for entry in entries)
    assert len(set(entries)) == len(entries)


@given(
    st.lists(
        MESSY.map(tidy).map(str.strip).filter(lambda t: t and not holds_mark_line(t)), unique=True
    )
)
def test_entries_survive_the_file(entries):
    assert list(parse(serialise(entries))) == entries


@given(st.binary(max_size=80))
def test_any_bytes_decode_to_text_that_can_be_written(raw):
    text, _odd = decode(raw)
    text.encode("utf-8")
    assert "\r" not in text
    assert "\0" not in text


def test_the_count_is_of_the_joined_text():
    assert count(("alpha one", "我喜欢喝绿茶")) == 9 + 3 + 6
    assert count(()) == 0


@pytest.mark.parametrize(
    ("raw", "entries", "odd"),
    [
        (b"one\n\xc2\xa7\ntwo", ("one", "two"), ()),
        (b"one\n\xc2\xa7\ntwo\n", ("one", "two"), ()),
        (b"\n\xc2\xa7\none\n\xc2\xa7\n\n\xc2\xa7\n", ("one",), ()),
        (b"\xef\xbb\xbfone\n\xc2\xa7\ntwo", ("one", "two"), ("a byte order mark",)),
        (b"one\r\n\xc2\xa7\r\ntwo\r\n", ("one", "two"), ("CRLF line ends",)),
        (b"ok entry\n\xa7\nbad \xff byte", ("ok entry", "bad \ufffd byte"), ("bytes that are not UTF-8",)),
        ("one\n§\n二".encode("utf-16"), ("one", "二"), ("UTF-16 encoding",)),
        (b"o\0ne", ("one",), ("NUL characters",)),
        (b"", (), ()),
        ("rates rose § 4 per cent".encode(), ("rates rose § 4 per cent",), ()),
        ("§".encode(), (), ()),
        ("one\n§ \ntwo".encode(), ("one\n§ \ntwo",), ()),
        (b"same\n\xc2\xa7\nsame", ("same",), ()),
        (b"# Setup\n\n- uses vim\n- likes tea", ("# Setup\n\n- uses vim\n- likes tea",), ("plain Markdown without § lines",)),
        ("家里有两只猫".encode(), ("家里有两只猫",), ()),
    ],
)  # fmt: skip
def test_foreign_shapes_load_as_far_as_possible_and_are_named(tmp_path, raw, entries, odd):
    path = tmp_path / "MEMORY.md"
    path.write_bytes(raw)
    document = read_document(path)
    assert document.entries == entries
    assert document.oddities == odd


def test_missing_is_not_empty_and_not_unreadable(tmp_path):
    path = tmp_path / "MEMORY.md"
    assert read_document(path).raw is None
    path.touch()
    assert read_document(path).raw == b""
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreUnreadableError, match="is a directory"):
        read_document(path)


def test_a_pipe_in_its_place_does_not_hang_the_reader(tmp_path):
    path = tmp_path / "MEMORY.md"
    os.mkfifo(path)
    with pytest.raises(StoreUnreadableError, match="not a regular file"):
        read_document(path)


def test_a_socket_in_its_place_is_unreadable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # socket names are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("MEMORY.md")
        with pytest.raises(StoreUnreadableError):
            read_document(tmp_path / "MEMORY.md")


def test_surrogate_pairs_are_joined_and_lone_ones_replaced():
    assert tidy("\ud83d\ude00 and \ud800!") == "😀 and \ufffd!"
