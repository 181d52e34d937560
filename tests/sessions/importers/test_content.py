from __future__ import annotations

import json

import pytest
from hermes_memory_sessions.importers.content import (
    clean,
    compact_json,
    flatten,
    openai_message,
    role_of,
    string,
    tool_calls,
)


def deep(levels, key="content"):
    value = "bottom"
    for _ in range(levels):
        value = {"type": "box", key: value}
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud83d\ude00b", "a\U0001f600b"),
        ("a\ud83db", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("a\x00b", "ab"),
        ("汉字 🙂", "汉字 🙂"),
    ],
)
def test_clean_text_is_always_valid_unicode(text, expected):
    assert clean(text) == expected
    clean(text).encode("utf-8")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello", "hello"),
        (None, ""),
        (7, ""),
        ([], ""),
        (["one", "two"], "one\n\ntwo"),
        (
            [{"type": "text", "text": "看"}, {"type": "image_url", "image_url": {}}],
            "看\n\n[1 image]",
        ),
        (
            [{"type": "input_image"}, {"type": "image"}, {"type": "input_audio"}],
            "[2 images]\n\n[1 audio clip]",
        ),
        ([{"type": "file", "file": {}}], "[1 file]"),
        ([{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "said"}], "said"),
        ({"type": "text", "text": {"value": "wrapped"}}, "wrapped"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([None, 3, {"type": 5}], ""),
    ],
)
def test_content_becomes_text(content, expected):
    assert flatten(content) == expected


def test_content_nested_without_end_is_cut_not_followed():
    assert flatten(deep(5)) == "bottom"
    assert flatten(deep(100_000)) == ""


def test_arguments_nested_without_end_do_not_raise():
    value = []
    for _ in range(100_000):
        value = [value]
    assert compact_json(value) == ""
    while value:
        value = value[0]  # taken apart by hand: the interpreter's own way is recursive


def test_tool_calls_come_in_one_shape():
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": '{"城": "市"}'}},
        {"id": "b", "name": "g", "input": {"城": "市"}},
        "no call",
        {"function": "wrong"},
    ]
    made = tool_calls(calls)
    assert [call["function"]["name"] for call in made] == ["f", "g", "unknown"]
    assert made[1]["function"]["arguments"] == '{"城": "市"}'
    assert tool_calls(json.dumps(calls)) == made
    assert tool_calls("{broken") == ()
    assert tool_calls({"id": "a"}) == ()


@pytest.mark.parametrize(
    ("word", "role"),
    [("user", "user"), ("Human", "user"), ("GPT", "assistant"), ("function", "tool"),
     ("developer", "system"), ("narrator", None), (3, None), (None, None)],
)  # fmt: skip
def test_roles(word, role):
    assert role_of(word) == role


def test_ids_may_be_numbers_but_not_truths():
    assert string(12) == "12"
    assert string(True) is None
    assert string("  ") is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "message is null, not an object"),
        ([], "message is a list, not an object"),
        ({"content": "x"}, "message without a role"),
        ({"role": "narrator", "content": "x"}, "unknown role 'narrator'"),
        ({"role": {"a": 1}, "content": "x"}, "unknown role an object"),
        ({"role": "user", "content": None}, "empty message"),
        ({"role": "assistant", "content": [{"type": "thinking"}]}, "only thinking (not imported)"),
    ],
)
def test_what_is_no_message_has_a_reason(raw, reason):
    assert openai_message(raw) == reason


def test_old_function_messages():
    call = openai_message({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}})
    answer = openai_message({"role": "function", "name": "f", "content": "3"})
    assert call.tool_calls[0]["function"]["name"] == "f"
    assert (answer.role, answer.tool_name, answer.name) == ("tool", "f", None)
