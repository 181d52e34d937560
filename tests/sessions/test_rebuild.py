"""Rebuild, backup, restore, optimise: the database replaced under those who use it."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from hermes_memory_sessions import rebuild as rebuilding

from hermes_memory_core.errors import StoreCorruptError, StoreLockedError, UsageError
from hermes_memory_core.types import Message


@pytest.fixture
def store(history):
    for number in range(5):
        history.append_many(f"s{number}", [Message("user", f"{number}-{n}") for n in range(40)])
    history.flush()
    return history


def count(store):
    return store.stats()["messages"]


def test_progress_goes_up_to_the_whole(store):
    seen = []
    assert store.rebuild(lambda done, total: seen.append((done, total))) == 200
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == store.transcripts.total_bytes()
    assert not list(store.context.home.glob("history.db.*-*"))
    assert not store.context.home.joinpath("history.db.new").exists()


def test_a_stopped_rebuild_goes_on_and_the_old_database_answers_meanwhile(store, monkeypatch):
    taken = []

    def stop(done, total):
        taken.append(done)
        if len(taken) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.rebuild(stop)
    assert store.context.home.joinpath("history.db.new").exists()
    assert count(store) == 200
    store.append("s1", "user", "in between")
    done: list[int] = []
    assert store.rebuild(lambda bytes_done, _: done.append(bytes_done)) == 201
    assert len(done) < 5  # three files were taken in before; one of them has grown since


def test_other_stores_go_on_with_the_new_file(store, open_history):
    other = open_history()
    assert count(other) == 200
    store.rebuild()
    id_ = other.append("s1", "user", "from the other")
    assert other.messages("s1")[-1].id == id_
    other.flush()
    assert store.messages("s1")[-1].content == "from the other"
    assert store.append("s1", "user", "x") != id_
    assert store.check() == []


def test_writing_goes_on_during_rebuilds(store):
    written, stop = [], threading.Event()

    def write():
        while not stop.is_set():
            written.append(store.append("busy", "user", f"n{len(written)}"))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    for _ in range(3):
        store.rebuild()
    stop.set()
    thread.join(5)
    assert [message.id for message in store.messages("busy")] == written
    assert len(set(written)) == len(written)
    assert store.check() == []


def test_an_index_of_another_tokeniser_is_built_again(store):
    with store.database.write() as db:
        db.execute("UPDATE meta SET value = '0/old' WHERE key = 'tokeniser_version'")
    store.database.reset()
    assert store.rebuild() == 200
    assert count(store) == 200
    store.append("s1", "user", "works")
    assert store.messages("s1")[-1].content == "works"


def make_outdated(store):
    with store.database.write() as db:
        db.execute("UPDATE meta SET value = '0/old' WHERE key = 'tokeniser_version'")
    store.close()


def test_an_outdated_index_is_renewed_by_the_first_read_or_write(store, open_history):
    make_outdated(store)
    reading = open_history()
    assert len(reading.search("1", limit=500)) > 0
    assert reading.check() == []
    make_outdated(reading)
    writing = open_history()
    writing.append("s1", "user", "a new word: ptarmigan")
    assert len(writing.search("ptarmigan")) == 1
    assert writing.check() == []


def test_a_big_outdated_index_is_told_not_rebuilt_unasked(
    store, open_history, notices, monkeypatch
):
    make_outdated(store)
    monkeypatch.setattr(rebuilding, "UNASKED_BYTES", 10)
    again = open_history()
    assert len(again.messages("s1")) == 40
    assert [notice.code for notice in notices] == ["history_outdated"]
    assert notices[0].hint == "hermes sessions rebuild"
    assert again.rebuild() == 200


def test_a_useless_half_built_file_is_begun_again(store):
    store.context.home.joinpath("history.db.new").write_bytes(b"junk" * 1000)
    assert store.rebuild() == 200


def test_backup_while_writing_is_sound_and_private(store, tmp_path):
    stop = threading.Event()

    def write():
        while not stop.is_set():
            store.append("busy", "user", "x")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        path = store.backup(tmp_path / "copy.db")
    finally:
        stop.set()
        thread.join(5)
    assert path.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("SELECT count(*) FROM messages").fetchone()[0] >= 200
    assert not path.with_name("copy.db-wal").exists()
    with pytest.raises(UsageError):
        store.backup(path)
    assert store.backup(tmp_path).name.startswith("history-")


def test_restore_brings_deleted_sessions_back_and_keeps_newer_ones(store, tmp_path, open_history):
    path = store.backup(tmp_path / "copy.db")
    before = [(message.id, message.content) for message in store.messages("s1")]
    store.delete_sessions(["s1"], permanently=True)
    store.append("s2", "user", "newer")
    store.flush()
    other = open_history()
    assert count(other) == 161
    assert store.restore_backup(path) == 201
    assert [(message.id, message.content) for message in store.messages("s1")] == before
    assert store.messages("s2")[-1].content == "newer"
    assert store.transcripts.path("s1") is not None
    assert count(other) == 201
    assert store.check() == []
    assert len({store.append("s3", "user", "y"), *(m.id for m in store.messages("s2"))}) == 42


def test_a_stale_log_beside_the_database_does_not_spoil_a_restore(store, tmp_path):
    path = store.backup(tmp_path / "copy.db")
    store.close()
    store.context.home.joinpath("history.db-wal").write_bytes(b"stale" * 5000)
    store.restore_backup(path)
    assert count(store) == 200
    assert store.check() == []


def test_an_unsound_backup_changes_nothing(store, tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"no database" * 500)
    with pytest.raises(StoreCorruptError):
        store.restore_backup(bad)
    foreign = tmp_path / "empty.db"
    sqlite3.connect(foreign).close()
    with pytest.raises((StoreCorruptError, UsageError)):
        store.restore_backup(foreign)
    with pytest.raises(UsageError):
        store.restore_backup(tmp_path / "none.db")
    assert count(store) == 200


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_vacuum_only_when_worth_it(store, monkeypatch):
    report = store.optimise()
    assert not report.vacuumed
    assert report.reason
    store.append_many("big", [Message("user", "x" + " " * 10_000) for _ in range(200)])
    store.flush()
    store.delete_sessions(["big"], permanently=True)
    report = store.optimise()
    assert report.vacuumed
    assert report.after_bytes < report.before_bytes / 2
    assert count(store) == 200
    assert store.check() == []


def test_vacuum_is_refused_while_another_program_reads(store):
    reader = sqlite3.connect(store.database.path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM messages").fetchone()
    store.append("s1", "user", "so that the log holds something")
    store.flush()
    try:
        with pytest.raises(StoreLockedError):
            store.optimise(vacuum=True)
        assert not store.optimise().vacuumed
    finally:
        reader.close()
    assert store.optimise(vacuum=True).vacuumed
    assert count(store) == 201


def test_remove_database_takes_sidecars_along(tmp_path):
    for name in ("x", "x-wal", "x-shm", "x-other"):
        (tmp_path / name).write_text("")
    rebuilding.remove_database(tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x-other"]
