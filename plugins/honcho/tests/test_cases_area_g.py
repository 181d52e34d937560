"""Reported faults that concern this provider, case by case, each named in its test."""

import json
import time

import pytest
from hermes_memory_honcho import HonchoProvider
from hermes_memory_honcho.provider import HonchoProvider as Provider
from rig import recall, session, settle, user_scope

from hermes_memory_core import Memory
from hermes_memory_core.errors import ProviderTimeoutError
from hermes_memory_core.types import Scope


@pytest.fixture
def memory(stub, tmp_path):
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    settings = {"memory": {"provider": "honcho"}, "providers": {"honcho": {"base_url": stub.url}}}
    (home / "config.yaml").write_text(json.dumps(settings))
    with Memory.open(home, providers=[HonchoProvider]) as opened:
        yield opened


def test_c05_a_turn_with_an_image_arrives_as_text(memory, stub):
    with memory.session() as talk:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAABBBB"}}
        talk.end_turn([{"type": "text", "text": "what colour is it?"}, picture], "Red.")
    assert memory.flush(10)
    (asked,) = stub.messages("what colour")
    assert "[1 image]" in asked["content"]
    assert stub.messages("AAAABBBB") == []


def test_d01_the_operators_memory_is_not_shown_to_a_customer(rig):
    one = rig.provider(peer_name="operator")
    operator = session("o")
    customer = session("c", user_id="cust-9", chat_id="55", source="telegram")
    one.sync_turn(
        operator, rig.turn(operator, "Our vendor quote is 900.", "I note the vendor quote of 900.")
    )
    one.sync_turn(customer, rig.turn(customer, "Hello, what does it cost?"))
    assert "900" in recall(one, operator, "the quote?")
    assert "900" not in recall(one, customer, "what is the price?")


def test_d04_scaffolding_around_the_users_words_is_not_sent(memory, stub):
    with memory.session() as talk:
        skill = {"role": "user", "content": "[skill wrapper: forty lines of instructions]"}
        talk.end_turn(
            "tidy my notes", "Done.", messages=[skill, {"role": "assistant", "content": "Done."}]
        )
        talk.end_turn("", "")
    assert memory.flush(10)
    assert [one["content"] for one in stub.messages()] == ["tidy my notes", "Done."]


def test_d09_a_late_recall_of_one_session_never_fills_the_next(rig):
    one = rig.provider(first_turn_base_wait=0.05)
    a, b = session("a", cwd="/w/a"), session("b", cwd="/w/b", **user_scope("bo"))
    one.sync_turn(a, rig.turn(a, "Codename of project A is Heron."))
    with rig.stub.hang(0.5):
        with pytest.raises(ProviderTimeoutError):
            recall(one, a, "codename?")
        one.end_session(a, "reset")
        one.start_session(b, "reset", a)
    time.sleep(0.3)
    assert "Heron" not in recall(one, b, "codename?")


def test_e06_what_was_said_alone_does_not_surface_in_a_group(rig):
    one = rig.provider()
    alone = session(
        "dm", user_id="ada", chat_id="dm-1", source="telegram", scope=Scope("chat", "dm-1")
    )
    group = session(
        "gr", user_id="ada", chat_id="gr-1", source="telegram", scope=Scope("chat", "gr-1")
    )
    one.sync_turn(alone, rig.turn(alone, "My salary is 5000."))
    one.sync_turn(group, rig.turn(group, "Hi all."))
    assert "5000" in recall(one, alone, "salary?")
    assert "5000" not in recall(one, group, "salary?")


def test_g04_a_server_that_derives_nothing_is_not_ok(rig):
    rig.stub.state.derive = False
    one = rig.provider()
    for at in range(15):
        one.sync_turn(session(), rig.turn(session(), f"fact {at}"))
    fresh = one.health()
    assert "accepted 30, derived 0, pending 30" in fresh.message
    assert fresh.ok, "the worker may take half an hour"
    rig.clock.now += 2 * 3600
    late = one.health()
    assert not late.ok
    assert late.details["degraded"] == ["derivation"]
    assert "worker" in late.hint


