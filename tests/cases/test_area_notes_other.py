"""Reported faults of other areas that concern notes: F01, F03, F08, J01 to J04, J08, J13."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from dataclasses import replace

import pytest
from files.kit import HOSTILE, SESSION, desk

from hermes_memory_core.errors import NoteError, NoteLimitError
from hermes_memory_core.types import Decision, MemoryRecord, NoteOperation, Origin

FLUSH = Origin(who="review", attended=False, session_id="old")


def staging_unattended(write):
    """What the core's approval does for replace and remove that nobody watches."""
    keeps_all = not write.before
    return Decision("allow" if write.origin.attended or keeps_all else "stage", "ab12cd34")


def test_f01_a_late_flush_does_not_rewrite_what_is_newer(home):
    notes = desk(home, approve=staging_unattended)
    notes.store.add("memory", "the port is 80")
    notes.store.patch("memory", "80", "8080, since tuesday")
    late = notes.call(action="replace", target="memory", old_text="the port is 80", content="the port is 80!", origin=FLUSH)  # fmt: skip
    assert late.get("staged") is True
    assert notes.texts() == ["the port is 8080, since tuesday"]
    assert (
        notes.call(action="add", target="memory", content="a new fact", origin=FLUSH)["done"]
        is True
    )


def test_f01_a_change_approved_on_an_old_state_is_not_applied_to_a_new_one(home):
    """The write a person sees pins the whole entries, so it cannot come to mean another one."""
    notes = desk(home, approve=lambda write: Decision("stage", "ab12cd34"))
    notes.put("the port is 80")
    notes.call(action="patch", target="memory", old_text="80", content="81", origin=FLUSH)
    pending = notes.asked[-1]
    assert pending.operations == (NoteOperation("replace", "the port is 81", "the port is 80"),)
    notes.put("our number is 7")
    notes.approve = None
    with pytest.raises(NoteError):
        notes.store.apply(pending.target, pending.operations)
    assert notes.texts() == ["our number is 7"]


@pytest.mark.parametrize("action", ["remove", "replace", "patch", "batch"])
def test_f03_an_unattended_review_cannot_delete_rules_unseen(home, action):
    notes = desk(home, approve=staging_unattended)
    notes.store.add("memory", "never deploy on Friday")
    step = {"action": action, "old_text": "never deploy on Friday", "content": "deploy any day"}
    if action == "batch":
        step = {"operations": [{"action": "add", "content": "x-ray"}, {**step, "action": "remove"}]}
    answer = notes.call(
        {"target": "memory", **step}, session=replace(SESSION, agent_context="review")
    )
    assert answer["staged"] is True
    assert notes.texts() == ["never deploy on Friday"]
    assert notes.asked[-1].action != "add"
    assert notes.asked[-1].before == ("never deploy on Friday",)


def test_f03_every_change_is_in_the_journal_with_who_and_can_be_taken_back(home):
    notes = desk(home)
    notes.store.add("memory", "never deploy on Friday")
    notes.call(action="remove", target="memory", old_text="never deploy", origin=FLUSH)
    newest = notes.store.log()[0]
    assert (newest.origin.who, newest.origin.session_id) == ("review", "old")
    assert newest.before == ("never deploy on Friday",)
    notes.store.undo(newest.id)
    assert notes.texts() == ["never deploy on Friday"]


def test_f08_one_suspicious_entry_does_not_hide_the_other_nine(home):
    notes = desk(home)
    good = [f"good entry number {n}" for n in range(9)]
    notes.put("\n§\n".join([*good, HOSTILE]))
    block = notes.provider.system_block(SESSION)
    assert sum(text in block for text in good) == 9
    assert "Ignore all" not in block
    (notice,) = notes.notices
    assert "Ignore all" in notice.message
    assert "remove" in notice.hint
    assert HOSTILE in notes.raw().decode()


