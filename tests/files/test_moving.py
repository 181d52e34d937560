from __future__ import annotations

import pytest
from files.kit import HOSTILE, desk

from hermes_memory_core.errors import NoteError, UsageError
from hermes_memory_core.types import Decision, MemoryRecord, Scope


def test_export_and_import_round_trip_and_a_second_import_is_nothing(home, tmp_path):
    source = desk(home, isolation="user")
    anna = Scope("user", "anna")
    source.store.add("memory", "多行\nentry", scope=anna)
    source.store.add("user", "likes tea", scope=anna)
    desk(home).store.add("memory", "profile note")
    records = list(source.provider.export_memories(None))
    assert {(record.content, record.scope.key) for record in records} == {
        ("profile note", "profile"),
        ("多行\nentry", anna.key),
        ("likes tea", anna.key),
    }
    assert all(record.created_at for record in records)
    other = desk(tmp_path / "other", isolation="user")
    counts = other.provider.import_memories(records)
    assert (counts.imported, counts.duplicates, counts.failed) == (3, 0, 0)
    assert other.provider.import_memories(records).duplicates == 3
    assert other.texts(scope=anna) == ["多行\nentry"]


def test_export_of_one_scope(home):
    notes = desk(home, isolation="user")
    for name in ("anna", "ben"):
        notes.store.add("memory", f"note of {name}", scope=Scope("user", name))
    (record,) = notes.provider.export_memories(Scope("user", "ben"))
    assert record.content == "note of ben"


def test_import_says_what_it_could_not_take(home):
    notes = desk(home, memory_char_limit=20)
    counts = notes.provider.import_memories(
        [
            MemoryRecord("1", "note", "fits", metadata={"target": "memory"}),
            MemoryRecord("2", "note", "x" * 30, metadata={"target": "memory"}),
            MemoryRecord("3", "note", HOSTILE, metadata={"target": "user"}),
            MemoryRecord("4", "turn", "hello"),
            MemoryRecord("5", "note", "x", metadata={"target": "elsewhere"}),
        ]
    )
    assert (counts.imported, counts.failed, counts.skipped) == (1, 2, 2)
    assert counts.reasons["over the limit"] == 1
    assert counts.reasons["not a note"] == 1
    notes.approve = lambda write: Decision("stage", "ab12cd34")
    waiting = notes.provider.import_memories([MemoryRecord("6", "note", "later")])
    assert (waiting.skipped, waiting.reasons) == (1, {"waits for approval": 1})


def everything_on_disk(home):
    return "".join(path.read_text("utf-8", "replace") for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("isolation", ["profile", "user"])
def test_forget_leaves_no_file_with_the_text(home, isolation):
    notes = desk(home, isolation=isolation)
    scope = Scope("user", "anna") if isolation == "user" else None
    notes.store.add("memory", "the codeword is Swordfish", scope=scope)
    notes.store.add("memory", "likes tea", scope=scope)
    notes.store.patch("memory", "Swordfish", "swordfish!", scope=scope)
    notes.store.add("user", "also told SWORDFISH", scope=scope)
    notes.store.reset("user", scope=scope)
    path = notes.store.path("memory", scope=scope)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + "\n§\nby hand: swordfish".encode())
    notes.store.add("memory", "another", scope=scope)

    preview = notes.provider.forget(None, "swordfish", True)
    assert sum(receipt.removed for receipt in preview) == 0
    assert {receipt.place.split(" of ")[0] for receipt in preview} == {
        "notes",
        "notes history",
        "notes backups",
    }
    assert "swordfish" in everything_on_disk(home)

    told = len(notes.writes)
    receipts = notes.provider.forget(None, "SwordFish", False)
    assert all(receipt.removed == receipt.matched > 0 for receipt in receipts)
    assert "swordfish" not in everything_on_disk(home).casefold()
    assert notes.texts(scope=scope) == ["likes tea", "another"]
    assert len(notes.writes) == told
    assert notes.provider.forget(None, "swordfish", False) == []


def test_what_was_forgotten_cannot_be_undone_and_the_rest_of_the_history_can(home):
    notes = desk(home)
    notes.store.add("memory", "secret plan")
    harmless = notes.store.add("memory", "harmless")
    notes.provider.forget(None, "secret", False)
    for write in notes.store.log():
        if write.id != harmless.id:
            with pytest.raises(NoteError, match="forgotten"):
                notes.store.undo(write.id)
    notes.store.undo(harmless.id)
    assert notes.texts() == []


def test_forget_needs_something_to_look_for(home):
    with pytest.raises(UsageError):
        desk(home).provider.forget(None, " \u200b", False)


def test_forget_says_what_it_could_not_remove(home):
    notes = desk(home)
    notes.store.add("user", "secret")
    notes.path().mkdir()
    (notes_receipt, *_rest) = notes.provider.forget(None, "secret", False)
    assert notes_receipt.removed == 1
    assert "cannot be read" in notes_receipt.reason


def test_health_is_a_round_trip(home):
    notes = desk(home)
    assert notes.provider.health().ok
    notes.store.add("memory", "one")
    health = notes.provider.health()
    assert health.ok
    (told,) = [file for file in health.details["files"].values() if file["exists"]]
    assert (told["entries"], told["chars"], told["limit"]) == (1, 3, 2_200)
    assert not list(notes.path().parent.glob(".probe*"))
    notes.path("user").mkdir()
    broken = notes.provider.health()
    assert not broken.ok
    assert broken.hint
