"""``hermes sessions list``, ``show`` and ``stats``: what a person sees of stored conversations."""

from __future__ import annotations

import time

import pytest
from cli.sessions_kit import DAY, compressed, fill

from hermes_memory_core import Memory
from hermes_memory_core.cli import output
from hermes_memory_core.cli.sessions_common import ago, session_table
from hermes_memory_core.types import SessionRecord


@pytest.mark.parametrize("command", ["list", "stats"])
def test_an_empty_home_is_said_to_be_empty_and_what_to_do_is_said(hermes, home, command):
    ran = hermes("sessions", command)
    assert ran.code == 0
    assert ran.out == "No conversations yet.\n"
    assert "hermes sessions import" in ran.err


def test_the_bare_noun_lists_latest_first(hermes, home):
    fill(home)
    ran = hermes("sessions")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["Title", "Begins", "with", "Active", "Source", "ID"]
    assert [line.split()[-1] for line in lines[1:]] == [
        "hello_0004",
        "deploy_0003",
        "kitchen_0002",
        "lisbon_0001",
    ]
    assert "2 days ago" in lines[2]


def test_columns_stand_below_each_other_whatever_the_script(hermes, home):
    fill(home)
    lines = hermes("sessions").out.splitlines()
    column = output.cells(lines[0].partition("ID")[0])
    for line in lines[1:]:
        assert output.cells(line.rpartition(" ")[0] + " ") == column, line


@pytest.mark.parametrize("width", [40, 63, 64, 89, 90, 200])
def test_no_row_is_wider_than_the_terminal(width):
    records = [
        SessionRecord(
            f"20260301_120000_{number:08x}",
            title=title,
            preview=preview,
            last_active=time.time() - 50 * DAY,
        )
        for number, (title, preview) in enumerate(
            [("厨房装修" * 20, "预算" * 30), (None, "🚀" * 60), ("A" * 100, ""), (None, "")]
        )
    ]
    for line in session_table(records, width=width).splitlines():
        assert output.cells(line) <= max(width, 50), line


def test_list_as_json_has_the_fields_of_a_session_and_pages(hermes, home):
    fill(home)
    first = hermes("sessions", "list", "--json", "--limit", "3")
    assert first.schema == "hermes-memory/sessions-list/1"
    assert (first.data["count"], first.data["offset"], first.data["more"]) == (3, 0, True)
    rest = hermes("sessions", "list", "--json", "--limit", "3", "--offset", "3").data
    assert rest["more"] is False
    [last] = rest["sessions"]
    assert (last["id"], last["title"], last["source"]) == ("lisbon_0001", "Trip to Lisbon", "cli")
    assert last["message_count"] == 2
    assert 34.9 * DAY < time.time() - last["last_active"] < 35.1 * DAY


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (["--source", "telegram"], ["kitchen_0002"]),
        (["--source", "telegram", "--source", "nowhere"], ["kitchen_0002"]),
        (["--title", "lisbon"], ["lisbon_0001"]),
        (["--since", "3d"], ["hello_0004", "deploy_0003"]),
        (["--until", "30d"], ["kitchen_0002", "lisbon_0001"]),
        (["--user", "nobody"], []),
    ],
)
def test_filters_of_the_list(hermes, home, filters, ids):
    fill(home)
    data = hermes("sessions", "list", "--json", *filters).data
    assert [record["id"] for record in data["sessions"]] == ids


def test_several_sources_are_merged_by_time_and_paged_as_one(hermes, home):
    fill(home)
    arguments = ["sessions", "list", "--json", "--source", "cli", "--source", "telegram"]
    data = hermes(*arguments, "--limit", "2", "--offset", "1").data
    assert [record["id"] for record in data["sessions"]] == ["deploy_0003", "kitchen_0002"]
    assert data["more"] is True


def test_a_filter_that_matches_nothing_is_no_empty_store(hermes, home):
    fill(home)
    ran = hermes("sessions", "list", "--title", "no such thing")
    assert ran.out == "No conversation matches.\n"
    assert "import" not in ran.err


def test_a_date_that_is_none_is_a_usage_error(hermes, home):
    fill(home)
    ran = hermes("sessions", "list", "--json", "--since", "the day the music died")
    assert ran.code == 2
    assert ran.error["code"] == "usage"


def test_a_person_at_the_command_line_sees_all_users_of_the_profile(hermes, home, write_config):
    write_config("memory:\n  isolation: user\n")
    with Memory.open(home=home) as memory:
        for user in ("ann", "bob"):
            with memory.session(session_id=f"of_{user}", user_id=user) as session:
                session.end_turn(f"I am {user}", "Hello.")
    ids = {one["id"] for one in hermes("sessions", "list", "--json").data["sessions"]}
    assert ids == {"of_ann", "of_bob"}
    only = hermes("sessions", "list", "--json", "--user", "ann").data["sessions"]
    assert [one["id"] for one in only] == ["of_ann"]
    found = hermes("sessions", "search", "--json", "Hello", "--user", "bob").data["results"]
    assert [one["session"]["id"] for one in found] == ["of_bob"]
    assert hermes("sessions", "show", "of_a", "--json").data["session"]["user_id"] == "ann"


