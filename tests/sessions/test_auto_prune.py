"""The automatic prune: off unless asked for, in the background, once in its interval, and only what nobody uses."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest
from helpers import Clock, eventually
from hermes_memory_sessions import History

from hermes_memory_core import Memory
from hermes_memory_core.errors import StoreFullError
from hermes_memory_core.types import SessionInfo

from .conftest import make_context

DAY = 86_400.0
ON = {"sessions": {"auto_prune": True, "retention_days": 30, "min_interval_hours": 24}}
NOW = 1_767_225_600.0


@pytest.fixture
def clock():
    return Clock(NOW)


@pytest.fixture
def store(open_history):
    return open_history(settings=ON)


def put(store, clock, id_, *, days, ended=True, **fields):
    """A session of two messages, last used that many days ago."""
    now, clock.now = clock.now, clock.now - days * DAY
    info = SessionInfo(id_, fields.pop("lineage", id_), started_at=clock.now, **fields)
    store.open_session(info)
    store.append(id_, "user", f"the walrus of {id_}", timestamp=clock.now)
    store.append(id_, "assistant", "noted", timestamp=clock.now)
    if ended:
        store.end_session(id_, "exit")
    clock.now = now


def left(store):
    return set(store.all_ids())


def test_off_by_default_nothing_goes(open_history, clock, notices):
    store = open_history(settings={"sessions": {"auto_prune": False}})
    put(store, clock, "old", days=500)
    assert store.auto_prune() is None
    assert left(store) == {"old"}
    assert notices == []


def test_what_is_old_goes_to_the_trash_and_is_told_with_counts(store, clock, notices):
    for name in ("old1", "old2"):
        put(store, clock, name, days=40)
    put(store, clock, "young", days=20)
    receipt = store.auto_prune()
    assert (receipt.matched, receipt.removed) == (2, 2)
    assert left(store) == {"young"}
    assert {item.id for item in store.trashed()} == {"old1", "old2"}
    (notice,) = notices
    assert notice.code == "history_pruned"
    assert "2 conversations with 4 messages" in notice.message
    assert "30 days" in notice.message
    assert notice.hint == "hermes sessions trash"
    store.restore_session("old1")
    assert left(store) == {"young", "old1"}


def test_what_is_used_stays_in_all_its_parts(store, clock):
    put(store, clock, "open", days=90, ended=False)
    put(store, clock, "pinned", days=90)
    store.pin("pinned")
    put(store, clock, "archived", days=90)
    store.archive("archived")
    # a conversation that was compressed: its beginning is old, its newest part is not, or is pinned
    put(store, clock, "begun", days=90)
    put(store, clock, "goes on", days=1, lineage="begun", parent_id="begun")
    put(store, clock, "kept1", days=95)
    put(store, clock, "kept2", days=90, lineage="kept1", parent_id="kept1")
    store.pin("kept2")
    # sub-agents belong to their conversation, in both directions
    put(store, clock, "asked", days=90, ended=False)
    put(store, clock, "helper", days=90, parent_id="asked", agent_context="subagent")
    put(store, clock, "asking", days=90)
    put(store, clock, "at work", days=1, parent_id="asking", agent_context="subagent")
    everything = left(store)
    put(store, clock, "old", days=90)
    put(store, clock, "old helper", days=90, parent_id="old", agent_context="subagent")
    store.auto_prune()
    assert left(store) == everything


def test_a_session_that_is_opened_while_others_go_stays(store, clock):
    for name in ("a", "b", "c"):
        put(store, clock, name, days=60)
    asked = []

    def stopped():
        if not asked:
            for name in ("a", "b", "c"):
                store.open_session(SessionInfo(name, name), reason="resume")
        asked.append(True)
        return False

    store.auto_prune(stopped=stopped)
    assert left(store) == {"a", "b", "c"}


def test_it_stops_between_two_sessions_when_told(store, clock):
    for number in range(5):
        put(store, clock, f"s{number}", days=60)
    answers = iter([False, False, True])
    receipt = store.auto_prune(stopped=lambda: next(answers, True))
    assert receipt.removed == 2
    assert len(left(store)) == 3


@pytest.mark.parametrize("hours", [0, 1, 24, 48])
def test_the_interval_is_kept_over_a_restart(open_history, clock, hours):
    settings = {"sessions": {**ON["sessions"], "min_interval_hours": hours}}
    store = open_history(settings=settings)
    put(store, clock, "first", days=60)
    assert store.auto_prune().removed == 1
    store.close()
    again = open_history(settings=settings)
    put(again, clock, "second", days=60)
    clock.forward(hours * 3600 - 1)
    if hours:
        assert again.auto_prune() is None
        assert left(again) == {"second"}
    clock.forward(2)
    assert again.auto_prune().removed == 1


def test_a_clock_that_was_put_back_does_not_stop_it_for_good(store, clock):
    clock.forward(900 * DAY)
    assert store.auto_prune() is not None
    clock.forward(-900 * DAY)
    put(store, clock, "old", days=60)
    assert store.auto_prune().removed == 1


def test_of_many_stores_on_one_profile_one_prunes(home, clock):
    stores = [History(make_context(home, clock=clock, settings=ON)) for _ in range(4)]
    try:
        for number in range(6):
            put(stores[0], clock, f"s{number}", days=60)
        stores[0].flush()
        barrier = threading.Barrier(4)
        answers = []

        def run(store):
            barrier.wait()
            answers.append(store.auto_prune())

        threads = [threading.Thread(target=run, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer is not None for answer in answers) == [False, False, False, True]
        assert left(stores[0]) == set()
    finally:
        for store in stores:
            store.close()


def test_no_vacuum_where_little_is_free_or_none_is_wanted(store, open_history, clock, monkeypatch):
    asked = []
    monkeypatch.setattr(History, "optimise", lambda self, **named: asked.append(named))
    assert store.auto_prune().removed == 0
    assert asked == []  # nothing went
    clock.forward(2 * DAY)
    put(store, clock, "old", days=60)
    store.auto_prune()
    assert asked == [{}]  # whether it is worth it is decided there
    unwanted = {"sessions": {**ON["sessions"], "vacuum_after_prune": False}}
    other = open_history(settings=unwanted)
    clock.forward(2 * DAY)
    put(other, clock, "old", days=60)
    assert other.auto_prune().removed == 1
    assert asked == [{}]


def test_what_lay_in_the_trash_for_that_long_goes_for_good(store, clock):
    put(store, clock, "old", days=60)
    store.auto_prune()
    clock.forward(29 * DAY)
    store.auto_prune()
    assert [item.id for item in store.trashed()] == ["old"]
    clock.forward(2 * DAY)
    store.auto_prune()
    assert store.trashed() == []


# ---------------------------------------------------------------- through an open memory


@pytest.fixture
def on(home):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("sessions: {auto_prune: true, retention_days: 30}\n")


def upkeep(memory):
    return next(
        one.instance for one in memory._profile.roster.built_ins if one.name == "sessions"
    ).upkeep


def test_it_runs_beside_the_first_session_and_is_told(home, on):
    clock, told = Clock(NOW), []
    with Memory.open(home, clock=clock) as memory:
        put(memory.history, clock, "old", days=60)
    with Memory.open(home, clock=clock, notify=told.append) as memory:
        assert "old" in memory.history.all_ids()  # opening alone takes nothing away
        with memory.session() as session:
            assert upkeep(memory).wait(4)
            assert memory.history.all_ids() == [session.id]
        eventually(lambda: [notice.code for notice in told] == ["history_pruned"])


def test_it_does_not_delay_a_session_and_closing_does_not_wait_for_it(home, on, monkeypatch):
    entered, leave = threading.Event(), threading.Event()

    def slow(self, *, stopped):
        entered.set()
        while not stopped():
            leave.wait(0.01)

    monkeypatch.setattr(History, "auto_prune", slow)
    with Memory.open(home) as memory:
        with memory.session() as session:
            assert entered.wait(2)
            assert session.end_turn("the walrus came", "it did").saved
    assert not upkeep(memory)._thread.is_alive()


def test_a_failure_is_told_and_the_conversation_goes_on(home, on, monkeypatch):
    def full(self, *, stopped):
        raise StoreFullError("There is no room on the disk.", hint="make room")

    told = []
    monkeypatch.setattr(History, "auto_prune", full)
    with Memory.open(home, notify=told.append) as memory, memory.session() as session:
        assert upkeep(memory).wait(2)
        assert session.end_turn("the walrus came", "it did").saved
    (notice,) = [notice for notice in told if notice.code == "auto_prune_failed"]
    assert "no room" in notice.message
    assert notice.hint == "make room"


@pytest.mark.process
def test_two_processes_that_start_together_prune_once(home, on):
    clock = Clock(NOW)
    with Memory.open(home, clock=clock) as memory:
        for number in range(4):
            put(memory.history, clock, f"s{number}", days=60)
    code = textwrap.dedent(
        """
        import sys
        from hermes_memory_core import Memory
        codes = []
        with Memory.open(clock=lambda: float(sys.argv[1]), notify=lambda n: codes.append(n.code)) as memory:
            with memory.session():
                for one in memory._profile.roster.built_ins:
                    if one.name == "sessions":
                        assert one.instance.upkeep.wait(20)
        print(codes.count("history_pruned"))
        """
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(NOW)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = sorted(process.communicate(timeout=30)[0].strip() for process in running)
    assert answers == ["0", "1"]
