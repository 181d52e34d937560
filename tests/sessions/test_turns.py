"""Turns and single messages: committed, read back, taken back, compacted, ended."""

from __future__ import annotations

import json

import pytest

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import HistoryStore, Message, Scope, SessionInfo, Turn, TurnRef


def contents(store, session_id="s1", **options):
    return [message.content for message in store.messages(session_id, **options)]


def test_the_store_keeps_the_protocol(history):
    assert isinstance(history, HistoryStore)


def test_a_committed_turn_is_in_the_file_before_the_answer_and_reads_back_whole(history, talk):
    messages = (
        Message("user", "run it"),
        Message("assistant", "", tool_calls=({"id": "c1", "function": {"name": "sh"}},)),
        Message("tool", "done", tool_name="sh", tool_call_id="c1"),
        Message("assistant", "ran"),
    )
    ref = talk("s1", "run it", "ran", messages=messages, at=5000.0)
    raw = history.transcripts.path("s1").read_bytes()
    line = json.loads(raw[ref.offset : ref.end])
    assert [item["id"] for item in line["messages"]] == list(ref.message_ids)
    turn = history.read_turn(ref)
    assert (turn.id, turn.number, turn.user, turn.assistant, turn.at) == (
        "s1-t1",
        1,
        "run it",
        "ran",
        5000.0,
    )
    assert [(m.role, m.content, m.tool_name, m.tool_call_id) for m in turn.messages] == [
        (m.role, m.content, m.tool_name, m.tool_call_id) for m in messages
    ]
    assert history.messages("s1")[1].tool_calls == messages[1].tool_calls


def test_texts_that_are_no_message_of_the_turn_come_back_too(history, talk):
    ref = talk("s1", "asked", "", messages=(Message("user", "asked in full"),), interrupted=True)
    turn = history.read_turn(ref)
    assert (turn.user, turn.assistant, turn.interrupted) == ("asked", "", True)


def test_a_wrong_offset_is_only_a_hint(history, talk):
    talk("s1", "one", "1")
    ref = talk("s1", "two", "2")
    moved = TurnRef(ref.session_id, ref.turn_id, 3, ref.message_ids)
    assert history.read_turn(moved).user == "two"
    assert history.read_turn(TurnRef("s1", "nobody", 0)) is None
    assert history.read_turn(TurnRef("nobody", "x", 0)) is None


def test_turns_after_a_cursor(history, talk):
    refs = [talk("s1", f"q{n}", f"a{n}") for n in range(4)]
    history.append("s1", "system", "outside a turn")
    assert [turn.user for _, turn in history.turns_after("s1", refs[2].offset)] == ["q2", "q3"]
    assert [ref for ref, _ in history.turns_after("s1", 0)] == refs
    assert list(history.turns_after("s1", history.transcript_end("s1"))) == []
    assert history.transcript_end("nobody") == 0


def test_undo_hides_the_last_turns_everywhere(history, talk):
    refs = [talk("s1", f"q{n}", f"a{n}") for n in range(3)]
    assert history.undo_turns("s1", 2) == 4
    assert contents(history) == ["q0", "a0"]
    assert contents(history, include_undone=True) == ["q0", "a0", "q1", "a1", "q2", "a2"]
    assert [history.read_turn(ref) is None for ref in refs] == [False, True, True]
    assert [turn.user for _, turn in history.turns_after("s1", 0)] == ["q0"]
    record = history.session("s1")
    assert (record.message_count, record.turn_count) == (2, 1)
    talk("s1", "again", "new")
    assert contents(history) == ["q0", "a0", "again", "new"]
    assert history.undo_turns("s1", 9) == 4
    assert history.undo_turns("s1", 1) == 0


def test_undo_of_single_messages_goes_back_to_a_user_message(history):
    for role, text in (
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
        ("tool", "d"),
        ("assistant", "e"),
    ):
        history.append("s1", role, text)
    assert history.undo_turns("s1", 1) == 3
    assert contents(history) == ["a", "b"]


def test_compacted_messages_stay_readable(history, talk):
    talk("s1", "old", "older")
    assert history.mark_compacted("s1") == 2
    assert history.mark_compacted("s1") == 0
    talk("s1", "new", "newer")
    assert [message.state for message in history.messages("s1")] == ["compacted"] * 2 + ["live"] * 2


def test_the_first_end_stands_and_a_resume_opens_again(history, talk):
    talk("s1", "q", "a")
    assert history.end_session("s1", "exit", at=10.0)
    assert not history.end_session("s1", "crash", at=20.0)
    record = history.session("s1")
    assert (record.ended_at, record.end_reason) == (10.0, "exit")
    history.open_session(SessionInfo("s1", "s1"), reason="resume")
    assert history.session("s1").ended_at is None
    assert history.end_session("s1", "idle")
    assert not history.end_session("nobody", "exit")