def test_g05_a_server_that_makes_no_sessions_gets_them_made(rig):
    rig.stub.state.autocreate_sessions = False
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "one"))
    rig.stub.state.workspaces["hermes"].sessions.clear()
    one.sync_turn(session(), rig.turn(session(), "two"))
    assert len(rig.stub.messages("two")) == 1


def test_g05_failing_syncs_are_seen_by_the_person(memory, stub):
    with stub.fail(404, only=lambda route: route.endswith("/messages")), memory.session() as talk:
        talk.end_turn("hello", "hi")
        deadline = time.monotonic() + 4
        while not memory.status()["outbox"]["dead"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert memory.status()["outbox"]["dead"] == 1


@pytest.mark.parametrize("strategy", ["per-directory", "per-repo", "global"])
def test_g18_a_title_does_not_split_a_session(rig, strategy):
    one = rig.provider(session_strategy=strategy)
    before = one.parts.directory.place(session(cwd="/w/shop"))
    after = one.parts.directory.place(session(cwd="/w/shop", title="Auto: fixing the till"))
    assert before.session == after.session
    asked_for = rig.provider(session_strategy="per-directory", title_names_session=True)
    named = session("s7", cwd="/w/shop", title="tax-2027")
    assert asked_for.parts.directory.place(named).session == "tax-2027"
    renamed = session("s7", cwd="/w/elsewhere", title="other")
    assert asked_for.parts.directory.place(renamed).session == "tax-2027", "stable during a session"


def test_g22_wrong_settings_are_told_and_caches_are_bounded(rig):
    (rig.home / "honcho.json").write_text(
        json.dumps({"logging": "false", "saveMessages": "perhaps", "contxtTokens": 9})
    )
    one = rig.provider(first_turn_dialectic_wait=0, dialectic_cadence=1000)
    told = " ".join(notice.message for notice in rig.notices)
    assert "`save_messages`" in told
    assert "did you mean `contextTokens`" in told
    assert one.settings.logging is False
    for at in range(300):
        info = session(f"many-{at}")
        one.recaller._state(info.id, one.parts.directory.place(info))
        one.parts.server._ready[info.id] = "1111"
    one.parts.server.ensure(one.parts.directory.place(session("last")))
    assert len(one.recaller._states) <= 256
    assert len(one.parts.server._ready) <= 256


def test_g22_no_peer_is_made_of_a_session_key(rig):
    one = rig.provider()
    anonymous = session("x", chat_id="99", source="telegram", scope=Scope("user", None))
    one.start_session(anonymous, "new", None)
    one.sync_turn(anonymous, rig.turn(anonymous, "who am I?"))
    assert rig.stub.asked == []


def test_g25_saving_off_writes_nothing_anywhere(rig):
    (rig.home / "memories").mkdir()
    (rig.home / "memories" / "USER.md").write_text("Prefers tea.\n")
    from rig import note

    one = rig.provider(save_messages=False)
    one.start_session(session(), "new", None)
    recall(one, session())
    one.sync_turn(session(), rig.turn(session(), "secret"))
    one.notes_written(session(), note("add", (), ("Prefers tea",)))
    one.delegation_finished(session(), "t", "r", None)
    one.queue_prefetch(session(), "go", 1)
    settle(one, session())
    one.end_session(session(), "exit")
    one.close()
    assert rig.stub.messages() == rig.stub.state.all_conclusions() == []
    writes = [one.route for one in rig.stub.asked if one.route.startswith(("PUT", "DELETE"))]
    assert writes == []


def test_g25_owner_files_go_up_under_the_owner_only(rig):
    (rig.home / "memories").mkdir()
    (rig.home / "memories" / "USER.md").write_text("Prefers tea.\n")
    one = rig.provider(peer_name="ada")
    stranger = session("x", user_id="stranger", chat_id="group", source="telegram")
    one.start_session(stranger, "new", None)
    settle(one, stranger)
    assert rig.stub.messages("tea") == []
    one.start_session(session("mine"), "new", None)
    settle(one, session("mine"))
    (message,) = rig.stub.messages("tea")
    assert message["peer_id"] == "ada"


def test_the_class_is_the_entry_points_class():
    assert HonchoProvider is Provider
