from __future__ import annotations

import pytest
from hermes_memory_sessions.importers.records import ImportedConversation
from hermes_memory_sessions.importers.timeline import (
    NOTE_FILE,
    NOTE_NEIGHBOUR,
    NOTE_SESSION,
    fill,
    parse_time,
    with_times,
)

from hermes_memory_core.types import Message

NOW = 1_800_000_000.0
AT = 1_770_200_000.0


@pytest.mark.parametrize(
    "value",
    [
        AT,
        int(AT),
        AT * 1e3,
        AT * 1e6,
        AT * 1e9,
        str(int(AT)),
        str(int(AT * 1000)),
        "1.7702e9",
        "2026-02-04T10:13:20Z",
        "2026-02-04T10:13:20+00:00",
        "2026-02-04T18:13:20+08:00",
        "2026-02-04 10:13:20",
        " 2026-02-04T10:13:20.000000Z ",
    ],
)
def test_every_way_of_writing_a_time_gives_seconds(value):
    assert parse_time(value, now=NOW) == pytest.approx(AT)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -AT,
        "-5",
        "",
        "yesterday",
        "2026-13-45T00:00:00Z",
        float("nan"),
        float("inf"),
        1e308,
        10**400,
        "9" * 5000,
        [],
        {"seconds": 1},
        NOW + 90_000,
        "2999-01-01T00:00:00Z",
        "0001-01-01T00:00:00",
    ],
)
def test_what_cannot_be_a_time_is_none(value):
    assert parse_time(value, now=NOW) is None


def test_a_clock_a_little_ahead_is_believed():
    assert parse_time(NOW + 3600, now=NOW) == NOW + 3600


def test_missing_times_come_from_neighbours():
    assert fill([None, 5.0, None, 9.0, None], None, 1.0) == (
        [5.0, 5.0, 5.0, 9.0, 9.0],
        NOTE_NEIGHBOUR,
    )


def test_a_leading_gap_starts_with_the_conversation_but_never_after_the_first_message():
    assert fill([None, 5.0], 3.0, 1.0)[0] == [3.0, 5.0]
    assert fill([None, 5.0], 8.0, 1.0)[0] == [5.0, 5.0]


def test_without_any_time_the_conversation_and_then_the_file_decide():
    assert fill([None, None], 3.0, 1.0) == ([3.0, 3.0], NOTE_SESSION)
    assert fill([None, None], None, 1.0) == ([1.0, 1.0], NOTE_FILE)
    assert fill([], None, 1.0) == ([], None)


def test_complete_times_are_left_alone_and_nothing_is_said():
    assert fill([9.0, 5.0], 3.0, 1.0) == ([9.0, 5.0], None)


def test_a_conversation_never_ends_before_it_starts():
    made = with_times(
        ImportedConversation(
            "x:1", "x", started_at=50.0, ended_at=20.0, messages=(Message("user", "hi"),)
        ),
        1.0,
    )
    assert (made.started_at, made.ended_at) == (50.0, 50.0)
    assert made.messages[0].timestamp == 50.0
    assert made.notes == (NOTE_SESSION,)
