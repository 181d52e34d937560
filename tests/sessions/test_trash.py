"""Deleting, undoing a delete, forgetting, pruning."""

from __future__ import annotations

import sqlite3

import pytest

from hermes_memory_core.errors import SessionError, SessionNotFoundError, UsageError
from hermes_memory_core.types import Message, Scope, SessionInfo, Turn

from .conftest import START

DAY = 86_400.0


def rows(store, statement, *values):
    store.flush()
    with sqlite3.connect(store.database.path) as db:
        return db.execute(statement, values).fetchall()


def bytes_on_disk(store):
    return b"".join(path.read_bytes() for path in store.context.home.rglob("*") if path.is_file())


def test_delete_removes_transcript_rows_and_index_and_can_be_undone(history, talk):
    talk("s1", "zebrafish question", "answer")
    talk("s2", "other", "answer")
    history.set_title("s1", "Fish")
    before = history.messages("s1")
    receipt = history.delete_sessions(["s1", "nobody"])
    assert (receipt.matched, receipt.removed) == (2, 1)
    assert "nobody" in receipt.reason
    assert history.session("s1") is None
    assert rows(history, "SELECT count(*) FROM messages")[0][0] == 2
    assert (
        rows(history, "SELECT count(*) FROM message_index WHERE message_index MATCH 'zebrafish'")[
            0
        ][0]
        == 0
    )
    (item,) = history.trashed()
    assert (item.id, item.title, item.messages) == ("s1", "Fish", 2)
    history.rebuild()
    assert history.session("s1") is None
    history.restore_session("s1")
    assert history.messages("s1") == before
    assert history.session("s1").title == "Fish"
    assert history.trashed() == []
    assert history.check() == []


def test_restore_refuses_when_the_id_is_in_use_again(history):
    history.append("s1", "user", "old")
    history.delete_sessions(["s1"])
    history.append("s1", "user", "new")
    with pytest.raises(SessionError):
        history.restore_session("s1")
    with pytest.raises(SessionNotFoundError):
        history.restore_session("nobody")
    assert [m.content for m in history.messages("s1")] == ["new"]


def test_sub_agents_go_with_their_parent_and_branches_stay(history):
    history.open_session(SessionInfo("p", "p"))
    history.open_session(SessionInfo("sub", "sub", parent_id="p", agent_context="subagent"))
    history.open_session(SessionInfo("subsub", "subsub", parent_id="sub", agent_context="subagent"))
    history.open_session(SessionInfo("branch", "branch", parent_id="p"))
    assert history.delete_sessions(["p"]).removed == 3
    assert history.all_ids() == ["branch"]


def test_emptying_the_trash_is_for_good(history, clock):
    for name in ("s1", "s2"):
        history.append(name, "user", "secretword")
        history.delete_sessions([name])
        clock.now += 10 * DAY
    assert history.empty_trash(older_than_s=15 * DAY) == 1
    assert [item.id for item in history.trashed()] == ["s2"]
    assert history.empty_trash() == 1
    assert b"secretword" not in bytes_on_disk(history)


def test_a_permanent_delete_leaves_no_byte(history):
    history.append("s1", "user", "secretword in here")
    history.append("s2", "user", "stays")
    history.flush()
    history.delete_sessions(["s1"], permanently=True)
    assert history.trashed() == []
    assert b"secretword" not in bytes_on_disk(history)


def test_forget_previews_then_removes_everywhere(history, talk):
    talk("s1", "my pin is 4711", "noted: 4711")
    kept = talk("s1", "weather?", "sunny")
    history.append(
        "s2", "assistant", "", tool_calls=[{"function": {"name": "x", "arguments": "PIN 4711"}}]
    )
    history.append("s3", "user", "trashed 4711")
    history.delete_sessions(["s3"])
    history.set_title("s2", "About 4711")
    size = history.transcripts.path("s1").stat().st_size
    preview = history.forget("4711", dry_run=True)
    assert [(item.place, item.matched, item.removed) for item in preview] == [
        ("history", 4, 0),
        ("trash", 1, 0),
    ]
    done = history.forget("4711")
    assert [(item.matched, item.removed) for item in done] == [(4, 4), (1, 1)]
    assert b"4711" not in bytes_on_disk(history)
    assert [m.content for m in history.messages("s1")] == ["weather?", "sunny"]
    assert history.session("s2").title is None
    assert history.transcripts.path("s1").stat().st_size == size
    assert history.read_turn(kept).user == "weather?"
    assert next(history.turns_after("s1", kept.offset))[0] == kept
    assert history.check() == []
    assert history.forget("4711")[0].matched == 0
    talk("s1", "goes on", "yes")
    assert history.messages("s1")[-1].content == "yes"


