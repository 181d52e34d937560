"""Turns are stored once and in order, whatever happens to the requests."""

import time

import pytest
from honcho_stub import Fault
from rig import session, user_scope

from hermes_memory_core.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from hermes_memory_core.types import Scope


def stores(route):
    return route.endswith("/messages")


def words(stub):
    return [one["content"] for one in stub.messages()]


def test_a_turn_is_two_messages_with_its_id(rig):
    one = rig.provider()
    turn = rig.turn(session(), "Hello", "Hi!")
    one.sync_turn(session(), turn)
    user, ai = rig.stub.messages()
    assert (user["peer_id"], user["content"]) == ("user", "Hello")
    assert (ai["peer_id"], ai["content"]) == ("hermes", "Hi!")
    assert user["metadata"]["turn_id"] == ai["metadata"]["turn_id"] == turn.id
    assert user["created_at"].startswith("2027-01-15")


def test_a_first_turn_costs_no_question_before_it(rig):
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "warm up"))
    with rig.stub.counting() as asked:
        one.sync_turn(session(), rig.turn(session(), "second"))
    assert [call.route.rpartition("/")[2] for call in asked] == ["messages"]


@pytest.mark.parametrize("kind", ["drop_after", "hang_after"])
def test_stored_and_then_lost_is_not_stored_again(rig, kind):
    one = rig.provider(timeout=0.4)
    one.sync_turn(session(), rig.turn(session(), "warm up"))
    turn = rig.turn(session(), "precious")
    with rig.stub.fault(Fault(kind, seconds=2, only=stores)), pytest.raises(ProviderError):
        one.sync_turn(session(), turn)
    rig.clock.now += 60
    one.sync_turn(session(), turn)
    one.sync_turn(session(), turn)
    assert len(rig.stub.messages("precious")) == 1


@pytest.mark.parametrize("kind", ["drop_after", "hang_after"])
def test_the_same_after_a_crash_in_another_process(rig, kind):
    first = rig.provider(timeout=0.4)
    first.sync_turn(session(), rig.turn(session(), "warm up"))
    turn = rig.turn(session(), "precious")
    with rig.stub.fault(Fault(kind, seconds=2, only=stores)), pytest.raises(ProviderError):
        first.sync_turn(session(), turn)
    rig.clock.now += 60
    rig.provider().sync_turn(session(), turn)
    assert len(rig.stub.messages("precious")) == 1


def test_after_a_time_out_the_server_gets_time_to_store(rig):
    one = rig.provider(timeout=0.3)
    one.sync_turn(session(), rig.turn(session(), "warm up"))
    turn = rig.turn(session(), "slowly stored")
    with rig.stub.hang(5.0, only=stores):
        with pytest.raises(ProviderTimeoutError):
            one.sync_turn(session(), turn)
        with pytest.raises(ProviderBusyError):
            one.sync_turn(session(), turn)
    until = time.monotonic() + 3
    while not rig.stub.messages("slowly stored") and time.monotonic() < until:
        time.sleep(0.02)
    rig.clock.now += 10
    one.sync_turn(session(), turn)
    assert len(rig.stub.messages("slowly stored")) == 1


def test_a_lost_ledger_is_no_reason_to_store_again(rig):
    first = rig.provider()
    turn = rig.turn(session(), "precious")
    first.sync_turn(session(), turn)
    first.close()
    for path in (rig.home / "providers" / "honcho").glob("ledger.db*"):
        path.unlink()
    rig.clock.now += 100
    rig.provider().sync_turn(session(), turn)
    assert len(rig.stub.messages("precious")) == 1


def test_order_is_kept_over_failures(rig):
    one = rig.provider()
    turns = [rig.turn(session(), f"number {at}") for at in range(6)]
    for at, turn in enumerate(turns):
        if at % 2:
            with rig.stub.drop(only=stores, times=1), pytest.raises(ProviderUnavailableError):
                one.sync_turn(session(), turn)
        one.sync_turn(session(), turn)
    said = [text for text in words(rig.stub) if text.startswith("number")]
    assert said == [f"number {at}" for at in range(6)]


