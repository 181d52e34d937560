"""A fork in the middle of everything: the child and the parent both go on, nothing either was promised is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_memory_core import Memory, hookimpl

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]
ROOT = Path(__file__).resolve().parents[2]


class Listener:
    """An external provider that never takes anything, so that all stays in the outbox."""

    def __init__(self, context):
        self.context = context

    @hookimpl
    def sync_turn(self, session, turn):
        raise ConnectionError("away")


def forked(work):
    """Run ``work`` in a forked child; its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    return pid


def code_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_a_child_registers_is_there_after_its_parent_and_others_have_closed(home):
    memory = Memory.open(providers=[Listener])
    session = memory.session(session_id="parent")
    assert session.end_turn("first", "yes").queued
    ready, go = os.pipe(), os.pipe()

    def child():
        inside = memory.session(session_id="child", on_exit="detach")
        os.write(ready[1], b"x")
        os.read(go[0], 1)  # the parent has closed, and another process was here
        for number in range(5):
            receipt = inside.end_turn(f"turn {number}", "yes")
            assert receipt.saved
            assert receipt.queued
        inside.system_prompt()
        inside.detach()

    pid = forked(child)
    os.read(ready[0], 1)
    session.end()
    memory.close()
    subprocess.run(
        [sys.executable, "-c", "from hermes_memory_core import Memory\nMemory.open().close()"],
        check=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.write(go[1], b"x")
    assert code_of(pid) == 0
    with Memory.open(providers=[Listener]) as again:
        row = again._profile.open_sessions.get("child")
        assert (row.detached, row.turn_number, row.snapshot is not None) == (True, 5, True)
        waiting = [item for item in again.outbox.items(limit=99) if item.lane == "child"]
        assert len(waiting) == 5
        assert len(again.history.messages("child")) == 10


def test_a_child_of_a_busy_process_neither_hangs_nor_loses_a_turn(home):
    memory = Memory.open(providers=[Listener])
    sessions = [memory.session(session_id=f"s{number}") for number in range(3)]
    stop, saved = threading.Event(), [0, 0, 0]

    def talk(number):
        while not stop.is_set():
            sessions[number].begin_turn("and what about pelicans?")
            saved[number] += sessions[number].end_turn("pelicans", "there").saved
            sessions[number].call_tool("memory", {"action": "read"})
            memory.status()

    threads = [threading.Thread(target=talk, args=(n,), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()

    def child():
        timer = threading.Timer(20, os._exit, (9,))
        timer.daemon = True
        timer.start()
        for session in sessions:
            assert session.end_turn("from the child", "yes").saved
        memory.notes.list()
        memory.close()

    codes = [code_of(forked(child)) for _ in range(4)]
    stop.set()
    for thread in threads:
        thread.join(20)
    assert codes == [0] * 4
    memory.close()
    with Memory.open(providers=[Listener]) as again:
        for number, session in enumerate(sessions):
            assert len(again.history.messages(session.id)) == 2 * (saved[number] + 4)
        assert again.history.check() == []
