"""Between the transcript and the outbox: whatever dies or fails there, the provider hears every turn and one end."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from hermes_memory_core import Memory, hookimpl
from hermes_memory_core.errors import StoreError, UsageError


def provider():
    """A fresh external provider class that writes down what it hears."""

    class Ear:
        heard: list = []  # noqa: RUF012 - one list per class, and one class per test

        def __init__(self, context):
            self.context = context

        @hookimpl
        def sync_turn(self, session, turn):
            self.heard.append(turn.user)

        @hookimpl
        def end_session(self, session, reason):
            self.heard.append(f"end {session.id}")

        @hookimpl
        def notes_written(self, write):
            self.heard.append(write.after[0])

    return Ear


def refuse(memory, monkeypatch, times):
    """Let the next ``times`` write transactions of runtime.db fail as a full disk does."""
    runtime, real = memory._profile.runtime, memory._profile.runtime.write
    left, here = [times], threading.current_thread()

    def write():
        if left[0] > 0 and threading.current_thread() is here:
            left[0] -= 1
            raise StoreError("No room on the disk for `runtime.db`.")
        return real()

    monkeypatch.setattr(runtime, "write", write)


@pytest.mark.parametrize("then", ["turn", "end"])
def test_a_turn_that_could_not_be_queued_is_queued_by_the_next_step(home, monkeypatch, then):
    ear = provider()
    with Memory.open(providers=[ear]) as memory:
        session = memory.session(session_id="s")
        assert session.end_turn("one", "ok").queued
        refuse(memory, monkeypatch, 1)
        receipt = session.end_turn("two", "ok")
        assert (receipt.saved, receipt.queued) == (True, False)
        assert "No room" in receipt.error
        if then == "turn":
            assert session.end_turn("three", "ok").queued
        session.end()
        assert memory.flush()
    assert ear.heard == ["one", "two", *(["three"] if then == "turn" else []), "end s"]


def test_a_turn_whose_process_died_before_queueing_is_queued_by_another_that_holds_the_session(
    home,
):
    ear = provider()
    with Memory.open(providers=[ear]) as first, Memory.open(providers=[ear]) as second:
        one = first.session(session_id="shared", on_exit="detach")
        other = second.session(session_id="shared", on_exit="detach")
        one._commit(one._make_turn("never registered", "ok", None, False))
        one._turn_id = None  # as `end_turn` leaves it: the next turn has an id of its own
        assert other.end_turn("after it", "ok").queued
        assert one.end_turn("and again", "ok").queued
        assert first.flush()
        assert second.flush()
    assert ear.heard == ["never registered", "after it", "and again"]


def test_of_two_processes_that_commit_before_either_queues_each_turn_is_heard_once(home):
    ear = provider()
    with Memory.open(providers=[ear]) as first, Memory.open(providers=[ear]) as second:
        one = first.session(session_id="shared", on_exit="detach")
        other = second.session(session_id="shared", on_exit="detach")
        early = one._make_turn("early", "ok", None, False)
        ref = one._commit(early)
        assert other.end_turn("late", "ok").queued
        assert first._profile.handover.turn(one.info, early, ref)
        assert first.flush()
        assert second.flush()
    assert ear.heard == ["early", "late"]


def test_a_transcript_deleted_while_its_session_is_open_begins_anew_for_the_outbox_too(home):
    ear = provider()
    with Memory.open(providers=[ear]) as memory, memory.session(session_id="s") as session:
        session.end_turn("long " * 200, "ok")
        memory.history.delete_sessions(["s"])
        assert session.end_turn("short", "ok").queued
        assert memory.flush()
    assert ear.heard[1:] == ["short", "end s"]


def test_a_session_that_another_holder_ended_is_ended_again_after_its_later_turns(home):
    ear = provider()
    with Memory.open(providers=[ear]) as first, Memory.open(providers=[ear]) as second:
        one = first.session(session_id="shared")
        other = second.session(session_id="shared")
        one.end()
        assert other.end_turn("still talking", "ok").queued
        other.end()
        assert second.flush()
        assert second._profile.open_sessions.all() == []
    assert ear.heard == ["end shared", "still talking", "end shared"]


def test_an_end_that_fails_leaves_the_session_to_be_ended_and_is_told(home, monkeypatch):
    ear, told = provider(), []
    memory = Memory.open(providers=[ear], notify=told.append)
    session = memory.session(session_id="s")
    session.end_turn("one", "ok")
    with monkeypatch.context() as patch:
        refuse(memory, patch, 1)
        session.end()
    assert [notice.code for notice in told] == ["end_not_saved"]
    assert memory._profile.open_sessions.get("s") is not None
    memory.close()
    with closing(sqlite3.connect(home / "runtime.db")) as db:  # as if that process were gone
        db.execute("UPDATE open_sessions SET holder=replace(holder, '#', '9#')")
        db.commit()
    with Memory.open(providers=[ear]) as again:
        again.session(session_id="other").end()
        assert again.flush()
    assert ear.heard == ["one", "end s", "end other"]


def test_closing_ends_every_session_and_lets_go_of_the_files_although_the_disk_is_full(
    home, monkeypatch
):
    memory = Memory.open()
    sessions = [memory.session(session_id=name) for name in ("a", "b", "c")]
    for session in sessions:
        assert session.end_turn("hello", "ok").saved

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        memory.close()
    assert all(session.ended for session in sessions)
    with pytest.raises(StoreError, match="closed"):
        memory.outbox.counts()
    with Memory.open() as again:
        assert len(again.history.search("hello")) == 3


@pytest.mark.parametrize("step", ["reset", "branch", "compressed"])
def test_a_session_that_cannot_go_on_stays_as_it_was(home, monkeypatch, step):
    with Memory.open() as memory:
        session = memory.session(session_id="s")
        session.end_turn("hello", "ok")

        def full(*_args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StoreError):
                getattr(session, step)(*(["x"] if step == "compressed" else []))
        assert session.id == "s"
        assert session.end_turn("still here", "ok").saved
        assert memory.history.session("s").ended_at is None
        assert getattr(session, step)(*(["x"] if step == "compressed" else [])) == session.id != "s"
        assert memory.history.session("s").ended_at is not None


def test_a_note_that_is_saved_is_not_reported_as_failed_because_of_the_outbox(home, monkeypatch):
    told = []
    with Memory.open(providers=[provider()], notify=told.append) as memory:
        memory.session(session_id="s")
        refuse(memory, monkeypatch, 1)
        assert memory.notes.add("memory", "likes pelicans").status == "committed"
        assert "note_not_queued" in [notice.code for notice in told]
        assert [note.text for note in memory.notes.list("memory")] == ["likes pelicans"]


def test_the_newest_of_a_lineage_is_the_live_one_also_when_the_clock_was_put_back(home):
    now = [2_000_000_000.0]
    with Memory.open(clock=lambda: now[0]) as memory:
        session = memory.session(session_id="root", title="Trip")
        session.end_turn("hello", "ok")
        now[0] -= 86_400
        child = session.compressed("so far")
        assert session.end_turn("later", "ok").saved
        session.end()
        for name in ("root", child, "Trip"):
            assert memory.history.resolve(name).id == child


def test_a_lane_does_not_wait_for_a_time_set_by_a_clock_that_was_put_back(home):
    now, ear = [2_000_000_000.0], provider()
    with Memory.open(clock=lambda: now[0], providers=[ear]) as memory:
        session = memory.session(session_id="s")
        memory.outbox.put("ear", "s", "end_session", session=session.info, payload={"reason": "x"})
        item = memory.outbox.items()[0]
        memory.outbox.failed(item, "away", now[0] + 900)
        now[0] -= 86_400
        assert memory.outbox.lease("ear") == "s"


def test_leftover_sessions_by_the_thousand_do_not_hold_up_the_next_one(home):
    with Memory.open() as memory:
        info = memory.session(session_id="s").info
        with memory._profile.runtime.write() as db:
            db.execute("UPDATE open_sessions SET holder='nobody' WHERE id='s'")
            db.executemany(
                "INSERT INTO open_sessions(id, info, holder, last_seen, snapshot) VALUES(?,?,?,?,?)",
                (
                    (
                        f"left-{number}",
                        f'{{"id":"left-{number}","lineage":"left-{number}"}}',
                        f"{os.uname().nodename}:999999999:1#x",
                        float(number),
                        "x" * 2000,
                    )
                    for number in range(5_000)
                ),
            )
        assert info.id == "s"
    with Memory.open() as memory:
        begun = time.process_time()
        memory.session()
        assert time.process_time() - begun < 3.0
        left = len(memory._profile.open_sessions.all())
        assert left < 5_001
        assert memory.session(session_id="left-4999").end_turn("back", "ok").saved


def test_without_history_a_turn_is_saved_when_it_is_queued_and_an_error_says_so_when_not(home):
    home.mkdir()
    (home / "config.yaml").write_text("memory:\n  history_enabled: false\n")
    with Memory.open() as memory, memory.session() as session:
        receipt = session.end_turn("hello", "ok")
        assert not receipt.saved
        assert "kept nowhere" in receipt.error
    ear = provider()
    with Memory.open(providers=[ear]) as memory, memory.session() as session:
        assert session.end_turn("hello", "ok").saved
        assert memory.flush()
    assert ear.heard[0] == "hello"


def test_closing_while_sessions_end_on_other_threads_does_not_deadlock(home):
    for _ in range(5):
        memory = Memory.open()
        sessions = [memory.session() for _ in range(6)]
        threads = [threading.Thread(target=session.end, daemon=True) for session in sessions]
        for thread in threads:
            thread.start()
        memory.close()
        for thread in threads:
            thread.join(3)
            assert not thread.is_alive()


def test_what_cannot_be_a_session_is_refused_in_words_and_leaves_nothing_open(home):
    with Memory.open() as memory:
        for arguments in (
            {"source": b"x"},
            {"user_id": ["x"]},
            {"agent_context": "robot"},
            {"on_exit": "stay"},
            {"session_id": "a\ud83d"},
            {"session_id": 5},
        ):
            with pytest.raises(UsageError):
                memory.session(**arguments)
        with pytest.raises(Exception, match="title"):
            memory.session(title="x" * 5000)
        assert memory._profile.open_sessions.all() == []
        odd = "half \ud83d and \x00"
        with memory.session(
            source=odd, title=odd, user_id=7, chat_id=odd, cwd=home, model=odd, parent_id=odd
        ) as session:
            assert session.info.user_id == "7"
            assert session.end_turn(odd, odd).saved
        assert memory.history.search("half")


ROWS = {
    "a reference cut off": ('{"session_id": "s"', None, None),
    "a reference of other fields": ('{"x": 1, "message_ids": []}', None, None),
    "a reference that is a number": ("5", None, None),
    "a payload that is a list": (None, "[1, 2]", None),
    "a turn of other fields": (None, '{"id": 1, "messages": []}', None),
    "a session cut off": (None, None, '{"id": "s"'),
    "a session that is a number": (None, None, "5"),
    "a scope of other fields": (None, "{}", '{"id": "s", "scope": {"zip": 1}}'),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("hook", ["sync_turn", "notes_written"])
def test_a_row_that_cannot_be_read_becomes_a_dead_letter_and_its_lane_goes_on(home, row, hook):
    ear, told = provider(), []
    with Memory.open(providers=[ear], notify=told.append) as memory:
        session = memory.session(session_id="s")
        ref, payload, info = ROWS[row]
        with memory._profile.runtime.write() as db:
            db.execute(
                "INSERT INTO outbox(provider, lane, hook, session, ref, payload, bytes, created_at)"
                " VALUES('ear', 's', ?, ?, ?, ?, 1, ?)",
                (hook, info, ref, payload, time.time()),
            )
            db.execute("INSERT OR IGNORE INTO lanes(provider, lane) VALUES('ear', 's')")
        session.end_turn("after it", "ok")
        assert memory.flush()
        assert ear.heard == ["after it"]
        counts = memory.outbox.counts("ear")
        if counts["dead"]:
            assert "outbox_dead" in [notice.code for notice in told]
            assert memory.outbox.items(dead=True)[0].last_error
        assert counts["dead"] == 1 or (hook == "sync_turn" and not ref and info != "5")
