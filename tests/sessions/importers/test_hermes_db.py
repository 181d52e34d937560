from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import pytest
from hermes_memory_sessions.importers import detect, hermes_db
from hermes_memory_sessions.importers.hermes_db import CARRIED
from hermes_memory_sessions.importers.hermes_jsonl import REWOUND

from hermes_memory_core.errors import StoreError

T = 1770200000.0
FULL = """
CREATE TABLE schema_version (version INTEGER);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, chat_id TEXT, model TEXT, model_config TEXT,
  title TEXT, parent_session_id TEXT REFERENCES sessions(id), cwd TEXT, started_at REAL NOT NULL,
  ended_at REAL, end_reason TEXT, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  archived INTEGER DEFAULT 0);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
  active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
"""
OLD = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL);
CREATE TABLE messages (session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT);
"""


class Home:
    """A state.db under construction."""

    def __init__(self, path, schema=FULL, journal="WAL"):
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute(f"PRAGMA journal_mode={journal}")
        self.db.executescript(schema)

    def session(self, own, **fields):
        fields = {"id": own, "source": "cli", "started_at": T, **fields}
        self._insert("sessions", fields)

    def message(self, session, role, content, at=T, **fields):
        self._insert(
            "messages",
            {"session_id": session, "role": role, "content": content, "timestamp": at, **fields},
        )

    def _insert(self, table, fields):
        marks = ", ".join("?" * len(fields))
        self.db.execute(
            f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({marks})", list(fields.values())
        )

    def close(self):
        self.db.close()
        return self.path


@pytest.fixture
def agent(tmp_path):
    made = Home(tmp_path / "state.db")
    yield made
    made.db.close()


def test_sessions_with_everything(agent, read):
    agent.session("20260204_101320_abcdef", source="telegram", user_id="mei", chat_id="-1", model="m",
                 title="钥匙", cwd="/home/mei", ended_at=T + 60, end_reason="session_reset",
                 input_tokens=9, output_tokens=3, archived=1)  # fmt: skip
    calls = json.dumps(
        [{"id": "c1", "function": {"name": "look", "arguments": '{"where": "厨房"}'}}]
    )
    parts = [{"type": "text", "text": "this one? 这个？"}, {"type": "image_url", "image_url": {}}]
    own = "20260204_101320_abcdef"
    agent.message(own, "user", "Where are the keys? 钥匙在哪里？", T + 1)
    agent.message(own, "assistant", "", T + 2, tool_calls=calls)
    agent.message(own, "tool", "tin", T + 3, tool_call_id="c1", tool_name="look")
    agent.message(own, "user", "\x00json:" + json.dumps(parts), T + 4)
    got = read(agent.close()).one
    assert got.origin_key == f"hermes:{own}"
    assert (got.session_id, got.source, got.title) == (own, "telegram", "钥匙")
    assert (got.user_id, got.chat_id, got.model, got.cwd) == ("mei", "-1", "m", "/home/mei")
    assert (got.started_at, got.ended_at, got.end_reason) == (T, T + 60, "session_reset")
    assert (got.input_tokens, got.output_tokens, got.archived) == (9, 3, True)
    assert [message.content for message in got.messages] == [
        "Where are the keys? 钥匙在哪里？", "", "tin", "this one? 这个？\n\n[1 image]",
    ]  # fmt: skip
    assert got.messages[1].tool_calls[0]["function"]["arguments"] == '{"where": "厨房"}'
    assert (got.messages[2].tool_name, got.messages[2].tool_call_id) == ("look", "c1")
    assert got.messages[3].timestamp == T + 4


def test_rewound_rows_are_left_out_and_compacted_ones_kept(agent, read):
    agent.session("s")
    agent.message("s", "user", "kept by compaction", active=0, compacted=1)
    agent.message("s", "user", "taken back", active=0, compacted=0)
    agent.message("s", "user", "flag never set", active=None, compacted=None)
    agent.message("s", "user", "live")
    got = read(agent.close())
    assert [text for _, text in got.texts] == ["kept by compaction", "flag never set", "live"]
    assert got.reasons == {REWOUND: 1}


def test_what_a_compaction_wrote_again_is_imported_once(agent, read):
    agent.session("s")
    long = "The ladder stands behind the shed. 梯子在棚子后面。"
    agent.message("s", "user", "Where is the ladder?", T + 1, active=0, compacted=1)
    agent.message("s", "assistant", long, T + 2, active=0, compacted=1)
    agent.message("s", "user", "[summary] ladder", T + 50)
    agent.message("s", "assistant", long, T + 50.000001)
    agent.message("s", "user", "Where is the ladder?", T + 90)  # asked again, by the person
    got = read(agent.close())
    assert [text for _, text in got.texts] == [
        "Where is the ladder?", long, "[summary] ladder", "Where is the ladder?",
    ]  # fmt: skip
    assert got.reasons == {CARRIED: 1}


def test_subagents_branches_and_compression_children(agent, read):
    agent.session("root", end_reason="compression")
    agent.session("next", parent_session_id="root", started_at=T + 1)
    agent.session("sub", source="subagent", parent_session_id="next", started_at=T + 2)
    agent.session(
        "task",
        parent_session_id="root",
        model_config='{"_delegate_from": "root"}',
        started_at=T + 3,
    )
    agent.session(
        "branch",
        parent_session_id="root",
        model_config='{"_branched_from": "root"}',
        started_at=T + 4,
    )
    agent.session("nightly", source="cron", model_config="{broken", started_at=T + 5)
    for own in ("root", "next", "sub", "task", "branch", "nightly"):
        agent.message(own, "user", own)
    got = {one.session_id: one for one in read(agent.close()).conversations}
    assert {own: one.agent_context for own, one in got.items()} == {
        "root": "primary", "next": "primary", "sub": "subagent", "task": "subagent",
        "branch": "primary", "nightly": "cron",
    }  # fmt: skip
    assert [own for own, one in got.items() if one.continues_parent] == ["next"]
    assert got["sub"].parent_origin_key == "hermes:next"


def test_parents_come_first_even_when_they_are_younger_or_in_a_circle(agent, read):
    agent.session("child", parent_session_id="parent", started_at=T)
    agent.session("parent", parent_session_id="grand", started_at=T + 1)
    agent.session("grand", started_at=T + 2)
    agent.session("orphan", parent_session_id="gone", started_at=T + 3)
    agent.session("a", parent_session_id="b", started_at=T + 4)
    agent.session("b", parent_session_id="a", started_at=T + 5)
    agent.session("self", parent_session_id="self", started_at=T + 6)
    for own in ("child", "parent", "grand", "orphan", "a", "b", "self"):
        agent.message(own, "user", own)
    got = read(agent.close()).conversations
    order = [one.session_id for one in got]
    assert order[:3] == ["grand", "parent", "child"]
    assert sorted(order[3:]) == ["a", "b", "orphan", "self"]
    assert got[order.index("self")].parent_origin_key is None


def test_an_old_schema(tmp_path, read):
    home = Home(tmp_path / "state.db", OLD)
    home.db.execute("INSERT INTO sessions VALUES ('s', 'cli', ?)", (T,))
    home.db.execute("INSERT INTO messages VALUES ('s', 'user', 'from long ago')")
    got = read(home.close())
    assert got.texts == [("user", "from long ago")]
    assert got.one.messages[0].timestamp == T


def test_rows_nobody_expected(agent, read):
    agent.session("s", title=b"\xff\xfe", started_at="yesterday", ended_at=-1)
    agent.message("s", "user", "kept")
    agent.message("s", "user", b"\xe6\xb1\x89 bytes")
    agent.message("s", "user", "\x00json:{broken")
    agent.message("s", "user", None)
    agent.message("s", "user", 5)
    agent.message("s", "narrator", "x")
    agent.message("s", "session_meta", "{}")
    agent.message("s", "assistant", "ok", tool_calls="{broken", at="noon")
    agent.db.execute("INSERT INTO messages (session_id, role, content, timestamp) "
                    "VALUES ('s', 'user', CAST(x'6869ff' AS TEXT), 1)")  # fmt: skip
    agent.session("empty")
    got = read(agent.close())
    assert [text for _, text in got.texts] == ["kept", "汉 bytes", "{broken", "5", "ok", "hi\ufffd"]
    assert got.reasons["unknown role 'narrator'"] == 1
    assert got.reasons["bookkeeping line"] == 1
    assert got.reasons["conversation without messages"] == 1


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_closed_database_is_read_without_a_trace(tmp_path, read, journal):
    folder = tmp_path / "agent"
    folder.mkdir()
    home = Home(folder / "state.db", journal=journal)
    home.session("s")
    home.message("s", "user", "hi")
    home.close()
    before = files(folder)
    assert read(folder / "state.db").texts == [("user", "hi")]
    assert files(folder) == before


def test_a_database_in_use_gives_what_was_committed_and_is_not_disturbed(agent, read):
    agent.session("s")
    agent.message("s", "user", "committed, still in the wal")
    agent.db.execute("BEGIN IMMEDIATE")
    agent.message("s", "user", "not yet")
    names = sorted(path.name for path in agent.path.parent.iterdir())
    assert read(agent.path).texts == [("user", "committed, still in the wal")]
    assert sorted(path.name for path in agent.path.parent.iterdir()) == names
    agent.db.execute("COMMIT")  # the writer was never locked out
    agent.message("s", "user", "and on it goes")
    assert agent.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert len(read(agent.path).one.messages) == 3


def test_a_program_that_starts_while_a_closed_database_is_read(tmp_path):
    """The immutable connection is given up as soon as somebody else opens the file to write."""
    home = Home(tmp_path / "state.db")
    home.session("s")
    home.close()
    db = hermes_db.StateDb(home.path)
    assert db._immutable
    assert db.rows("SELECT count(*) AS n FROM sessions") == [{"n": 1}]
    again = sqlite3.connect(home.path, isolation_level=None)
    again.execute("INSERT INTO sessions (id, source, started_at) VALUES ('t', 'cli', 1)")
    assert db.rows("SELECT count(*) AS n FROM sessions") == [{"n": 2}]
    assert not db._immutable
    db.close()
    again.close()


def test_nothing_can_be_written_through_it(agent):
    agent.session("s")
    for _ in range(2):
        db = hermes_db.StateDb(agent.path)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.rows("DELETE FROM sessions")
        db.close()
        agent.db.close()  # the second time nobody has it open


@pytest.mark.process
def test_a_database_left_by_a_killed_program(tmp_path, read):
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA journal_mode=WAL')\n"
        "db.executescript(sys.argv[2])\n"
        "db.execute(\"INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1770200000)\")\n"
        'db.execute("INSERT INTO messages (session_id, role, content, timestamp) '
        "VALUES ('s', 'user', 'last words', 1770200000)\")\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "state.db"
    subprocess.run([sys.executable, "-c", code, str(path), FULL], check=False, timeout=5)
    assert path.with_name("state.db-wal").stat().st_size > 0
    assert read(path).texts == [("user", "last words")]


def test_a_damaged_page_costs_its_session_not_the_others(tmp_path, read):
    home = Home(tmp_path / "state.db", journal="DELETE")
    for n in range(40):
        home.session(f"s{n:02}", started_at=T + n)
        home.message(f"s{n:02}", "user", f"{n} " + "x" * 3000)
    path = home.close()
    raw = bytearray(path.read_bytes())
    place = raw.index(b"20 xxx")
    page = place // 4096 * 4096
    raw[page : page + 64] = b"\xff" * 64
    path.write_bytes(raw)
    got = read(path)
    assert got.skipped
    assert len(got.conversations) > 30
    assert all("database" in reason or "session" in reason for reason in got.reasons)


def test_a_damaged_database_is_called_damaged(tmp_path):
    path = tmp_path / "state.db"
    path.write_bytes(b"SQLite format 3\x00" + os.urandom(4000))
    with pytest.raises(StoreError) as error:
        detect(path)
    assert "damaged" in error.value.message or "refused" in error.value.message
