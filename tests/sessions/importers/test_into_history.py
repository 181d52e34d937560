"""The import with the real store: what was brought in is found, read, exported and brought in again."""

from __future__ import annotations

import pytest
from hermes_memory_sessions.importers import import_path, session_id_for

SID = "claude-code:3f0c2a7e-51c4-4b7e-9a11-6d2f8c0e4b11"


def test_everything_comes_in_once(history, data):
    first = import_path(history, data)
    assert (first.imported, first.unchanged, first.extended) == (11, 0, 0)
    assert history.stats()["messages"] == first.messages
    second = import_path(history, data)
    assert (second.imported, second.unchanged, second.extended) == (0, 11, 0)
    assert history.stats()["messages"] == first.messages


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("tangyuan", "chatgpt"),
        ("八个汤圆", "chatgpt"),
        ("月印了两遍", "claude-code"),
        ("ferry Sunday", "codex"),
        ("风筝线", "codex"),
        ("bell silent", "openai"),
        ("黑麦", "telegram"),
        ("雪橇", "cli"),
    ],
)
def test_it_is_found_in_both_languages(query, source, history, data):
    import_path(history, data)
    hits = history.search(query)
    assert hits
    assert history.session(hits[0].session_id).source == source


def test_what_a_session_keeps(history, data):
    import_path(history, data)
    soup = history.session(session_id_for("chatgpt:c-lantern"))
    assert (soup.title, soup.model, soup.archived) == ("Lantern festival soup", "gpt-test-5", True)
    assert (soup.started_at, soup.ended_at) == (1770200000.5, 1770200600.5)
    side = history.session(session_id_for(f"{SID}/agent-s0"))
    assert (side.agent_context, side.parent_id) == ("subagent", session_id_for(SID))
    bread = history.session("20260205_101010_abc123")
    assert (bread.user_id, bread.chat_id, bread.input_tokens) == ("mei", "-100", 120)
    messages = history.messages(session_id_for(SID))
    assert [message.role for message in messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert messages[0].timestamp == 1770105602.25
    assert messages[2].tool_name == "Read"


def test_an_export_of_one_home_goes_into_another_and_back(history, open_history, data, tmp_path):
    import_path(history, data)
    ids = [
        record.id
        for record in history.sessions(limit=100, include_subagents=True, include_archived=True)
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(history.export(ids, "jsonl")), encoding="utf-8")
    other = open_history(tmp_path / "other")
    report = import_path(other, path)
    assert (report.imported, report.skipped) == (len(ids), {})
    for own in ids:
        assert [(m.role, m.content, m.timestamp) for m in other.messages(own)] == [
            (m.role, m.content, m.timestamp) for m in history.messages(own)
        ]
    assert import_path(history, path).unchanged == len(ids)


def test_transcripts_of_another_home(history, open_history, talk, tmp_path, home):
    talk("20260101_000000_aaaaaa", "Where is the sledge? 雪橇呢？", "In the attic.")
    talk("20260101_000000_aaaaaa", "Sell it.", "Listed.")
    history.undo_turns("20260101_000000_aaaaaa", 1)
    other = open_history(tmp_path / "other")
    report = import_path(other, home / "sessions")
    assert report.imported == 1
    assert [message.content for message in other.messages("20260101_000000_aaaaaa")] == [
        "Where is the sledge? 雪橇呢？",
        "In the attic.",
    ]
    assert import_path(history, home).unchanged == 1  # its own home holds nothing new


def test_an_id_that_wants_to_be_a_path_stays_inside_the_home(history, home, write):
    row = {
        "id": "../../../escaped",
        "started_at": 1770200000.0,
        "messages": [{"role": "user", "content": "hi"}],
    }
    before = {path for path in home.parent.rglob("*") if not path.is_relative_to(home)}
    assert import_path(history, write("x", [row])).imported == 1
    after = {path for path in home.parent.rglob("*") if not path.is_relative_to(home)}
    assert {path.name for path in after - before} == {"x"}
    assert history.messages("../../../escaped")[0].content == "hi"
