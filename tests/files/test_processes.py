"""Several threads and processes on one file, and processes killed in the middle of a change."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest
from files.kit import desk
from hermes_memory_files import commit

FORK = multiprocessing.get_context("fork")


def in_processes(target, arguments):
    workers = [FORK.Process(target=target, args=one) for one in arguments]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * len(workers)


def add_many(home, name, how_many):
    notes = desk(home, memory_char_limit=100_000)
    for number in range(how_many):
        notes.store.add("memory", f"{name}-{number} 备注")


@pytest.mark.process
@pytest.mark.timeout(90)
def test_eight_processes_lose_nothing(home):
    in_processes(add_many, [(home, f"w{n}", 40) for n in range(8)])
    notes = desk(home, memory_char_limit=100_000)
    expected = {f"w{n}-{number} 备注" for n in range(8) for number in range(40)}
    assert set(notes.texts()) == expected
    log = notes.store.log(limit=1_000)
    assert len(log) == 320
    assert {write.action for write in log} == {"add"}


def test_threads_on_one_store_and_on_two_lose_nothing(home):
    one, two = desk(home), desk(home)
    errors = []

    def work(notes, name):
        try:
            for number in range(5):
                notes.store.add("memory", f"{name}-{number}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(notes, f"{i}{j}")) for i, notes in enumerate((one, two)) for j in range(3)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(one.texts()) == 30
    assert len(one.writes) == len(two.writes) == 15


def edit_by_hand_many(home, name, how_many):
    """Another program that honours Hermes Agent's lock, as a second agent on the home would."""
    import fcntl

    path = home / "memories" / "USER.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in range(how_many):
        with (path.parent / "USER.md.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            text = path.read_text("utf-8") if path.exists() else ""
            temporary = path.with_name(f".mem_{name}.tmp")
            temporary.write_text("\n§\n".join(filter(None, [text, f"{name}-{number}"])), "utf-8")
            temporary.replace(path)


def add_to_user(home, name, how_many):
    notes = desk(home, user_char_limit=100_000)
    for number in range(how_many):
        notes.store.add("user", f"{name}-{number}")


@pytest.mark.process
@pytest.mark.timeout(60)
def test_a_program_with_the_same_lock_and_we_lose_nothing(home):
    ours = FORK.Process(target=add_to_user, args=(home, "ours", 30))
    theirs = FORK.Process(target=edit_by_hand_many, args=(home, "theirs", 30))
    for worker in (ours, theirs):
        worker.start()
    for worker in (ours, theirs):
        worker.join(50)
        assert worker.exitcode == 0
    notes = desk(home, user_char_limit=100_000)
    assert len(notes.texts("user")) == 60
    told = {text for write in notes.store.log(limit=500) for text in write.after}
    assert told == set(notes.texts("user"))


def die_before(home, name):
    """Add an entry and be killed where ``name`` (a function of the commit module) would run."""

    def die(*_args, **_named):
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(commit, name, die)
    desk(home).store.add("memory", "never acknowledged")


@pytest.mark.process
def test_killed_between_history_and_file_is_marked_aborted(home):
    notes = desk(home)
    notes.store.add("memory", "acknowledged")
    worker = FORK.Process(target=die_before, args=(home, "write_atomic"))
    worker.start()
    worker.join(10)
    assert worker.exitcode == -signal.SIGKILL
    after = desk(home)
    assert after.texts() == ["acknowledged"]
    assert [write.after for write in after.store.log()] == [("acknowledged",)]
    statuses = [write.status for write in after.store.log(include_aborted=True)]
    assert statuses == ["aborted", "committed"]
    after.store.add("memory", "next")
    assert after.texts() == ["acknowledged", "next"]
    assert [write.action for write in after.store.log()] == ["add", "add"]


@pytest.mark.process
def test_killed_on_the_very_first_note(home):
    worker = FORK.Process(target=die_before, args=(home, "write_atomic"))
    worker.start()
    worker.join(10)
    after = desk(home)
    assert after.texts() == []
    after.store.add("memory", "first")
    assert [write.after for write in after.store.log()] == [("first",)]


def add_until_killed(home, pipe):
    notes = desk(home, memory_char_limit=1_000_000)
    number = len(notes.texts())
    while True:
        notes.store.add("memory", f"note {number}")
        os.write(pipe, b"%d\n" % number)
        number += 1


@pytest.mark.process
@pytest.mark.timeout(60)
def test_killed_at_any_moment_keeps_what_was_acknowledged(home):
    acknowledged: set[str] = set()
    for round_number in range(8):
        reader, writer = os.pipe()
        worker = FORK.Process(target=add_until_killed, args=(home, writer))
        worker.start()
        os.close(writer)
        time.sleep(0.15 + 0.017 * round_number)
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(10)
        with os.fdopen(reader) as lines:
            acknowledged |= {f"note {line.strip()}" for line in lines}
        notes = desk(home, memory_char_limit=1_000_000)
        assert acknowledged <= set(notes.texts())
        logged = [text for write in notes.store.log(limit=10_000) for text in write.after]
        assert sorted(logged) == sorted(notes.texts())
    assert len(acknowledged) > 8
