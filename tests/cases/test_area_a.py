"""Reported faults of built-in note stores (area A): what the files provider alone can show."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from files.kit import SESSION, desk


def test_a01_a_full_store_tells_the_person_not_only_the_model(home):
    notes = desk(home, memory_char_limit=30)
    notes.store.add("memory", "x" * 28)
    for number in range(3):
        assert (
            notes.call(action="add", target="memory", content=f"refused {number}")["success"]
            is False
        )
    assert {notice.code for notice in notes.notices} == {"notes_full"}
    assert {notice.key for notice in notes.notices} == {"notes_full:memory"}
    assert "MEMORY.md is full" in notes.notices[0].message
    assert notes.notices[0].hint


def test_a02_a_looping_model_gets_previews_then_a_stop(home):
    notes = desk(home, memory_char_limit=100)
    notes.store.add("memory", "the build runs on tuesday nights")
    notes.store.add("memory", "x" * 60)
    over = notes.call(action="add", target="memory", content="y" * 40, turn="t")
    assert over["over_by"] == 38
    wrong = {
        "action": "replace",
        "target": "memory",
        "old_text": "builds happen tuesday",
        "content": "z",
    }
    answers = [notes.call(wrong, turn="t") for _ in range(5)]
    assert answers[0]["closest_entries"] == ["the build runs on tuesday nights"]
    assert all(answer == answers[1] for answer in answers[2:])
    assert answers[1]["done"] is True
    assert "unchanged" in answers[1]["error"]


def test_a02_nothing_similar_still_shows_what_there_is(home):
    notes = desk(home)
    notes.store.add("memory", "uses vim")
    answer = notes.call(action="remove", target="memory", old_text="qqq")
    assert answer["closest_entries"] == []
    assert answer["current_entries"] == ["uses vim"]


def test_a03_a_batch_is_judged_as_a_whole_and_the_bad_operation_named(home):
    notes = desk(home, memory_char_limit=60)
    notes.store.add("memory", "old entry " + "o" * 40)
    long = "new entry " + "n" * 45
    answer = notes.call(
        target="memory",
        operations=[{"action": "remove", "old_text": "old entry"}, {"action": "add", "content": long}, {"content": "?"}],
    )  # fmt: skip
    assert answer["error"].startswith("Operation 3 (no action)")
    assert answer["failed_operation"] == 3
    assert notes.texts() == ["old entry " + "o" * 40]
    fits = notes.call(
        target="memory",
        operations=[
            {"action": "add", "content": long},
            {"action": "remove", "old_text": "old entry"},
        ],
    )
    assert fits["success"] is True
    assert notes.texts() == [long]


@pytest.mark.parametrize("step", ["add", "replace", "patch", "remove", "batch", "undo", "rewrite"])
def test_a04_what_another_program_appended_is_never_wiped(home, step):
    notes = desk(home)
    notes.store.add("memory", "old entry")
    change = notes.store.add("memory", "second entry")
    with notes.path().open("a", encoding="utf-8") as file:
        file.write("\n§\nappended one\n§\nappended two\n")
    {
        "add": lambda: notes.store.add("memory", "third"),
        "replace": lambda: notes.store.replace("memory", "old", "new entry"),
        "patch": lambda: notes.store.patch("memory", "old", "new"),
        "remove": lambda: notes.store.remove("memory", "old"),
        "batch": lambda: notes.call(
            target="memory", operations=[{"action": "add", "content": "k"}]
        ),
        "undo": lambda: notes.store.undo(change.id),
        "rewrite": lambda: notes.store.rewrite(
            "memory", ["edited"], base=["old entry", "second entry"]
        ),
    }[step]()
    assert {"appended one", "appended two"} <= set(notes.texts())
    recorded = [write.after for write in notes.store.log() if write.action == "external"]
    assert recorded == [("appended one", "appended two")]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": None},
        {"action": "add", "target": "memory", "content": ""},
        {"action": "add", "target": "memory", "content": None},
        {"action": "add", "target": "memory", "content": [["a"]]},
        {"target": "memory", "operations": [None]},
        [],
        None,
        "not json",
    ],
)
def test_a05_empty_fields_get_one_clear_error_and_no_second_run(home, arguments):
    notes = desk(home)
    first = _raw(notes, arguments)
    assert first["success"] is False
    assert "Example: {" in first["error"]
    again = _raw(notes, arguments)
    assert again["done"] is True


def test_a05_arguments_as_a_json_string_work(home):
    notes = desk(home)
    assert _raw(notes, json.dumps({"action": "add", "target": "memory", "content": "tea"}))[
        "success"
    ]
    assert notes.texts() == ["tea"]


def _raw(notes, arguments, turn="one turn"):
    from hermes_memory_core.types import CallInfo

    return dict(notes.provider.call_tool(SESSION, "memory", arguments, CallInfo(0.0, turn)).data)


@pytest.mark.parametrize("batch", [False, True])
def test_a06_patching_one_section_keeps_the_others_and_shows_the_result(home, batch):
    notes = desk(home)
    notes.store.add("memory", "A: 1\nB: 2\nC: 3")
    step = {"action": "patch", "old_text": "B: 2", "content": "B: 9"}
    answer = notes.call({"target": "memory", **({"operations": [step]} if batch else step)})
    shown = answer["outcomes"][0]["after"] if batch else answer["patched_entry"]
    assert shown == "A: 1\nB: 9\nC: 3"
    assert notes.texts() == [shown]


def test_a06_replacing_says_what_went(home):
    notes = desk(home)
    notes.store.add("memory", "A: 1\nB: 2")
    answer = notes.call(action="replace", target="memory", old_text="B: 2", content="B: 9")
    assert answer["replaced_entry"] == "A: 1\nB: 2"
    notes.store.undo(answer["receipt"]["id"])
    assert notes.texts() == ["A: 1\nB: 2"]


@pytest.mark.parametrize(
    "fragment", ["prefers dark mode", "PREFERS DARK MODE", "prefers\u00a0dark mode"]
)
def test_a07_one_space_case_or_invisible_character_is_no_obstacle(home, fragment):
    notes = desk(home)
    notes.put("Prefers  dark \u200bmode.\n§\nother")
    assert notes.call(action="remove", target="memory", old_text=fragment)["success"] is True
    assert notes.texts() == ["other"]


def test_a07_several_second_chances_list_the_candidates_with_ids(home):
    notes = desk(home)
    notes.put("Dark Mode at work\n§\nDark  mode at home")
    answer = notes.call(action="remove", target="memory", old_text="dark mode")
    assert answer["matches"] == ["Dark Mode at work", "Dark  mode at home"]
    assert answer["match_ids"] == [note.id for note in notes.store.list("memory")]
    assert notes.call(action="remove", target="memory", old_text=answer["match_ids"][0])["success"]


@pytest.mark.parametrize(
    "names",
    [
        {"old_text": "tea", "content": "coffee"},
        {"old_string": "tea", "new_string": "coffee"},
        {"old_text": "tea", "new_text": "coffee"},
        {"old_text": "tea", "content": "coffee", "explanation": "asked", "confidence": 0.9},
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_a08_renamed_dropped_or_quoted_arguments(home, names, quoted):
    notes = desk(home)
    notes.store.add("memory", "likes tea")
    arguments = {"action": "replace", "target": "memory", **names}
    assert _raw(notes, json.dumps(arguments) if quoted else arguments)["success"] is True
    assert notes.texts() == ["coffee"]


def test_a08_the_error_lists_what_came_and_a_valid_call(home):
    answer = desk(home).call(action="replace", target="memory", needle="tea", content="coffee")
    assert answer["received"] == ["action", "content", "needle", "target"]
    assert '"old_text"' in answer["error"]


@pytest.mark.parametrize(
    "text",
    ["Launch steps:\n§\nwarm the cache", "§\nends", "starts\n§", "a\r\n§\r\nb", "§", " § ", "a\n§ \nb"],
)  # fmt: skip
def test_a09_an_entry_never_comes_back_as_two(home, text):
    notes = desk(home)
    answer = notes.call(action="add", target="memory", content=text)
    assert answer["success"] is False
    assert "§" in answer["error"]
    assert notes.raw() is None


@pytest.mark.parametrize(
    ("raw", "entry"),
    [
        (b"ok entry\n\xa7\nbad \xff byte", "ok entry"),
        (b"ok entry\n\xc2\xa7\nlaw \xa7 4", "ok entry"),
        (b"\xef\xbb\xbfok entry\n\xc2\xa7\nmore", "ok entry"),
        (b"ok entry\r\n\xc2\xa7\r\nmore\r\n", "ok entry"),
        ("ok entry\n§\n更多".encode("gb18030"), "ok entry"),
    ],
)
def test_a10_odd_bytes_do_not_switch_memory_off(home, raw, entry):
    notes = desk(home)
    notes.put(raw)
    assert any(entry in text for text in notes.texts())
    assert entry in notes.provider.system_block(SESSION)
    assert "notes_unusual" in notes.codes()
    assert notes.call(action="add", target="memory", content="one more")["success"] is True
    (backup,) = notes.path().parent.glob("MEMORY.md.bak.*")
    assert backup.read_bytes() == raw
    notes.raw().decode("utf-8")


@pytest.mark.process
@pytest.mark.timeout(30)
def test_a11_it_loads_and_reads_where_fcntl_does_not_exist(home):
    for text in ("one", "two"):
        desk(home).store.add("memory", text)
    code = f"""
