"""Every fault in every hook: the turn completes in time, the other layers are intact, the fault can be seen."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers import eventually

from faults.reference import bad as bad_module
from faults.reference.bad import ANSWERING, CAP_S, HOOKS, RAISING, RUDE, bad, deadlines, released
from hermes_memory_core import Memory

SLACK_S = 2.0
"""What a busy machine may add: this tells a hook that is cut off from one that is waited for; bench/faults.py times it."""
IN_TIME = {(fault, "start_session") for fault in ("1.2 times the deadline", "a busy loop")}
"""In the background nobody waits for these, and 30 s are theirs."""
VALUES_MATTER = ("prefetch", "tools", "call_tool")


@pytest.fixture(autouse=True)
def put_everything_back():
    before = Path.cwd()
    handler, mask = signal.getsignal(signal.SIGTERM), os.umask(0o022)
    os.umask(mask)
    streams, environment = (sys.stdout, sys.stderr), dict(os.environ)
    released.clear()
    yield
    released.set()
    sys.stdout, sys.stderr = streams
    os.environ.update(environment)
    os.chdir(before)
    os.umask(mask)
    signal.signal(signal.SIGTERM, handler)
    sys.modules[bad_module.__name__] = bad_module


class Drive:
    """One conversation with a bad provider, every step timed."""

    def __init__(self, home, kind, **options):
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.yaml").write_text(deadlines(CAP_S), encoding="utf-8")
        self.home, self.kind, self.options = home, kind, options
        self.seconds = {}
        self.wait_s = 0.0

    def step(self, name, work, *arguments, **options):
        began = time.monotonic()
        value = work(*arguments, **options)
        self.seconds[name] = time.monotonic() - began
        return value

    def run(self):
        with Memory.open(self.home, providers=[self.kind], **self.options) as memory:
            memory.notes.add("memory", "The harbour master is called Ines.")
            session = self.step("session", memory.session)
            self.prompt = self.step("system_prompt", session.system_prompt)
            self.tools = self.step("tools", session.tools)
            self.turn = self.step("begin_turn", session.begin_turn, "tell me about the boat")
            self.answer = self.step("call_tool", session.call_tool, "bad_tool", {"a": {"b": [1]}})
            self.own = session.call_tool("session_search", {})
            self.note = session.call_tool(
                "memory", {"action": "add", "target": "memory", "content": "Low tide at nine."}
            )
            self.receipt = self.step(
                "end_turn", session.end_turn, "tell me about the boat", "It is at pier two."
            )
            self.step("end", session.end)
            self.look(memory)
            self.messages = memory.history.messages(session.id)
            self.notes = [note.text for note in memory.notes.list()]
            self.began_closing = time.monotonic()
        self.seconds["close"] = time.monotonic() - self.began_closing
        return self

    def look(self, memory):
        """Give the background its time, then read what a person would see."""
        memory.flush(CAP_S * 3)
        time.sleep(self.wait_s)
        self.status = memory.status()
        self.layer = next(one for one in self.status["layers"] if one["name"] == "bad")

    def check_the_turn(self):
        caps = {"session": 0, "end_turn": 0, "end": 0, "close": 3 * CAP_S + 1.2}
        late = {
            name: round(seconds, 2)
            for name, seconds in self.seconds.items()
            if seconds > caps.get(name, CAP_S) + SLACK_S
        }
        assert not late, f"took too long: {late}"
        assert self.receipt.saved and self.receipt.error is None

    def check_the_others(self):
        assert "The harbour master is called Ines." in self.prompt
        names = [tool["function"]["name"] for tool in self.tools]
        assert {"memory", "session_search"} <= set(names) and len(set(names)) == len(names)
        json.dumps(self.tools)
        assert [message.content for message in self.messages] == [
            "tell me about the boat",
            "It is at pier two.",
        ]
        assert json.loads(self.note)["success"] is True
        assert json.loads(self.own)["success"] is True
        assert self.notes == ["The harbour master is called Ines.", "Low tide at nine."]
        assert isinstance(strict_json(self.answer), dict)


def recall_of(turn):
    return next(report for report in turn.recalls if report.provider == "bad")


def strict_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    text.encode("utf-8")
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("fault", RAISING)
def test_no_answer(fault, hook, home, monkeypatch):
    drive = Drive(home, bad(hook, RAISING[fault]))
    if (fault, hook) == ("a hang", "start_session"):  # 30 s are its own; here it gets less
        monkeypatch.setattr("hermes_memory_core.engine.calls.BACKGROUND_S", CAP_S)
        drive.wait_s = CAP_S * 1.5
    drive.run()
    drive.check_the_turn()
    drive.check_the_others()
    layer = drive.layer
    if (fault, hook) in IN_TIME:
        assert layer["failures"] == 0
        return
    assert layer["last_error"] is not None, "the fault cannot be seen in status"
    assert layer["last_error"]["hook"] == hook
    assert layer["last_error"]["message"].strip()
    assert layer["failures"] >= 1
    if hook == "prefetch":
        assert recall_of(drive.turn).state in ("failed", "timeout")
        assert drive.turn.text == ""
    if hook == "call_tool":
        assert strict_json(drive.answer)["success"] is False
    if hook in ("sync_turn", "end_session") and fault != "healthy and unhealthy in turns":
        outbox = drive.status["outbox"]
        assert outbox["pending"] + outbox["dead"] >= 1, "the item was lost"


@pytest.mark.parametrize("hook", VALUES_MATTER)
@pytest.mark.parametrize("fault", ANSWERING)
def test_a_strange_answer(fault, hook, home):
    drive = Drive(home, bad(hook, ANSWERING[fault])).run()
    drive.check_the_turn()
    drive.check_the_others()
    assert len(drive.turn.text) < 150_000
    assert drive.turn.text.count("</memory-context>") <= 1
    assert drive.turn.text.count("The boat is blue.") <= 1
    assert sum(len(json.dumps(tool)) for tool in drive.tools) < 500_000


NOT_TEXT = (
    "an int",
    "bytes",
    "a list of text",
    "an endless generator",
    "a class",
    "a hostile object",
)


@pytest.mark.parametrize("fault", [*NOT_TEXT, "a Recall of an int"])
def test_a_recall_of_the_wrong_kind_is_a_failure_not_an_empty_one(fault, home):
    drive = Drive(home, bad("prefetch", ANSWERING[fault])).run()
    assert recall_of(drive.turn).state == "failed"
    assert drive.layer["failures"] >= 1


@pytest.mark.parametrize("fault", [name for name in NOT_TEXT if name != "an endless generator"])
def test_tools_of_the_wrong_kind_can_be_seen(fault, home):
    drive = Drive(home, bad("tools", ANSWERING[fault])).run()
    told = [notice for notice in drive.status["notices"] if "bad" in json.dumps(notice)]
    assert drive.layer["failures"] >= 1 or told


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("fault", RUDE)
def test_bad_manners(fault, hook, home):
    drive = Drive(home, bad(hook, RUDE[fault])).run()
    drive.check_the_turn()
    drive.check_the_others()


def test_a_tools_list_that_changes_is_fixed_for_the_session(home):
    kind = bad("prefetch", RUDE["it changes its tools after registration"])
    with Memory.open(home, providers=[kind]) as memory, memory.session() as session:
        first = session.tools()
        session.begin_turn("tell me about the boat")
        assert session.tools() == first
        assert json.loads(session.call_tool("bad_tool1"))["success"] is False


def test_a_host_gets_its_arguments_back_unchanged(home):
    kind = bad("call_tool", RUDE["it changes its arguments"])
    arguments = {"a": {"b": [1]}}
    with Memory.open(home, providers=[kind]) as memory, memory.session() as session:
        session.call_tool("bad_tool", arguments)
    assert arguments == {"a": {"b": [1]}}


def test_a_late_recall_that_is_no_text_harms_nobody(home):
    def late(provider, hook, arguments):
        released.wait(CAP_S * 2)
        return bad_module.Recall(7)

    drive = Drive(home, bad("prefetch", late))
    with Memory.open(drive.home, providers=[drive.kind]) as memory, memory.session() as session:
        external = memory._profile.roster.external
        states = []
        for number in range(4):
            states.append(recall_of(session.begin_turn(f"question number {number}")).state)
            eventually(lambda: external._pool.in_flight == 0)
        assert states == ["timeout"] * 4
        alive = [thread for thread in threading.enumerate() if thread.name == "hermes-bad"]
        assert len(alive) == external._pool._alive <= 2, "the pool counts a thread that died"


@pytest.mark.parametrize("jump", [-86_400.0 * 40, 86_400.0 * 40, -1e18])
def test_a_clock_that_jumps(jump, home):
    now = [1_750_000_000.0]

    def clock():
        now[0] += 0.001
        return now[0]

    with Memory.open(
        home, providers=[bad("prefetch", RAISING["an exception"])], clock=clock
    ) as memory:
        with memory.session() as session:
            session.begin_turn("tell me about the boat")
            assert session.end_turn("before", "the jump").saved
            now[0] += jump
            session.begin_turn("tell me about the pier")
            assert session.end_turn("after", "the jump").saved
        assert memory.status()
        assert len(memory.history.messages(session.id)) == 4
