"""Two layers before a turn: what is shown, when it is fetched, how long anybody waits."""

import json
import threading
import time

import pytest
from rig import recall, session, settle, user_scope

from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    ProviderTimeoutError,
)

QUIET = {"first_turn_dialectic_wait": 0, "dialectic_cadence": 50}


def chats(asked):
    return [one for one in asked if one.route.endswith("/chat")]


def teach(rig, provider, info, text="I am Ada and I like tea."):
    provider.sync_turn(info, rig.turn(info, text))


def test_what_was_said_is_shown_with_its_heading(rig):
    one = rig.provider()
    teach(rig, one, session())
    rig.stub.state.workspaces["hermes"].cards["hermes", "user"] = ["Name: Ada"]
    text = recall(one, session("s2"))
    assert "## What is known about the user" in text
    assert "I like tea" in text
    assert "- Name: Ada" in text
    assert "## From Honcho's reasoning" in text


@pytest.mark.parametrize("cold", [True, False])
def test_a_base_refresh_is_three_calls(rig, cold):
    one = rig.provider(**QUIET)
    if not cold:
        teach(rig, one, session())
    else:
        one.parts.server.ensure(one.parts.directory.place(session()))
    with rig.stub.counting() as asked:
        recall(one, session())
        settle(one, session())
    reads = [
        call.route
        for call in asked
        if not call.route.endswith("/workspaces") and "/chat" not in call.route
    ]
    assert len(reads) == 3


def test_the_first_turn_waits_as_long_as_told_and_no_longer(rig):
    one = rig.provider(first_turn_base_wait=0.3)
    with rig.stub.hang(5.0):
        began = time.monotonic()
        with pytest.raises(ProviderTimeoutError):
            recall(one, session(), seconds=5.0)
        assert 0.25 < time.monotonic() - began < 1.5


def test_the_first_turn_never_waits_past_the_cores_deadline(rig):
    one = rig.provider(first_turn_base_wait=60)
    with rig.stub.hang(5.0):
        began = time.monotonic()
        with pytest.raises(ProviderTimeoutError):
            recall(one, session(), seconds=0.3)
        assert time.monotonic() - began < 1.0


def test_zero_never_waits(rig):
    one = rig.provider(first_turn_base_wait=0)
    with rig.stub.hang(5.0):
        began = time.monotonic()
        with pytest.raises(ProviderTimeoutError):
            recall(one, session())
        assert time.monotonic() - began < 0.3


def test_the_dialectic_waits_within_its_own_limit(rig):
    one = rig.provider(first_turn_dialectic_wait=0.2)
    teach(rig, one, session())
    with rig.stub.hang(5.0, only=lambda route: route.endswith("/chat")):
        began = time.monotonic()
        text = recall(one, session())
        assert time.monotonic() - began < 1.5
    assert "I like tea" in text
    assert "reasoning" not in text


def test_later_turns_never_wait(rig):
    one = rig.provider()
    teach(rig, one, session())
    recall(one, session())
    settle(one, session())
    with rig.stub.hang(5.0):
        one.queue_prefetch(session(), "go", 1)
        for turn in range(2, 6):
            began = time.monotonic()
            assert "I like tea" in recall(one, session(), turn=turn)
            assert time.monotonic() - began < 0.1
            one.queue_prefetch(session(), "go", turn)


def test_a_turn_whose_recall_is_not_there_yet_says_so(rig):
    one = rig.provider(first_turn_base_wait=0)
    with rig.stub.hang(5.0):
        with pytest.raises(ProviderTimeoutError):
            recall(one, session())
        with pytest.raises(ProviderBusyError):
            recall(one, session(), turn=2)


def test_what_came_too_late_comes_with_a_later_turn(rig):
    one = rig.provider(first_turn_base_wait=0.05, first_turn_dialectic_wait=0)
    teach(rig, one, session())
    with rig.stub.hang(0.4), pytest.raises(ProviderTimeoutError):
        recall(one, session())
    settle(one, session())
    assert "I like tea" in recall(one, session(), turn=2)


def test_a_new_user_is_nothing_and_no_error(rig):
    assert recall(rig.provider(), session()) == ""


def test_an_old_base_is_shown_while_the_server_is_down(rig):
    one = rig.provider()
    teach(rig, one, session())
    recall(one, session())
    settle(one, session())
    with rig.stub.fail(500):
        one.queue_prefetch(session(), "go", 1)
        settle(one, session())
        assert "I like tea" in recall(one, session(), turn=2)


def test_the_base_is_refreshed_by_its_cadence(rig):
    one = rig.provider(context_cadence=3, **QUIET)
    one.start_session(session(), "new", None)
    settle(one, session())
    fetched = []
    for turn in range(1, 8):
        recall(one, session(), turn=turn)
        with rig.stub.counting() as asked:
            one.queue_prefetch(session(), "go", turn)
            settle(one, session())
        if any(call.route.endswith("/summaries") for call in asked):
            fetched.append(turn)
    assert fetched == [3, 6]


