"""Notes as conclusions; export, import, forgetting; the migration of old notes."""

import json

import pytest
from honcho_stub import Fault, HonchoStub
from rig import note, recall, session, settle, user_scope

from hermes_memory_core.errors import ProviderError, ProviderUnavailableError
from hermes_memory_core.types import MemoryRecord, Scope


def concluded(rig, observer="hermes", observed="user"):
    return [
        one["content"]
        for one in rig.stub.state.all_conclusions()
        if (one["observer_id"], one["observed_id"]) == (observer, observed)
    ]


# ---------------------------------------------------------------- notes


def test_notes_about_the_user_follow_every_change(rig):
    one = rig.provider()
    steps = [
        ("add", (), ("Likes tea",), ["Likes tea"]),
        ("patch", ("Likes tea",), ("Likes green tea",), ["Likes green tea"]),
        ("add", (), ("Lives in Lyon",), ["Likes green tea", "Lives in Lyon"]),
        ("replace", ("Likes green tea",), ("Drinks coffee",), ["Lives in Lyon", "Drinks coffee"]),
        ("remove", ("Lives in Lyon",), (), ["Drinks coffee"]),
        ("undo", (), ("Lives in Lyon",), ["Drinks coffee", "Lives in Lyon"]),
        (
            "rewrite",
            ("Drinks coffee", "Lives in Lyon"),
            ("Lives in Lyon", "x"),
            ["Lives in Lyon", "x"],
        ),
        ("reset", ("Lives in Lyon", "x"), (), []),
    ]
    for at, (action, before, after, left) in enumerate(steps):
        info = session() if at % 2 else None
        write = note(action, before, after, ident=f"w{at}")
        one.notes_written(info, write)
        one.notes_written(info, write)
        assert concluded(rig) == left, action


def test_the_agents_own_notes_stay_here(rig):
    rig.provider().notes_written(None, note("add", (), ("secret of the agent",), target="memory"))
    assert rig.stub.asked == []


@pytest.mark.parametrize("kind", ["drop_after", "hang_after"])
def test_a_note_that_may_have_arrived_is_looked_for(rig, kind):
    one = rig.provider(timeout=0.3)
    write = note("add", (), ("Likes tea",))
    only = lambda route: route.endswith("/conclusions")  # noqa: E731
    with rig.stub.fault(Fault(kind, seconds=1, only=only)), pytest.raises(ProviderError):
        one.notes_written(session(), write)
    rig.provider().notes_written(session(), write)
    assert concluded(rig) == ["Likes tea"]


def test_a_note_is_removed_also_where_nobody_remembers_its_id(rig):
    rig.provider().notes_written(None, note("add", (), ("Likes tea",)))
    for path in (rig.home / "providers" / "honcho").glob("ledger.db*"):
        path.rename(path.with_name("old-" + path.name))
    rig.made[0].close()
    rig.provider().notes_written(None, note("remove", ("Likes tea",), (), ident="w2"))
    assert concluded(rig) == []


# ---------------------------------------------------------------- moving


def test_an_export_holds_messages_conclusions_and_cards(rig):
    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "I like tea."))
    rig.stub.state.workspaces["hermes"].cards["hermes", "user"] = ["Name: Ada"]
    records = list(one.export_memories(None))
    assert {record.kind for record in records} == {"message", "conclusion", "profile"}
    assert [r.content for r in records if r.kind == "message"] == ["I like tea.", "Noted."]
    json.dumps([dict(record.metadata) for record in records])
    with HonchoStub() as fresh:
        rig.stub = fresh
        other = rig.provider(workspace="copy")
        counts = other.import_memories(iter(records))
        assert counts.imported == len(records) - counts.duplicates
        assert [(m["peer_id"], m["content"]) for m in fresh.messages()] == [
            ("user", "I like tea."),
            ("hermes", "Noted."),
        ]
        again = other.import_memories(iter(records))
        assert (again.imported, again.duplicates) == (0, len(records))


def test_an_export_makes_nothing(rig):
    assert list(rig.provider().export_memories(None)) == []
    assert rig.stub.state.workspaces == {}


def test_scopes_are_exported_apart(rig):
    one = rig.provider()
    ada = session("a", **user_scope("ada"))
    one.sync_turn(ada, rig.turn(ada, "My safe opens with 4711."))
    one.sync_turn(session(), rig.turn(session(), "Public."))
    of_ada = list(one.export_memories(Scope("user", "ada")))
    assert any("4711" in record.content for record in of_ada)
    assert not any("Public" in record.content for record in of_ada)
    assert not any("4711" in r.content for r in one.export_memories(Scope("user", "bo")))
    assert not any("4711" in r.content for r in one.export_memories(Scope()))


