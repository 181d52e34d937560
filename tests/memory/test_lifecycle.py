"""Every way a session can end or go on: ``end_session`` once, under the right id, behind its turns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from helpers import Clock, instance_of, recorder

from hermes_memory_core import Memory
from hermes_memory_core.errors import UsageError


def path_exit(memory, session):
    session.end()
    return "exit"


def path_new(memory, session):
    session.reset(reason="new")
    return "new"


def path_reset(memory, session):
    session.reset()
    return "reset"


def path_branch(memory, session):
    session.branch("side road")
    return "branch"


def path_compression(memory, session):
    session.compressed("We spoke about boats.")
    return "compression"


def path_idle(memory, session):
    session.detach()
    memory._profile.clock.forward(90_000)
    memory._profile.sweep(force=True)
    return "idle"


PATHS = [path_exit, path_new, path_reset, path_branch, path_compression, path_idle]


@pytest.mark.parametrize("path", PATHS)
def test_g11_every_end_is_told_once_and_after_its_turns(home, path):
    with Memory.open(home, providers=[recorder()], clock=Clock()) as memory:
        session = memory.session()
        old = session.id
        session.end_turn("the question", "the answer")
        reason = path(memory, session)
        if not session.ended:
            session.end_turn("after it", "yes, after")
            session.end()
        assert memory.flush()
        seen = instance_of(memory).seen
        of_old = [item for item in seen if item[1] == old and item[0] in ("turn", "end")]
        assert of_old == [("turn", old, "the question"), ("end", old, reason)]
        ends = [item[1] for item in seen if item[0] == "end"]
        assert len(ends) == len(set(ends))
        assert memory.history.session(old).end_reason == reason


@pytest.mark.parametrize("path", PATHS[1:5])
def test_going_on_starts_the_next_session_with_the_old_one_named(home, path):
    with Memory.open(home, providers=[recorder()], clock=Clock()) as memory:
        with memory.session(source="telegram", user_id="u7") as session:
            old = session.id
            prompt = session.system_prompt()
            memory.notes.add("memory", "Learned in between.")
            assert session.system_prompt() == prompt
            reason = path(memory, session)
            assert session.id != old
            assert "Learned in between." in session.system_prompt(), "a fresh snapshot"
            assert session.info.source == "telegram"
            assert session.turn_number == 0
            record = memory.history.session(session.id)
            child = reason in ("branch", "compression")
            assert record.parent_id == (old if child else None)
            assert (record.lineage == memory.history.session(old).lineage) is (
                reason == "compression"
            )


def test_detach_and_resume_replays_the_prompt_byte_for_byte_within_its_time(home):
    clock = Clock()
    with Memory.open(home, clock=clock) as memory:
        with memory.session(session_id="web-1", on_exit="detach") as session:
            first = session.system_prompt()
            session.end_turn("remember the boat", "I will")
        memory.notes.add("user", "Has a boat.")
        clock.forward(3000)
        with memory.session(session_id="web-1", on_exit="detach") as session:
            assert session.system_prompt() == first
            assert session.turn_number == 1
            session.end_turn("and now", "here")
        clock.forward(3700)
        with memory.session(session_id="web-1") as session:
            assert "Has a boat." in session.system_prompt()
            assert session.turn_number == 2


def test_another_process_goes_on_with_a_detached_session(home):
    code = textwrap.dedent(
        """
        from hermes_memory_core import Memory
        with Memory.open() as memory, memory.session(session_id="web-2", on_exit="detach") as session:
            session.system_prompt()
            print(session.end_turn("hello from one process", "good day").saved)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HERMES_HOME": str(home)},
    )
    assert done.stdout.strip() == "True", done.stderr
    with Memory.open(home) as memory, memory.session(session_id="web-2") as session:
        assert session.turn_number == 1
        assert memory.history.search("hello from one process")


def test_resume_by_title_opens_the_newest_of_the_lineage(home):
    with Memory.open(home) as memory:
        with memory.session(title="Boat trip") as session:
            root = session.id
            session.end_turn("first part", "yes")
            session.compressed("summary of the first part")
            session.end_turn("second part", "yes")
            newest = session.id
        for text in (root, newest, "Boat trip", root[:-2]):
            with memory.resume(text) as session:
                assert session.id == newest, text


