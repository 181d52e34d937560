"""Changing and deleting conversations: rename, flags, delete, prune, trash."""

from __future__ import annotations

import json

import pytest
from cli.sessions_kit import compressed, fill

from hermes_memory_core import Memory


def ids(hermes, *arguments):
    data = hermes("sessions", "list", "--json", "--include-archived", *arguments).data
    return [record["id"] for record in data["sessions"]]


# ---------------------------------------------------------------- rename


def test_rename_takes_words_and_says_what_it_made_of_them(hermes, home):
    fill(home)
    ran = hermes("sessions", "rename", "hello", "  Good \u200b", "morning ", "--json")
    assert ran.code == 0
    assert ran.data["title"] == "Good morning"
    assert ran.data["before"] is None
    assert (
        hermes("sessions", "show", "good morning", "--json").data["session"]["id"] == "hello_0004"
    )


def test_b16_a_taken_title_names_who_has_it_and_how_to_free_it(hermes, home):
    fill(home)
    assert hermes("sessions", "archive", "lisbon").code == 0
    ran = hermes("sessions", "rename", "deploy", "trip to lisbon", "--json")
    assert ran.code == 5
    assert ran.error["code"] == "title_conflict"
    assert ran.error["details"]["session_id"] == "lisbon_0001"
    assert ran.error["details"]["archived"] is True
    assert "hermes sessions rename lisbon_0001" in ran.error["hint"]
    assert hermes("sessions", "show", "deploy", "--json").data["session"]["title"] is None


@pytest.mark.parametrize("words", [[], ["A title", "--clear"]])
def test_a_rename_needs_a_title_or_clear_and_not_both(hermes, home, words):
    fill(home)
    assert hermes("sessions", "rename", "lisbon", *words).code == 2
    assert hermes("sessions", "show", "lisbon", "--json").data["session"]["title"]


def test_a_title_nobody_could_see_is_refused_and_the_old_one_stays(hermes, home):
    fill(home)
    ran = hermes("sessions", "rename", "lisbon", "\u200b\u200d")
    assert ran.code == 1
    shown = hermes("sessions", "show", "lisbon", "--json").data["session"]
    assert shown["title"] == "Trip to Lisbon"


def test_clear_takes_the_title_away(hermes, home):
    fill(home)
    assert hermes("sessions", "rename", "lisbon", "--clear").code == 0
    assert hermes("sessions", "show", "lisbon", "--json").data["session"]["title"] is None


# ---------------------------------------------------------------- flags


def test_archived_conversations_leave_the_list_and_stay_searchable(hermes, home):
    fill(home)
    assert hermes("sessions", "archive", "lisbon", "厨房装修").code == 0
    listed = hermes("sessions", "list", "--json").data["sessions"]
    assert [record["id"] for record in listed] == ["hello_0004", "deploy_0003"]
    assert hermes("sessions", "search", "--json", "Lisbon").data["count"] > 0
    assert "[archived] Trip to Lisbon" in hermes("sessions", "list", "--include-archived").out
    assert hermes("sessions", "unarchive", "lisbon").code == 0
    assert "lisbon_0001" in hermes("sessions", "list").out


def test_flags_go_to_the_whole_conversation_and_repeat_as_no_change(hermes, home):
    first, second = compressed(home)
    changed = hermes("sessions", "pin", first, "--json").data["changed"]
    assert sorted(changed) == sorted([first, second])
    assert hermes("sessions", "pin", second, "--json").data["changed"] == []
    assert sorted(hermes("sessions", "unpin", second, "--json").data["changed"]) == sorted(changed)


def test_one_name_that_is_none_changes_nothing_of_the_others(hermes, home):
    fill(home)
    assert hermes("sessions", "archive", "lisbon", "no such").code == 1
    assert "lisbon_0001" in hermes("sessions", "list").out


# ---------------------------------------------------------------- delete and trash


