from __future__ import annotations

import json
import sqlite3
import zipfile

import pytest
from hermes_memory_sessions.importers import DESCRIPTIONS, Format, detect
from hermes_memory_sessions.importers.detect import keys_of

from hermes_memory_core.errors import StoreError, UsageError

EXPECTED = {
    "openai.json": Format.OPENAI,
    "hermes.jsonl": Format.HERMES_JSONL,
    "20260206_090000_feed01.jsonl": Format.HERMES_TRANSCRIPT,
    "chatgpt/conversations.json": Format.CHATGPT,
    "claude/-home-mei-garden/3f0c2a7e-51c4-4b7e-9a11-6d2f8c0e4b11.jsonl": Format.CLAUDE_CODE,
    "codex/2026/02/04/rollout-2026-02-04T09-10-00-019b6a00-1111-7222-8333-944455566677.jsonl": Format.CODEX,
    "codex/2025/08/20/rollout-2025-08-20T10-00-00-5b1d8e2c-aaaa-4bbb-8ccc-0d0e0f101112.jsonl": Format.CODEX,
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_format_by_content_under_a_name_that_says_nothing(name, encoding, data, tmp_path):
    copy = tmp_path / "thing.bin"
    copy.write_bytes((data / name).read_text(encoding="utf-8").encode(encoding))
    assert detect(copy) is EXPECTED[name]


def test_a_directory(data):
    assert detect(data) is Format.DIRECTORY


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"role": "user", "content": "hi"}], Format.OPENAI),
        ([{"messages": [{"role": "user", "content": "hi"}]}], Format.OPENAI),
        ([{"conversations": [{"from": "human", "value": "hi"}]}], Format.OPENAI),
        ([{"type": "summary", "summary": "s", "leafUuid": "l"}], Format.CLAUDE_CODE),
        ([{"type": "message", "role": "user", "content": []}], Format.CODEX),
        ([{"v": 1, "type": "turn", "at": 1.0, "messages": []}], Format.HERMES_TRANSCRIPT),
        (["{torn", {"role": "user", "content": "hi"}], Format.OPENAI),
        (["not json", {"type": "response_item", "payload": {}}], Format.CODEX),
    ],
)
def test_short_and_damaged_beginnings(rows, expected, write):
    assert detect(write("x", rows)) is expected


def test_a_first_value_larger_than_what_is_looked_at(write):
    long = {"title": "t", "create_time": 1.0, "mapping": {"a": {"message": {"x": "y" * 400_000}}}}
    assert detect(write("c", [long], lines=False)) is Format.CHATGPT
    assert detect(write("d", json.dumps(long, indent=1))) is Format.CHATGPT
    messages = {"messages": [{"role": "user", "content": "z" * 400_000}]}
    assert detect(write("e", [messages])) is Format.OPENAI


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello, world",
        b"\xff\xd8\xff\xe0 picture",
        b"{}",
        b"[1, 2, 3]",
        b'{"name": "package", "version": "1"}',
        b'{"messages": {"greeting": "hi"}}',
        b"PK\x03\x04 but no zip",
        b"SQLite format 3\x00 but no database" + b"\x00" * 100,
        b"\x00" * 5000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_unknown_content_names_what_is_accepted(content, write):
    with pytest.raises((UsageError, StoreError)) as error:
        detect(write("x.jsonl", content))
    if isinstance(error.value, UsageError):
        for kind, description in DESCRIPTIONS.items():
            assert description in error.value.message
            assert str(kind) in error.value.details["formats"]
        assert "--format" in error.value.hint
    assert "x.jsonl" in error.value.message


def test_an_empty_file_is_called_empty(write):
    with pytest.raises(UsageError, match="is empty"):
        detect(write("x", b""))


def test_a_missing_file(tmp_path):
    with pytest.raises(UsageError, match="no file"):
        detect(tmp_path / "absent.json")


def test_another_programs_database_is_not_taken(tmp_path):
    path = tmp_path / "state.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE sessions (id TEXT)")
    db.execute("CREATE TABLE cookies (id TEXT)")
    db.commit()
    db.close()
    with pytest.raises(UsageError):
        detect(path)


def test_zips(tmp_path, data):
    path = tmp_path / "export"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("chat.html", "<html>")
    with pytest.raises(UsageError):
        detect(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(data / "chatgpt/conversations.json", "export/conversations.json")
    assert detect(path) is Format.CHATGPT


def test_keys_of_an_object_without_an_end():
    text = '{"a": "x", "b": {"inner": 1}, "c": [1, {"d": 2}], "e": null, "f": "{\\"g", "h": "cut'
    assert keys_of(text) == {"a": "x", "b": {}, "c": [], "e": None, "f": '{\\"g', "h": None}
