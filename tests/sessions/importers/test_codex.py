from __future__ import annotations

import json

import pytest

CID = "019b6a00-1111-7222-8333-944455566677"
OID = "5b1d8e2c-aaaa-4bbb-8ccc-0d0e0f101112"


def item(**payload):
    return {"timestamp": "2026-02-04T09:00:00Z", "type": "response_item", "payload": payload}


def said(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def meta(**payload):
    return {
        "timestamp": "2026-02-04T09:00:00Z",
        "type": "session_meta",
        "payload": {"id": "c-1", **payload},
    }


def event(**payload):
    return {"timestamp": "2026-02-04T09:00:01Z", "type": "event_msg", "payload": payload}


def test_a_rollout(read, data):
    got = read(next(data.glob("codex/2026/**/*.jsonl")))
    one = got.one
    assert one.origin_key == f"codex:{CID}"
    assert (one.source, one.cwd, one.model) == ("codex", "/home/mei/ferry", "gpt-test-codex")
    assert [(message.role, message.content) for message in one.messages] == [
        ("user", "Which ferry leaves first on Sunday? 周日最早的渡轮是几点？"),
        ("assistant", ""),
        ("tool", "周日,06:40,Harbour"),
        ("assistant", "At 06:40, from the harbour."),
    ]
    assert one.messages[1].tool_calls[0]["id"] == one.messages[2].tool_call_id == "call_1"
    assert one.messages[2].tool_name == "shell"
    assert one.messages[0].timestamp == 1770196201.0
    assert got.reasons == {"context added by the program": 2, "thinking (not imported)": 1}


def test_the_bare_form(read, data):
    got = read(next(data.glob("codex/2025/**/*.jsonl")))
    assert got.one.origin_key == f"codex:{OID}"
    assert got.one.cwd == "/home/mei/kites"
    assert got.texts == [
        ("user", "Name three knots for a kite line. 风筝线打什么结？"),
        ("assistant", "Bowline, larks head, figure eight."),
    ]
    assert got.one.started_at == 1755684000.0
    assert got.reasons["bookkeeping line"] == 1


@pytest.mark.parametrize("indent", [None, 2])
def test_the_first_form(indent, read, write):
    value = {
        "session": {"timestamp": "2025-04-20T10:00:00Z", "id": "old-1", "instructions": ""},
        "items": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "风力多大?"}],
                "type": "message",
            },
            {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "k"},
            {"type": "function_call_output", "call_id": "k", "output": '{"output": "5 bft"}'},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Five."}]},
        ],
    }
    got = read(write("rollout.json", json.dumps(value, indent=indent)))
    assert got.one.origin_key == "codex:old-1"
    assert [text for _, text in got.texts] == ["风力多大?", "", "5 bft", "Five."]


@pytest.mark.parametrize(
    ("fields", "parent", "context"),
    [
        ({}, None, "primary"),
        ({"source": "cli"}, None, "primary"),
        ({"forked_from_id": "c-0"}, "codex:c-0", "primary"),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "c-0"}}}}, "codex:c-0", "subagent"),
        ({"source": {"subagent": "review"}}, None, "subagent"),
        ({"thread_source": "subagent", "parent_thread_id": "c-0"}, "codex:c-0", "subagent"),
    ],
)  # fmt: skip
def test_parents_and_subagents(fields, parent, context, read, write):
    rows = [meta(**fields), meta(id="c-0"), said("user", "hi")]  # forks repeat the parent's header
    got = read(write("x", rows)).one
    assert (got.origin_key, got.parent_origin_key, got.agent_context) == (
        "codex:c-1",
        parent,
        context,
    )


@pytest.mark.parametrize(
    ("payload", "name", "arguments"),
    [
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** 补丁", "call_id": "k"}, "apply_patch", "*** 补丁"),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}, "call_id": "k"}, "local_shell", '{"command": ["ls"]}'),
        ({"type": "web_search_call", "action": {"query": "风"}}, "web_search", '{"query": "风"}'),
        ({"type": "function_call", "name": None, "arguments": 5, "call_id": 7}, "function", "5"),
    ],
)  # fmt: skip
def test_kinds_of_calls(payload, name, arguments, read, write):
    got = read(write("x", [meta(), said("user", "hi"), item(**payload)])).one
    function = got.messages[-1].tool_calls[0]["function"]
    assert (function["name"], function["arguments"]) == (name, arguments)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        ('{"output": "inner", "metadata": {}}', "inner"),
        ("{not json", "{not json"),
        ('{"other": 1}', '{"other": 1}'),
        ({"content": "wrapped", "success": True}, "wrapped"),
        ([{"type": "input_text", "text": "part"}, {"type": "input_image"}], "part\n\n[1 image]"),
        (None, ""),
    ],
)
def test_kinds_of_outputs(output, text, read, write):
    rows = [
        meta(),
        said("user", "hi"),
        item(type="function_call_output", call_id="k", output=output),
    ]
    assert read(write("x", rows)).one.messages[-1].content == text


def test_calls_belong_to_the_reply_before_them(read, write):
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    rows = [
        meta(),
        said("user", "hi"),
        said("assistant", "I look."),
        item(**call, call_id="1"),
        item(**call, call_id="2"),
    ]
    got = read(write("x", rows)).one
    assert len(got.messages) == 2
    assert [one["id"] for one in got.messages[1].tool_calls] == ["1", "2"]


def test_events_count_only_when_there_is_nothing_else(read, write):
    events = [event(type="user_message", message="hi"), event(type="agent_message", message="ho")]
    assert read(write("x", [meta(), *events])).texts == [("user", "hi"), ("assistant", "ho")]
    rows = [meta(), *events, said("user", "hi"), said("assistant", "ho")]
    assert read(write("x", rows)).texts == [("user", "hi"), ("assistant", "ho")]


def test_turns_taken_back_are_left_out(read, write):
    rows = [
        meta(),
        *[said(role, f"{role} {n}") for n in range(3) for role in ("user", "assistant")],
        event(type="thread_rolled_back", num_turns=2),
        event(type="thread_rolled_back", num_turns="many"),
        said("user", "user 3"),
    ]
    got = read(write("x", rows))
    assert [text for _, text in got.texts] == ["user 0", "assistant 0", "user 3"]
    assert got.reasons == {"taken back by the person (rewound)": 4}


def test_names_and_compactions(read, write):
    rows = [
        meta(),
        said("user", "hi"),
        event(type="thread_name_updated", thread_name="风筝"),
        {"timestamp": "x", "type": "compacted", "payload": {"message": "summary"}},
    ]
    got = read(write("x", rows))
    assert got.one.title == "风筝"
    assert got.reasons == {"summary written by compaction (the turns themselves are imported)": 1}


def test_without_a_header_the_file_name_knows_the_id(read, write):
    path = write(f"rollout-2026-02-04T09-10-00-{CID}.jsonl", ["{torn", said("user", "hi")])
    assert read(path).one.origin_key == f"codex:{CID}"