def test_opening_makes_known_and_refreshes(history):
    info = SessionInfo(
        "s1", "root", source="telegram", title="T", user_id="u", chat_id="c", cwd="/w", model="m",
        parent_id="root", agent_context="cron", scope=Scope("user", "u"), started_at=7.0,
    )  # fmt: skip
    history.open_session(info)
    record = history.session("s1")
    assert (record.source, record.title, record.user_id, record.cwd) == ("telegram", "T", "u", "/w")
    assert (record.lineage, record.parent_id, record.scope_key) == ("root", "root", info.scope.key)
    assert history.session_info("s1") == info
    size = history.transcripts.total_bytes()
    history.open_session(info)
    assert history.transcripts.total_bytes() == size
    history.open_session(
        SessionInfo("s1", "root", source="telegram", model="other", started_at=9.0)
    )
    record = history.session("s1")
    assert (record.model, record.started_at, record.title, record.user_id) == (
        "other",
        7.0,
        "T",
        "u",
    )
    assert history.session_info("nobody") is None


def test_append_makes_unknown_sessions_and_redacts(open_history):
    store = open_history(redact=lambda text: text.replace("hunter2", "***"))
    id_ = store.append(
        "new", "assistant", "pw hunter2", timestamp=42.0,
        tool_calls=[{"function": {"name": "x", "arguments": "hunter2"}}],
    )  # fmt: skip
    (message,) = store.messages("new")
    assert (message.id, message.content, message.timestamp) == (id_, "pw ***", 42.0)
    assert "hunter2" not in store.transcripts.path("new").read_text()
    assert store.session("new").started_at == 42.0


def test_append_many_gives_ids_in_order_with_one_sync(history, monkeypatch):
    from hermes_memory_sessions import flock

    syncs = []
    monkeypatch.setattr(flock, "sync", syncs.append)
    ids = history.append_many("s1", [Message("user", str(n)) for n in range(3000)])
    assert ids == sorted(set(ids))
    assert len(syncs) == 1
    assert contents(history) == [str(n) for n in range(3000)]
    assert history.append_many("s1", []) == []


def test_a_bad_character_stops_nothing(history):
    history.append("s1", "user", "bad \ud83d tail")
    history.append("s\udc00", "user", "id")
    history.commit_turn(SessionInfo("s1", "s1"), Turn("t", "s1", 1, "\udfff", "nul \0 byte"))
    assert contents(history) == ["bad \ufffd tail", "\ufffd", "nul \0 byte"]
    assert contents(history, "s\ufffd") == ["id"]


def test_an_empty_id_is_misuse(history):
    with pytest.raises(UsageError):
        history.append("", "user", "x")


def test_ids_and_rows_are_the_same_after_everything_was_built_again(history, talk):
    talk("s1", "q1", "a1")
    history.append("s2", "user", "single")
    talk("s1", "q2", "a2")
    history.undo_turns("s1", 1)
    history.set_title("s1", "Named")
    history.update_session("s2", archived=True, input_tokens=5)
    history.update_session("s2", input_tokens=7, output_tokens=1)
    history.end_session("s2", "exit", at=99.0)
    history.append("s2", "user", "late")

    def everything():
        records = [history.session(id_) for id_ in ("s1", "s2")]
        return records, [history.messages(id_, include_undone=True) for id_ in ("s1", "s2")]

    before = everything()
    assert history.rebuild() == 6
    assert everything() == before
    assert before[0][1].input_tokens == 12
    assert history.append("s1", "user", "next") > max(m.id for group in before[1] for m in group)


def test_the_last_turn_handed_over_again_is_stored_once(history, open_history):
    info = SessionInfo("s1", "s1")
    first = history.commit_turn(info, Turn("t1", "s1", 1, "q", "a"))
    assert history.commit_turn(info, Turn("t1", "s1", 1, "q", "a")) == first
    history.close()
    other = open_history()
    assert other.commit_turn(info, Turn("t1", "s1", 1, "q", "a")) == first
    second = other.commit_turn(info, Turn("t2", "s1", 2, "q", "a"))
    assert second.offset == first.end
    assert contents(other) == ["q", "a", "q", "a"]


@pytest.mark.parametrize("how", ["undone", "deleted", "replaced"])
def test_a_turn_that_is_gone_may_be_handed_over_again(history, how):
    info = SessionInfo("s1", "s1")
    turn = Turn("t1", "s1", 1, "q", "a")
    history.commit_turn(info, turn)
    if how == "undone":
        history.undo_turns("s1", 1)
    else:
        history.delete_sessions(["s1"], permanently=how == "deleted")
    history.commit_turn(info, turn)
    assert contents(history) == ["q", "a"]
