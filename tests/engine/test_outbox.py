from __future__ import annotations

import threading

import pytest
from helpers import Clock, eventually, instance_of, recorder

from hermes_memory_core import Memory
from hermes_memory_core.engine.outbox import Outbox, OutboxLimits
from hermes_memory_core.engine.runtime import Runtime
from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderRejectedError,
    ProviderUnavailableError,
)
from hermes_memory_core.types import Health


def turns(instance):
    return [item[2] for item in instance.seen if item[0] == "turn"]


def flaky(state, name="recorder", **extra):
    """A recorder that raises ``state["error"]`` while it is set."""

    def sync_turn(self, session, turn):
        state["calls"] = state.get("calls", 0) + 1
        error = state.get("error")
        if callable(error):
            error = error(turn)
        if error is not None:
            raise error
        self.seen.append(("turn", session.id, turn.user))

    return recorder(name, sync_turn=sync_turn, **extra)


def test_everything_is_delivered_once_and_in_order_with_the_end_last(home):
    with Memory.open(home, providers=[recorder()]) as memory:
        with memory.session() as session:
            for number in range(30):
                session.end_turn(f"question {number}", "answer")
            session.call_tool("memory", {"action": "add", "target": "memory", "content": "A fact."})
            session.delegation_finished("count birds", "seven", "child-1")
        assert memory.flush()
        seen = instance_of(memory).seen
        observed = [item for item in seen if item[0] != "start"]
        assert turns(instance_of(memory)) == [f"question {n}" for n in range(30)]
        assert [item[0] for item in observed[30:]] == ["note", "delegation", "end"]


def test_two_days_down_nothing_lost_order_kept_and_status_says_so(home):
    clock, state, notices = Clock(), {"error": ProviderUnavailableError("refused")}, []
    with Memory.open(home, providers=[flaky(state)], clock=clock, notify=notices.append) as memory:
        with memory.session() as session:
            for hour in range(48):
                session.end_turn(f"hour {hour}", "noted")
                clock.forward(3600)
                memory._profile.delivery.nudge()
            eventually(lambda: memory._profile.roster.external.breaker.state.state != "closed")
            status = memory.status()
            external = next(layer for layer in status["layers"] if layer["kind"] == "external")
            assert external["state"] == "degraded"
            assert "refused" in external["why"]
            assert status["outbox"]["pending"] == 48
            assert status["outbox"]["oldest_age_s"] >= 47 * 3600
            assert [notice.code for notice in notices] == ["provider_degraded"]
            state["error"] = None
            # a last try may still be failing just now: its pause begins when it ends

            def delivered():
                clock.forward(1000)
                return memory.flush(0.05)

            eventually(delivered)
            assert turns(instance_of(memory)) == [f"hour {hour}" for hour in range(48)]
            assert memory.status()["outbox"]["pending"] == 0
            assert [notice.code for notice in notices][-1] == "provider_recovered"


def test_a_new_process_delivers_what_the_old_one_could_not(home):
    state = {"error": ProviderUnavailableError("refused")}
    with Memory.open(home, providers=[flaky(state)]) as memory, memory.session() as session:
        for number in range(5):
            session.end_turn(f"turn {number}", "ok then")
    clock = Clock(4_000_000_000.0)
    with Memory.open(home, providers=[recorder()], clock=clock) as memory:
        with memory.session():
            pass
        eventually(lambda: memory.flush(0.1))
        assert (
            turns(instance_of(memory)) == []
        )  # 30 days are over for this clock: given up, visibly
        assert memory.status()["layers"][-1]["dropped"] >= 5


def test_delivery_goes_on_after_a_restart(home):
    state = {"error": ProviderUnavailableError("refused")}
    with Memory.open(home, providers=[flaky(state)]) as memory, memory.session() as session:
        for number in range(5):
            session.end_turn(f"turn {number}", "ok then")
        session_id = session.id
    with Memory.open(home, providers=[recorder()]) as memory:
        memory._profile.outbox.retry()
        with memory.session():
            pass
        assert memory.flush(5)
        instance = instance_of(memory)
        assert turns(instance) == [f"turn {number}" for number in range(5)]
        assert ("end", session_id, "exit") in instance.seen


def test_a_rejected_item_becomes_a_dead_letter_and_the_lane_goes_on(home):
    notices = []
    state = {
        "error": lambda turn: ProviderRejectedError("too long") if turn.user == "turn 1" else None
    }
    with Memory.open(home, providers=[flaky(state)], notify=notices.append) as memory:
        with memory.session() as session:
            for number in range(3):
                session.end_turn(f"turn {number}", "ok then")
        assert memory.flush()
        assert turns(instance_of(memory)) == ["turn 0", "turn 2"]
        assert memory.status()["outbox"]["dead"] == 1
        assert [notice.code for notice in notices] == ["outbox_dead"]
        dead = memory._profile.outbox.items(dead=True)
        assert dead[0].last_error == "too long"
        state["error"] = None
        assert memory._profile.outbox.retry() == 1
        assert memory.flush()
        assert turns(instance_of(memory)) == ["turn 0", "turn 2", "turn 1"]