def test_an_ended_session_says_how_to_open_it_again(home):
    with Memory.open(home) as memory:
        with memory.session() as session:
            pass
        session.end()
        with pytest.raises(UsageError, match="has ended") as caught:
            session.end_turn("late", "too late")
        assert session.id in caught.value.hint
        with memory.session(session_id=session.id) as again:
            assert again.end_turn("late", "in time").saved


@pytest.mark.parametrize("bad", ["", "a/b", "../x", "a\\b", "x" * 200, "a\nb", "..", "   "])
def test_a_session_id_that_cannot_be_a_file_name_is_refused(home, bad):
    with Memory.open(home) as memory, pytest.raises(UsageError):
        memory.session(session_id=bad)


@pytest.mark.process
@pytest.mark.timeout(30)
@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_ends_as_a_crash_at_the_next_start_with_its_turns_first(home, kill):
    code = textwrap.dedent(
        """
        import sys, time
        sys.path.insert(0, "tests")
        from hermes_memory_core import Memory
        from hermes_memory_core.errors import ProviderUnavailableError
        from helpers import recorder
        def sync_turn(self, session, turn):
            raise ProviderUnavailableError("down")
        memory = Memory.open(providers=[recorder(sync_turn=sync_turn)])
        session = memory.session()
        for number in range(3):
            session.end_turn(f"turn {number}", "yes then")
        print(session.id, flush=True)
        time.sleep(60)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HERMES_HOME": str(home)},
    )
    session_id = process.stdout.readline().strip()
    process.send_signal(kill)
    process.wait()
    process.stdout.close()
    with Memory.open(home, providers=[recorder()]) as memory:
        memory._profile.outbox.retry()
        with memory.session():
            pass
        assert memory.flush()
        mine = [item for item in instance_of(memory).seen if item[1] == session_id]
        assert mine == [
            *(("turn", session_id, f"turn {number}") for number in range(3)),
            ("end", session_id, "crash"),
        ]
        assert memory.history.session(session_id).end_reason == "crash"


def test_a_turn_committed_but_not_queued_is_found_at_the_next_start(home, monkeypatch):
    """The process dies between the transcript line and the outbox row."""
    from hermes_memory_core.engine import open_sessions

    with Memory.open(home, providers=[recorder()]) as memory:
        session = memory.session()
        session.end_turn("queued", "yes")
        assert memory.flush()
        turn = session._make_turn("only in the transcript", "yes", None, False)
        session._commit(turn)
        monkeypatch.setattr(open_sessions, "is_alive", lambda holder: False)
        memory._profile.sweep(force=True)
        assert memory.flush()
        users = [item[2] for item in instance_of(memory).seen if item[0] == "turn"]
        assert users == ["queued", "only in the transcript"]
        session._ended = True


def test_a_forgotten_memory_ends_its_sessions_at_interpreter_exit(home):
    code = "from hermes_memory_core import Memory\nm = Memory.open()\ns = m.session()\ns.end_turn('hi there you', 'yes')\nprint(s.id)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HERMES_HOME": str(home)},
    )
    session_id = done.stdout.strip()
    with Memory.open(home) as memory:
        assert memory.history.session(session_id).end_reason == "exit"


@pytest.mark.process
def test_a_hung_provider_does_not_hold_the_interpreter(home):
    code = textwrap.dedent(
        """
        import sys, time
        sys.path.insert(0, "tests")
        from hermes_memory_core import Memory
        from helpers import recorder
        def hang(self, session, turn):
            time.sleep(600)
        m = Memory.open(providers=[recorder(sync_turn=hang)])
        s = m.session()
        s.end_turn("hello you there", "yes")
        time.sleep(0.2)
        """
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=4,
        env={**os.environ, "HERMES_HOME": str(home)},
    )


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_that_leaves_the_block_ends_nothing(home):
    with Memory.open(home) as memory, memory.session() as session:
        session.end_turn("Where is the boat?", "At pier four.")
        pid = os.fork()
        if not pid:
            try:
                session.__exit__()
                memory.close()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        session.end_turn("And the oars?", "In the shed.")
        record = memory.history.session(session.id)
        assert record.ended_at is None
        assert record.turn_count == 2
    assert Memory.open(home).history.session(session.id).end_reason == "exit"