def test_long_turns_are_cut_and_batched(rig):
    one = rig.provider(message_max_chars=500)
    text = "A sentence with some words in it. " * 2000
    with rig.stub.counting() as asked:
        one.sync_turn(session(), rig.turn(session(), text, "ok"))
    batches = [len(call.body["messages"]) for call in asked if stores(call.route)]
    assert max(batches) == 100
    assert sum(batches) == len(rig.stub.messages())
    longest = max(len(message["content"]) for message in rig.stub.messages())
    assert longest <= 500
    parts = [one["content"].removeprefix("[continued] ") for one in rig.stub.messages()[:-1]]
    assert "".join(parts) == text
    assert all(part.endswith(". ") for part in parts)


def test_a_long_turn_that_breaks_in_the_middle_goes_on_there(rig):
    one = rig.provider(message_max_chars=200)
    turn = rig.turn(session(), "A sentence with some words in it. " * 1000)
    failing = iter([False, True])
    only = lambda route: stores(route) and next(failing, False)  # noqa: E731
    with rig.stub.fault(Fault("drop_after", only=only)), pytest.raises(ProviderUnavailableError):
        one.sync_turn(session(), turn)
    rig.clock.now += 10
    one.sync_turn(session(), turn)
    parts = [message["metadata"]["part"] for message in rig.stub.messages()]
    assert parts == list(range(parts[-1] + 1))
    assert parts[-1] + 1 == rig.stub.messages()[0]["metadata"]["parts"]


def test_blank_turns_and_sides(rig):
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), " \n", ""))
    assert words(rig.stub) == []
    one.sync_turn(session(), rig.turn(session(), "", "Good morning."))
    assert words(rig.stub) == ["Good morning."]


@pytest.mark.parametrize(
    ("every", "sent_after"), [(3, [0, 0, 3, 3, 3, 6, 6]), ("session", [0] * 7)]
)
def test_held_turns(rig, every, sent_after):
    one = rig.provider(write_frequency=every)
    found = []
    for at in range(7):
        one.sync_turn(session(), rig.turn(session(), f"said {at}"))
        found.append(len(rig.stub.messages("said")))
    assert found == sent_after
    other = rig.provider(write_frequency=every)  # a restart: held turns are on disk
    other.end_session(session(), "crash")
    assert [text for text in words(rig.stub) if "said" in text] == [f"said {at}" for at in range(7)]


def test_held_turns_are_one_request_and_survive_its_loss(rig):
    one = rig.provider(write_frequency="session")
    for at in range(40):
        one.sync_turn(session(), rig.turn(session(), f"said {at}"))
    one.sync_turn(session(), rig.turn(session(), "said 40"))
    with rig.stub.fault(Fault("drop_after", only=stores)), pytest.raises(ProviderUnavailableError):
        one.end_session(session(), "exit")
    rig.clock.now += 10
    with rig.stub.counting() as asked:
        one.end_session(session(), "exit")
    assert [call for call in asked if stores(call.route)] == []
    assert len(rig.stub.messages("said")) == 41


def test_a_switch_sends_what_was_held_under_the_old_session(rig):
    one = rig.provider(write_frequency="session", session_strategy="per-session")
    one.sync_turn(session("old"), rig.turn(session("old"), "before"))
    one.end_session(session("old"), "reset")
    one.start_session(session("new"), "reset", session("old"))
    one.sync_turn(session("new"), rig.turn(session("new"), "after"))
    one.end_session(session("new"), "exit")
    assert [
        (m["session_id"], m["content"]) for m in rig.stub.messages() if m["peer_id"] == "user"
    ] == [
        ("old", "before"),
        ("new", "after"),
    ]


def test_a_changed_frequency_sends_what_was_held_first(rig):
    rig.provider(write_frequency="session").sync_turn(session(), rig.turn(session(), "first"))
    rig.provider().sync_turn(session(), rig.turn(session(), "second"))
    assert [text for text in words(rig.stub) if text != "Noted."] == ["first", "second"]


def test_a_session_that_is_gone_is_made_again_once(rig):
    one = rig.provider()
    rig.stub.state.autocreate_sessions = False
    one.sync_turn(session(), rig.turn(session(), "first"))
    rig.stub.state.workspaces["hermes"].sessions.clear()
    one.sync_turn(session(), rig.turn(session(), "second"))
    assert words(rig.stub) == ["second", "Noted."]


