"""The line format: what goes in comes out, whatever is in it."""

from __future__ import annotations

import io
import json

import pytest
from hermes_memory_sessions import transcript
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.types import Message, Scope, SessionInfo

any_text = st.text(st.characters(exclude_categories=[]), max_size=60)


def lines_of(data: bytes):
    return list(transcript.read_lines(io.BytesIO(data)))


@given(any_text, st.one_of(st.none(), any_text))
def test_any_text_makes_one_line_and_comes_back(content, name):
    message = Message("user", content, name=name)
    item = transcript.event("message", 1.0, message=transcript.message_fields(message, 7, 2.0))
    raw, kept = transcript.encode(item)
    assert raw.count(b"\n") == 1
    assert transcript.decode(raw) == kept
    back = transcript.message_of(kept["message"])
    assert back.content == transcript.clean_text(content)
    assert back.timestamp == 2.0


def test_lone_surrogates_become_replacement_characters_and_pairs_are_joined():
    assert transcript.clean_text("a\ud83d b") == "a\ufffd b"
    assert transcript.clean_text("\ud83d\ude00") == "\U0001f600"


def test_tool_calls_stay_readable_and_strangers_become_text():
    call = {
        "function": {"name": "run", "arguments": '{"q": "集群"}'},
        "when": float("nan"),
        "x": {1},
    }
    fields = transcript.message_fields(Message("assistant", "", tool_calls=(call,)), 1, 0.0)
    raw, kept = transcript.encode(transcript.event("message", 0.0, message=fields))
    assert "集群".encode() in raw
    assert kept["message"]["tool_calls"][0]["when"] is None
    assert kept["message"]["tool_calls"][0]["x"] == "{1}"


def test_a_last_line_without_newline_is_not_given_out_and_a_damaged_one_is_marked():
    good, _ = transcript.encode(transcript.event("end", 1.0, reason="exit"))
    found = lines_of(good + b'{"v":1,"type":"mess\n' + good + good[:9])
    assert [line.event is not None for line in found] == [True, False, True]
    assert found[-1].end == 2 * len(good) + len(b'{"v":1,"type":"mess\n')


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[1]",
        b'{"type":"turn"}',
        b'{"v":99,"type":"turn"}',
        b'{"v":1}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_event_of_ours_is_none(raw):
    assert transcript.decode(raw) is None


def test_session_fields_come_back():
    info = SessionInfo(
        "s",
        "root",
        "work",
        "telegram",
        "T",
        "u",
        "c",
        "/w",
        "m",
        "p",
        "cron",
        Scope("user", "u"),
        5.0,
    )
    raw, _ = transcript.encode(
        transcript.event("session", 0, session=transcript.session_fields(info))
    )
    assert transcript.session_info(json.loads(raw)["session"]) == info


@pytest.mark.parametrize("session_id", ["20260101_120000_ab12cd", "conv-1.a", "A"])
def test_a_plain_id_is_the_file_name(session_id):
    assert transcript.file_names(session_id)[0] == f"{session_id}.jsonl"


@pytest.mark.parametrize(
    "session_id", ["../x", "a/b", ".hidden", "con", "聊天", "x" * 300, "a b", "", "nul.txt"]
)
def test_other_ids_get_a_safe_name(session_id):
    (name,) = transcript.file_names(session_id)
    assert name.startswith("~")
    assert "/" not in name
    assert len(name) < 80


@given(st.sets(any_text, min_size=2, max_size=2))
def test_two_ids_never_share_their_hashed_name(ids):
    one, other = ({transcript.file_names(id_)[-1]} for id_ in ids)
    assert one != other or len({id_.encode("utf-8", "replace") for id_ in ids}) == 1


def test_fill_keeps_the_length_and_falls_back_to_spaces():
    item = transcript.event("delete", 0.0, message_ids=[1])
    assert len(transcript.fill(item, 200)) == 200
    assert transcript.decode(transcript.fill(item, 200)) == item
    assert transcript.fill(item, 10) == b" " * 9 + b"\n"
    assert lines_of(transcript.fill(item, 10))[0].event["type"] == "blank"


def test_ids_that_cannot_be_ours_are_left_out():
    item = {
        "v": 1,
        "type": "turn",
        "messages": [{"id": 1}, {"id": 2**60}, {"id": -1}, {"id": "3"}, "x", {}],
    }
    assert [fields["id"] for fields in transcript.messages_in(item)] == [1]
