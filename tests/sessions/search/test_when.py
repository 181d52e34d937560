"""Words for time, seen from Shanghai at half past midnight on Wednesday, 18 March 2026."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hermes_memory_sessions.search.when import moment, spans

from .conftest import NOW

ZONE = ZoneInfo("Asia/Shanghai")

DAYS = [
    ("today", "2026-03-18", "2026-03-19"),
    ("yesterday", "2026-03-17", "2026-03-18"),
    ("昨天", "2026-03-17", "2026-03-18"),
    ("昨日", "2026-03-17", "2026-03-18"),
    ("어제", "2026-03-17", "2026-03-18"),
    ("前天", "2026-03-16", "2026-03-17"),
    ("last week", "2026-03-09", "2026-03-16"),
    ("Last Week", "2026-03-09", "2026-03-16"),
    ("上周", "2026-03-09", "2026-03-16"),
    ("上週", "2026-03-09", "2026-03-16"),
    ("先週", "2026-03-09", "2026-03-16"),
    ("지난주", "2026-03-09", "2026-03-16"),
    ("this week", "2026-03-16", "2026-03-23"),
    ("last month", "2026-02-01", "2026-03-01"),
    ("上个月", "2026-02-01", "2026-03-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("3 days ago", "2026-03-15", "2026-03-16"),
    ("三天前", "2026-03-15", "2026-03-16"),
    ("two weeks ago", "2026-03-02", "2026-03-09"),
    ("last monday", "2026-03-16", "2026-03-17"),
    ("wednesday", "2026-03-11", "2026-03-12"),
    ("2024", "2024-01-01", "2025-01-01"),
    ("2024-02", "2024-02-01", "2024-03-01"),
    ("2024-12", "2024-12-01", "2025-01-01"),
    ("2024-02-29", "2024-02-29", "2024-03-01"),
    ("20240229", "2024-02-29", "2024-03-01"),
    ("7 May 2023", "2023-05-07", "2023-05-08"),
    ("May 7, 2023", "2023-05-07", "2023-05-08"),
    ("May 7th 2023", "2023-05-07", "2023-05-08"),
    ("May 2023", "2023-05-01", "2023-06-01"),
    ("may", "2025-05-01", "2025-06-01"),
    ("2023年5月7日", "2023-05-07", "2023-05-08"),
    ("2023年5月", "2023-05-01", "2023-06-01"),
    ("5月7日", "2025-05-07", "2025-05-08"),
]


def _day(ts: float) -> str:
    at = datetime.fromtimestamp(ts, ZONE)
    assert (at.hour, at.minute, at.second) == (0, 0, 0)
    return at.strftime("%Y-%m-%d")


@pytest.mark.parametrize(("text", "start", "end"), DAYS, ids=[text for text, _, _ in DAYS])
def test_span(text, start, end):
    found = moment(text, NOW, ZONE)
    assert found is not None
    assert (_day(found[0]), _day(found[1])) == (start, end)


@pytest.mark.parametrize(
    ("text", "seconds"), [("3d", 3 * 86400), ("2w", 14 * 86400), ("5h", 18000)]
)
def test_back_from_now(text, seconds):
    assert moment(text, NOW, ZONE) == (NOW - seconds, NOW - seconds)


def test_exact_moments():
    assert moment(12.5, NOW, ZONE) == (12.5, 12.5)
    assert moment("1700000000", NOW, ZONE) == (1.7e9, 1.7e9)
    assert moment("2026-01-02T10:00:00+00:00", NOW, ZONE) == (1767348000.0, 1767348000.0)
    assert moment("2026-01-02T18:00:00", NOW, ZONE) == (1767348000.0, 1767348000.0)


@pytest.mark.parametrize(
    "text", ["", "soon", "2024-13-45", "32 May 2023", "the", "99999999999999999999d"]
)
def test_what_is_no_time(text):
    found = moment(text, NOW, ZONE) if "999" not in text else None
    assert found is None


def test_verbs_are_no_months():
    assert spans("you may go and they march on", NOW, ZONE) == []
    assert [span.words for span in spans("what happened in May?", NOW, ZONE)] == ["May"]


def test_day_of_a_clock_change_is_whole():
    berlin = ZoneInfo("Europe/Berlin")
    start, end = moment("2026-03-29", NOW, berlin) or (0, 0)
    assert end - start == 23 * 3600


def test_named_time_puts_its_messages_first(shelf):
    for day in range(1, 28):
        at = datetime(2026, 2, day, 12, tzinfo=ZONE).timestamp()
        shelf.say(f"kiln report number {day}", f"s{day}", ts=at)
    found = shelf.result("what did the kiln report say on 7 February 2026?", tz=ZONE).hits
    assert found[0].content.endswith(" 7")
    assert "date: 2026-02-07" in found[0].why


@pytest.mark.parametrize(
    "query", ["yesterday", "昨天", "what did we talk about yesterday?", "어제"]
)
def test_time_alone_gives_its_messages(shelf, query):
    shelf.say("glaze recipe", "a", ts=NOW - 3 * 86400)
    wanted = shelf.say("clay delivery", "b", ts=NOW - 43_200)
    shelf.say("gas bottle", "c", ts=NOW)
    assert shelf.result(query, tz=ZONE).hits[0].message_id == wanted
