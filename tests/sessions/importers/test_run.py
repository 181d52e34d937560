from __future__ import annotations

import json

import pytest
from hermes_memory_sessions.importers import import_path, run, session_id_for

from hermes_memory_core.errors import SessionError, StoreFullError, UsageError

T = 1770200000.0


class Store:
    """A store in memory that keeps the contract of ``import_session``."""

    def __init__(self):
        self.sessions = {}
        self.order = []
        self.ended = {}
        self.updates = []
        self.refuse = {}

    def import_session(self, session, messages, *, origin_key):
        if origin_key in self.refuse:
            raise self.refuse[origin_key]
        known = self.sessions.get(session.id)
        self.sessions[session.id] = (session, tuple(messages))
        if known is None:
            self.order.append(origin_key)
            return "imported"
        return "unchanged" if known[1] == tuple(messages) else "extended"

    def end_session(self, session_id, reason, *, at=None):
        self.ended[session_id] = (reason, at)
        return True

    def update_session(self, session_id, **fields):
        self.updates.append((session_id, fields))


@pytest.fixture
def store():
    return Store()


def row(own, *texts, **fields):
    messages = [
        {"role": "user", "content": text, "timestamp": T + n} for n, text in enumerate(texts)
    ]
    return {"id": own, "started_at": T, "messages": messages, **fields}


def test_a_whole_directory_and_then_again(store, data):
    first = import_path(store, data)
    assert (first.imported, first.unchanged, first.extended) == (11, 0, 0)
    assert first.messages == sum(len(messages) for _, messages in store.sessions.values())
    assert first.skipped["thinking (not imported)"] == 4
    assert first.examples["thinking (not imported)"].endswith(
        ("c-lantern/th", ".jsonl:5", ".jsonl:7")
    )
    second = import_path(store, data)
    assert (second.imported, second.unchanged, second.extended) == (0, 11, 0)
    assert json.loads(json.dumps(second.to_dict()))["unchanged"] == 11


def test_a_conversation_that_went_on_is_extended(store, write):
    import_path(store, write("x", [row("s-1", "one")]))
    report = import_path(store, write("x", [row("s-1", "one", "two")]))
    assert (report.imported, report.extended) == (0, 1)
    assert len(store.sessions) == 1


def test_parents_come_first_across_files(store, write, tmp_path):
    write("in/a-child.jsonl", [row("c", "x", parent_id="p")])
    write("in/b-grandchild.jsonl", [row("g", "x", parent_id="c")])
    write("in/c-orphan.jsonl", [row("o", "x", parent_id="gone")])
    write("in/d-circle.jsonl", [row("k1", "x", parent_id="k2"), row("k2", "x", parent_id="k1")])
    write("in/z-parent.jsonl", [row("p", "x")])
    import_path(store, tmp_path / "in")
    order = [key.removeprefix("hermes:") for key in store.order]
    assert order[:3] == ["p", "c", "g"]
    assert sorted(order[3:]) == ["k1", "k2", "o"]
    assert store.sessions["g"][0].parent_id == "c"


def test_waiting_for_parents_has_an_end(store, write, monkeypatch):
    monkeypatch.setattr(run, "MAX_WAITING", 10)
    rows = [row(f"c{n}", "x", parent_id="late") for n in range(20)]
    import_path(store, write("x", [*rows, row("late", "x")]))
    assert len(store.order) == 21
    assert store.order.index("hermes:late") > 10


def test_a_lineage_goes_on_over_compressions(store, write):
    rows = [
        row("one", "x"),
        row("two", "x", parent_id="one", lineage="one"),
        row("three", "x", parent_id="two", lineage="one"),
        row("fork", "x", parent_id="two"),
    ]
    import_path(store, write("x", rows))
    assert {own: info.lineage for own, (info, _) in store.sessions.items()} == {
        "one": "one", "two": "one", "three": "one", "fork": "fork",
    }  # fmt: skip


def test_ids_are_ours_or_made_of_the_key():
    assert session_id_for("hermes:20260204_101320_abcdef") == "20260204_101320_abcdef"
    made = session_id_for("chatgpt:c-lantern")
    assert made == session_id_for("chatgpt:c-lantern")
    assert made.startswith("chatgpt-")
    assert session_id_for("hermes:telegram:42/汉") == "telegram:42/汉"
    for unusable in ("hermes:", "hermes:" + "x" * 300, "hermes:a\nb", "hermes:\x1b[31m"):
        made = session_id_for(unusable)
        assert made.replace("-", "").isalnum()
        assert len(made) < 40
    assert session_id_for("chatgpt:a") != session_id_for("codex:a").replace("codex", "chatgpt")


def test_what_a_new_session_also_gets(store, write):
    rows = [
        row("s", "one", "two", input_tokens=5, output_tokens=2, archived=1),
        row("t", "one", ended_at=T + 99, end_reason="exit"),
    ]
    path = write("x", rows)
    import_path(store, path)
    assert store.updates == [("s", {"archived": True, "input_tokens": 5, "output_tokens": 2})]
    assert store.ended == {"s": ("import", T + 1), "t": ("exit", T + 99)}
    import_path(store, path)
    assert len(store.updates) == 1  # tokens are added, so they must not be told twice


def test_one_refusal_is_counted_and_the_rest_goes_on(store, write):
    store.refuse["hermes:b"] = SessionError("the id is taken")
    report = import_path(store, write("x", [row(own, "x") for own in "abc"]))
    assert report.imported == 2
    assert report.skipped == {"refused by the store: the id is taken": 1}


def test_a_full_disk_stops_it_and_says_what_was_done(store, write):
    store.refuse["hermes:b"] = StoreFullError("No room.")
    with pytest.raises(StoreFullError) as error:
        import_path(store, write("x", [row(own, "x") for own in "abc"]))
    assert error.value.details["report"]["imported"] == 1


def test_progress(store, data):
    seen = []
    report = import_path(
        store,
        data,
        progress=lambda at: seen.append((at.report.conversations, at.bytes_done, at.title)),
    )
    assert [count for count, _, _ in seen] == list(range(1, report.conversations + 1))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert "Lantern festival soup" in [title for _, _, title in seen]


def test_nothing_reaches_the_store_when_the_path_is_wrong(store, tmp_path):
    with pytest.raises(UsageError):
        import_path(store, tmp_path / "absent")
    assert not store.sessions
