"""Export, import, and the open export format."""

from __future__ import annotations

import json

import pytest
from hermes_memory_sessions import records
from hermes_memory_sessions.for_people import Batch

from hermes_memory_core.errors import SessionNotFoundError, UsageError
from hermes_memory_core.types import MemoryRecord, Message, Scope, SessionInfo

NASTY = "<script>alert(1)</script>\n# no heading\n```\n预算 \U0001f600"


@pytest.fixture
def told(history, talk):
    talk("s1", NASTY, "reply", at=5000.0)
    history.append(
        "s1", "assistant", "", tool_calls=[{"function": {"name": "f", "arguments": "`````"}}]
    )
    history.set_title("s1", "A <b> title")
    return history


def test_jsonl_has_all_fields_and_messages(told):
    (text,) = told.export(["s1"])
    data = json.loads(text)
    assert text.count("\n") == 1
    assert (data["id"], data["title"], data["message_count"]) == ("s1", "A <b> title", 3)
    assert data["messages"][0]["content"] == NASTY
    assert data["messages"][0]["timestamp"] == 5000.0
    assert data["messages"][2]["tool_calls"]


def test_html_escapes_everything(told):
    (text,) = told.export(["s1"], "html")
    assert "<script>" not in text
    assert "<b>" not in text
    assert "预算" in text


def test_markdown_keeps_the_text_and_closes_its_fences(told):
    (text,) = told.export(["s1"], "md")
    assert NASTY in text
    assert "``````json" in text
    assert text.startswith("# A <b> title\n")


def test_undone_messages_only_when_asked_and_user_only(told):
    told.append("s1", "user", "taken back")
    told.undo_turns("s1", 1)
    assert "taken back" not in next(told.export(["s1"]))
    assert "taken back" in next(told.export(["s1"], "md", include_undone=True))
    only = json.loads(next(told.export(["s1"], only_user=True)))
    assert [message["role"] for message in only["messages"]] == ["user"]


def test_export_errors(told):
    with pytest.raises(UsageError):
        next(told.export(["s1"], "pdf"))
    with pytest.raises(SessionNotFoundError):
        list(told.export(["s1", "nobody"]))


def conversation(count):
    return [
        Message("user" if n % 2 == 0 else "assistant", f"line {n // 3}", timestamp=100.0 + n)
        for n in range(count)
    ]


def test_an_import_keeps_times_and_a_second_one_changes_nothing(history):
    info = SessionInfo("ext", "ext", source="claude-code", title="Imported", started_at=100.0)
    done = history.import_session(info, conversation(6), origin_key="x:1")
    assert (done.outcome, done.added) == ("imported", 6)
    assert [m.timestamp for m in history.messages("ext")] == [100.0 + n for n in range(6)]
    record = history.session("ext")
    assert (record.source, record.title, record.started_at, record.last_active) == (
        "claude-code", "Imported", 100.0, 105.0,
    )  # fmt: skip
    size = history.transcripts.total_bytes()
    again = history.import_session(info, conversation(6), origin_key="x:1")
    assert (again.outcome, again.added) == ("unchanged", 0)
    assert history.transcripts.total_bytes() == size


def test_a_grown_source_adds_only_the_new_tail(history):
    info = SessionInfo("ext", "ext")
    history.import_session(info, conversation(4), origin_key="x:1")
    before = [message.id for message in history.messages("ext")]
    done = history.import_session(info, conversation(9), origin_key="x:1")
    assert (done.outcome, done.added) == ("extended", 5)
    assert [m.content for m in history.messages("ext")] == [m.content for m in conversation(9)]
    assert [m.id for m in history.messages("ext")][:4] == before


def test_an_imported_title_that_is_taken_gets_a_number(history):
    history.append("own", "user", "x")
    history.set_title("own", "Trip")
    history.import_session(SessionInfo("ext", "ext", title="Trip"), conversation(1), origin_key="k")
    assert history.session("ext").title == "Trip #2"
    history.import_session(
        SessionInfo("long", "long", title="y" * 300), conversation(1), origin_key="l"
    )
    assert len(history.session("long").title) == 100


def test_an_import_is_redacted_and_survives_a_rebuild(open_history):
    store = open_history(redact=lambda text: text.replace("sk-1", "***"))
    store.import_session(SessionInfo("e", "e"), [Message("user", "key sk-1")], origin_key="k")
    assert (
        store.import_session(
            SessionInfo("e", "e"), [Message("user", "key sk-1")], origin_key="k"
        ).added
        == 0
    )
    store.rebuild()
    assert [m.content for m in store.messages("e")] == ["key ***"]


def test_the_open_format_goes_out_and_comes_in(told, open_history, tmp_path):
    told.open_session(SessionInfo("s2", "s2", source="telegram", scope=Scope("user", "u")))
    told.append("s2", "user", "scoped")
    exported = list(records.export(told, None))
    assert {record.kind for record in exported} == {"message"}
    assert [r.content for r in records.export(told, Scope("user", "u"))] == ["scoped"]
    other = open_history(tmp_path / "other")
    strange = MemoryRecord("x", "note", "not ours")
    counts = records.take(other, [*exported, strange])
    assert (counts.imported, counts.duplicates, counts.skipped) == (4, 0, 1)
    assert [m.content for m in other.messages("s1")] == [m.content for m in told.messages("s1")]
    assert other.session("s1").title == "A <b> title"
    assert other.session("s2").scope_key == Scope("user", "u").key
    assert records.take(other, exported).duplicates == 4


def test_a_long_import_gives_every_title_once_and_ends_what_it_made(history):
    history.append("own", "user", "x")
    history.set_title("own", "Trip")
    batch = Batch(history)
    for number, title in enumerate(("trip", "Trip", "Trip #7", "Trip", "Walk", None, "walk")):
        name = f"e{number}"
        batch.import_session(SessionInfo(name, name, title=title), conversation(1), origin_key=name)
        assert batch.end_session(name, "import", at=5.0)
    titles = [history.session(f"e{number}").title for number in range(7)]
    assert titles == ["trip #2", "Trip #3", "Trip #7", "Trip #8", "Walk", None, "walk #2"]
    assert all(history.session(f"e{number}").ended_at == 5.0 for number in range(7))
    batch.import_session(SessionInfo("e0", "e0"), conversation(3), origin_key="e0")
    assert not batch.end_session("e0", "import", at=9.0)