def test_an_import_that_breaks_goes_on_where_it_was(rig):
    records = [
        MemoryRecord(f"r{at}", "turn", f"fact {at}", 1_700_000_000.0 + at) for at in range(230)
    ]
    one = rig.provider()
    seen = iter([False, False, True])
    only = lambda route: route.endswith("/messages") and next(seen, False)  # noqa: E731
    with rig.stub.fault(Fault("drop_after", only=only)), pytest.raises(ProviderUnavailableError):
        one.import_memories(iter(records))
    rig.clock.now += 60
    counts = rig.provider().import_memories(iter(records))
    assert counts.imported + counts.duplicates == 230
    assert [m["content"] for m in rig.stub.messages()] == [f"fact {at}" for at in range(230)]


def test_imports_leave_out_with_a_reason(rig):
    records = [
        MemoryRecord("1", "note", "  "),
        MemoryRecord("2", "turn", "hi", scope=Scope("user", None)),
        MemoryRecord("3", "fact", "Likes tea"),
        MemoryRecord("3", "fact", "Likes tea"),
    ]
    counts = rig.provider().import_memories(iter(records))
    assert (counts.imported, counts.duplicates, counts.skipped) == (1, 1, 2)
    assert sum(counts.reasons.values()) == 2


def test_forgetting_says_what_stays(rig):
    one = rig.provider(write_frequency=2)
    one.sync_turn(session(), rig.turn(session(), "The code is 4711."))
    one.sync_turn(session(), rig.turn(session(), "I like tea."))
    one.sync_turn(session(), rig.turn(session(), "4711 again."))
    rig.stub.state.workspaces["hermes"].cards["hermes", "user"] = ["Code: 4711", "Name: Ada"]
    trial = one.forget(None, "4711", True)
    assert sum(receipt.removed for receipt in trial) == 0
    done = {receipt.place: receipt for receipt in one.forget(None, "4711", False)}
    assert done["honcho: conclusions"].removed == done["honcho: conclusions"].matched == 2
    assert done["honcho: card of user"].removed == 1
    assert done["honcho: turns not yet sent"].removed == 1
    assert done["honcho: messages"].removed == 0
    assert "cannot delete" in done["honcho: messages"].reason
    assert not any("4711" in text for text in concluded(rig))
    assert rig.stub.state.workspaces["hermes"].cards["hermes", "user"] == ["Name: Ada"]
    one.end_session(session(), "exit")
    assert rig.stub.messages("4711 again") == []


# ---------------------------------------------------------------- migration


@pytest.fixture
def notes(rig):
    (rig.home / "memories").mkdir()
    (rig.home / "memories" / "MEMORY.md").write_text("The build uses make.\n")
    (rig.home / "memories" / "USER.md").write_text("Prefers tea.\n")
    (rig.home / "SOUL.md").write_text("You are calm.\n")
    return rig.home


def started(rig, **settings):
    one = rig.provider(**settings)
    one.start_session(session(), "new", None)
    settle(one, session())
    return one


def test_old_notes_are_uploaded_once(rig, notes):
    for _ in range(2):
        started(rig).close()
    by_file = {
        m["metadata"]["original_file"]: m
        for m in rig.stub.messages()
        if "original_file" in m["metadata"]
    }
    assert set(by_file) == {"MEMORY.md", "USER.md", "SOUL.md"}
    assert len(rig.stub.messages()) == 3
    assert by_file["USER.md"]["peer_id"] == "user"
    assert by_file["SOUL.md"]["peer_id"] == "hermes"
    assert "Prefers tea." in by_file["USER.md"]["content"]
    assert not any(m["session_id"] == "s1" for m in rig.stub.messages())


def test_a_lost_ledger_finds_them_on_the_server(rig, notes):
    started(rig).close()
    for path in (rig.home / "providers" / "honcho").glob("ledger.db*"):
        path.unlink()
    started(rig)
    assert len(rig.stub.messages()) == 3


def test_an_upload_that_may_have_arrived_is_looked_for(rig, notes):
    only = lambda route: route.endswith("/upload")  # noqa: E731
    with rig.stub.fault(Fault("drop_after", only=only, times=1)):
        started(rig)
    started(rig)
    assert len(rig.stub.messages("Prefers tea.")) == 1
    assert len(rig.stub.messages()) == 3


def test_a_migration_can_be_taken_back(rig, notes):
    one = started(rig)
    reports = one.parts.migrator.undo()
    assert {report["file"] for report in reports} == {"MEMORY.md", "USER.md", "SOUL.md"}
    assert rig.stub.messages() == []
    assert one.parts.ledger.migrations() == []


@pytest.mark.parametrize(
    "settings", [{"upload_notes": False}, {"save_messages": False}, {"enabled": False}]
)
def test_notes_stay_when_told(rig, notes, settings):
    one = rig.provider(**settings)
    one.start_session(session(), "new", None)
    recall(one, session())
    assert rig.stub.messages() == []


def test_a_strangers_first_word_uploads_nothing(rig, notes):
    one = rig.provider(peer_name="ada")
    guest = session("g", user_id="42", chat_id="7", source="telegram")
    one.start_session(guest, "new", None)
    settle(one, guest)
    one.sync_turn(guest, rig.turn(guest, "hello"))
    assert rig.stub.messages("tea") == []
