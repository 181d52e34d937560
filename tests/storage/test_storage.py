"""Bytes on the disk: whole or not at all, private, never through a link; locks that end in words."""

from __future__ import annotations

import errno
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.errors import (
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreUnreadableError,
    StoreVersionError,
)
from hermes_memory_core.storage import atomic
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.storage.migrations import migrate, version_of
from hermes_memory_core.storage.sqlite import connect, transaction, translate_sqlite_errors

APP = 0x54455354


@given(st.binary(max_size=5000))
def test_what_is_written_is_read(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("x") / "deep" / "er" / "file"
    atomic.write_atomic(path, data)
    assert atomic.read_bytes(path) == data
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failure_at_any_step_leaves_the_old_file(tmp_path, monkeypatch, call, code):
    path = tmp_path / "file"
    atomic.write_atomic(path, b"old")

    def fail(*_arguments, **_options):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        if call == "replace":
            patch.setattr(type(path), "replace", fail)
        elif call == "write":
            real = os.fdopen

            def opened(*arguments, **options):
                file = real(*arguments, **options)
                file.close()
                fail()

            patch.setattr(os, "fdopen", opened)
        else:
            patch.setattr(os, call, fail)
        expected = StoreFullError if code in (errno.ENOSPC, errno.EDQUOT) else StoreError
        with pytest.raises(expected) as caught:
            atomic.write_atomic(path, b"new")
    assert caught.value.hint
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["file", "字" * 80, "a" * 250])
def test_what_is_written_in_pieces_is_there_only_when_it_is_whole(tmp_path, name):
    path = tmp_path / name
    with atomic.replacing(path) as file:
        file.write(b"one ")
        file.write(b"two")
        assert not path.exists()
    assert path.read_bytes() == b"one two"
    with pytest.raises(RuntimeError), atomic.replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"one two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_missing_unreadable_and_empty_are_three_things(tmp_path):
    assert atomic.read_bytes(tmp_path / "missing") is None
    (tmp_path / "empty").touch()
    assert atomic.read_bytes(tmp_path / "empty") == b""
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreUnreadableError):
        atomic.read_bytes(tmp_path / "folder")


def test_links_are_never_written_through(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        atomic.write_atomic(link, b"ours")
    with pytest.raises(StoreError, match="symbolic link"), file_lock(link):
        pass
    with pytest.raises(StoreError):
        atomic.create_private(link)
    assert target.read_bytes() == b"theirs"


def test_an_existing_file_loses_the_bits_of_others_and_keeps_its_own(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    path.chmod(0o744)
    atomic.write_atomic(path, b"y")
    assert path.stat().st_mode & 0o777 == 0o700


def hold(path, held, release):
    with file_lock(path):
        held.set()
        release.wait(10)


@pytest.mark.process
@pytest.mark.timeout(20)
def test_a_lock_held_elsewhere_ends_in_words_and_a_dead_holder_blocks_nobody(tmp_path):
    path = tmp_path / "data.lock"
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(path, held, release))
    process.start()
    assert held.wait(15)
    with pytest.raises(StoreLockedError, match="`data` was in use") as caught, file_lock(path, 0.1):
        pass
    assert caught.value.exit_code == 5
    assert caught.value.retryable
    process.kill()
    process.join()
    with file_lock(path, 1):
        assert path.stat().st_mode & 0o777 == 0o600


def test_threads_exclude_each_other(tmp_path):
    inside, worst = [], []

    def work():
        for _ in range(20):
            with file_lock(tmp_path / "x.lock"):
                inside.append(1)
                worst.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(worst) == 1


def test_a11_locks_work_without_fcntl(tmp_path):
    code = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from pathlib import Path\n"
        "from hermes_memory_core.storage.locks import file_lock\n"
        "with file_lock(Path(sys.argv[1]) / 'x.lock', 2): print('held')\n"
        "with file_lock(Path(sys.argv[1]) / 'x.lock', 2): print('again')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout.split() == ["held", "again"], done.stderr


def test_a_database_of_another_program_is_not_touched(tmp_path):
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE t(a)")
    theirs.commit()
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        connect(path, application_id=APP)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"x" * 10, os.urandom(4096), b"SQLite format 3\0" + b"\xff" * 200]
)
def test_what_is_no_database_is_an_error_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "broken.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="left as it is"):
        connect(path, application_id=APP, repair_hint="hermes doctor --fix")
    assert path.read_bytes() == content


def test_migrations_run_once_each_in_order_and_a_failed_one_leaves_nothing(tmp_path):
    path = tmp_path / "x.db"
    db = connect(path, application_id=APP)
    ran = []

    def first(db):
        ran.append(1)
        db.execute("CREATE TABLE a(x)")

    def broken(db):
        db.execute("CREATE TABLE b(x)")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        migrate(db, [first, broken], path)
    assert version_of(db) == 1
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name='b'").fetchone()[0] == 0
    assert migrate(db, [first, lambda db: db.execute("CREATE TABLE b(x)")], path) == 2
    assert ran == [1]
    with pytest.raises(StoreVersionError, match="Nothing was changed"):
        migrate(db, [first], path)
    db.close()


def test_sqlite_errors_are_said_in_words(tmp_path):
    path = tmp_path / "x.db"
    one = connect(path, application_id=APP)
    two = connect(path, application_id=APP)
    two.execute("PRAGMA busy_timeout=10")
    one.execute("CREATE TABLE t(a)")
    with transaction(one):
        with pytest.raises(StoreLockedError), translate_sqlite_errors(path), transaction(two):
            pass
    read = connect(path, application_id=APP, read_only=True)
    with pytest.raises(StoreError), translate_sqlite_errors(path):
        read.execute("INSERT INTO t VALUES(1)")
    for db in (one, two, read):
        db.close()
    assert path.stat().st_mode & 0o777 == 0o600
