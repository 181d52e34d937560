"""Reported faults of area E (whose memory it is), through the public interface. E04, E05: test_config_and_profiles."""

from __future__ import annotations

import json

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.types import PROFILE_SCOPE
from tests.helpers import provider_class


def settings(home, text):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(text)


def remember(session, content, target="memory"):
    answer = session.call_tool("memory", {"action": "add", "target": target, "content": content})
    assert json.loads(answer)["success"], answer


def search(session, query):
    return session.call_tool("session_search", {"query": query})


def test_e01_what_was_said_in_a_private_chat_is_not_in_the_group(home):
    settings(home, "memory:\n  isolation: chat\n")
    with Memory.open() as memory:
        with memory.session("telegram", user_id="anna", chat_id="dm-anna") as session:
            remember(session, "The staging host is quokka.internal")
            session.end_turn("the staging host is quokka.internal", "noted")
        # the very same person, in a group
        with memory.session("telegram", user_id="anna", chat_id="group-7") as session:
            assert "quokka" not in session.system_prompt()
            assert "quokka" not in session.begin_turn("what hosts do you know?").text
            assert "quokka" not in search(session, "staging host")
        with memory.session("telegram", user_id="anna", chat_id="dm-anna") as session:
            assert "quokka" in session.system_prompt()
            assert "quokka" in search(session, "staging host")


def test_e02_search_finds_ones_own_conversations_and_the_owner_all(home):
    settings(home, "memory:\n  isolation: user\n")
    with Memory.open() as memory:
        for user, word in (("anna", "marmalade"), ("ben", "pretzel")):
            with memory.session("telegram", user_id=user) as session:
                session.end_turn(f"I like {word}", "noted")
        with memory.session("telegram", user_id="ben") as session:
            assert json.loads(search(session, "marmalade"))["results"] == []
            assert "pretzel" in search(session, "pretzel")
        found = memory.history.search("marmalade", scope=PROFILE_SCOPE)
        assert len(found) == 1


def test_e03_two_users_of_one_bot_do_not_share_notes(home):
    settings(home, "memory:\n  isolation: user\n")
    with Memory.open() as memory:
        with memory.session("telegram", user_id="alice") as session:
            remember(session, "Allergic to nuts", "user")
            session.end_turn("I am allergic to nuts", "noted")
        with memory.session("telegram", user_id="bob") as session:
            assert "nuts" not in session.system_prompt()
            assert "nuts" not in memory.slash("/memory list", session)
            assert "Nothing found" in memory.slash("/search nuts", session)
            assert json.loads(search(session, "nuts"))["results"] == []
    names = [path.name for path in (home / "memories" / "user").iterdir()]
    assert "alice" not in "".join(names)


@pytest.mark.parametrize("isolation", ["user", "chat"])
def test_e06_d01_each_call_of_a_provider_says_whose_it_is(home, isolation):
    settings(home, f"memory:\n  isolation: {isolation}\n")
    bank = {}

    def sync_turn(self, session, turn):
        bank.setdefault(session.scope.key, []).append(turn.user)

    def prefetch(self, session):
        return "\n".join(bank.get(session.scope.key, []))

    kind = provider_class("keeper", sync_turn=sync_turn, prefetch=prefetch)
    operator = {"user_id": "operator", "chat_id": "office"}
    customer = {"user_id": "customer", "chat_id": "shop"}
    with Memory.open(providers=[kind]) as memory:
        with memory.session("web", **operator) as session:
            session.end_turn("the vendor's quote is 900", "noted")
        assert memory.flush()
        with memory.session("web", **customer) as session:
            assert "900" not in session.begin_turn("what does the vendor ask?").text
        with memory.session("web", **operator) as session:
            text = session.begin_turn("what does the vendor ask?").text
            assert "900" in text
            assert "authoritative" not in text


def test_e07_three_accounts_of_one_owner_are_one_memory(home):
    settings(
        home,
        "memory:\n  isolation: user\n  identity:\n    links:\n      me: [telegram:111, discord:222, cli]\n",
    )
    accounts = [("telegram", "111"), ("discord", "222"), ("cli", None)]
    with Memory.open() as memory:
        for source, user in accounts:
            with memory.session(source, user_id=user) as session:
                remember(session, f"Said on {source}")
        for source, user in accounts:
            with memory.session(source, user_id=user) as session:
                for other, _user in accounts:
                    assert f"Said on {other}" in session.system_prompt()
        with memory.session("telegram", user_id="unknown") as session:
            assert "Said on" not in session.system_prompt()