def test_j01_two_threads_append_and_both_are_there(home):
    notes = desk(home)
    start = threading.Barrier(2)

    def flush(name):
        start.wait()
        for number in range(10):
            notes.store.add("memory", f"{name} {number}")

    threads = [threading.Thread(target=flush, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes.texts()) == 20


def add_twenty(home, name):
    notes = desk(home)
    for number in range(20):
        notes.store.add("memory", f"{name} {number}")


@pytest.mark.process
@pytest.mark.timeout(30)
def test_j02_two_processes_times_twenty_adds_are_forty(home):
    workers = [
        multiprocessing.get_context("fork").Process(target=add_twenty, args=(home, name))
        for name in ("left", "right")
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(desk(home).texts()) == 40


def test_j03_a_flush_can_only_add_and_what_a_rewrite_drops_is_kept(home):
    notes = desk(home, approve=staging_unattended)
    notes.put("written this morning\n§\nwritten at noon")
    write = notes.store.rewrite("memory", ["the flush's own summary"], origin=FLUSH)
    assert write.status == "proposed"
    assert notes.texts() == ["written this morning", "written at noon"]
    done = notes.store.rewrite("memory", ["edited by a person"])
    assert done.before == ("written this morning", "written at noon")
    notes.store.undo(done.id)
    assert notes.texts() == ["written this morning", "written at noon"]


def test_j04_parallel_adds_and_half_a_line_leave_everything_working(home, caplog):
    notes = desk(home)
    threads = [
        threading.Thread(target=notes.store.add, args=("memory", f"n{n}")) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = notes.path().with_name("history.jsonl")
    with history.open("ab") as file:
        file.write(b'{"v":1,"id":"half a li')
    assert len(notes.store.log(limit=100)) == 20
    assert notes.call(action="add", target="memory", content="after")["success"] is True
    assert len(desk(home).store.log(limit=100)) == 21
    assert notes.provider.health().details["unreadable_history_lines"] == 1
    assert "half a line" in caplog.text


def test_j08_every_way_in_obeys_the_limit(home):
    notes = desk(home, memory_char_limit=20)
    notes.store.add("memory", "fits")
    removed = notes.store.remove("memory", "fits")
    notes.store.add("memory", "y" * 18)
    too_long = "x" * 21
    ways = {
        "add": lambda: notes.store.add("memory", too_long),
        "replace": lambda: notes.store.replace("memory", "yyyy", too_long),
        "patch": lambda: notes.store.patch("memory", "y" * 18, too_long),
        "batch": lambda: notes.store.apply("memory", [NoteOperation("add", too_long)]),
        "rewrite": lambda: notes.store.rewrite("memory", [too_long]),
        "undo": lambda: notes.store.undo(removed.id),
    }
    for way, attempt in ways.items():
        with pytest.raises(NoteLimitError):
            attempt()
        assert notes.texts() == ["y" * 18], way
    assert notes.call(action="add", target="memory", content=too_long)["success"] is False
    counts = notes.provider.import_memories([MemoryRecord("1", "note", too_long)])
    assert counts.failed == 1


def test_j08_an_outside_edit_over_the_limit_is_loaded_flagged_and_trimmed_visibly(home):
    notes = desk(home, memory_char_limit=500)
    notes.put("\n§\n".join("z" * 400 + str(n) for n in range(15)))
    block = notes.provider.system_block(SESSION)
    assert "⚠" in block
    assert "are left out here" in block
    assert len(notes.texts()) == 15
    assert "notes_unusual" in notes.codes()
    answer = notes.call(action="remove", target="memory", old_text="z" * 400 + "3")
    assert answer["success"] is True
    assert len(notes.texts()) == 14


def test_j13_leftovers_of_a_crash_are_ignored_and_swept_when_old(home):
    notes = desk(home)
    notes.put("known")
    leftovers = [notes.path().with_name(name) for name in ("MEMORY.md.tmp", ".mem_abc.tmp")]
    for path in leftovers:
        path.write_text("half a fi")
    assert notes.texts() == ["known"]
    assert notes.provider.health().ok
    notes.store.add("memory", "young ones stay")
    assert all(path.exists() for path in leftovers)
    for path in leftovers:
        os.utime(path, (time.time() - 7_200,) * 2)
    desk(home).store.add("memory", "old ones go")
    assert not any(path.exists() for path in leftovers)
    notes.path().with_name("MEMORY.md.lock").touch()
    assert desk(home).texts() == ["known", "young ones stay", "old ones go"]
