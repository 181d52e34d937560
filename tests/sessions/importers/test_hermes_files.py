from __future__ import annotations

import json

from hermes_memory_sessions.importers.hermes_jsonl import REWOUND


def event(kind, **fields):
    return {"v": 1, "type": kind, "at": 1770368400.0, **fields}


SESSION = event(
    "session", session={"id": "s-1", "source": "cli", "started_at": 1770368400.0}, reason="new"
)


def turn(*ids):
    return event("turn", turn={"id": "t"}, messages=[
        {"id": own, "role": "user", "content": f"m{own}", "ts": 1770368400.0 + own} for own in ids
    ])  # fmt: skip


def test_an_export(read, data):
    bread, winter = read(data / "hermes.jsonl").conversations
    assert bread.origin_key == "hermes:20260205_101010_abc123"
    assert bread.session_id == "20260205_101010_abc123"
    assert (bread.source, bread.title, bread.user_id, bread.chat_id) == (
        "telegram",
        "Bread",
        "mei",
        "-100",
    )
    assert (bread.started_at, bread.ended_at, bread.end_reason) == (
        1770286210.0,
        1770286300.0,
        "new_session",
    )
    assert (bread.input_tokens, bread.output_tokens) == (120, 30)
    assert [message.content for message in bread.messages] == [
        "How long does the rye rise? 黑麦面团要发多久？",
        "One night.",
    ]
    assert winter.parent_origin_key == bread.origin_key
    assert read(data / "hermes.jsonl").reasons == {REWOUND: 1}


def test_an_export_that_was_made_pretty(read, data, write):
    row = json.loads((data / "hermes.jsonl").read_text("utf-8").splitlines()[0])
    assert read(write("x", json.dumps(row, indent=2))).one.title == "Bread"


def test_a_transcript_as_it_stands_after_its_events(read, data):
    got = read(data / "20260206_090000_feed01.jsonl")
    one = got.one
    assert (one.origin_key, one.title, one.cwd) == (
        "hermes:20260206_090000_feed01",
        "Sledge",
        "/home/mei",
    )
    assert (one.ended_at, one.end_reason) == (1770368430.0, "exit")
    assert [message.content for message in one.messages] == [
        "Where is the sledge? 雪橇在哪儿？", "In the attic.", "Thanks.",
    ]  # fmt: skip
    assert [message.timestamp for message in one.messages] == [
        1770368401.0,
        1770368402.0,
        1770368422.0,
    ]
    assert got.reasons == {REWOUND: 2}


def test_deleted_messages_are_gone_without_a_word(read, write):
    got = read(write("x", [SESSION, turn(1, 2), event("delete", message_ids=[1, 99, None])]))
    assert [text for _, text in got.texts] == ["m2"]
    assert not got.skipped


def test_updates_add_tokens_and_the_first_end_stands(read, write):
    rows = [
        SESSION,
        turn(1),
        event("update", fields={"input_tokens": 5, "archived": True, "id": "other"}),
        event("update", fields={"input_tokens": 7, "model": "m"}),
        event("end", reason="exit"),
        event("end", reason="crash"),
    ]
    got = read(write("x", rows)).one
    assert (got.input_tokens, got.archived, got.model) == (12, True, "m")
    assert (got.session_id, got.end_reason) == ("s-1", "exit")


def test_an_imported_session_keeps_the_key_of_where_it_came_from(read, write):
    rows = [SESSION, event("import", origin="chatgpt:c-1", count=1, digest="d"), turn(1)]
    assert read(write("x", rows)).one.origin_key == "chatgpt:c-1"


def test_a_damaged_first_line_costs_only_what_it_said(read, write):
    got = read(write("s-9.jsonl", ['{"v":1,"type":"sess', turn(1, 2)]))
    assert got.one.session_id == "s-9"
    assert [text for _, text in got.texts] == ["m1", "m2"]
    assert got.reasons["not valid JSON"] == 1
    assert got.reasons["session line missing or damaged: known by the file's name"] == 1


def test_wrong_shapes_inside_events(read, write):
    rows = [
        SESSION,
        event("turn", messages="none"),
        event("turn", messages=[None, 5, {"role": "user"}]),
        event("message", message=None),
        event("undo", message_ids="all"),
        event("title", title={"a": 1}),
        event("update", fields=[1]),
        event("later", anything=1),
        event(None),
        turn(1),
    ]
    got = read(write("x", rows))
    assert [text for _, text in got.texts] == ["m1"]
    assert got.one.title is None
    assert got.reasons["line of type 'later' is no conversation"] == 1


def test_lineage_says_who_carries_on(read, write):
    session = {**SESSION["session"], "id": "s-2", "parent_id": "s-1", "lineage": "s-1"}
    got = read(write("x", [event("session", session=session), turn(1)])).one
    assert (got.parent_origin_key, got.continues_parent) == ("hermes:s-1", True)


def test_sessions_without_messages(read, write):
    row = {"id": "a", "started_at": 1770368400.0, "messages": []}
    rows = [
        row,
        {**row, "id": None},
        {**row, "messages": "x"},
        {**row, "messages": [{"role": "user", "content": "hi"}]},
    ]
    got = read(write("x", rows))
    assert got.texts == [("user", "hi")]
    assert got.reasons == {
        "conversation without messages": 1,
        "session without an id or messages": 2,
    }
