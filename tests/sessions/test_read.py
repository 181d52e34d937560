"""Lists, windows, numbers, scopes."""

from __future__ import annotations

import pytest

from hermes_memory_core.errors import ScopeRequired, SessionNotFoundError, UsageError
from hermes_memory_core.types import Message, Scope, SessionInfo


@pytest.fixture
def many(history):
    """Five sessions of different kinds, oldest first."""
    kinds = [
        {"source": "cli", "cwd": "/work/app", "title": "Budget 100%"},
        {"source": "telegram", "user_id": "u1", "chat_id": "c1", "scope": Scope("user", "u1")},
        {"source": "cron", "agent_context": "cron"},
        {"source": "cli", "agent_context": "subagent", "parent_id": "s0"},
        {"source": "cli", "cwd": "/work/apple"},
    ]
    for number, fields in enumerate(kinds):
        info = SessionInfo(f"s{number}", f"s{number}", started_at=1000.0 + number, **fields)
        history.open_session(info)
        history.append(info.id, "user", f"hello {number}", timestamp=2000.0 + number)
    return history


def ids(records):
    return [record.id for record in records]


def test_lists_are_newest_first_and_leave_sub_agents_and_archived_out(many):
    many.update_session("s2", archived=True)
    assert ids(many.sessions()) == ["s4", "s1", "s0"]
    assert ids(many.sessions(include_archived=True, include_subagents=True)) == [
        "s4", "s3", "s2", "s1", "s0",
    ]  # fmt: skip
    assert ids(many.sessions(limit=1, offset=1)) == ["s1"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"source": "telegram"}, ["s1"]),
        ({"title": "budget 1"}, ["s0"]),
        ({"title": "%"}, ["s0"]),
        ({"title": "_"}, []),
        ({"cwd": "/work/app"}, ["s0"]),
        ({"cwd": "/work/app/"}, ["s0"]),
        ({"cwd": "/work"}, ["s4", "s0"]),
        ({"user_id": "u1"}, ["s1"]),
        ({"chat_id": "nope"}, []),
        ({"since": 2004.0}, ["s4"]),
        ({"until": 1001.0}, ["s0"]),
        ({"scope": Scope("user", "u1")}, ["s1"]),
        ({"scope": Scope("user", None)}, []),
    ],
)
def test_filters(many, filters, expected):
    assert ids(many.sessions(**filters)) == expected


def test_a_lineage_is_one_row_its_newest(many):
    many.open_session(SessionInfo("s0-b", "s0", started_at=5000.0, parent_id="s0"))
    assert "s0" not in ids(many.sessions())
    assert ids(many.sessions())[0] == "s0-b"
    assert set(many.lineage_ids("s0")) == {"s0", "s0-b"}


def test_isolation_asks_whose(open_history):
    store = open_history(settings={"memory": {"isolation": "user"}})
    store.open_session(SessionInfo("a", "a", scope=Scope("user", "u1")))
    with pytest.raises(ScopeRequired):
        store.sessions()
    with pytest.raises(ScopeRequired):
        store.resolve("a")
    assert ids(store.sessions(scope=Scope("user", "u1"))) == ["a"]
    assert ids(store.sessions(scope=Scope("profile"))) == ["a"]


def test_windows_around_a_message(history):
    made = history.append_many("s1", [Message("user", str(n)) for n in range(20)])
    other = history.append("s2", "user", "x")
    window = history.messages("s1", around=made[10], window=2)
    assert [message.content for message in window] == ["8", "9", "10", "11", "12"]
    assert [m.content for m in history.messages("s1", around=made[0], window=1)] == ["0", "1"]
    assert [m.content for m in history.messages("s1", limit=2, offset=18)] == ["18", "19"]
    with pytest.raises(SessionNotFoundError):
        history.messages("s1", around=other)
    assert history.messages("nobody") == []


