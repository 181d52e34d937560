"""``hermes memory pending | approve | reject | identity | forget`` as a person types them."""

from __future__ import annotations

import json

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.types import Origin, Scope

REVIEW = Origin(who="review", attended=False, session_id="s-review")


@pytest.fixture
def proposals(home):
    with Memory.open() as memory:
        memory.notes.add("memory", "Deploys happen on Tuesday")
        memory.notes.add("memory", "Never deploy on Friday")
        memory.notes.patch("memory", "Tuesday", "Monday", origin=REVIEW)
        memory.notes.remove("memory", "Friday", origin=REVIEW)
        return [item.id for item in memory.pending.list()]


def notes(home):
    with Memory.open() as memory:
        return [note.text for note in memory.notes.list()]


# ---------------------------------------------------------------- pending


def test_the_list_says_what_waits_and_why(hermes, proposals):
    ran = hermes("memory", "pending")
    assert ran.code == 0
    for one in proposals:
        assert one in ran.out
    assert "nobody was watching" in ran.out
    assert "approve" in ran.err
    data = hermes("memory", "pending", "--json").data
    assert [one["id"] for one in data["pending"]] == proposals
    assert data["pending"][0]["change"]["before"] == ["Deploys happen on Tuesday"]


def test_f07_status_says_that_something_waits_and_why(hermes, proposals):
    ran = hermes("memory", "status")
    assert "2 changes of notes for your approval" in ran.out
    assert "nobody was watching" in ran.out
    status = hermes("memory", "status", "--json").data
    assert status["pending"]["count"] == 2
    assert status["pending"]["reasons"][0]["count"] == 2


def test_one_is_shown_as_a_unified_diff(hermes, proposals):
    ran = hermes("memory", "pending", proposals[0])
    assert "-Deploys happen on Tuesday" in ran.out
    assert "+Deploys happen on Monday" in ran.out
    assert "s-review" in ran.out


def test_nothing_waits(hermes, home):
    assert "Nothing waits" in hermes("memory", "pending").out
    assert "Nothing waits" in hermes("memory", "approve", "all").out


def test_one_is_approved_and_another_rejected(hermes, home, proposals):
    assert hermes("memory", "approve", proposals[0]).code == 0
    assert hermes("memory", "reject", proposals[1]).code == 0
    assert notes(home) == ["Deploys happen on Monday", "Never deploy on Friday"]
    log = hermes("memory", "pending", "--log").out
    assert "approved" in log
    assert "rejected" in log
    assert (
        "approved"
        in hermes("memory", "show", hermes("memory", "log", "--json").data["changes"][0]["id"]).out
    )


def test_approve_all_previews_and_asks(hermes, home, proposals):
    before = notes(home)
    ran = hermes("memory", "approve", "all", stdin="n\n")
    assert ran.code == 1
    assert proposals[0] in ran.err
    assert notes(home) == before
    assert hermes("memory", "approve", "all", "--json").code == 2
    assert hermes("memory", "approve", "all", stdin="y\n").code == 0
    assert notes(home) == ["Deploys happen on Monday"]


def test_what_fails_is_told_still_waits_and_ends_with_1(hermes, home, proposals):
    hermes("memory", "replace", "Never deploy on Friday", "Friday is fine")
    ran = hermes("memory", "approve", "all", "--yes")
    assert ran.code == 1
    assert "not settled" in ran.out
    assert "changed since" in ran.out
    data = hermes("memory", "pending", "--json").data
    assert [one["id"] for one in data["pending"]] == proposals[1:]


@pytest.mark.parametrize("bad", ["../../evil", "zzzzzzzz", "00000000"])
def test_an_unknown_id_changes_nothing(hermes, home, proposals, bad):
    ran = hermes("memory", "approve", bad)
    assert ran.code == 1
    assert "no pending write" in ran.out
    assert hermes("memory", "approve").code == 2


def test_a_broken_record_is_named(hermes, home, proposals):
    (home / "pending" / "memory" / f"{proposals[0]}.json").write_text("{")
    ran = hermes("memory", "pending")
    assert proposals[1] in ran.out
    assert "cannot be read" in ran.err
    assert hermes("memory", "pending", "--json").data["unreadable"]


# ---------------------------------------------------------------- the same by slash