def test_show_prints_messages_with_ids_and_times(hermes, home):
    fill(home)
    ran = hermes("sessions", "show", "Trip to Lisbon")
    assert ran.code == 0
    assert ran.out.startswith("Trip to Lisbon\n")
    assert "We set 1,240 euros." in ran.out
    data = hermes("sessions", "show", "trip to lisbon", "--json").data
    assert [message["role"] for message in data["messages"]] == ["user", "assistant"]
    assert all(f"#{message['id']}  " in ran.out for message in data["messages"])


def test_show_takes_the_beginning_of_an_id_and_without_one_the_latest(hermes, home):
    fill(home)
    assert hermes("sessions", "show", "kitchen", "--json").data["session"]["id"] == "kitchen_0002"
    assert hermes("sessions", "show", "--json").data["session"]["id"] == "hello_0004"


def test_show_around_a_message_of_another_session_goes_to_where_it_is(hermes, home):
    fill(home)
    messages = hermes("sessions", "show", "deploy", "--json").data["messages"]
    data = hermes(
        "sessions", "show", "--around", str(messages[1]["id"]), "--window", "0", "--json"
    ).data
    assert data["session"]["id"] == "deploy_0003"
    assert [message["id"] for message in data["messages"]] == [messages[1]["id"]]


@pytest.mark.parametrize(
    "arguments", [["nothing like it"], ["--around", "99999999"], ["  "], ["hello", "--around", "1"]]
)
def test_what_is_not_there_is_an_error_with_the_next_command(hermes, home, arguments):
    fill(home)
    ran = hermes("sessions", "show", *arguments)
    assert ran.code == 1
    assert ran.out == ""
    assert "→ " in ran.err


def test_show_on_an_empty_home_is_no_crash(hermes, home):
    ran = hermes("sessions", "show")
    assert ran.code == 1
    assert "nothing to show" in ran.err


def test_b15_any_part_of_a_conversation_leads_to_the_rest_and_the_list_has_one_row(hermes, home):
    first, second = compressed(home)
    listed = hermes("sessions", "list", "--json").data["sessions"]
    assert [record["id"] for record in listed] == [second]
    older = hermes("sessions", "show", first, "--json").data
    assert older["session"]["id"] == first, "an id means that part"
    assert older["parts"] == [first, second]
    assert f"goes on in  {second}" in hermes("sessions", "show", first).out
    assert f"continues  {first}" in hermes("sessions", "show", second).out
    assert hermes("sessions", "show", "Long talk", "--json").data["session"]["id"] == second


def test_control_characters_in_a_conversation_do_not_reach_the_terminal(hermes, home):
    with Memory.open(home=home) as memory:
        memory.history.append("bad", "user", "red \x1b[31m and \u202ereversed and \ud83d half")
    for arguments in (["show", "bad"], ["list"], ["search", "reversed"]):
        out = hermes("sessions", *arguments).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "reversed" in out


def test_long_tool_answers_are_cut_unless_asked_for(hermes, home):
    with Memory.open(home=home) as memory:
        text = "\n".join(f"row {number}" for number in range(100))
        memory.history.append("tools", "tool", text, tool_name="shell")
    assert "row 99" not in hermes("sessions", "show", "tools").out
    assert "88 more lines (--full)" in hermes("sessions", "show", "tools").out
    assert "row 99" in hermes("sessions", "show", "tools", "--full").out


def test_stats_count_per_source_and_name_the_sizes(hermes, home):
    fill(home)
    data = hermes("sessions", "stats", "--json").data
    assert (data["sessions"], data["messages"]) == (4, 8)
    assert data["sources"]["telegram"] == {"sessions": 1, "messages": 2}
    assert data["database_bytes"] > 0
    assert data["transcript_bytes"] > 0
    text = hermes("sessions", "stats").out
    assert "4 conversations, 8 messages" in text
    assert "telegram" in text


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3 * 3600, "3 h ago"),
        (3 * DAY, "3 days ago"),
        (6 * DAY, "6 days ago"),
    ],
)
def test_times_are_relative_while_that_helps(passed, text):
    noon = time.mktime((2026, 7, 15, 12, 0, 0, 0, 0, -1))
    assert ago(noon - passed, noon) == text


def test_older_times_are_dates_and_yesterday_is_by_the_calendar():
    noon = time.mktime((2026, 7, 15, 12, 0, 0, 0, 0, -1))
    assert ago(noon - 20 * 3600, noon) == "yesterday"
    assert ago(noon - 8 * DAY, noon) == "2026-07-07"
    assert ago(noon + DAY, noon) == "2026-07-16"
    assert ago(None, noon) == ""


def test_b23_days_are_the_persons_own(hermes, home, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        with Memory.open(home=home) as memory:  # 00:30 on the 2nd in Shanghai
            memory.history.append("late", "user", "after midnight", timestamp=1767285000.0)
        assert "2026-01-02" in hermes("sessions", "list").out
        found = hermes("sessions", "list", "--json", "--since", "2026-01-02").data
        assert found["count"] == 1
        assert hermes("sessions", "list", "--json", "--until", "2026-01-01").data["count"] == 0
    finally:
        monkeypatch.undo()
        time.tzset()