def test_the_dialectic_is_asked_by_its_cadence_and_shown_once(rig):
    rig.stub.state.chat_answer = "Ada leads the robotics team."
    one = rig.provider(dialectic_cadence=2)
    one.start_session(session(), "new", None)
    settle(one, session())
    asked_after, shown = [], []
    for turn in range(1, 8):
        if "robotics" in recall(one, session(), turn=turn):
            shown.append(turn)
        with rig.stub.counting() as asked:
            one.queue_prefetch(session(), "go", turn)
            settle(one, session())
        if chats(asked):
            asked_after.append(turn)
    assert asked_after == [2, 4, 6]
    assert shown == [1, 3, 5, 7]


def test_empty_answers_back_off(rig):
    one = rig.provider(dialectic_cadence=1)
    one.start_session(session(), "new", None)
    settle(one, session())
    asked_after = []
    for turn in range(1, 10):
        assert recall(one, session(), turn=turn) == ""
        with rig.stub.counting() as asked:
            one.queue_prefetch(session(), "go", turn)
            settle(one, session())
        if chats(asked):
            asked_after.append(turn)
    assert asked_after == [2, 5, 9]


def test_a_stale_answer_is_thrown_away(rig):
    rig.stub.state.chat_answer = "Ada leads the robotics team."
    one = rig.provider(dialectic_cadence=1, first_turn_dialectic_wait=0)
    one.start_session(session(), "new", None)
    settle(one, session())
    assert "robotics" not in recall(one, session(), turn=9)


def test_first_turn_injection_shows_the_base_once_and_the_dialectic_on(rig):
    one = rig.provider(injection_frequency="first-turn", dialectic_cadence=1)
    teach(rig, one, session())
    rig.stub.state.chat_answer = "She leads the robotics team."
    texts = []
    for turn in (1, 2, 3):
        texts.append(recall(one, session(), turn=turn))
        one.queue_prefetch(session(), "go", turn)
        settle(one, session())
    assert ["like tea" in text for text in texts] == [True, False, False]
    assert all("robotics" in text for text in texts)


def test_a_trivial_turn_fetches_nothing(rig):
    one = rig.provider(dialectic_cadence=1)
    recall(one, session())
    settle(one, session())
    with rig.stub.counting() as asked:
        one.queue_prefetch(session(), "ok", 2)  # the core asked for no recall on turn 2
        settle(one, session())
    assert asked == []


@pytest.mark.parametrize(
    ("mode", "shown", "tools"), [("hybrid", True, 5), ("context", True, 0), ("tools", False, 5)]
)
def test_modes(rig, mode, shown, tools):
    one = rig.provider(recall_mode=mode)
    teach(rig, one, session())
    assert bool(recall(one, session())) is shown
    assert len(one.tools(session())) == tools
    assert one.system_block(session()) == rig.provider(recall_mode=mode).system_block(session("s9"))


def test_tools_mode_connects_when_told(rig):
    for eager in (False, True):
        one = rig.provider(recall_mode="tools", init_on_session_start=eager)
        with rig.stub.counting() as asked:
            one.start_session(session(f"e{eager}"), "new", None)
            time.sleep(0.4)
        assert bool(asked) is eager


def test_sections_and_budget(rig):
    one = rig.provider(session_start_sections=["peerCard"], first_turn_dialectic_wait=0)
    teach(rig, one, session())
    rig.stub.state.workspaces["hermes"].cards["hermes", "user"] = ["Name: Ada"]
    assert recall(one, session()) == "## The user in short\n- Name: Ada"
    none = rig.provider(session_start_sections=[], first_turn_dialectic_wait=0)
    with rig.stub.counting() as asked:
        assert recall(none, session("s3")) == ""
        settle(none, session("s3"))
    assert [call for call in asked if "context" in call.path or "summaries" in call.path] == []
    small = rig.provider(context_tokens=10)
    teach(rig, small, session(), "I like tea with a very long sentence behind it. " * 20)
    assert len(recall(small, session("s4"))) <= 40


def test_levels_and_session_reach_the_server(rig):
    one = rig.provider(dialectic_depth=2, dialectic_cadence=1)
    teach(rig, one, session())
    recall(one, session())
    settle(one, session())
    rig.stub.state.chat_answer = "Short."
    with rig.stub.counting() as asked:
        one.queue_prefetch(session(), "x" * 450, 1)
        settle(one, session())
    bodies = [call.body for call in chats(asked)]
    assert [body["reasoning_level"] for body in bodies] == ["minimal", "high"]
    assert {body["session_id"] for body in bodies} == {"s1"}
    assert {body["target"] for body in bodies} == {"user"}


