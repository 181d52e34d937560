from __future__ import annotations

import json
import os

import pytest
from hermes_memory_sessions.importers.timeline import NOTE_FILE, NOTE_NEIGHBOUR

HI = {"role": "user", "content": "Is the well frozen? 井冻住了吗？"}
YES = {"role": "assistant", "content": "Since Monday."}
CHAT = [("user", HI["content"]), ("assistant", YES["content"])]


def test_the_whole_of_one_list(read, data):
    got = read(data / "openai.json")
    assert got.one.origin_key == "openai:list-7"
    assert (got.one.title, got.one.model) == ("Bicycle bell", "gpt-test-4")
    system, user, call, tool, reply = got.one.messages
    assert (system.role, user.name, user.content) == (
        "system", "mei", "The bell is silent. 铃不响了。\n\n[1 image]",
    )  # fmt: skip
    assert call.tool_calls[0] == {
        "id": "call_b",
        "type": "function",
        "function": {"name": "lookup", "arguments": '{"part":"铃"}'},
    }
    assert (tool.role, tool.tool_name, tool.tool_call_id) == ("tool", "lookup", "call_b")
    assert reply.content == "Replace the spring."
    assert not got.skipped


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ([HI, YES], False),
        ([HI, YES], True),
        ({"messages": [HI, YES]}, False),
        ([{"messages": [HI, YES]}], True),
        ([[HI, YES]], False),
        ([{"conversations": [{"from": "human", "value": HI["content"]},
                             {"from": "gpt", "value": YES["content"]}]}], False),
    ],
)  # fmt: skip
def test_every_way_to_write_the_same_list(value, lines, read, write):
    assert read(write("chat", value, lines=lines)).texts == CHAT


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_pretty_printing_does_not_matter(indent, newline, read, write):
    text = json.dumps({"messages": [HI, YES]}, indent=indent).replace("\n", newline)
    assert read(write("chat", text)).texts == CHAT


def test_many_conversations_per_file(read, write):
    rows = [{"messages": [HI, {**YES, "content": f"answer {n}"}]} for n in range(50)]
    for lines in (True, False):
        got = read(write("many", rows, lines=lines))
        assert len(got.conversations) == 50
        assert len({one.origin_key for one in got.conversations}) == 50


def test_the_key_is_the_same_when_a_list_goes_on(read, write):
    before = read(write("chat.json", [HI, YES], lines=False)).one
    after = read(write("chat.json", [HI, YES, HI, YES], lines=False)).one
    assert before.origin_key == after.origin_key
    other = read(write("other.json", [HI, YES], lines=False)).one
    assert other.origin_key != before.origin_key


def test_the_key_does_not_depend_on_how_the_file_is_laid_out(read, write):
    rows = [{"messages": [HI, YES]}, {"messages": [HI, YES]}, {"messages": [YES, HI]}]
    keys = [
        [one.origin_key for one in read(write("x", rows, lines=lines)).conversations]
        for lines in (True, False)
    ]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 3


def test_anthropic_blocks_in_a_message_list(read, write):
    rows = [
        HI,
        {"role": "assistant", "content": [{"type": "text", "text": "I look."},
                                          {"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ice"}]},
    ]  # fmt: skip
    got = read(write("chat", rows, lines=False)).one
    assert [message.role for message in got.messages] == ["user", "assistant", "tool"]
    assert (got.messages[2].tool_name, got.messages[2].content) == ("look", "ice")


def test_bad_messages_are_named_and_the_rest_is_kept(read, write):
    rows = [None, 5, HI, {"role": "narrator", "content": "x"}, {"role": "user"}, YES, [], "text"]
    got = read(write("chat", {"messages": rows}, lines=False))
    assert got.texts == CHAT
    assert got.reasons == {
        "message is null, not an object": 1,
        "message is a number, not an object": 1,
        "unknown role 'narrator'": 1,
        "empty message": 1,
        "message is a list, not an object": 1,
        "message is 'text', not an object": 1,
    }
    assert got.skipped[0].where == "chat:1[0]"


def test_bad_lines_are_named_and_the_rest_is_kept(read, write):
    rows = [HI, "", "{torn", "[]", "null", "7", YES, '{"role": "user", "content": "cut o']
    got = read(write("chat", rows))
    assert got.texts == CHAT
    assert got.reasons["not valid JSON"] == 1
    assert got.reasons["torn last line (the file was still being written)"] == 1
    assert got.reasons["line is not a JSON object"] == 2


def test_only_a_system_prompt_is_no_conversation(read, write):
    got = read(write("chat", [{"role": "system", "content": "be brief"}]))
    assert not got.conversations
    assert got.reasons == {"conversation without messages": 1}


def test_times(read, write):
    path = write("chat", [HI, {**YES, "timestamp": 1770200000123}, {**HI, "timestamp": -5}])
    got = read(path).one
    assert [message.timestamp for message in got.messages] == [1770200000.123] * 3
    assert got.notes == (NOTE_NEIGHBOUR,)
    bare = write("bare", [HI, YES])
    os.utime(bare, (1760000000, 1760000000))
    got = read(bare).one
    assert got.started_at == 1760000000
    assert got.notes == (NOTE_FILE,)
