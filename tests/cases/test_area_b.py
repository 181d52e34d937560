"""Reported faults of session stores and search (area B): each one tried as it was reported.

Cases that are about search alone go through ``history.search``; faults of the file go through a real file.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hermes_memory_sessions import History, SessionsProvider, tool
from hermes_memory_sessions.search import Filters

from hermes_memory_core.errors import StoreError, StoreFullError, TitleConflictError
from hermes_memory_core.types import Message, ProviderContext, SessionInfo

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
DAY = 86_400.0
WORKER = Path(__file__).parents[1] / "sessions" / "worker.py"


def make_context(home, **settings):
    notices = []
    context = ProviderContext(
        name="sessions",
        home=home,
        data_dir=home / "data",
        profile="default",
        config={},
        settings=settings,
        secrets={},
        logger=logging.getLogger("test.area_b"),
        clock=lambda: START + 30 * DAY,
        notify=notices.append,
    )
    return context, notices


@pytest.fixture
def open_store(home):
    opened = []

    def make(**settings):
        context, notices = make_context(home, **settings)
        store = History(context)
        store.told = notices
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


def texts(store, query, **options):
    return [hit.content for hit in store.search(query, **options)]


def damaged_copies(store):
    return [
        path.name
        for path in store.context.home.glob("history.db.corrupt-*")
        if not path.name.endswith(("-wal", "-shm"))
    ]


# ---------------------------------------------------------------- query syntax


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("see ticket #42 please", "#42"),
        ("edit src/app.py now", "src/app.py"),
        ("we don't know", "don't"),
        ("about 75% done", "75%"),
        ("write to kim@example.org", "kim@example.org"),
        ("are you ready?", "ready?"),
        ("it costs $9 only", "$9"),
        ("list a,b here", "a,b"),
        ("written in C++ mostly", "C++"),
        ("marked [tag] twice", "[tag]"),
        ("x <= y | z & w ~ v; end", "<= | & ~ ; end"),
    ],
)
def test_b01_punctuation_finds_its_message(store, message, query):
    store.append("s1", "user", "an unrelated line about the weather")
    store.append("s1", "user", message)
    assert message in texts(store, query)


def test_b02_a_hyphenated_word_is_no_column_filter(store):
    store.append("s1", "user", "fixed the cache-buster bug")
    for query in (
        "cache-buster OR typo",
        "cache-buster",
        "cache OR part-two",
        "typo OR cache-buster",
    ):
        assert texts(store, query) == ["fixed the cache-buster bug"], query
    for query in ("-cache", "cache -buster"):
        texts(store, query)


@pytest.mark.parametrize(
    "query",
    [
        "tools/run.sh",
        "lee@example.org",
        "61.2%",
        "v2.1.3-beta",
        'tools/"run.sh"',
        'lee@"example.org"',
        '"half quoted',
    ],
)
def test_b03_partly_quoted_tokens_still_match(store, query):
    message = "run tools/run.sh for lee@example.org at 61.2% with v2.1.3-beta half quoted"
    store.append("s1", "user", message)
    assert texts(store, query) == [message]


@pytest.mark.parametrize(
    "query", ["AND", "NOT x", "NEAR(", "*", '""', "", "OR", "(", ")", '"', "^", ":", "a AND", "NOT"]
)
def test_b03_lone_operators_and_empty_queries_answer_kindly(store, query):
    store.append("s1", "user", "some text with x in it")
    result = store.search_filtered(query, Filters())
    assert isinstance(result.hits, list)
    answer = tool.call(store, SessionInfo("now", "now"), {"query": query})
    assert answer["success"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("TODO: call", "TODO: call vendor"),
        ("todo:", "TODO: call vendor"),
        ("error:timeout", "error: timeout reached"),
        ("http://example.org", "open http://example.org first"),
        ("10:30", "meet at 10:30 sharp"),
    ],
)
def test_b04_a_colon_is_no_column_filter(store, query, message):
    store.append("s1", "user", message)
    assert texts(store, query) == [message]


@pytest.mark.parametrize(
    ("message", "queries"),
    [
        ("上周讨论了项目预算的问题", ("预算", "项目预算", "项目")),
        ("東京出張の予定", ("出張", "東京", "予定")),
        ("회의록을 정리했다", ("회의록", "회의")),
    ],
)
def test_b05_parts_of_unspaced_text_are_found_under_filters(store, message, queries):
    store.append("s1", "user", message)
    store.append("s2", "user", "完全不同的内容")
    for query in queries:
        assert texts(store, query) == [message], query
        assert texts(store, query, role="user", session_id="s1", limit=1) == [message]
        assert texts(store, query, role="assistant") == []


def test_b06_wildcards_mean_what_they_say(store):
    messages = ["治疗秃发的方法", "nimbus cloud", "100% sure", "a_b identifier", "axb other"]
    for number, message in enumerate(messages):
        store.append(f"s{number}", "user", message)
    assert texts(store, "秃发*") == ["治疗秃发的方法"]
    assert texts(store, "nimb*") == ["nimbus cloud"]
    assert texts(store, "100%") == ["100% sure"]
    assert "a_b identifier" in texts(store, "a_b")
    assert "axb other" not in texts(store, "a_b")


def test_b07_or_of_short_cjk_words_finds_each(store):
    store.append("s1", "user", "我在上海出差")
    store.append("s2", "user", "去苏州旅游")
    store.append("s3", "user", "北京的冬天")
    assert set(texts(store, "上海 OR 苏州 OR 高铁")) == {"我在上海出差", "去苏州旅游"}
    assert texts(store, "上海 AND 出差") == ["我在上海出差"]
    assert "我在上海出差" not in texts(store, "出差 NOT 上海")


# ---------------------------------------------------------------- the file


@pytest.mark.process
@pytest.mark.timeout(60)
def test_b08_another_process_that_opens_and_closes_leaves_the_log_alone(store, home):
    store.append("a", "user", "first")
    store.flush()
    (home / "history.db").chmod(0o600)
    for number in range(3):
        subprocess.run(
            [sys.executable, str(WORKER), "turns", str(home), f"b{number}", "1"],
            check=True, timeout=30, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        store.append("a", "user", f"after {number}")
        store.flush()
    with sqlite3.connect(home / "history.db") as other:
        assert other.execute("SELECT count(*) FROM messages").fetchone()[0] == 10
    assert store.check() == []


def damage_segment(path):
    with sqlite3.connect(path) as db:
        changed = db.execute(
            "UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 10"
        ).rowcount
    assert changed


def fill(store, count=300):
    store.append_many("s1", [Message("user", f"entry {n} about turnips") for n in range(count)])
    store.flush()


def test_b09_a_damaged_index_is_mended_and_no_row_is_touched(store, open_store, home):
    fill(store)
    before = store.messages("s1")
    store.close()
    damage_segment(home / "history.db")
    again = open_store()
    assert len(again.search("turnips", limit=50)) == 50
    assert again.search("zebrafish") == []
    assert again.messages("s1") == before
    assert [notice.code for notice in again.told] == ["history_damaged"]
    again.search("turnips")
    assert len(again.told) == 1
    assert again.check() == []


@pytest.mark.parametrize("damage", ["cut", "random"])
def test_b10_a_broken_file_is_moved_aside_told_and_rebuilt(store, open_store, home, damage):
    fill(store)
    store.close()
    path = home / "history.db"
    if damage == "cut":
        os.truncate(path, 10)
    else:
        path.write_bytes(os.urandom(100) + path.read_bytes()[100:])
    again = open_store()
    assert len(again.messages("s1")) == 300
    assert len(damaged_copies(again)) == 1
    assert "no conversation is lost" in again.told[0].message


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_b11_killed_under_load_fifty_times_the_database_stays_whole(home, open_store, how):
    for round_ in range(25):
        with subprocess.Popen(
            [sys.executable, str(WORKER), "turns", str(home), f"s{round_ % 4}-{round_}", "9999"],
            stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            process.stdout.readline()
            time.sleep(0.005 * (round_ % 7))
            process.send_signal(how)
        with sqlite3.connect(home / "history.db") as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    store = open_store()
    assert store.stats()["sessions"] == 25
    assert store.check() == []
    assert damaged_copies(store) == []


def test_b12_restore_over_a_stale_log_gives_a_sound_database(store, open_store, home, tmp_path):
    fill(store)
    backup = store.backup(tmp_path / "b.db")
    with sqlite3.connect(backup) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    store.append("s1", "user", "later")
    store.close()
    (home / "history.db-wal").write_bytes(os.urandom(50_000))
    again = open_store()
    again.restore_backup(backup)
    assert again.check() == []
    assert [message.content for message in again.messages("s1")][-1] == "later"


def test_b13_check_probes_a_real_match(store, open_store, home):
    fill(store)
    store.close()
    damage_segment(home / "history.db")
    again = open_store()
    with again.database.read() as db:
        assert len(db.execute("SELECT * FROM messages").fetchall()) == 300
    assert again.check()


def test_b14_a_zeroed_page_costs_no_message(store, open_store, home):
    fill(store)
    store.close()
    path = home / "history.db"
    with sqlite3.connect(path) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()[
            0
        ]
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\0" * size)
    again = open_store()
    id_ = again.append("s1", "user", "accepted and kept")
    messages = again.messages("s1")
    assert len(messages) == 301
    assert messages[-1].id == id_
    assert damaged_copies(again)


def test_b14_a_full_disk_has_its_own_message(store, monkeypatch):
    from hermes_memory_sessions import writer

    store.append("s1", "user", "before")

    def full(_descriptor, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer.os, "write", full)
    with pytest.raises(StoreFullError, match="No room"):
        store.append("s1", "user", "lost")
    monkeypatch.undo()
    assert [message.content for message in store.messages("s1")] == ["before"]


# ---------------------------------------------------------------- sessions


def test_b15_any_id_of_a_chain_opens_its_newest(store):
    for number, parent in enumerate([None, "c0", "c1"]):
        info = SessionInfo(f"c{number}", "c0", parent_id=parent, started_at=START + number)
        store.open_session(info)
        store.append(info.id, "user", f"part {number}", timestamp=START + number)
    store.set_title("c0", "The chain")
    for text in ("c0", "c1", "c2", "The chain"):
        assert store.resolve(text).id == "c2"
    assert [record.id for record in store.sessions()] == ["c2"]


def test_b16_a_taken_title_says_by_whom_and_how_to_free_it(store):
    store.open_session(SessionInfo("old", "old", source="telegram"))
    store.set_title("old", "Trip")
    store.archive("old")
    store.append("live", "user", "hi")
    with pytest.raises(TitleConflictError) as caught:
        store.set_title("live", "Trip")
    for part in ("old", "telegram", "archived"):
        assert part in caught.value.message
    assert "rename old" in caught.value.hint
    store.set_title("old", "Old trip")
    assert store.set_title("live", "Trip") == "Trip"


def test_b17_a_delete_leaves_no_row_no_index_entry_no_orphan(store, home):
    fill(store, 50)
    store.append("s2", "user", "stays")
    store.flush()
    store.delete_sessions(["s1"], permanently=True)
    assert store.search("turnips") == []
    with sqlite3.connect(home / "history.db") as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone()[0] == 1
        matched = "SELECT count(*) FROM message_index WHERE message_index MATCH 'turnip OR turnips'"
        assert db.execute(matched).fetchone()[0] == 0
    everything = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"turnips" not in everything


def test_b17_orphans_are_reported_and_mended(store, home):
    fill(store, 20)
    with store.database.write() as db:
        db.execute("DELETE FROM transcripts")
        db.execute("DELETE FROM sessions")
    assert any("no session" in problem for problem in store.check())
    store.repair()
    assert store.check() == []
    assert len(store.messages("s1")) == 20


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_b18_the_database_stays_near_its_text_and_prune_gives_space_back(store):
    prompt = "Nightly check of all services and their logs. " * 2200
    old = START - 100 * DAY
    for number in range(12):
        store.open_session(
            SessionInfo(f"cron{number}", f"cron{number}", source="cron", started_at=old)
        )
        store.append(f"cron{number}", "user", prompt, timestamp=old)
        store.end_session(f"cron{number}", "exit", at=old)
    store.append_many("s1", [Message("user", f"note {n} on the garden fence") for n in range(3000)])
    store.optimise()
    stats = store.stats()
    text = 12 * len(prompt) + 3000 * 30
    assert stats["database_bytes"] < 2.5 * text
    plan = store.plan_prune()
    assert len(plan.sessions) == 12
    assert plan.transcript_bytes > 12 * len(prompt)
    store.prune(plan, permanently=True)
    report = store.optimise()
    assert report.vacuumed
    assert store.stats()["bytes"] < stats["bytes"] / 2
    assert len(store.messages("s1")) == 3000


def test_b19_no_vacuum_while_another_reads_and_readers_are_not_disturbed(store, home):
    fill(store)
    reader = sqlite3.connect(home / "history.db")
    reader.execute("BEGIN")
    count = reader.execute("SELECT count(*) FROM messages").fetchone()[0]
    store.append("s1", "user", "one more")
    store.flush()
    with pytest.raises(StoreError):
        store.optimise(vacuum=True)
    assert reader.execute("SELECT count(*) FROM messages").fetchone()[0] == count
    reader.close()
    assert store.check() == []


def test_b20_a_lone_surrogate_poisons_nothing(store, open_store):
    store.append("s1", "user", "bad \ud83d tail")
    store.append(
        "s1", "user", "ok", tool_calls=[{"function": {"name": "x", "arguments": "\ude00"}}]
    )
    store.set_title("s1", "title \ud83d here")
    store.close()
    again = open_store()
    assert [message.content for message in again.messages("s1")] == ["bad \ufffd tail", "ok"]
    assert texts(again, "tail") == ["bad \ufffd tail"]
    assert again.search("\ud83d tail")
    assert again.session("s1").title == "title \ufffd here"


def test_b21_an_end_is_recorded_once_and_survives_a_restart(store, open_store):
    for name in ("a", "b", "c"):
        store.append(name, "user", "x")
    first = [store.end_session(name, "idle") for name in ("a", "b", "c")]
    store.close()
    again = open_store()
    assert first == [True] * 3
    assert [again.end_session(name, "idle") for name in ("a", "b", "c")] == [False] * 3


def test_b22_cron_is_put_after_people_and_not_hidden(store):
    for number in range(200):
        store.open_session(SessionInfo(f"cron{number}", f"cron{number}", source="cron"))
        store.append(
            f"cron{number}", "user", "disk space report disk space", timestamp=START + number
        )
    store.append("talk", "user", "why is the disk space so low after the move?", timestamp=START)
    answer = tool.call(store, SessionInfo("now", "now"), {"query": "disk space", "limit": 5})
    found = [item["session_id"] for item in answer["results"]]
    assert found[0] == "talk"
    assert len(found) > 1
    only = tool.call(store, SessionInfo("now", "now"), {"query": "disk space", "source": "cron"})
    assert all(item["session_id"].startswith("cron") for item in only["results"])


def test_b23_days_are_the_persons_days(store, monkeypatch):
    at = START + 16.5 * 3600  # 2026-01-01T16:30Z is 00:30 on the 2nd in Shanghai
    store.append("evening", "user", "tea at midnight", timestamp=at)
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert [record.id for record in store.sessions(since="2026-01-02")] == ["evening"]
        assert [record.id for record in store.sessions(until="2026-01-01")] == []
        assert texts(store, "tea", since="2026-01-02") == ["tea at midnight"]
        assert texts(store, "tea", until="2026-01-01") == []
        answer = tool.call(store, SessionInfo("now", "now"), {})
        assert answer["results"][0]["started_at"] == "2026-01-02 00:30"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert store.messages("evening")[0].timestamp == at


def test_b24_sub_agents_are_found_when_asked_for(store):
    info = SessionInfo("sub", "sub", source="cli", agent_context="subagent", parent_id="p")
    store.open_session(info)
    store.append("sub", "user", "explored the walrus folder")
    assert texts(store, "walrus") == []
    assert texts(store, "walrus", include_subagents=True) == ["explored the walrus folder"]
    assert [record.id for record in store.sessions(include_subagents=True)] == ["sub"]


def test_b25_the_current_session_does_not_fill_the_window(home):
    context, _ = make_context(home)
    provider = SessionsProvider(context)
    store = provider.history
    try:
        store.append("old1", "user", "the flamingo order", timestamp=START)
        store.append("old2", "user", "another flamingo order", timestamp=START + 1)
        store.append_many(
            "now", [Message("user", "flamingo", timestamp=START + 100 + n) for n in range(60)]
        )
        session = SessionInfo("now", "now")
        for sort in ("newest", "oldest", "relevance"):
            answer = provider.call_tool(
                session=session,
                name="session_search",
                arguments={"query": "flamingo", "sort": sort},
            )
            found = {item["session_id"] for item in answer.data["results"]}
            assert found == {"old1", "old2"}, sort
        hits = store.search("flamingo", limit=2, sort="newest", exclude_sessions=["now"])
        assert [hit.session_id for hit in hits] == ["old2", "old1"]
    finally:
        provider.close()


def test_every_case_of_the_area_has_a_test():
    spec = importlib.util.find_spec(__name__)
    source = Path(spec.origin if spec and spec.origin else __file__).read_text(encoding="utf-8")
    missing = [
        f"b{number:02}" for number in range(1, 26) if f"def test_b{number:02}_" not in source
    ]
    assert missing == []