import logging, pathlib, sys
sys.modules["fcntl"] = None
from hermes_memory_core.types import ProviderContext
from hermes_memory_files import FilesProvider
home = pathlib.Path({str(home)!r})
context = ProviderContext("files", home, home, "default", {{}}, {{}}, {{}}, logging.getLogger())
store = FilesProvider(context).stores()["notes"]
import hermes_memory_files.moving, hermes_memory_core.storage.locks
assert [note.text for note in store.list()] == ["one", "two"]
assert "two" in store.snapshot()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


@pytest.mark.process
@pytest.mark.timeout(30)
def test_a12_an_acknowledged_note_is_there_for_the_next_process(home):
    desk(home).store.add("memory", "said just now")
    code = (
        "import sys, pathlib\n"
        f"assert pathlib.Path({str(home)!r}, 'memories', 'MEMORY.md').read_text('utf-8') == 'said just now'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    assert desk(home).texts() == ["said just now"]


def test_a12_the_file_and_its_directory_are_synced_before_the_answer(home, monkeypatch):
    import os

    notes = desk(home)
    notes.store.add("memory", "first")
    synced = []
    real = os.fsync

    def fsync(descriptor):
        synced.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    notes.store.add("memory", "second")
    assert [name.rpartition("/")[2].split(".")[0] for name in synced] == ["history", "", "memories"]


def test_a13_repeats_in_another_spelling_are_refused_and_the_file_named(home):
    texts = ["Prefers tea", "Runs Ubuntu", "Uses Axum"]
    first = desk(home)
    for text in texts:
        first.store.add("memory", text)
    second = desk(home)
    for text in texts:
        for again in (text + "  ", text.upper(), text.replace(" ", "  ")):
            answer = second.call(action="add", target="memory", content=again)
            assert "already exists" in answer["message"]
    assert second.texts() == texts
    details = second.provider.health().details["files"]
    assert details[str(second.path())]["entries"] == 3


def test_a14_reset_keeps_what_was_there_not_what_is_there_after(home):
    notes = desk(home)
    notes.store.add("memory", "precious")
    (backup,) = notes.store.reset("memory")
    assert backup.read_text("utf-8") == "precious"
    assert notes.raw() == b""


def test_a14_without_a_good_backup_nothing_is_reset(home, monkeypatch):
    from hermes_memory_files import places

    from hermes_memory_core.errors import StoreError

    notes = desk(home)
    notes.store.add("memory", "precious")
    monkeypatch.setattr(places, "write_atomic", lambda path, data: path.write_bytes(data[:-1]))
    with pytest.raises(StoreError, match="read back"):
        notes.store.reset("memory")
    assert notes.texts() == ["precious"]


def test_a15_switched_off_removes_exactly_the_tool(home):
    off = desk(home, memory_enabled=False, user_profile_enabled=False)
    assert list(off.provider.tools()) == []
    assert off.provider.system_block(SESSION) is None
    assert off.call(action="add", target="memory", content="x")["success"] is False
    half = desk(home, memory_enabled=False)
    (spec,) = half.provider.tools()
    assert spec.parameters["properties"]["target"]["enum"] == ["user"]


def test_a16_every_real_write_yields_a_receipt_that_can_be_checked(home):
    notes = desk(home)
    answer = notes.call(action="add", target="user", content="prefers tea")
    receipt = answer["receipt"]
    assert (home / receipt["file"]).read_text("utf-8") == "prefers tea"
    assert notes.store.log()[0].id == receipt["id"]
    assert answer["entry_count"] == 1
    refused = notes.call(action="add", target="user", content="prefers tea")
    assert "receipt" not in refused


def test_a17_an_open_session_reads_what_another_one_saved(home):
    open_for_days, other = desk(home), desk(home)
    frozen = open_for_days.provider.system_block(SESSION)
    other.store.add("memory", "saved elsewhere")
    assert "saved elsewhere" not in frozen
    assert open_for_days.call(action="read", target="memory")["entries"] == ["saved elsewhere"]
    assert open_for_days.call(action="add", target="memory", content="ours")["entry_count"] == 2
    assert "saved elsewhere" in open_for_days.provider.system_block(SESSION)
