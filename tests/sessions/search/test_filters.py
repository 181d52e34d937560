"""Filters keep what they name and nothing else, for likely and unlikely messages alike."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hermes_memory_sessions.search.filters import MOST_HITS

from hermes_memory_core.errors import UsageError

from .conftest import NOW

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def house(shelf):
    shelf.session("mine", source="cli", user_id="u1", cwd="/home/me/kiln", title="Kiln repair")
    shelf.session("theirs", source="telegram", user_id="u2", chat_id="c9", cwd="/home/me/kilnhouse")
    shelf.session("deep", cwd="/home/me/kiln/src", scope_key="user/x")
    shelf.session("helper", agent_context="subagent")
    shelf.session("old", archived=1)
    shelf.ids = {
        "mine": shelf.say("kiln question", "mine"),
        "reply": shelf.say("kiln answer", "mine", role="assistant"),
        "tool": shelf.say("kiln output", "mine", role="tool", tool_name="shell"),
        "theirs": shelf.say("kiln elsewhere", "theirs"),
        "deep": shelf.say("kiln below", "deep"),
        "helper": shelf.say("kiln by helper", "helper"),
        "old": shelf.say("kiln long ago", "old", ts=1_600_000_000.0),
    }
    return shelf


CASES = [
    ({}, {"mine", "reply", "tool", "theirs", "deep", "old"}),
    ({"source": "telegram"}, {"theirs"}),
    ({"source": ["telegram", "web"]}, {"theirs"}),
    ({"source": []}, set()),
    ({"role": "assistant"}, {"reply"}),
    ({"role": ("user", "tool")}, {"mine", "tool", "theirs", "deep", "old"}),
    ({"user_id": "u1"}, {"mine", "reply", "tool"}),
    ({"chat_id": "c9"}, {"theirs"}),
    ({"cwd": "/home/me/kiln"}, {"mine", "reply", "tool", "deep"}),
    ({"cwd": "/home/me/kiln/"}, {"mine", "reply", "tool", "deep"}),
    ({"cwd": "/"}, {"mine", "reply", "tool", "theirs", "deep"}),
    ({"session_id": "deep"}, {"deep"}),
    ({"session_id": ["deep", "theirs"]}, {"deep", "theirs"}),
    ({"exclude_sessions": ["mine", "old"]}, {"theirs", "deep"}),
    ({"since": NOW - 86_400}, {"mine", "reply", "tool", "theirs", "deep"}),
    ({"until": "2021"}, {"old"}),
    ({"since": "2020-09-13", "until": "2020-09-13"}, {"old"}),
    ({"title": "KILN"}, {"mine", "reply", "tool"}),
    ({"scope_key": "user/x"}, {"deep"}),
    ({"include_subagents": True}, {"mine", "reply", "tool", "theirs", "deep", "old", "helper"}),
    ({"include_archived": False}, {"mine", "reply", "tool", "theirs", "deep"}),
    ({"source": "telegram", "role": "assistant"}, set()),
]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("filters", "names"), CASES, ids=[str(case[0]) for case in CASES])
def test_filter(house, filters, names, many, monkeypatch):
    if many:
        monkeypatch.setattr("hermes_memory_sessions.search.candidates.ALL_POSTINGS", 0)
    assert set(house.find("kiln", **filters)) == {house.ids[name] for name in names}


def test_sort_by_time(house):
    newest = house.find("kiln", sort="newest")
    assert newest[-1] == house.ids["old"]
    assert newest == house.find("kiln", sort="oldest")[::-1]


def test_paging_covers_everything_once(house):
    whole = house.find("kiln")
    pages = [house.find("kiln", offset=offset, limit=2) for offset in range(0, 8, 2)]
    assert [id_ for page in pages for id_ in page] == whole
    assert house.result("kiln", limit=2).considered == len(whole)
    assert house.find("kiln", limit=0) == []


@pytest.mark.parametrize("many", [False, True])
def test_excluded_session_does_not_fill_the_window(shelf, many, monkeypatch):
    # case B25: far more matches in the current session than are ever ranked
    if many:
        monkeypatch.setattr("hermes_memory_sessions.search.candidates.ALL_POSTINGS", 0)
    old = [shelf.say("the kiln once", "old"), shelf.say("a kiln then", "old")]
    for i in range(450):
        shelf.say(f"kiln kiln {i}", "current")
    for sort in ("relevance", "newest"):
        assert set(shelf.find("kiln", exclude_sessions=["current"], sort=sort)) == set(old)


def test_cron_does_not_drown_a_person(shelf):
    # case B22
    person = shelf.say("the backup of the kiln photos", "person")
    shelf.session("cron", source="cron")
    for _ in range(450):
        shelf.say("the backup of the kiln photos", "cron")
    found = shelf.find("backup kiln photos", limit=5)
    assert found[0] == person
    assert len(found) == 5


@pytest.mark.parametrize(
    "filters",
    [{"since": "soonish"}, {"until": ""}, {"sort": "best"}, {"limit": -1}, {"offset": -2}],
)
def test_filter_that_cannot_be_read_is_an_error_not_an_empty_answer(house, filters):
    with pytest.raises(UsageError):
        house.find("kiln", **filters)


def test_quotes_in_filters_are_values(house):
    for name in ("source", "user_id", "chat_id", "cwd", "session_id", "title", "scope_key", "role"):
        assert house.find("kiln", **{name: "x' OR '1'='1"}) == []


def test_day_is_the_persons_day(shelf):
    # case B23: 16:30 UTC is half past midnight of the next day in Shanghai
    at = datetime(2026, 1, 1, 16, 30, tzinfo=timezone(timedelta(0))).timestamp()
    id_ = shelf.say("kiln firing", ts=at)
    assert shelf.find("kiln", since="2026-01-02", tz=SHANGHAI) == [id_]
    assert shelf.find("kiln", since="2026-01-02") == []
    assert shelf.find("kiln", until="2026-01-01", tz=SHANGHAI) == []


def test_limit_is_bounded(shelf):
    shelf.say("kiln")
    assert len(shelf.find("kiln", limit=10**9)) == 1
    assert MOST_HITS == 1000