def test_delete_asks_and_a_no_or_nobody_there_changes_nothing(hermes, home):
    fill(home)
    ran = hermes("sessions", "delete", "lisbon", stdin="n\n")
    assert ran.code == 1
    assert "Trip to Lisbon" in ran.err
    assert hermes("sessions", "delete", "lisbon", "--no-input").code == 2
    assert hermes("sessions", "delete", "lisbon", "--json").code == 2
    assert hermes("sessions", "delete", "lisbon", stdin="").code == 2
    assert "lisbon_0001" in ids(hermes)


def test_a_dry_run_says_what_would_go(hermes, home):
    fill(home)
    data = hermes("sessions", "delete", "lisbon", "hello", "--dry-run", "--json").data
    assert [record["id"] for record in data["sessions"]] == ["lisbon_0001", "hello_0004"]
    assert (data["messages"], data["removed"], data["dry_run"]) == (4, 0, True)
    assert data["transcript_bytes"] == sum(
        (home / "sessions" / f"{id_}.jsonl").stat().st_size for id_ in ("lisbon_0001", "hello_0004")
    )
    assert len(ids(hermes)) == 4


def test_b17_a_deleted_conversation_is_gone_from_search_and_files_and_comes_back_whole(
    hermes, home
):
    fill(home)
    before = hermes("sessions", "show", "lisbon", "--json").data
    ran = hermes("sessions", "delete", "Trip to Lisbon", "--yes", "--json")
    assert ran.code == 0
    assert ran.data["removed"] == 1
    assert ran.data["transcript_bytes"] > 0
    assert hermes("sessions", "search", "--json", "Lisbon").data["results"] == []
    assert not (home / "sessions" / "lisbon_0001.jsonl").exists()
    assert hermes("sessions", "check").code == 0
    [item] = hermes("sessions", "trash", "--json").data["sessions"]
    assert (item["id"], item["title"], item["messages"]) == ("lisbon_0001", "Trip to Lisbon", 2)
    assert hermes("sessions", "trash", "restore", "trip to lisbon").code == 0
    after = hermes("sessions", "show", "lisbon", "--json").data
    assert after["messages"] == before["messages"]
    assert hermes("sessions", "search", "--json", "Lisbon").data["count"] > 0
    assert hermes("sessions", "trash", "--json").data["sessions"] == []


def test_delete_takes_all_parts_of_a_compressed_conversation(hermes, home):
    first, second = compressed(home)
    ran = hermes("sessions", "delete", "Long talk", "--yes", "--json")
    assert ran.data["removed"] == 2
    assert ids(hermes) == []
    trashed = {
        item["id"] for item in hermes("sessions", "trash", "list", "--json").data["sessions"]
    }
    assert trashed == {first, second}


def test_permanently_leaves_nothing_in_the_trash_and_no_byte_of_the_text(hermes, home):
    fill(home)
    ran = hermes("sessions", "delete", "lisbon", "--yes", "--permanently")
    assert ran.code == 0
    assert "restore" not in ran.err
    assert hermes("sessions", "trash", "--json").data["count"] == 0
    for path in home.rglob("*"):
        assert not path.is_file() or b"1,240 euros" not in path.read_bytes(), path


def test_the_trash_is_emptied_by_age_after_asking(hermes, home):
    fill(home)
    hermes("sessions", "delete", "lisbon", "hello", "--yes")
    assert hermes("sessions", "trash", "empty", "--older-than", "1d", "--json").data["removed"] == 0
    assert hermes("sessions", "trash", "empty", "--dry-run", "--json").data["bytes"] > 0
    assert hermes("sessions", "trash", "empty", stdin="n\n").code == 1
    assert hermes("sessions", "trash", "--json").data["count"] == 2
    assert hermes("sessions", "trash", "empty", "--yes", "--json").data["removed"] == 2
    assert hermes("sessions", "trash").out == "The trash is empty.\n"


@pytest.mark.parametrize("age", ["", "soon", "-3d", "d", "3y"])
def test_an_age_that_is_none_deletes_nothing(hermes, home, age):
    fill(home)
    hermes("sessions", "delete", "lisbon", "--yes")
    assert hermes("sessions", "trash", "empty", "--older-than", age, "--yes").code == 2
    assert hermes("sessions", "trash", "--json").data["count"] == 1