def test_flags_are_applied_and_changed_flags_too(rig):
    def flags():
        return rig.stub.state.workspaces["hermes"].sessions["s1"].peers

    on = {"observe_me": True, "observe_others": True}
    rig.provider().sync_turn(session(), rig.turn(session(), "hi"))
    assert flags() == {"user": on, "hermes": on}
    one = rig.provider(observation_mode="unified")
    one.sync_turn(session(), rig.turn(session(), "hi"))
    assert flags() == {
        "user": {"observe_me": True, "observe_others": False},
        "hermes": {"observe_me": False, "observe_others": True},
    }
    with rig.stub.counting() as asked:
        one.sync_turn(session(), rig.turn(session(), "hi"))
        rig.provider(observation_mode="unified").parts.server.ensure(
            one.parts.directory.place(session())
        )
    assert [call for call in asked if call.route.endswith("/config")] == []


@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        ({}, {("user", "user"), ("user", "hermes"), ("hermes", "user"), ("hermes", "hermes")}),
        ({"observation_mode": "unified"}, {("user", "user"), ("hermes", "user")}),
        ({"observe_ai": {"observe_me": False}}, {("user", "user"), ("hermes", "user")}),
        (
            {"observe_user": {"observe_others": False}, "observe_ai": {"observe_others": False}},
            {("user", "user"), ("hermes", "hermes")},
        ),
    ],
)
def test_who_learns_about_whom(rig, settings, pairs):
    one = rig.provider(**settings)
    one.sync_turn(session(), rig.turn(session(), "I like tea.", "I like logic."))
    found = {(c["observer_id"], c["observed_id"]) for c in rig.stub.state.all_conclusions()}
    assert found == pairs


def test_sub_agents_and_cron_never_write(rig):
    one = rig.provider()
    for context in ("subagent", "cron", "flush", "review"):
        info = session(context, agent_context=context)
        one.start_session(info, "new", None)
        one.sync_turn(info, rig.turn(info, "secret work"))
        one.delegation_finished(info, "task", "result", None)
        one.end_session(info, "exit")
    assert rig.stub.asked == []


def test_delegations_are_something_the_assistant_knows(rig):
    one = rig.provider()
    for _ in range(2):
        one.delegation_finished(session(), "count the sails", "seven", "child")
    (message,) = rig.stub.messages()
    assert message["peer_id"] == "hermes"
    assert "count the sails" in message["content"]
    assert "seven" in message["content"]


def test_users_of_one_scope_have_their_own_sessions(rig):
    one = rig.provider()
    for user in ("ada", "bo"):
        info = session(user, cwd="/srv/bot", **user_scope(user))
        one.sync_turn(info, rig.turn(info, f"I am {user}"))
    anonymous = session("x", scope=Scope("user", None))
    one.sync_turn(anonymous, rig.turn(anonymous, "nobody"))
    assert len({m["session_id"] for m in rig.stub.messages()}) == 2
    assert len({m["peer_id"] for m in rig.stub.messages()}) == 4
    assert rig.stub.messages("nobody") == []
    assert [notice.code for notice in rig.notices].count("honcho_nobody") >= 1


def test_hostile_text_is_kept(rig):
    one = rig.provider()
    text = "half \ud83d emoji \x00 nul \u202e 👩‍👩‍👧"
    one.sync_turn(session(), rig.turn(session(), text))
    (message,) = rig.stub.messages("emoji")
    assert "👩‍👩‍👧" in message["content"]


def test_no_key_of_the_environment_goes_to_your_own_server(rig, monkeypatch):
    monkeypatch.setenv("HONCHO_API_KEY", "cloud-secret")
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "hi"))
    assert all("Authorization" not in call.headers for call in rig.stub.asked)
    keyed = rig.provider(api_key="mine-123")
    keyed.sync_turn(session(), rig.turn(session(), "hi"))
    assert rig.stub.asked[-1].headers["Authorization"] == "Bearer mine-123"
    assert rig.stub.asked[-1].headers["X-Honcho-Host"].startswith("hermes-memory-honcho")