def test_tool_messages_keep_their_place(history):
    roles = ["user", "assistant", "tool", "tool", "assistant", "user", "system", "assistant"]
    history.append_many("s1", [Message(role, str(n)) for n, role in enumerate(roles)])
    assert [m.content for m in history.messages("s1")] == [str(n) for n in range(len(roles))]
    middle = history.messages("s1")[3].id
    assert [m.content for m in history.messages("s1", around=middle, window=1)] == ["2", "3", "4"]


def test_preview_is_the_first_user_message_on_one_line(history):
    history.append("s1", "assistant", "welcome")
    history.append("s1", "user", "first\n  line " + "x" * 100)
    history.append("s1", "user", "second")
    preview = history.session("s1").preview
    assert preview.startswith("first line xxx")
    assert len(preview) == 60


def test_stats_count_every_source(many):
    stats = many.stats()
    assert (stats["sessions"], stats["messages"]) == (5, 5)
    assert stats["sources"]["cli"] == {"sessions": 3, "messages": 3}
    assert set(stats["sources"]) == {"cli", "telegram", "cron"}
    assert stats["database_bytes"] > 0
    assert stats["bytes"] == stats["database_bytes"] + stats["transcript_bytes"]


def test_updates_are_checked(many):
    many.pin("s0")
    many.archive("s0")
    record = many.session("s0")
    assert record.pinned
    assert record.archived
    many.archive("s0", False)
    assert not many.session("s0").archived
    for fields in ({"nonsense": 1}, {"input_tokens": "5"}, {"model": 3}, {"input_tokens": True}):
        with pytest.raises(UsageError):
            many.update_session("s0", **fields)
    with pytest.raises(SessionNotFoundError):
        many.update_session("nobody", archived=True)


def test_another_store_on_the_same_home_sees_what_was_flushed(many, open_history):
    other = open_history()
    assert ids(other.sessions()) == ids(many.sessions())
    other.append("s0", "user", "from the other")
    other.flush()
    assert many.messages("s0")[-1].content == "from the other"
    many.append("s0", "user", "and back")
    many.flush()
    assert [m.content for m in other.messages("s0")][-2:] == ["from the other", "and back"]


def test_a_filter_that_leaves_none_of_the_words_leaves_nothing(history):
    history.append("money", "user", "What is the budget for the garden?")
    history.append("sky", "user", "What is the weather like in the garden?")
    assert [hit.session_id for hit in history.search("What is the budget?", session_id="money")]
    assert history.search("What is the budget?", session_id="sky") == []
    assert history.search("What is the", session_id="sky") != []


def test_words_of_others_do_not_change_what_is_found(history):
    """Whether somebody else used a word must not show in the answers (isolation)."""
    for scope, said in (("u1", "the boat is blue"), ("u2", "it was leukaemia")):
        info = SessionInfo(scope, scope, user_id=scope, scope=Scope("user", scope), started_at=1.0)
        history.open_session(info)
        history.append(scope, "user", said)
    for word in ("leukaemia", "arthritis"):
        assert history.search(f"what is the {word}", user_id="u1") == []


def test_one_session_can_be_left_out_by_name_alone(history):
    history.append("one", "user", "walrus")
    history.append("two", "user", "walrus")
    found = history.search("walrus", exclude_sessions="one")
    assert [hit.session_id for hit in found] == ["two"]


@pytest.mark.parametrize("at", [1796034746813444438, -5, True, float("nan"), float("inf")])
def test_a_moment_that_is_none_is_refused(history, at):
    with pytest.raises(UsageError, match="seconds since 1970"):
        history.append("s", "user", "walrus", timestamp=at)
    assert history.sessions() == []


@pytest.mark.parametrize(
    "named",
    [{"cwd": 1}, {"source": [1]}, {"role": 2}, {"session_id": b"s"}, {"exclude_sessions": (3,)}],
)
def test_a_filter_that_is_no_word_is_a_clear_error(history, named):
    history.append("one", "user", "walrus")
    with pytest.raises(UsageError, match=next(iter(named))):
        history.search("walrus", **named)
