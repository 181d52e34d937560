from __future__ import annotations

import shutil

import pytest

SID = "3f0c2a7e-51c4-4b7e-9a11-6d2f8c0e4b11"
KEY = f"claude-code:{SID}"


@pytest.fixture
def session(data):
    return data / "claude" / "-home-mei-garden" / f"{SID}.jsonl"


def line(kind, uuid, content, **fields):
    return {
        "type": kind,
        "uuid": uuid,
        "sessionId": "s-1",
        "timestamp": "2026-02-03T08:00:00Z",
        "message": {"role": kind, "content": content},
        **fields,
    }


def test_the_main_conversation(read, session):
    main = read(session).conversations[0]
    assert main.origin_key == KEY
    assert (main.source, main.cwd, main.model) == (
        "claude-code",
        "/home/mei/garden",
        "claude-test-1",
    )
    assert main.title == "Seed calendar prints March twice"
    assert main.agent_context == "primary"
    assert [(message.role, message.content) for message in main.messages] == [
        ("user", "The seed calendar prints March twice. 三月印了两遍，帮我看看。"),
        ("assistant", "I will read the script first."),
        ("tool", "for month in range(0, 13):"),
        ("assistant", "The range starts at 0; it must start at 1. 应该从 1 开始。"),
        ("user", "Like on this drawing?\n\n[1 image]"),
    ]
    assert main.messages[0].timestamp == 1770105602.25
    assert main.messages[1].tool_calls[0]["function"] == {
        "name": "Read",
        "arguments": '{"file_path": "月历.py"}',
    }
    assert (main.messages[2].tool_name, main.messages[2].tool_call_id) == ("Read", "toolu_1")


def test_a_sidechain_is_a_subagent_of_its_session(read, session):
    side = read(session).conversations[1]
    assert side.origin_key == f"{KEY}/agent-s0"
    assert (side.agent_context, side.parent_origin_key) == ("subagent", KEY)
    assert [message.content for message in side.messages] == [
        "How many months does the loop visit?",
        "Thirteen.",
    ]


def test_an_agent_file_is_a_subagent_of_its_session(read, session):
    got = read(session.with_suffix("") / "subagents" / "agent-a7c3d90.jsonl").one
    assert (got.origin_key, got.parent_origin_key) == (f"{KEY}/agent-a7c3d90", KEY)
    assert got.agent_context == "subagent"


def test_what_is_left_out_has_reasons(read, session):
    reasons = read(session).reasons
    assert reasons == {
        "line of type 'file-history-snapshot' is no conversation": 1,
        "line added by the program (meta)": 1,
        "slash command or its output": 1,
        "thinking (not imported)": 1,
        "line of type 'system' is no conversation": 1,
    }


def test_the_key_does_not_depend_on_the_file_name(read, session, tmp_path):
    copy = tmp_path / "my favourite chat.txt"
    shutil.copy(session, copy)
    assert read(copy).conversations[0].origin_key == KEY


def test_a_resumed_session_leaves_the_copied_part_to_the_file_it_came_from(read, write):
    first = [line("user", "u1", "first", sessionId="s-1")]
    second = [*first, line("user", "u2", "second", sessionId="s-2")]
    resumed = write("s-2.jsonl", second)
    assert [message.content for message in read(resumed).one.messages] == ["first", "second"]
    write("s-1.jsonl", first)
    got = read(resumed)
    assert got.one.origin_key == "claude-code:s-2"
    assert [message.content for message in got.one.messages] == ["second"]
    assert got.reasons == {"copied from an earlier session, imported there": 1}


def test_a_fork_knows_its_parent(read, write):
    path = write(
        "x", [line("user", "u1", "hi", forkedFrom={"sessionId": "s-0", "messageUuid": "m"})]
    )
    assert read(path).one.parent_origin_key == "claude-code:s-0"


@pytest.mark.parametrize(
    ("fields", "content", "reason"),
    [
        ({"isMeta": True}, "x", "line added by the program (meta)"),
        ({"isCompactSummary": True}, "x", "summary written by compaction (the turns themselves are imported)"),
        ({"isApiErrorMessage": True}, "x", "error message of the program"),
        ({}, "<local-command-stdout>ok</local-command-stdout>", "slash command or its output"),
        ({}, "<bash-input>ls</bash-input>", "slash command or its output"),
        ({}, [{"type": "text", "text": "[Request interrupted by user for tool use]"}], "mark of an interruption"),
        ({}, "<system-reminder>only this</system-reminder>", "empty message"),
        ({}, None, "empty message"),
        ({"message": None}, None, "empty message"),
        ({"message": 7}, None, "empty message"),
        ({"uuid": "u0"}, "again", "the same line twice (same uuid)"),
    ],
)  # fmt: skip
def test_lines_that_are_no_conversation(fields, content, reason, read, write):
    rows = [line("user", "u0", "kept"), {**line("user", "u1", content), **fields}]
    got = read(write("x", rows))
    assert got.texts == [("user", "kept")]
    assert got.reasons == {reason: 1}


def test_words_about_interruptions_are_not_marks_of_them(read, write):
    words = "[Request interrupted by user] is what it printed" + " and then nothing happened" * 5
    assert read(write("x", [line("user", "u", words)])).texts == [("user", words)]


def test_one_reply_in_several_lines_is_one_message(read, write):
    def part(uuid, block):
        return line("assistant", uuid, None, message={"id": "m1", "content": [block]})

    rows = [
        part("a1", {"type": "text", "text": "one"}),
        part("a2", {"type": "text", "text": "one"}),  # the same text written again
        part("a3", {"type": "text", "text": "two"}),
        part("a4", {"type": "tool_use", "id": "t1", "name": "f", "input": {}}),
        part("a5", {"type": "tool_use", "id": "t1", "name": "f", "input": {}}),
        part("a6", {"type": "tool_use", "id": "t2", "name": "g", "input": {}}),
    ]
    got = read(write("x", rows)).one
    assert got.messages[0].content == "one\n\ntwo"
    assert [call["id"] for call in got.messages[0].tool_calls] == ["t1", "t2"]
    assert len(got.messages) == 1


def test_titles_the_persons_own_first(read, write):
    rows = [
        line("user", "u1", "hi"),
        {"type": "summary", "summary": "about this", "leafUuid": "u1"},
        {"type": "ai-title", "aiTitle": "program's", "sessionId": "s-1"},
        {"type": "custom-title", "customTitle": "mine", "sessionId": "s-1"},
    ]
    assert read(write("x", rows)).one.title == "mine"
    assert read(write("x", rows[:3])).one.title == "program's"
    assert read(write("x", rows[:2])).one.title == "about this"
    rows[1]["leafUuid"] = "elsewhere"
    assert read(write("x", rows[:2])).one.title is None


def test_what_was_typed_while_the_assistant_worked(read, write):
    queued = {"type": "queued_command", "prompt": "and the 井?", "commandMode": "prompt"}
    rows = [line("user", "u1", "hi"), {**line("attachment", "q1", None), "attachment": queued}]
    assert read(write("x", rows)).texts == [("user", "hi"), ("user", "and the 井?")]


def test_a_session_of_bookkeeping_only(read, write):
    got = read(write("x", [{"type": "summary", "summary": "s", "leafUuid": "l"}]))
    assert not got.conversations
    assert got.reasons == {"conversation without messages": 1}
