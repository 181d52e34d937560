"""Transcripts on the disk: whole lines or none, whoever else writes, however a crash left the file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from pathlib import Path

import pytest
from hermes_memory_sessions import flock, writer
from hermes_memory_sessions.transcript import event, read_lines
from hermes_memory_sessions.writer import Transcripts

from hermes_memory_core.errors import StoreError, StoreFullError, StoreLockedError


@pytest.fixture
def damage():
    return []


@pytest.fixture
def files(tmp_path, damage):
    transcripts = Transcripts(tmp_path / "sessions", lambda name, size: damage.append((name, size)))
    yield transcripts
    transcripts.close()


def opening(session_id="s1"):
    return lambda: event("session", 0.0, session={"id": session_id})


def say(files, text, session_id="s1"):
    return files.append(session_id, [event("title", 1.0, title=text)], opening(session_id))


def titles(path):
    with path.open("rb") as file:
        return [line.event.get("title") for line in read_lines(file) if line.event][1:]


def test_a_new_file_is_private_and_begins_with_its_session(files):
    first, second = say(files, "a")
    assert first.event["type"] == "session"
    assert (first.offset, second.offset) == (0, first.end)
    path = files.folder / "s1.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    assert path.stat().st_size == second.end


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_set_aside_and_told(files, damage, cut):
    say(files, "kept")
    path = files.folder / "s1.jsonl"
    files.close()
    torn = b'{"v":1,"type":"title","at":1.0,"title":"lost"}'[:cut]
    with path.open("ab") as file:
        file.write(torn)
    say(files, "after")
    assert titles(path) == ["kept", "after"]
    assert damage == [("s1.jsonl", cut)]
    (aside,) = (files.folder / writer.DAMAGED).iterdir()
    assert aside.read_bytes() == torn


def test_a_last_line_that_only_lacks_its_newline_is_kept(files, damage):
    say(files, "one")
    path = files.folder / "s1.jsonl"
    files.close()
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"title","at":1.0,"title":"two"}')
    say(files, "three")
    assert titles(path) == ["one", "two", "three"]
    assert damage == []


def test_a_file_with_only_a_torn_first_line_begins_again(files, damage):
    files.folder.mkdir(parents=True)
    (files.folder / "s1.jsonl").write_bytes(b'{"v":1,"type":"sess')
    lines = say(files, "a")
    assert titles(lines and files.path("s1")) == ["a"]


def test_another_programs_file_is_left_alone(files):
    files.folder.mkdir(parents=True)
    foreign = files.folder / "s1.jsonl"
    foreign.write_text('{"role": "user", "content": "hi"}\n')
    say(files, "ours")
    assert foreign.read_text() == '{"role": "user", "content": "hi"}\n'
    assert files.path("s1").name.startswith("~")
    assert titles(files.path("s1")) == ["ours"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_the_file_as_it_was(files, monkeypatch, code):
    say(files, "kept")
    path = files.path("s1")
    before = path.read_bytes()
    real = os.write

    def half(descriptor, data):
        if len(data) > 10:
            real(descriptor, bytes(data[:10]))
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writer.os, "write", half)
    with pytest.raises(StoreFullError):
        say(files, "lost")
    monkeypatch.undo()
    assert path.read_bytes() == before
    say(files, "after")
    assert titles(path) == ["kept", "after"]


def test_a_failed_sync_is_not_acknowledged(files, monkeypatch):
    say(files, "kept")

    def broken(descriptor):
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(flock, "sync", broken)
    with pytest.raises(StoreError):
        say(files, "lost")
    monkeypatch.undo()
    say(files, "after")
    assert titles(files.path("s1")) == ["kept", "after"]


@pytest.mark.process
def test_a_real_size_limit_refuses_and_loses_nothing(home, worker, open_history):
    done = subprocess.run(
        worker("limited", home, 30_000), capture_output=True, text=True, timeout=30, check=True
    )
    *acknowledged, code = done.stdout.split()
    assert code == "store_full"
    assert len(acknowledged) > 5
    stored = {message.id for message in open_history().messages("s1")}
    assert stored >= {int(id_) for id_ in acknowledged}


def test_a_file_replaced_by_another_writer_is_noticed(files, damage):
    other = Transcripts(files.folder, lambda *_: None)
    say(files, "one")
    other.rewrite("s1", lambda line, raw: raw.replace(b"one", b"two"))
    say(files, "three")
    assert titles(files.path("s1")) == ["two", "three"]
    other.remove("s1")
    lines = say(files, "four")
    assert lines[0].event["type"] == "session"
    assert titles(files.path("s1")) == ["four"]
    other.close()


def test_a_symbolic_link_is_not_written_through(files, tmp_path):
    files.folder.mkdir(parents=True)
    target = tmp_path / "precious"
    target.write_text("")
    (files.folder / "s1.jsonl").symlink_to(target)
    with pytest.raises(StoreError):
        say(files, "x")
    assert target.read_text() == ""


def test_a_lock_held_too_long_is_an_error_and_nothing_is_written(files, monkeypatch):
    say(files, "one")
    path = files.path("s1")
    monkeypatch.setattr(flock.lock, "__kwdefaults__", {"timeout_s": 0.05, "shared": False})
    holder = os.open(path, os.O_RDWR)
    try:
        assert flock.try_lock(holder)
        with pytest.raises(StoreLockedError):
            say(files, "two")
    finally:
        os.close(holder)
    say(files, "three")
    assert titles(path) == ["one", "three"]


def test_no_more_than_a_few_files_stay_open(files):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(writer.OPEN_FILES * 2):
        say(files, "x", f"s{number}")
    assert len(list(Path("/proc/self/fd").iterdir())) - before <= writer.OPEN_FILES
    say(files, "again", "s0")
    assert titles(files.path("s0")) == ["x", "again"]


def test_mend_tail_leaves_a_file_that_is_being_written(files, damage):
    say(files, "one")
    path = files.path("s1")
    with path.open("ab") as file:
        file.write(b"half")
    holder = os.open(path, os.O_RDWR)
    try:
        assert flock.try_lock(holder)
        files.mend_tail("s1")
        assert path.read_bytes().endswith(b"half")
    finally:
        os.close(holder)
    files.mend_tail("s1")
    assert not path.read_bytes().endswith(b"half")
    assert damage
