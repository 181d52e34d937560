from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest
from hermes_memory_sessions.importers import ImportedConversation, SkippedItem, read_conversations
from hermes_memory_sessions.importers.textfile import Meter

from hermes_memory_core.errors import StoreUnreadableError, UsageError

HI = '{"role": "user", "content": "hi"}\n'


def test_every_known_file_below_a_directory(read, data):
    got = read(data)
    kinds = sorted({one.origin_key.partition(":")[0] for one in got.conversations})
    assert kinds == ["chatgpt", "claude-code", "codex", "hermes", "openai"]
    assert len({one.origin_key for one in got.conversations}) == len(got.conversations) == 11


def test_what_is_no_conversation_file_is_named_and_counted(read, tmp_path):
    (tmp_path / "chat").write_text(HI)
    (tmp_path / "notes.md").write_text("# Notes")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(300))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "object").write_text(HI)
    got = read(tmp_path)
    assert len(got.conversations) == 1
    assert got.reasons == {"not a conversation file": 3}


def test_links_are_not_followed(read, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "chat").write_text(HI)
    (root / "loop").symlink_to(root)
    (root / "again").symlink_to(root / "chat")
    (root / "gone").symlink_to(root / "nothing")
    got = read(root)
    assert len(got.conversations) == 1
    assert got.reasons == {"symbolic link, not followed": 3}


def test_special_files_do_not_block(read, tmp_path):
    (tmp_path / "chat").write_text(HI)
    os.mkfifo(tmp_path / "pipe")
    assert len(read(tmp_path).conversations) == 1


def test_an_empty_directory(read, tmp_path):
    folder = tmp_path / "nothing"
    folder.mkdir()
    assert read(folder).conversations == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(read, tmp_path):
    (tmp_path / "chat").write_text(HI)
    (tmp_path / "secret").write_text(HI)
    (tmp_path / "secret").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    assert sum(read(tmp_path).reasons.values()) == 2
    with pytest.raises(StoreUnreadableError):
        read_conversations(tmp_path / "secret")


def test_a_file_that_cannot_be_opened_ends_itself_only(read, tmp_path, monkeypatch):
    (tmp_path / "a").write_text(HI)
    (tmp_path / "b").write_text(HI)
    from hermes_memory_sessions.importers import read as module

    original = module.READERS[module.Format.OPENAI]

    def fails_on_a(source):
        if source.name == "a":
            raise OSError(5, "Input/output error")
        yield from original(source)

    monkeypatch.setitem(module.READERS, module.Format.OPENAI, fails_on_a)
    got = read(tmp_path)
    assert len(got.conversations) == 1
    assert got.reasons == {"file cannot be read (Input/output error)": 1}


def test_a_format_that_was_named_is_not_asked_about(read, tmp_path, data):
    path = tmp_path / "chat"
    path.write_text(HI)
    assert read(path, format="openai").one
    got = read(path, format="chatgpt")
    assert not got.conversations
    assert got.reasons == {"message tree is null, not an object": 1}


def test_a_format_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError, match="`gemini` is no import format") as error:
        read_conversations(tmp_path, format="gemini")
    assert "claude-code" in error.value.hint


def test_errors_come_before_the_first_record(tmp_path):
    with pytest.raises(UsageError):
        read_conversations(tmp_path / "absent")
    (tmp_path / "x").write_text("plain words")
    with pytest.raises(UsageError):
        read_conversations(tmp_path / "x")


def test_the_meter_reaches_its_end(data, tmp_path):
    meter = Meter()
    seen = []
    for record in read_conversations(data, meter=meter):
        if isinstance(record, ImportedConversation):
            seen.append(meter.done)
    assert seen == sorted(seen)
    assert (
        meter.done == meter.total == sum(p.stat().st_size for p in data.rglob("*") if p.is_file())
    )


def test_the_same_input_gives_the_same_records(data, tmp_path):
    first = list(read_conversations(data))
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    second = list(read_conversations(copy))
    # the one file without times is dated by itself, and copytree keeps its date
    assert [replace(r, where="") if isinstance(r, SkippedItem) else r for r in first] == [
        replace(r, where="") if isinstance(r, SkippedItem) else r for r in second
    ]