def test_restoring_what_the_trash_does_not_hold_is_an_error(hermes, home):
    fill(home)
    hermes("sessions", "delete", "lisbon", "--yes")
    ran = hermes("sessions", "trash", "restore", "hello_0004", "--json")
    assert (ran.code, ran.error["code"]) == (1, "session_not_found")


# ---------------------------------------------------------------- prune


def test_prune_spares_pinned_archived_and_recent_ones_and_reports_sizes(hermes, home):
    fill(home)
    hermes("sessions", "pin", "lisbon")
    plan = hermes("sessions", "prune", "--older-than", "30d", "--dry-run", "--json").data
    assert [record["id"] for record in plan["sessions"]] == ["kitchen_0002"]
    assert plan["kept_pinned"] == 1
    assert plan["transcript_bytes"] == (home / "sessions" / "kitchen_0002.jsonl").stat().st_size
    assert len(ids(hermes)) == 4
    done = hermes("sessions", "prune", "--older-than", "30d", "--yes")
    assert done.code == 0
    assert "Moved to the trash: 1 session, 2 messages, " in done.out
    assert "The history went from " in done.out
    assert ids(hermes) == ["hello_0004", "deploy_0003", "lisbon_0001"]
    assert hermes("sessions", "trash", "--json").data["count"] == 1


@pytest.mark.timeout(60)
def test_b18_a_prune_makes_the_files_smaller(hermes, home):
    with Memory.open(home=home) as memory:
        for number in range(20):
            text = f"prompt {number} " + "the same long words of a nightly job " * 1500
            memory.history.append(
                f"night_{number}", "user", text, timestamp=1_600_000_000.0 + number
            )
            memory.history.end_session(f"night_{number}", "exit", at=1_600_000_100.0)
    data = hermes("sessions", "prune", "--yes", "--json").data
    assert data["removed"] == 20
    assert data["bytes_after"] < data["bytes_before"] / 2


def test_prune_without_filters_means_ninety_days(hermes, home):
    fill(home)
    assert hermes("sessions", "prune", "--dry-run", "--json").data["sessions"] == []
    ran = hermes("sessions", "prune", "--yes")
    assert ran.code == 0
    assert ran.out == "Nothing matches; nothing would go.\n"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--source", "telegram"], ["kitchen_0002"]),
        (
            ["--source", "telegram", "--source", "cli", "--until", "20d"],
            ["kitchen_0002", "lisbon_0001"],
        ),
        (["--title", "trip"], ["lisbon_0001"]),
        (["--since", "10d", "--until", "1d"], ["deploy_0003"]),
        (["--min-messages", "3"], []),
        (["--end-reason", "exit", "--older-than", "33d"], ["lisbon_0001", "kitchen_0002"]),
    ],
)
def test_prune_by_filters(hermes, home, filters, expected):
    fill(home)
    plan = hermes("sessions", "prune", "--dry-run", "--json", *filters).data
    assert [record["id"] for record in plan["sessions"]] == expected


def test_prune_leaves_open_sessions_unless_told(hermes, home):
    with Memory.open(home=home) as memory:
        memory.history.append("open", "user", "still here", timestamp=1_600_000_000.0)
    ran = hermes("sessions", "prune", "--dry-run")
    assert "Nothing matches" in ran.out
    assert "--include-open" in ran.err
    plan = hermes("sessions", "prune", "--dry-run", "--include-open", "--json").data
    assert [record["id"] for record in plan["sessions"]] == ["open"]


def test_two_ways_to_say_the_same_bound_are_refused(hermes, home):
    fill(home)
    ran = hermes("sessions", "prune", "--older-than", "3d", "--until", "5d", "--yes", "--json")
    assert ran.code == 2
    assert json.loads(ran.out)["error"]["code"] == "usage"
    assert len(ids(hermes)) == 4
