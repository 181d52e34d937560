"""``hermes sessions check``, ``repair``, ``rebuild``, ``backup``, ``restore``, ``optimize``."""

from __future__ import annotations

import sqlite3

import pytest
from cli.sessions_kit import fill

from hermes_memory_core import Memory


def texts(home):
    with Memory.open(home=home) as memory:
        return {
            record.id: [message.content for message in memory.history.messages(record.id)]
            for record in memory.history.sessions(limit=100)
        }


@pytest.mark.parametrize("command", ["check", "repair", "rebuild", "backup", "optimize"])
def test_every_care_command_works_on_an_empty_home(hermes, home, command):
    ran = hermes("sessions", command, "--json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.schema == f"hermes-memory/sessions-{command}/1"


def test_a_sound_history_is_said_to_be_sound(hermes, home):
    fill(home)
    assert hermes("sessions", "check").out == "The history is sound.\n"
    assert hermes("sessions", "check", "--json").data == {"ok": True, "problems": []}
    assert hermes("sessions", "repair", "--json").data["done"] == []


def test_damage_is_found_named_and_mended_without_loss(hermes, home):
    fill(home)
    before = texts(home)
    with sqlite3.connect(home / "history.db") as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        victim = next(name for name in tables if name == "messages")
        db.execute(f"DROP TABLE {victim}")
    db.close()
    ran = hermes("sessions", "check")
    assert ran.code == 1
    assert ran.out.startswith("✗ ")
    assert "→ hermes sessions repair" in ran.err
    assert hermes("sessions", "repair", "--dry-run").code == 1
    done = hermes("sessions", "repair", "--json")
    assert done.code == 0, done.out
    assert done.data["done"]
    assert done.data["left"] == []
    assert texts(home) == before


def test_a_torn_line_is_set_aside_and_the_rest_stays(hermes, home):
    fill(home)
    before = texts(home)
    with (home / "sessions" / "hello_0004.jsonl").open("ab") as file:
        file.write(b'{"type": "message", "mess')
    assert hermes("sessions", "check").code == 1
    assert hermes("sessions", "repair").code == 0
    assert hermes("sessions", "check").code == 0
    assert texts(home) == before


def test_rebuild_finds_everything_again(hermes, home):
    fill(home)
    (home / "history.db").unlink()
    ran = hermes("sessions", "rebuild", "--json")
    assert ran.data == {"messages": 8}
    assert hermes("sessions", "search", "--json", "预算").data["count"] > 0


def test_backup_and_restore_and_what_came_after_stays(hermes, home, tmp_path):
    fill(home)
    path = tmp_path / "copy.db"
    ran = hermes("sessions", "backup", str(path), "--json")
    assert ran.data == {"path": str(path), "bytes": path.stat().st_size}
    with Memory.open(home=home) as memory:
        memory.history.append("later_0005", "user", "said after the backup")
    assert hermes("sessions", "restore", str(path), "--no-input").code == 2
    assert hermes("sessions", "restore", str(path), stdin="n\n").code == 1
    assert hermes("sessions", "restore", str(path), "--yes").code == 0
    assert "later_0005" in texts(home)
    assert len(texts(home)) == 5


def test_a_backup_never_replaces_a_file_and_a_restore_takes_only_a_backup(hermes, home, tmp_path):
    fill(home)
    other = tmp_path / "other.db"
    other.write_bytes(b"not a database")
    assert hermes("sessions", "backup", str(other)).code == 2
    assert other.read_bytes() == b"not a database"
    assert hermes("sessions", "restore", str(other), "--yes").code == 1
    assert hermes("sessions", "restore", str(tmp_path / "none"), "--yes").code == 2
    assert len(texts(home)) == 4


def test_a_backup_without_a_path_lies_in_the_profile(hermes, home):
    fill(home)
    made = hermes("sessions", "backup", "--json").data["path"]
    assert made.startswith(str(home / "backups"))
    assert hermes("sessions", "restore", made, "--yes").code == 0


def test_b19_a_vacuum_is_refused_while_somebody_reads(hermes, home):
    fill(home)
    reader = sqlite3.connect(home / "history.db")
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        with Memory.open(home=home) as memory:
            memory.history.append("hello_0004", "user", "one more page for the log")
        ran = hermes("sessions", "optimize", "--vacuum", "--json")
        assert (ran.code, ran.error["code"]) == (5, "store_locked")
    finally:
        reader.close()
    assert hermes("sessions", "optimize", "--vacuum", "--json").data["vacuumed"] is True
    assert hermes("sessions", "check").code == 0