def test_slash_commands_do_the_same(home, proposals):
    with Memory.open() as memory:
        assert proposals[0] in memory.slash("/memory pending")
        assert "+Deploys happen on Monday" in memory.slash(f"/memory pending {proposals[0]}")
        assert "approved" in memory.slash(f"/memory approve {proposals[0]}")
        assert "rejected" in memory.slash("/memory reject all")
        assert "No changes" in memory.slash("/memory pending")
        assert "No changes" in memory.slash("/memory approve all")
        assert "Say what" in memory.slash("/memory approve")


def test_slash_approval_shows_and_sets(home):
    with Memory.open() as memory:
        assert "off" in memory.slash("/memory approval")
        assert "on now" in memory.slash("/memory approval on")
        assert memory.status()["write_approval"] is True
        with memory.session() as session:
            answer = json.loads(
                session.call_tool(
                    "memory", {"action": "add", "target": "memory", "content": "waits"}
                )
            )
            assert answer["staged"] is True
        assert "neither" in memory.slash("/memory approval perhaps")
    with Memory.open() as memory:
        assert "on" in memory.slash("/memory approval")


def test_slash_add_and_remove_say_what_happened(home):
    with Memory.open() as memory:
        assert memory.slash("/memory add user Likes tea") == "Remembered in user."
        assert "already" in memory.slash("/memory add user Likes tea")
        assert memory.slash("/memory remove likes tea") == "Removed from user: Likes tea"
        memory.notes.add("memory", "Tea at four")
        memory.notes.add("user", "Tea without milk")
        assert "both targets" in memory.slash("/memory remove tea")
        assert "Removed from user" in memory.slash("/memory remove user Tea without")
        assert "No entry" in memory.slash("/memory remove nothing like it")


# ---------------------------------------------------------------- whose


@pytest.fixture
def apart(write_config):
    write_config("memory:\n  isolation: user\n")


def test_notes_of_one_person_by_name(hermes, apart):
    ran = hermes("memory", "list")
    assert ran.code == 2
    assert "--user SOURCE:ID" in ran.err
    assert hermes("memory", "add", "Likes tea", "--user", "telegram:111").code == 0
    assert "Likes tea" in hermes("memory", "list", "--user", "telegram:111").out
    assert "Likes tea" not in hermes("memory", "list", "--user", "telegram:222").out
    assert "Likes tea" in hermes("memory", "show", "--user", "telegram:111").out
    change = hermes("memory", "log", "--user", "telegram:111", "--json").data["changes"][0]["id"]
    assert hermes("memory", "undo", change, "--user", "telegram:111").code == 0
    assert "Likes tea" not in hermes("memory", "list", "--user", "telegram:111").out


@pytest.mark.parametrize(
    "names",
    [
        ("--user", "111"),
        ("--user", ":"),
        ("--chat", "telegram:1"),
        ("--user", "a:1", "--chat", "a:1"),
    ],
)
def test_names_that_name_nobody_are_misuse(hermes, apart, names):
    ran = hermes("memory", "list", *names)
    assert ran.code == 2
    assert "→" in ran.err


def test_a_shared_profile_has_no_users_to_name(hermes, home):
    ran = hermes("memory", "list", "--user", "telegram:111")
    assert ran.code == 2
    assert "shared" in ran.err


# ---------------------------------------------------------------- identity


def talk(source, user, word):
    with Memory.open() as memory, memory.session(source, user_id=user) as session:
        memory.notes.add("user", f"Likes {word}", scope=session.info.scope)
        session.end_turn(f"I like {word}", "noted")


def test_linking_brings_notes_and_conversations_along(hermes, apart):
    talk("telegram", "111", "oolong")
    talk("discord", "222", "sencha")
    talk("telegram", "333", "coffee")
    ran = hermes("memory", "identity", "link", "mei", "telegram:111", "discord:222", "cli")
    assert ran.code == 0
    assert "2 sessions, 2 notes" in ran.out
    with Memory.open() as memory:
        for source, user in (("telegram", "111"), ("discord", "222"), ("cli", None)):
            with memory.session(source, user_id=user) as session:
                prompt = session.system_prompt()
                assert "oolong" in prompt
                assert "sencha" in prompt
                assert "coffee" not in prompt
                found = memory.history.search("like", scope=session.info.scope)
                assert {hit.content for hit in found} == {"I like oolong", "I like sencha"}
        assert memory.history.session(
            memory.history.search("oolong", scope=Scope("user", "mei"))[0].session_id
        ).ended_at
    listed = hermes("memory", "identity").out
    assert "mei" in listed
    assert "telegram:333" in listed
    data = hermes("memory", "identity", "list", "--json").data
    assert [one["account"] for one in data["unlinked"]] == ["telegram:333"]