def test_a_result_of_an_ended_session_goes_nowhere(rig):
    one = rig.provider(first_turn_base_wait=0.05)
    a, b = session("a", **user_scope("ada")), session("b", **user_scope("bo"))
    teach(rig, one, a, "Ada's safe opens with 4711.")
    with rig.stub.hang(0.3), pytest.raises(ProviderTimeoutError):
        recall(one, a)
    one.start_session(b, "reset", a)
    time.sleep(0.5)
    assert "4711" not in recall(one, b, seconds=2)
    assert a.id not in one.recaller._states


def test_recall_sync_waits_on_every_turn(rig):
    one = rig.provider(recall_sync=True, **QUIET)
    recall(one, session())
    settle(one, session())
    teach(rig, one, session(), "The boat is called Marie.")
    assert "Marie" in recall(one, session(), "what is the boat called?", turn=2)


def test_401_is_told_once_and_is_not_nothing(rig):
    rig.stub.state.keys = {"right-key": "*"}
    one = rig.provider(api_key="wrong-key")
    for turn in (1, 2, 3):
        with pytest.raises(ProviderAuthError):
            recall(one, session(), turn=turn)
    assert [notice.code for notice in rig.notices] == ["honcho_auth"]
    assert rig.notices[0].hint == "hermes memory setup honcho"


def test_the_log_says_what_was_shown_and_why(rig):
    one = rig.provider(logging=True)
    teach(rig, one, session())
    text = recall(one, session())
    path = rig.home / "providers" / "honcho" / "injection.jsonl"
    (line,) = path.read_text().splitlines()
    record = json.loads(line)
    assert record["text"] == text
    assert "peerRepresentation" in record["base"]
    assert record["why"]["turn"] == 1
    assert path.stat().st_mode & 0o077 == 0


class Model:
    def __init__(self, answer):
        self.answer = answer

    def complete(self, messages, *, task, max_tokens=500):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "search"),
    [
        ("boat name", "boat name"),
        ("", "what is my boat called"),
        ("x" * 400, "what is my boat called"),
        (RuntimeError("down"), "what is my boat called"),
    ],
)
def test_query_rewrite(rig, answer, search):
    one = rig.provider(llm=Model(answer), query_rewrite=True, **QUIET)
    with rig.stub.counting() as asked:
        recall(one, session(), "what is my boat called")
        settle(one, session())
    (view,) = [call for call in asked if "search_query" in call.path]
    assert f"search_query={search.replace(' ', '+')}" in view.path.replace("%20", "+")


def test_cron_and_friends_get_nothing(rig):
    one = rig.provider()
    with rig.stub.counting() as asked:
        for context in ("cron", "flush", "review"):
            info = session(context, agent_context=context)
            one.start_session(info, "new", None)
            assert recall(one, info) == ""
            assert one.tools(info) == []
            assert one.system_block(info) is None
            one.sync_turn(info, rig.turn(info, "hi"))
            one.end_session(info, "exit")
    assert asked == []


def test_switched_off_is_off(rig):
    one = rig.provider(enabled=False)
    with rig.stub.counting() as asked:
        one.start_session(session(), "new", None)
        assert recall(one, session()) == ""
        one.sync_turn(session(), rig.turn(session(), "hi"))
    assert asked == []
    assert not one.health().ok


def test_compression_keeps_what_is_known_without_a_call(rig):
    one = rig.provider()
    teach(rig, one, session())
    assert one.before_compression(session(), ()) is None
    recall(one, session())
    settle(one, session())
    with rig.stub.counting() as asked:
        assert "I like tea" in one.before_compression(session(), ())
    assert asked == []


def test_every_error_of_recall_is_ours(rig):
    one = rig.provider(first_turn_base_wait=1)
    for body in ("<html>login</html>", "[1, 2", "7", '{"error": "quota"}'):
        with rig.stub.fail(200, body), pytest.raises(ProviderError):
            recall(one, session(body[:3]))


def test_one_worker_of_a_kind_until_it_is_given_up(rig):
    one = rig.provider(timeout=0.1)
    place = one.parts.directory.place(session())
    state = one.recaller._state("s1", place)
    release = threading.Event()
    assert one.recaller._begin(state, "dialectic", lambda: release.wait(5))
    assert not one.recaller._begin(state, "dialectic", lambda: None), "its slot is taken"
    assert one.recaller._begin(state, "base", lambda: None), "the other layer is not held up"
    time.sleep(0.25)
    assert one.recaller._begin(state, "dialectic", lambda: None), "twice its time is over"
    release.set()


def test_a_sub_agent_is_shown_the_base_and_asks_no_dialectic(rig):
    one = rig.provider(dialectic_cadence=1)
    teach(rig, one, session())
    helper = session("h", agent_context="subagent")
    with rig.stub.counting() as asked:
        assert "I like tea" in recall(one, helper)
        one.queue_prefetch(helper, "go", 1)
        settle(one, helper)
    assert chats(asked) == []
    assert [call for call in asked if call.route.endswith("/sessions")] == []