@pytest.mark.parametrize("query", ["", "   "])
def test_forgetting_nothing_removes_nothing(history, query):
    history.append("s1", "user", "  a  ")
    assert history.forget(query)[0].matched == 0


def test_forget_takes_case_and_scripts_literally_and_stays_in_scope(history):
    for user in ("u1", "u2"):
        history.open_session(SessionInfo(user, user, scope=Scope("user", user)))
        history.append(user, "user", "STRASSE 50% 预算_1")
    assert history.forget("50_", dry_run=True)[0].matched == 0
    assert history.forget("strasse", dry_run=True)[0].matched == 2
    assert history.forget("50%", scope=Scope("user", "u1"))[0].removed == 1
    assert [len(history.messages(user)) for user in ("u1", "u2")] == [0, 1]
    assert history.forget("预算_")[0].removed == 1


def test_part_of_a_turn_can_be_forgotten(history):
    messages = (
        Message("user", "hello"),
        Message("tool", "key=abc123"),
        Message("assistant", "done"),
    )
    ref = history.commit_turn(
        SessionInfo("s1", "s1"), Turn("t", "s1", 1, "hello", "done", messages)
    )
    history.forget("abc123")
    turn = history.read_turn(ref)
    assert [message.content for message in turn.messages] == ["hello", "done"]
    assert (turn.user, turn.assistant) == ("hello", "done")


@pytest.fixture
def aged(history):
    """Sessions last active 200, 100, 50 and 1 days ago, all ended."""
    for days in (200, 100, 50, 1):
        name, at = f"d{days}", START - days * DAY
        history.open_session(
            SessionInfo(name, name, source="cron" if days == 50 else "cli", started_at=at)
        )
        history.append(name, "user", "x" * 500, timestamp=at)
        history.end_session(name, "exit", at=at)
    return history


def doomed(plan):
    return [record.id for record in plan.sessions]


def test_a_bare_prune_means_ninety_days_and_changes_nothing_by_itself(aged):
    plan = aged.plan_prune()
    assert doomed(plan) == ["d200", "d100"]
    assert plan.messages == 2
    assert plan.transcript_bytes > 1000
    assert plan.total_bytes > plan.transcript_bytes
    assert aged.stats()["sessions"] == 4
    assert aged.prune(plan).removed == 2
    assert aged.all_ids() == ["d50", "d1"]
    assert len(aged.trashed()) == 2


def test_pinned_archived_and_open_sessions_are_kept(aged):
    aged.pin("d200")
    aged.archive("d100")
    aged.append("open", "user", "x", timestamp=START - 300 * DAY)
    assert doomed(aged.plan_prune()) == []
    assert aged.plan_prune().kept_pinned == 1
    assert doomed(aged.plan_prune(include_archived=True, include_open=True)) == ["open", "d100"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"source": "cron"}, ["d50"]),
        ({"before": "60d"}, ["d200", "d100"]),
        ({"before": "60d", "after": "150d"}, ["d100"]),
        ({"min_messages": 2}, []),
        ({"max_messages": 1, "before": "2d"}, ["d200", "d100", "d50"]),
        ({"end_reason": "crash"}, []),
    ],
)
def test_prune_filters(aged, filters, expected):
    assert doomed(aged.plan_prune(**filters)) == expected


def test_an_unknown_prune_filter_is_misuse(aged):
    with pytest.raises(UsageError):
        aged.plan_prune(colour="red")
    with pytest.raises(UsageError):
        aged.plan_prune(before="whenever")


def test_auto_prune_is_off_by_default_and_runs_once_a_day(open_history, aged, clock):
    assert aged.auto_prune() is None
    aged.flush()
    store = open_history(settings={"sessions": {"auto_prune": True, "retention_days": 90}})
    assert store.auto_prune().removed == 2
    assert store.auto_prune() is None
    clock.now += 60 * DAY
    assert store.auto_prune().removed == 1


def test_an_old_part_of_a_conversation_that_goes_on_is_kept(aged):
    for name, days in (("part", 300), ("part-2", 10)):
        at = START - days * DAY
        aged.open_session(SessionInfo(name, "part", parent_id="part", started_at=at))
        aged.append(name, "user", "x", timestamp=at)
        aged.end_session(name, "compression", at=at)
    assert doomed(aged.plan_prune()) == ["d200", "d100"]
    assert set(doomed(aged.plan_prune(before="5d", after="20d"))) == {"part", "part-2"}
