"""The fault table: what goes wrong, what the person, the model and the outbox are told, and that nothing is lost.

Each row is one fault of the server while a turn is delivered, then recalled, then asked for by a tool. After it the
turn is on the server exactly once.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager

import pytest
from honcho_stub import Fault
from rig import call, recall, session

from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderBadResponseError,
    ProviderError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)

LIST_DETAIL = '{"detail": [{"loc": ["body", "messages", 0], "msg": "too long", "type": "x"}]}'


@contextmanager
def down(rig):
    """Connections are refused: the process is gone."""
    rig.stub.stop()
    try:
        yield
    finally:
        from honcho_stub import HonchoStub

        rig.stub = HonchoStub(rig.stub.port, rig.stub.state).__enter__()


def fail(status, body="", headers=None):
    return lambda rig: rig.stub.fail(status, body, headers)


def fault(kind, **more):
    return lambda rig: rig.stub.fault(Fault(kind, **more))


ROWS = {
    # name: (what happens, the error, can it be tried again)
    "down": (down, ProviderUnavailableError, True),
    "hangs": (fault("hang", seconds=3), ProviderTimeoutError, True),
    "drops": (fault("drop"), ProviderUnavailableError, True),
    "drops after it stored": (fault("drop_after"), ProviderUnavailableError, True),
    "hangs after it stored": (fault("hang_after", seconds=3), ProviderTimeoutError, True),
    "400": (fail(400), ProviderRejectedError, False),
    "401": (fail(401, '{"detail": "Invalid JWT"}'), ProviderAuthError, True),
    "403": (fail(403), ProviderAuthError, True),
    "404": (fail(404), ProviderRejectedError, False),
    "405": (fail(405), ProviderRejectedError, False),
    "408": (fail(408), ProviderTimeoutError, True),
    "409": (fail(409), ProviderUnavailableError, True),
    "413": (fail(413), ProviderRejectedError, False),
    "422 with a list": (fail(422, LIST_DETAIL), ProviderRejectedError, False),
    "422 with a text": (fail(422, '{"detail": "no"}'), ProviderRejectedError, False),
    "429": (fail(429, "", {"Retry-After": "3600"}), ProviderRateLimitError, True),
    "429 without a time": (fail(429), ProviderRateLimitError, True),
    "429 with nonsense": (fail(429, "", {"Retry-After": "soon"}), ProviderRateLimitError, True),
    "500": (fail(500), ProviderUnavailableError, True),
    "500 in HTML": (fail(500, "<html>oops</html>"), ProviderUnavailableError, True),
    "502": (fail(502), ProviderUnavailableError, True),
    "503": (fail(503, "", {"Retry-After": "3600"}), ProviderUnavailableError, True),
    "504": (fail(504), ProviderTimeoutError, True),
    "a portal": (fail(200, "<html>log in</html>"), ProviderBadResponseError, True),
    "another service": (fail(200, '{"error": "quota"}'), ProviderBadResponseError, True),
    "half an answer": (fail(200, '{"items": ['), ProviderBadResponseError, True),
    "a list for an object": (fail(200, "[1, 2]"), ProviderBadResponseError, True),
}


def settled(rig):
    rig.clock.now += 120


@pytest.mark.parametrize("name", ROWS)
def test_a_turn_is_delivered_once_after_it(rig, name):
    happens, kind, retryable = ROWS[name]
    one = rig.provider(timeout=0.4)
    one.sync_turn(session(), rig.turn(session(), "warm up"))
    turn = rig.turn(session(), "the precious turn")
    began = time.monotonic()
    with happens(rig):
        with pytest.raises(ProviderError) as caught:
            one.sync_turn(session(), turn)
        assert time.monotonic() - began < 3.0, "no Retry-After is slept on"
    assert isinstance(caught.value, kind), caught.value
    assert caught.value.retryable is retryable
    settled(rig)
    one.sync_turn(session(), turn)
    assert len(rig.stub.messages("the precious turn")) == 1


@pytest.mark.parametrize("name", ROWS)
def test_recall_fails_aloud(rig, name):
    happens, kind, _ = ROWS[name]
    one = rig.provider(timeout=0.4, first_turn_base_wait=0.8)
    with happens(rig):
        with pytest.raises(ProviderError) as caught:
            recall(one, session("fresh"))
        assert isinstance(caught.value, kind | ProviderTimeoutError), caught.value
    deadline = time.monotonic() + 3
    while True:  # and works again as soon as the server does
        try:
            assert recall(one, session("fresh"), turn=2) == ""
            break
        except ProviderError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("name", ROWS)
def test_a_tool_that_fails_is_not_a_tool_that_found_nothing(rig, name):
    happens, kind, _ = ROWS[name]
    one = rig.provider(timeout=0.4)
    with happens(rig):
        for tool, arguments in (
            ("honcho_search", {"query": "tea"}),
            ("honcho_profile", {}),
            ("honcho_reasoning", {"query": "who?"}),
        ):
            told = ""
            try:
                answer = call(one, session(), tool, **arguments)
                told = str(answer.get("error", ""))
                found = not answer["ok"]
            except kind as error:
                told, found = error.message, True
            if name == "404" and tool != "honcho_reasoning":
                continue  # an unknown peer: nothing is known about it
            assert found, (tool, answer)
            assert told


@pytest.mark.parametrize("name", [name for name in ROWS if name != "404"])
def test_health_says_what_is_wrong(rig, name):
    happens, _, _ = ROWS[name]
    one = rig.provider(timeout=0.4)
    with happens(rig):
        health = one.health()
    assert not health.ok
    assert health.message
    assert one.health().ok


def test_a_restart_in_the_middle_of_a_session(rig):
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "before"))
    recall(one, session())
    rig.stub = rig.stub.restart()
    found = call(one, session(), "honcho_search", query="before")
    assert "before" in found["result"]
    turn = rig.turn(session(), "after")
    try:
        one.sync_turn(session(), turn)
    except ProviderUnavailableError:
        one.sync_turn(session(), turn)
    assert len(rig.stub.messages("after")) == 1


def test_a_slow_server_is_slow_and_nothing_else(rig):
    one = rig.provider(timeout=2)
    with rig.stub.fault(Fault("slow", seconds=0.15)):
        one.sync_turn(session(), rig.turn(session(), "slowly"))
    assert len(rig.stub.messages("slowly")) == 1


def test_an_llm_outage_behind_the_server_only_costs_the_dialectic(rig):
    one = rig.provider(first_turn_dialectic_wait=0.5)
    one.sync_turn(session(), rig.turn(session(), "I like tea."))
    with rig.stub.fail(500, only=lambda route: route.endswith("/chat")):
        text = recall(one, session())
    assert "I like tea" in text


def test_one_part_of_the_base_that_fails_leaves_the_others(rig):
    one = rig.provider(first_turn_dialectic_wait=0)
    one.sync_turn(session(), rig.turn(session(), "I like tea."))
    with rig.stub.fail(500, only=lambda route: route.endswith("/summaries")):
        assert "I like tea" in recall(one, session())


def test_many_faults_in_a_row(rig):
    """Whatever the mixture, twenty turns end up there once, in order."""
    one = rig.provider(timeout=0.3)
    one.sync_turn(session(), rig.turn(session(), "warm up"))
    kinds = ["drop", "drop_after", "fail", "hang_after"]
    for at in range(20):
        turn = rig.turn(session(), f"turn {at}!")
        with ExitStack() as stack:
            kind = kinds[at % 4]
            stack.enter_context(
                rig.stub.fault(
                    Fault(
                        kind,
                        seconds=0.6,
                        status=503,
                        only=lambda route: route.endswith("/messages"),
                        times=1,
                    )
                )
            )
            for _ in range(4):
                try:
                    one.sync_turn(session(), turn)
                    break
                except ProviderError:
                    rig.clock.now += 30
    said = [m["content"] for m in rig.stub.messages("turn ")]
    assert said == [f"turn {at}!" for at in range(20)]
