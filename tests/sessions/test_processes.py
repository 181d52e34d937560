"""Several processes on one home: killed in the middle, writing at once, forked."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time

import pytest
from helpers import eventually

from hermes_memory_core.types import SessionInfo, Turn

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def acknowledged(process) -> int:
    """The last number the worker printed in full."""
    whole = process.stdout.read().rpartition("\n")[0]
    return int(whole.rpartition("\n")[2] or 0) if whole else 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_acknowledged_is_lost_when_writers_are_killed_again_and_again(
    home, worker, open_history, how
):
    promised: dict[str, int] = {}
    for round_ in range(12):
        session_id = f"k{round_ % 3}-{how}-{round_}"
        with subprocess.Popen(
            worker("turns", home, session_id, 5000), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "1\n"
            time.sleep(random.uniform(0, 0.15))
            process.send_signal(how)
            process.wait(10)
            promised[session_id] = max(1, acknowledged(process))
        with sqlite3.connect(home / "history.db") as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    store = open_history()
    ids = []
    for session_id, count in promised.items():
        turns = [turn.number for _, turn in store.turns_after(session_id, 0)]
        assert turns == list(range(1, len(turns) + 1))
        assert len(turns) >= count
        messages = store.messages(session_id)
        assert len(messages) == 2 * len(turns)
        ids += [message.id for message in messages]
    assert len(set(ids)) == len(ids)
    assert store.check() == []


def test_two_processes_write_while_a_third_reads(home, worker, open_history):
    count = 300
    writers = [
        subprocess.Popen(worker("turns", home, session_id, count), stdout=subprocess.DEVNULL)
        for session_id in ("one", "two")
    ]
    store = open_history()
    seen, reads = 0, 0
    while any(process.poll() is None for process in writers):
        now = store.stats()["messages"]
        assert now >= seen
        seen = now
        reads += 1
    assert [process.returncode for process in writers] == [0, 0]
    assert reads > 3
    rows = {id_: store.messages(id_) for id_ in ("one", "two")}
    assert [len(messages) for messages in rows.values()] == [2 * count] * 2
    assert len({message.id for messages in rows.values() for message in messages}) == 4 * count
    assert store.check() == []


def test_two_processes_on_one_session_lose_no_turn(home, worker, open_history):
    count = 150
    writers = [
        subprocess.Popen(worker("turns", home, "shared", count), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(60) for process in writers] == [0, 0]
    store = open_history()
    assert len(list(store.turns_after("shared", 0))) == 2 * count
    before = [message.id for message in store.messages("shared")]
    assert len(set(before)) == 4 * count
    store.rebuild()
    assert [message.id for message in store.messages("shared")] == before


def test_a_killed_writers_tail_is_there_at_the_next_open(home, worker, open_history):
    with subprocess.Popen(
        worker("turns", home, "s", 10_000), stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(40):
            process.stdout.readline()
        process.kill()
    store = open_history()
    assert len(store.messages("s")) >= 80


def _child(store, queue):
    ids = [store.append("from-child", "user", f"c{n}") for n in range(50)]
    queue.put((ids, len(store.messages("from-child")), len(store.messages("from-parent"))))
    store.flush()


def test_a_forked_child_writes_beside_its_parent(history):
    before = [history.append("from-parent", "user", f"p{n}") for n in range(50)]
    assert len(history.messages("from-parent")) == 50
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(history, queue))
    child.start()
    after = [history.append("from-parent", "user", f"q{n}") for n in range(50)]
    ids, own, parents = queue.get()
    child.join(20)
    assert child.exitcode == 0
    assert (own, parents >= 50) == (50, True)
    assert len({*before, *after, *ids}) == 150
    history.flush()
    assert len(history.messages("from-child")) == 50
    assert len(history.messages("from-parent")) == 100
    assert history.check() == []


def test_forks_while_other_threads_write(history):
    import threading

    stop, written = threading.Event(), []

    def write():
        while not stop.is_set():
            written.append(history.append("busy", "user", "x"))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    pids = []
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                history.append("child", "user", "hello")
                history.flush()
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    stop.set()
    thread.join(10)
    assert codes == [0] * 5
    assert len(history.messages("child")) == 5
    assert [message.id for message in history.messages("busy")] == written
    assert history.check() == []


def test_opening_and_closing_in_another_process_leaves_a_live_writer_alone(
    home, worker, open_history
):
    store = open_history()
    info = SessionInfo("a", "a")
    for number in range(20):
        store.commit_turn(info, Turn(f"t{number}", "a", number, "q", "r"))
        store.flush()
        (home / "history.db").chmod(0o600)
        subprocess.run(
            worker("turns", home, "b", 1), stdout=subprocess.DEVNULL, check=True, timeout=30
        ) if (number % 7 == 0) else None
    with sqlite3.connect(home / "history.db") as other:
        assert other.execute("SELECT count(*) FROM messages").fetchone()[0] == 46
    assert store.check() == []


def test_several_threads_fork_at_once_while_others_write(history):
    history.append("s", "user", "hello world")
    stop, forked = threading.Event(), [0, 0, 0]

    def write(number):
        while not stop.is_set():
            history.append(f"w{number}", "user", "a message")

    def fork(number):
        for _ in range(15):
            pid = os.fork()
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
            forked[number] += 1

    writers = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(2)]
    forkers = [threading.Thread(target=fork, args=(n,), daemon=True) for n in range(3)]
    for thread in (*writers, *forkers):
        thread.start()
    for thread in forkers:
        thread.join(30)
    stop.set()
    for thread in writers:
        thread.join(10)
    assert forked == [15, 15, 15]
    history.append("s", "user", "zebra")
    assert len(history.search("zebra")) == 1


def killed_writer(worker, home, seconds):
    """A process writes turns to the session "gone" and is killed; how many it acknowledged."""
    with subprocess.Popen(
        worker("turns", home, "gone", 5000), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "1\n"
        time.sleep(seconds)
        process.kill()
        process.wait(10)
        return max(1, acknowledged(process))


@pytest.fixture
def reader(open_history):
    """A store that is open already and has looked at everything there is."""
    store = open_history()
    store.append("mine", "user", "hello")
    assert store.search("hello")
    return store


def test_what_a_killed_process_wrote_last_is_found_and_forgotten(home, worker, reader):
    written = killed_writer(worker, home, 0.3)
    (receipt, *_) = reader.forget("filler words")
    assert receipt.matched == receipt.removed >= written
    assert reader.search("filler") == []


def test_an_open_reader_comes_to_know_what_a_killed_process_wrote(home, worker, reader):
    written = killed_writer(worker, home, 0.2)
    eventually(lambda: len(reader.messages("gone")) >= 2 * written, 15)
