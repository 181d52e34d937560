from __future__ import annotations

import json

import pytest
from hermes_memory_files.arguments import Call, parse_call
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.errors import NoteError
from hermes_memory_core.types import NoteOperation

BOTH = ("memory", "user")


def parse(**arguments):
    return parse_call(arguments, BOTH)


@pytest.mark.parametrize(
    "names",
    [
        {"old_text": "a", "content": "b"},
        {"old_string": "a", "new_string": "b"},
        {"old_text": "a", "new_text": "b"},
        {"old_text": "a", "content": "b", "new_text": "b", "reason": "because", "id": 7},
        {"old_content": "a", "new_content": "b", "content": None},
    ],
)
@pytest.mark.parametrize("action", ["patch", "replace", "Replace "])
def test_names_models_use_mean_the_same(names, action):
    expected = NoteOperation(action.strip().lower(), "b", "a")
    assert parse(action=action, target="memory", **names).steps == (expected,)
    batch = parse(target="memory", operations=[{"action": action, **names}])
    assert batch == Call("memory", (expected,), batch=True)


def test_quoted_and_nested_arguments_are_understood():
    plain = {"action": "add", "target": "user", "content": "tea"}
    expected = Call("user", (NoteOperation("add", "tea"),))
    assert parse_call(json.dumps(plain), BOTH) == expected
    assert parse_call({"arguments": json.dumps(plain)}, BOTH) == expected
    assert parse_call({"args": plain}, BOTH) == expected
    steps = json.dumps([{"action": "add", "content": "tea"}])
    assert parse(target="user", operations=steps).steps == expected.steps
    assert parse(target="user", operations=[json.dumps({"action": "add", "content": "tea"})]).batch


def test_content_that_is_json_stays_text():
    assert parse(action="add", target="user", content='{"a": 1}').steps[0].content == '{"a": 1}'


def test_remove_accepts_the_entry_under_any_name():
    assert parse(action="delete", target="user", content="tea").steps == (
        NoteOperation("remove", None, "tea"),
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "target"),
        ({"target": "memory"}, "`action` is missing"),
        ({"target": "memory", "action": None}, "`action` is missing"),
        ({"target": "memory", "action": ["add"]}, "`action` must be text"),
        ({"target": "memory", "action": "upsert"}, "'upsert'"),
        ({"target": "memory", "action": "add"}, "content"),
        ({"target": "memory", "action": "add", "content": ""}, "content"),
        ({"target": "memory", "action": "add", "content": "  "}, "content"),
        ({"target": "memory", "action": "add", "content": ["a"]}, "must be text, not list"),
        ({"target": "memory", "action": "add", "content": 5}, "must be text, not int"),
        ({"target": "memory", "action": "replace", "old_text": "a"}, "content"),
        ({"target": "memory", "action": "replace", "old_text": "a", "content": ""}, "remove"),
        ({"target": "memory", "action": "patch", "content": "a"}, "old_text"),
        ({"target": "memory", "action": "remove", "old_text": " "}, "old_text"),
        ({"target": "memory", "action": "remove", "old_text": {"a": 1}}, "must be text, not dict"),
        ({"target": "memory", "action": "add", "content": "a", "new_text": "b"}, "different things"),
        ({"target": "memory", "operations": []}, "empty"),
        ({"target": "memory", "operations": {}}, "list"),
        ({"target": "memory", "operations": 3}, "list"),
        ({"target": "memory", "operations": [None]}, "Operation 1"),
        ({"target": "memory", "operations": [{"action": "add", "content": "a"}, {"content": "b"}]}, "Operation 2"),
        ({"target": "memory", "action": "add", "content": "a", "operations": [{"action": "add", "content": "b"}]}, "not both"),
        ({"target": "memory", "operations": [{"action": "read"}]}, "Operation 1"),
    ],
)  # fmt: skip
def test_one_clear_error_with_the_received_keys_and_an_example(arguments, says):
    with pytest.raises(NoteError) as error:
        parse_call(arguments, BOTH)
    message = error.value.message
    assert says in message
    assert "Example: {" in message
    assert all(str(key) in message for key in arguments) or "Operation" in message
    assert isinstance(json.loads(message.split("Example: ")[1].split(" None of")[0]), dict)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["memory", "add", "remove", "[", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["action", "target", "content", "old_text", "operations", "arguments", "x"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(ANYTHING)
def test_whatever_comes_is_a_call_or_one_note_error(arguments):
    try:
        call = parse_call(arguments, BOTH)
    except NoteError as error:
        assert error.message
    else:
        assert call.target in BOTH
