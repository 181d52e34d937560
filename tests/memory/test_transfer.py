"""Leaving without lock-in: the open format, and from one provider to another with an interruption between."""

from __future__ import annotations

import io
import json

import pytest
from helpers import provider_class

from hermes_memory_core import Memory
from hermes_memory_core.engine import moving
from hermes_memory_core.errors import PluginLoadError, ProviderError, UsageError
from hermes_memory_core.types import ImportCounts, MemoryRecord


def shelf(name, facts, *, break_after=None):
    """A provider over a shared dict of facts; ``break_after`` batches it fails once."""
    state = {"batches": 0}

    def export_memories(self, scope):
        for key, text in facts.items():
            yield MemoryRecord(key, "fact", text)

    def import_memories(self, records):
        state["batches"] += 1
        if break_after is not None and state["batches"] == break_after + 1:
            raise ProviderError("the line went dead")
        new = 0
        for record in records:
            new += record.id not in facts
            facts[record.id] = record.content
        return ImportCounts(imported=new, duplicates=len(records) - new)

    return provider_class(name, export_memories=export_memories, import_memories=import_memories)


def fill(memory):
    memory.notes.add("user", "Prefers tea over coffee.")
    memory.notes.add("memory", "The staging host is called birch.")
    with memory.session(title="Boat trip") as session:
        session.end_turn("When do we leave?", "On Friday, with the 预算 agreed.")


def test_round_trip_between_homes_twice(home, tmp_path):
    with Memory.open(home) as memory:
        fill(memory)
        text = "\n".join(memory.export())
    with Memory.open(tmp_path / "other") as memory:
        first = memory.import_export(io.StringIO(text))
        second = memory.import_export(io.StringIO(text))
        assert first["files"].imported == 2
        assert second["files"].duplicates == 2
        assert second["sessions"].imported == 0
        assert {note.text for note in memory.notes.list()} == {
            "Prefers tea over coffee.",
            "The staging host is called birch.",
        }
        assert memory.history.search("预算")
        assert memory.history.stats()["messages"] == 2


def test_dry_run_counts_and_changes_nothing(home, tmp_path):
    with Memory.open(home) as memory:
        fill(memory)
        text = "\n".join(memory.export())
    with Memory.open(tmp_path / "other") as memory:
        assert memory.import_export(io.StringIO(text), dry_run=True)["files"].imported == 2
        assert memory.notes.list() == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not json",
        '{"format": "other"}',
        '{"format": "hermes-memory-export", "version": 99}',
    ],
)
def test_what_is_no_export_is_refused(home, text):
    with Memory.open(home) as memory, pytest.raises(UsageError):
        memory.import_export(io.StringIO(text))


def test_broken_lines_are_counted_and_the_rest_comes_in(home, tmp_path):
    with Memory.open(home) as memory:
        fill(memory)
        lines = list(memory.export())
    lines[2:2] = ["{half a line", "[]", '{"provider": "files"}', ""]
    with Memory.open(tmp_path / "other") as memory:
        totals = memory.import_export(io.StringIO("\n".join(lines)))
        assert totals["(unreadable)"].skipped == 3
        assert totals["files"].imported == 2


def test_records_of_an_absent_provider_need_somebody_to_take_them(home):
    lines = [
        moving.header("default", 0.0, ["sea"]),
        moving.dump_record("sea", MemoryRecord("1", "fact", "Boats float.")),
    ]
    with Memory.open(home) as memory, pytest.raises(UsageError, match="nobody"):
        memory.import_export(io.StringIO("\n".join(lines)))
    facts = {}
    with Memory.open(home, providers=[shelf("land", facts)]) as memory:
        memory.import_export(io.StringIO("\n".join(lines)))
    assert facts == {"1": "Boats float."}


def test_migrate_goes_on_after_an_interruption(home):
    old = {f"f{number:04}": f"fact {number}" for number in range(700)}
    new = {}
    home.mkdir()
    (home / "config.yaml").write_text("memory: {provider: old}\n")
    with Memory.open(
        home, providers=[shelf("old", old), shelf("new", new, break_after=2)]
    ) as memory:
        assert memory.migrate("old", "new", dry_run=True).imported == 700
        with pytest.raises(ProviderError, match="400 records are in"):
            memory.migrate("old", "new")
        assert memory.migrate("old", "new", dry_run=True).imported == 300
        assert memory.migrate("old", "new").imported == 300
        assert new == old
        assert memory.migrate("old", "new").duplicates == 700


def test_an_export_that_stops_half_way_is_an_error_not_a_short_file(home):
    def export_memories(self, scope):
        yield MemoryRecord("1", "fact", "one")
        raise RuntimeError("disk gone")

    kind = provider_class("half", export_memories=export_memories)
    with (
        Memory.open(home, providers=[kind]) as memory,
        pytest.raises(ProviderError, match="after 1 records"),
    ):
        list(memory.export())


def test_a_provider_that_is_not_there(home):
    with Memory.open(home) as memory, pytest.raises(PluginLoadError) as caught:
        list(memory.export(providers=["honcho"]))
    assert caught.value.hint == "hermes plugins install honcho"
    with Memory.open(home) as memory:
        assert memory.status()["notices"] == [], "the profile never used it"


def test_the_command_line_writes_privately_and_never_over_a_file_unasked(
    home, tmp_path, monkeypatch, capsys
):
    from hermes_memory_core.cli.run import run

    with Memory.open(home) as memory:
        fill(memory)
    target = tmp_path / "out.jsonl"
    assert run(["memory", "export", str(target)], "hermes") == 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert json.loads(target.read_text().splitlines()[0])["version"] == 1
    assert run(["memory", "export", str(target)], "hermes") == 2


def test_an_export_is_not_written_through_a_link(home, tmp_path):
    from hermes_memory_core.cli.run import run

    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in ("out.jsonl", ".linked.jsonl.part"):
        (tmp_path / name).symlink_to(precious)
    assert run(["memory", "export", str(tmp_path / "out.jsonl"), "--force"], "hermes") == 1
    assert run(["memory", "export", str(tmp_path / "linked.jsonl")], "hermes") == 0
    assert precious.read_text() == "mine"