def test_just_me_links_everything_seen_after_a_yes(hermes, apart):
    talk("telegram", "111", "oolong")
    talk("discord", "222", "sencha")
    assert hermes("memory", "identity", "just-me", stdin="n\n").code == 1
    assert hermes("memory", "identity", "--json").data["links"] == {}
    assert hermes("memory", "identity", "just-me", "--yes").code == 0
    links = hermes("memory", "identity", "--json").data["links"]
    assert set(links["me"]) == {"cli", "telegram:111", "discord:222"}
    assert "oolong" in hermes("memory", "list", "--user", "me").out


def test_unlink_takes_accounts_or_people_away(hermes, apart):
    hermes("memory", "identity", "link", "mei", "telegram:111", "discord:222")
    assert hermes("memory", "identity", "unlink", "telegram:111").code == 0
    assert hermes("memory", "identity", "--json").data["links"] == {"mei": ["discord:222"]}
    assert hermes("memory", "identity", "unlink", "mei").code == 0
    assert hermes("memory", "identity", "--json").data["links"] == {}
    assert hermes("memory", "identity", "unlink", "mei").code == 2


def test_an_account_has_one_person(hermes, apart):
    hermes("memory", "identity", "link", "mei", "telegram:111")
    ran = hermes("memory", "identity", "link", "ben", "telegram:111")
    assert ran.code == 2
    assert "unlink" in ran.err
    assert hermes("memory", "identity", "link", "telegram:9", "mei").code == 2


def test_comments_of_the_settings_survive_a_link(hermes, home, write_config):
    write_config("# mine\nmemory:\n  isolation: user  # apart\n")
    hermes("memory", "identity", "link", "mei", "telegram:111")
    text = (home / "config.yaml").read_text()
    assert "# mine" in text
    assert "# apart" in text


# ---------------------------------------------------------------- forget


def test_forget_previews_asks_removes_and_reports(hermes, home):
    hermes("memory", "add", "Lives at Elm Street 12")
    ran = hermes("memory", "forget", "elm street", "--dry-run")
    assert ran.code == 0
    assert "notes: 1" in ran.out
    assert "Elm Street 12" in ran.out
    assert notes(home) == ["Lives at Elm Street 12"]
    assert hermes("memory", "forget", "elm street", stdin="n\n").code == 1
    assert notes(home) == ["Lives at Elm Street 12"]
    assert hermes("memory", "forget", "elm street", "--json").code == 2
    ran = hermes("memory", "forget", "elm", "street", stdin="y\n")
    assert ran.code == 0
    assert "notes: 1 of 1" in ran.out
    assert notes(home) == []
    again = hermes("memory", "forget", "elm street")
    assert "Nothing that is kept" in again.out


def test_what_stays_is_named_and_the_exit_code_is_1(hermes, home):
    hermes("memory", "add", "Lives at Elm Street 12")
    with (home / "config.yaml").open("a") as file:
        file.write("# Elm Street\n")
    ran = hermes("memory", "forget", "elm street", "--yes", "--json")
    assert ran.code == 1
    (left,) = [one for one in ran.data["places"] if one["place"] == "file config.yaml"]
    assert left["removed"] == 0
    assert "hermes config edit" in left["reason"]


def test_forget_where_people_are_kept_apart(hermes, apart):
    hermes("memory", "add", "Elm Street", "--user", "telegram:111")
    hermes("memory", "add", "Elm Street", "--user", "telegram:222")
    assert hermes("memory", "forget", "elm street", "--yes").code == 2
    assert hermes("memory", "forget", "elm street", "--yes", "--user", "telegram:111").code == 0
    assert "Elm" in hermes("memory", "list", "--user", "telegram:222").out
    assert hermes("memory", "forget", "elm street", "--all", "--user", "a:1", "--yes").code == 2
    assert hermes("memory", "forget", "elm street", "--all", "--yes").code == 0
    assert "Elm" not in hermes("memory", "list", "--user", "telegram:222").out