def test_a_plain_bug_of_the_provider_is_retried_then_buried_only_if_the_provider_is_healthy(home):
    clock = Clock()
    state = {"error": lambda turn: TypeError("bug") if turn.user == "poison" else None}
    healthy = flaky(state, health=lambda self: Health(True))
    config = home / "config.yaml"
    home.mkdir()
    config.write_text("memory: {breaker: {failures: 1000}}")
    with Memory.open(home, providers=[healthy], clock=clock) as memory:
        with memory.session() as session:
            session.end_turn("poison", "ok then")
            session.end_turn("fine", "ok then")
            for _ in range(60):
                memory._profile.delivery.nudge()
                clock.forward(1000)
                if memory.flush(0.05):
                    break
        assert turns(instance_of(memory)) == ["fine"]
        assert memory.status()["outbox"]["dead"] == 1
        assert state["calls"] == 8 + 1


def test_an_outage_never_buries_anything(home):
    clock, state = Clock(), {"error": ConnectionRefusedError("refused")}
    with Memory.open(home, providers=[flaky(state)], clock=clock) as memory:
        with memory.session() as session:
            session.end_turn("kept", "ok then")
            for _ in range(40):
                clock.forward(1000)
                memory.flush(0.02)
        assert memory.status()["outbox"] | {"bytes": 0, "oldest_age_s": 0} == {
            "pending": 2,
            "dead": 0,
            "lanes": 1,
            "bytes": 0,
            "oldest_age_s": 0,
        }


def test_a_refused_key_is_told_once_and_everything_waits(home):
    notices, state = (
        [],
        {"error": ProviderAuthError("401: key refused", hint="hermes memory setup x")},
    )
    with Memory.open(home, providers=[flaky(state)], notify=notices.append) as memory:
        with memory.session() as session:
            for number in range(10):
                session.end_turn(f"turn {number}", "ok then")
            eventually(lambda: notices)
        assert state["calls"] == 1
        assert len(notices) == 1
        assert "401" in notices[0].message


def test_interrupted_turns_and_other_contexts_are_not_observed(home):
    with Memory.open(home, providers=[recorder()]) as memory:
        with memory.session() as session:
            assert session.end_turn("cut off", "I was say", interrupted=True).queued is False
        for context in ("cron", "subagent", "flush", "review"):
            with memory.session(agent_context=context) as session:
                receipt = session.end_turn(f"{context} says", "ok then")
                assert receipt.saved
                assert not receipt.queued
        assert memory.flush()
        assert turns(instance_of(memory)) == []
        assert memory.history.stats()["messages"] == 10


def test_undone_turns_are_not_sent_any_more(home):
    gate = threading.Event()

    def sync_turn(self, session, turn):
        gate.wait(5)
        self.seen.append(("turn", session.id, turn.user))

    with Memory.open(home, providers=[recorder(sync_turn=sync_turn)]) as memory:
        with memory.session() as session:
            for number in range(4):
                session.end_turn(f"turn {number}", "ok then")
            session.rewind(2)
            gate.set()
        assert memory.flush()
        assert turns(instance_of(memory)) == ["turn 0", "turn 1"]


def test_lanes_do_not_wait_for_each_other(home):
    blocked = {}

    def error(turn):
        return ProviderUnavailableError("x") if turn.session_id == blocked.get("id") else None

    with Memory.open(home, providers=[flaky({"error": error})]) as memory:
        with memory.session() as one, memory.session() as two:
            blocked["id"] = one.id
            one.end_turn("first lane", "ok then")
            two.end_turn("second lane", "ok then")
            eventually(lambda: turns(instance_of(memory)) == ["second lane"])


@pytest.mark.parametrize("how", ["items", "age", "bytes"])
def test_limits_drop_the_oldest_and_count_them(tmp_path, how):
    clock = Clock()
    runtime = Runtime(tmp_path / "runtime.db", clock)
    with runtime.write() as db:
        db.execute("INSERT INTO providers(name) VALUES('p')")
    limits = {
        "items": OutboxLimits(max_items=10),
        "age": OutboxLimits(max_age_s=100),
        "bytes": OutboxLimits(max_bytes=10 * 300),
    }[how]
    outbox = Outbox(runtime, limits)
    for number in range(25):
        if how == "age" and number == 15:
            clock.forward(101)
        outbox.put("p", "lane", "sync_turn", payload={"n": number, "pad": "x" * 80})
    lost = outbox.trim()
    assert lost >= 15
    kept = [item.payload["n"] for item in outbox.items()]
    assert kept == list(range(25))[-len(kept) :]
    assert outbox.trim() == 0
    with runtime.read() as db:
        assert db.execute("SELECT dropped FROM providers").fetchone()[0] == lost
    runtime.close()


def test_a_lane_is_leased_to_one_holder(tmp_path):
    clock = Clock()
    one = Runtime(tmp_path / "runtime.db", clock)
    two = Runtime(tmp_path / "runtime.db", clock)
    first, second = Outbox(one, OutboxLimits()), Outbox(two, OutboxLimits())
    first.put("p", "lane", "end_session", payload={"reason": "exit"})
    assert first.lease("p") == "lane"
    assert second.lease("p") is None
    assert second.first("p", "lane") is None
    clock.forward(61)
    assert second.lease("p") == "lane", "the lease ran out"
    assert first.first("p", "lane") is None
    one.close()
    two.close()
