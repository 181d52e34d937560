"""Whatever is in a file, reading it ends, raises nothing midway, and gives only well-formed records."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hermes_memory_sessions.importers import (
    Format,
    ImportedConversation,
    SkippedItem,
    read_conversations,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import Message

DATA = Path(__file__).parents[2] / "data" / "importers"
SAMPLES = sorted(path for path in DATA.rglob("*") if path.is_file())
FORMATS = [kind for kind in Format if kind not in (Format.DIRECTORY, Format.HERMES_STATE_DB)]


def check(path, **options):
    """Read everything and hold every record to its contract."""
    try:
        records = read_conversations(path, **options)
    except HermesMemoryError:
        return []
    found = list(records)
    for record in found:
        if isinstance(record, SkippedItem):
            assert record.reason
            assert record.count >= 1
            (record.reason + record.where).encode("utf-8")
            continue
        assert isinstance(record, ImportedConversation)
        assert record.messages
        assert math.isfinite(record.started_at)
        texts = [record.origin_key, record.title or "", record.cwd or "", record.model or ""]
        for message in record.messages:
            assert isinstance(message, Message)
            assert message.role in ("user", "assistant", "tool", "system")
            assert math.isfinite(message.timestamp)
            assert message.timestamp > 0
            assert message.content or message.tool_calls or message.role == "tool"
            texts += [message.content, message.name or "", json.dumps(message.tool_calls)]
            texts += [call["function"]["arguments"] for call in message.tool_calls]
        for text in texts:
            assert isinstance(text, str)
            assert "\x00" not in text
            text.encode("utf-8")
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name[:30])
def test_cut_off_at_any_byte(sample, tmp_path):
    raw = sample.read_bytes()
    path = tmp_path / sample.name
    for end in range(0, len(raw), max(1, len(raw) // 60)):
        path.write_bytes(raw[:end])
        check(path)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name[:30])
def test_bytes_changed_at_random(sample, tmp_path):
    raw = sample.read_bytes()
    dice = random.Random(7)
    path = tmp_path / sample.name
    for _ in range(40):
        damaged = bytearray(raw)
        for _ in range(dice.choice((1, 5, 50))):
            damaged[dice.randrange(len(raw))] = dice.choice(b'\x00\xff\xed{}[]",:\\\n 9u')
        path.write_bytes(damaged)
        check(path)


WRONG = [
    None,
    True,
    5,
    -1,
    1e400,
    "",
    "x",
    "\ud800",
    "\x00json:[",
    [],
    [None],
    {},
    {"type": 5},
    [[[]]],
    10**40,
]


def replaced(value, dice):
    """A copy of a JSON value with one inner value exchanged for a wrong one."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        return {**value, key: replaced(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.85:
        place = dice.randrange(len(value))
        return [*value[:place], replaced(value[place], dice), *value[place + 1 :]]
    return dice.choice(WRONG)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name[:30])
def test_wrong_types_anywhere(sample, tmp_path):
    """A wrong value in one place costs at most what it belongs to, never the reading."""
    dice = random.Random(11)
    text = sample.read_text("utf-8")
    path = tmp_path / sample.name
    is_lines = sample.suffix == ".jsonl"
    for _ in range(250):
        if is_lines:
            rows = [json.loads(line) for line in text.splitlines()]
            place = dice.randrange(len(rows))
            rows[place] = replaced(rows[place], dice)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text(json.dumps(replaced(json.loads(text), dice)))
        for record in check(path):
            assert "unexpected shape" not in getattr(record, "reason", "")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name[:30])
def test_every_format_read_as_every_other(kind, sample):
    for record in check(sample, format=str(kind)):
        assert "unexpected shape" not in getattr(record, "reason", "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "messages", "mapping", "message", "type", "payload", "id", "parent", "author",
             "parts", "text", "session", "items", "timestamp", "create_time", "uuid", "sessionId", "tool_calls",
             "current_node", "v", "at", "output", "source", "attachment"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(JSON, max_size=4), lines=st.booleans(), kind=st.sampled_from(FORMATS))
def test_any_json_in_any_format(rows, lines, kind, tmp_path):
    path = tmp_path / "any"
    text = "\n".join(json.dumps(row) for row in rows) if lines else json.dumps(rows)
    path.write_text(text)
    check(path)
    for record in check(path, format=str(kind)):
        assert "unexpected shape" not in getattr(record, "reason", "")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raw=st.binary(max_size=200), kind=st.sampled_from([*FORMATS, Format.HERMES_STATE_DB]))
def test_any_bytes_in_any_format(raw, kind, tmp_path):
    path = tmp_path / "any"
    path.write_bytes(raw)
    check(path)
    check(path, format=str(kind))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name[:30])
def test_encodings_give_the_same_conversations(encoding, sample, tmp_path):
    path = tmp_path / sample.name
    path.write_bytes(sample.read_text("utf-8").encode(encoding))
    expected = [r.messages for r in check(sample) if isinstance(r, ImportedConversation)]
    found = [r.messages for r in check(path) if isinstance(r, ImportedConversation)]
    if sample.name != "openai.json":  # dated by its file
        assert found == expected
    assert [[m.content for m in one] for one in found] == [
        [m.content for m in one] for one in expected
    ]


def test_bytes_that_are_no_text_are_replaced_and_said(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(
        b'{"role": "user", "content": "caf\xe9 and \\ud800"}\n{"role": "assistant", "content": "ok"}\n'
    )
    (one,) = check(path)
    assert one.messages[0].content == "caf\ufffd and \ufffd"
    assert "bytes that are not valid text replaced by U+FFFD" in one.notes
    path.write_bytes(b'[{"role": "user", "content": "caf\xe9"}]')
    (one,) = check(path)
    assert one.messages[0].content == "caf\ufffd"
    assert "bytes that are not valid text replaced by U+FFFD" in one.notes


def test_lines_without_end_are_passed_over(tmp_path, monkeypatch):
    from hermes_memory_sessions.importers import textfile

    monkeypatch.setattr(textfile, "MAX_LINE_CHARS", 1000)
    path = tmp_path / "x"
    good = json.dumps({"role": "user", "content": "hi"})
    path.write_text(
        f"{good}\n" + json.dumps({"role": "user", "content": "x" * 5000}) + f"\n{good}\n"
    )
    skipped, one = check(path)
    assert [message.content for message in one.messages] == ["hi", "hi"]
    assert skipped == SkippedItem("x:2", "line longer than 1000 characters")


def test_reasons_do_not_pile_up(tmp_path):
    """Reasons quote the input; a file of a thousand odd words still gives a short report."""
    rows = [{"role": f"role {n}", "content": "x"} for n in range(1000)]
    path = tmp_path / "x"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, {"role": "user", "content": "hi"}])
    )
    found = check(path)
    skipped = [record for record in found if isinstance(record, SkippedItem)]
    assert len(skipped) < 100
    assert sum(record.count for record in skipped) == 1000
