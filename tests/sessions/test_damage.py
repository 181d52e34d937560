"""Every way a database can be broken: a clear error or a mend, and no conversation ever lost."""

from __future__ import annotations

import os
import sqlite3
import threading

import pytest
from hermes_memory_sessions.database import Database

from hermes_memory_core.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from hermes_memory_core.types import Message


@pytest.fixture
def filled(open_history):
    """A closed store of 300 messages; gives its database's path."""
    store = open_history()
    store.append_many("s1", [Message("user", f"message {n} " + "pad " * 60) for n in range(200)])
    store.append_many("s2", [Message("user", f"other {n}") for n in range(100)])
    store.set_title("s1", "Named")
    store.flush()
    store.close()
    return store.database.path


def everything(store):
    return {
        id_: [(message.id, message.content) for message in store.messages(id_)]
        for id_ in ("s1", "s2")
    }


def truncate_to_10(path):
    os.truncate(path, 10)


def random_header(path):
    with path.open("r+b") as file:
        file.write(os.urandom(100))


def cut_in_half(path):
    os.truncate(path, path.stat().st_size // 2)


def zero_pages(path):
    """Zeroes the root page of the messages table and one behind it."""
    with sqlite3.connect(path) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()[
            0
        ]
    with path.open("r+b") as file:
        for page in (root, root + 1):
            file.seek((page - 1) * size)
            file.write(b"\0" * size)


def drop_index_table(path):
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE message_index")


def drop_messages(path):
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE messages")


def remove(path):
    path.unlink()


def text_file(path):
    path.write_text("this is not a database at all\n" * 50)


BREAKERS = [
    truncate_to_10, random_header, cut_in_half, zero_pages, drop_index_table, drop_messages, remove, text_file,
]  # fmt: skip


@pytest.mark.parametrize("breaker", BREAKERS, ids=lambda breaker: breaker.__name__)
def test_reading_a_broken_database_mends_it_and_tells(filled, open_history, notices, breaker):
    breaker(filled)
    damaged = filled.read_bytes() if filled.exists() else b""
    store = open_history()
    found = everything(store)
    assert [len(found["s1"]), len(found["s2"])] == [200, 100]
    assert store.session("s1").title == "Named"
    assert store.check() == []
    if breaker is not remove:
        assert [notice.code for notice in notices] == ["history_damaged"]
        kept = [
            path
            for path in filled.parent.glob("history.db.corrupt-*")
            if not path.name.endswith(("-wal", "-shm"))
        ]
        assert len(kept) == 1
        assert kept[0].read_bytes()[:10] == damaged[:10]


@pytest.mark.parametrize("breaker", BREAKERS, ids=lambda breaker: breaker.__name__)
def test_writing_to_a_broken_database_loses_nothing(filled, open_history, breaker):
    breaker(filled)
    store = open_history()
    id_ = store.append("s1", "user", "after the damage")
    found = everything(store)
    assert found["s1"][-1] == (id_, "after the damage")
    assert len({id_ for rows in found.values() for id_, _ in rows}) == 301


@pytest.mark.parametrize(
    "breaker", [zero_pages, drop_index_table, text_file], ids=lambda b: b.__name__
)
def test_damage_is_found_by_check_and_mended_by_repair(filled, open_history, breaker):
    breaker(filled)
    store = open_history()
    problems = store.check()
    assert problems
    assert any("rebuild" in problem or "history.db" in problem for problem in problems)
    assert store.repair()
    assert store.check() == []
    assert len(everything(store)["s1"]) == 200


def test_a_damaged_index_segment_is_found_though_rows_can_be_read(filled, open_history):
    with sqlite3.connect(filled) as db:
        db.execute("UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 10")
    store = open_history()
    with store.database.read() as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone()[0] == 300
    assert store.check()
    store.append("s1", "user", "writing goes on")
    store.repair()
    assert store.check() == []
    assert len(everything(store)["s1"]) == 201


def test_a_lost_write_ahead_log_is_caught_up(open_history):
    store = open_history()
    store.append_many("s1", [Message("user", str(n)) for n in range(50)])
    store.flush()
    copy = store.database.path.read_bytes()
    log = store.database.path.with_name("history.db-wal")
    assert log.stat().st_size > 0
    other = store.context.home.parent / "copied"
    other.mkdir()
    (other / "history.db").write_bytes(copy)  # as a crash leaves it when the log is deleted
    (store.folder).rename(other / "sessions")
    assert len(open_history(other).messages("s1")) == 50


def test_a_newer_schema_is_read_and_not_written(filled, open_history):
    with sqlite3.connect(filled) as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
    store = open_history()
    assert len(store.messages("s1")) == 200
    assert store.resolve("Named").id == "s1"
    with pytest.raises(StoreVersionError) as caught:
        store.append("s1", "user", "x")
    assert "pip install -U" in caught.value.hint
    assert store.check() == ["`history.db` was written by a newer Hermes Memory"]


def test_another_programs_database_is_not_touched(open_history, home):
    home.mkdir(parents=True)
    path = home / "history.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 7")
        db.execute("CREATE TABLE precious (a)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_history().sessions()
    assert path.read_bytes() == before


def test_a_locked_database_says_so_and_the_message_is_kept(filled, open_history, monkeypatch):
    import hermes_memory_core.storage.sqlite as storage

    monkeypatch.setattr(storage, "BUSY_TIMEOUT_S", 0.05)
    store = open_history()
    store.append("s1", "user", "warm")
    store.flush()
    store.database.reset()
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        store.append("s1", "user", "while locked")
        with pytest.raises(StoreLockedError):
            store.messages("s1")
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert store.messages("s1")[-1].content == "while locked"


def test_a_full_disk_for_the_index_does_not_stop_conversations(
    filled, open_history, notices, monkeypatch
):
    store = open_history()
    store.append("s1", "user", "warm")
    store.flush()
    real = Database.write

    def full(self):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        from hermes_memory_core.storage.sqlite import error_from

        raise error_from(error, self.path)

    monkeypatch.setattr(Database, "write", full)
    for number in range(300):
        store.append("s1", "user", f"kept {number}")
    with pytest.raises(StoreError) as caught:
        store.messages("s1")
    assert caught.value.code == "store_full"
    monkeypatch.setattr(Database, "write", real)
    assert [m.content for m in store.messages("s1")][-300:] == [f"kept {n}" for n in range(300)]


def test_a_missing_transcript_is_reported_and_written_again(filled, open_history):
    store = open_history()
    before = everything(store)
    store.transcripts.path("s2").unlink()
    store.close()
    store = open_history()
    assert len(store.messages("s2")) == 100
    (problem,) = store.check()
    assert "`s2`" in problem
    assert "repair" in problem
    store.repair()
    assert store.check() == []
    store.rebuild()
    assert everything(store) == before


def test_a_half_line_in_the_middle_is_skipped_counted_and_reported(filled, open_history):
    store = open_history()
    path = store.transcripts.path("s2")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5][:20] + b"\n"
    path.write_bytes(b"".join(lines))
    store.rebuild()
    assert len(store.messages("s2")) == 99
    assert any("1 lines that cannot be read" in problem for problem in store.check())
    store.append("s2", "user", "goes on")
    assert store.messages("s2")[-1].content == "goes on"


def test_two_stores_meeting_one_damaged_database_mend_it_once(filled, open_history, notices):
    stores = [open_history() for _ in range(2)]
    for store in stores:
        store.messages("s1")
    text_file(filled)
    results = []
    threads = [
        threading.Thread(
            target=lambda store=store: results.append(len(store.messages("s1"))), daemon=True
        )
        for store in [open_history(), open_history()]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert results == [200, 200]
    assert len(list(filled.parent.glob("history.db.corrupt-*"))) >= 1


def test_errors_name_the_command_that_mends(filled, open_history):
    text_file(filled)
    store = open_history()
    with pytest.raises(StoreCorruptError) as caught, store.database.read():
        pass
    assert caught.value.hint == "hermes sessions rebuild"
