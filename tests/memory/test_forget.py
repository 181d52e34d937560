"""Forgetting: a marker planted in every place there is, then in no file of the home and in no answer."""

from __future__ import annotations

import json
import os
import sqlite3
import time

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.engine import bytecheck
from hermes_memory_core.engine.dedupe import lines_of
from hermes_memory_core.engine.forgetting import matcher
from hermes_memory_core.engine.recall import without_orders
from hermes_memory_core.engine.runtime import dump_session
from hermes_memory_core.errors import ProviderUnavailableError, ScopeRequired, UsageError
from hermes_memory_core.types import (
    PROFILE_SCOPE,
    ForgetReceipt,
    Notice,
    Origin,
    Scope,
)
from tests.helpers import eventually, instance_of, provider_class

REVIEW = Origin(who="review", attended=False)


def forgetful(**more):
    """An external provider that remembers turns and can forget."""

    def sync_turn(self, session, turn):
        self.seen.append(f"{turn.user}\n{turn.assistant}")

    def notes_written(self, session, write):
        self.seen.extend(write.after)

    def prefetch(self, session, query):
        return "\n".join(self.seen)

    def forget(self, scope, query, dry_run):
        found = [text for text in self.seen if query.casefold() in text.casefold()]
        if not dry_run:
            self.seen = [text for text in self.seen if text not in found]
        return [ForgetReceipt("facts", len(found), 0 if dry_run else len(found))]

    hooks = {
        "sync_turn": sync_turn,
        "notes_written": notes_written,
        "prefetch": prefetch,
        "forget": forget,
    }
    return provider_class("keeper", **{**hooks, **more})


def files_holding(home, marker):
    """Relative names of all files below the home whose bytes hold the marker, as it is or as JSON writes it."""
    spellings = {marker, json.dumps(marker)[1:-1], json.dumps(marker, ensure_ascii=False)[1:-1]}
    wanted = [text.encode().lower() for text in spellings]
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(one in path.read_bytes().lower() for one in wanted)
    )


MARKERS = ["Quokkazebra77", "Müllerstraße9", "藤野の暗証番号", 'semi"quoted\\mark']


def plant(home, marker):
    """Every place that this program writes text to."""
    (home / "config.yaml").write_text("memory:\n  prefetch_spill_enabled: true\n")
    (home / "config.yaml").chmod(0o600)
    with Memory.open(providers=[forgetful()]) as memory:
        notes, history = memory.notes, memory.history
        notes.add("memory", f"The code name is {marker}")
        notes.add("user", f"Works on {marker.upper()} and likes tea")
        notes.reset("user", origin=Origin())
        notes.remove("memory", "code name", origin=Origin())
        notes.add("memory", f"Call it {marker} again")
        notes.remove("memory", "Call it", origin=REVIEW)
        notes.add("memory", "Something else entirely")
        with memory.session(title=f"About {marker}", session_id="spoken") as session:
            session.system_prompt()
            session.end_turn(
                f"tell me of {marker}",
                "Here it is.",
                messages=[
                    {
                        "role": "assistant",
                        "content": "",
                        "tool_calls": [
                            {
                                "id": "c",
                                "function": {"name": "f", "arguments": json.dumps([marker])},
                            }
                        ],
                    },
                    {"role": "tool", "content": f"result {marker}", "tool_call_id": "c"},
                ],
            )
            session.end_turn("an honest other turn", "kept")
        memory.flush()
        instance_of(memory).seen.append("x" * 11_000 + marker)
        with memory.session(session_id="spilling") as session:
            reports = session.begin_turn("tell me what you know about it").recalls
            assert any(report.spilled_to for report in reports)
        with memory.session(session_id="binned") as session:
            session.end_turn(f"in the trash: {marker}", "ok")
        history.delete_sessions(["binned"])
        with memory.session(session_id="open", on_exit="detach") as session:
            assert marker in session.system_prompt()
            session.end_turn("no word of it", "fine")
        profile = memory._profile
        profile.notices.tell(Notice("test", f"news of {marker}"))
        profile.observe("notes_written", None, payload={"after": [marker]}, lane="stuck")
        with profile.runtime.write() as db:
            db.execute("UPDATE outbox SET dead_at=1, last_error=?", (f"refused {marker}",))
            db.execute("UPDATE figures SET last_error=?", (f"failed on {marker}",))
    (home / "logs").mkdir()
    (home / "logs" / "agent.log").write_text(f"one\ntwo {marker} two\nthree\n")
    (home / "memories" / "edit-20250101-000000.draft.md").write_text(f"typed {marker}")
    stale = home / "memories" / ".MEMORY.md.abc123abc123.hmtmp"
    stale.write_text(f"half a file {marker}")
    os.utime(stale, (time.time() - 9_000,) * 2)


@pytest.mark.parametrize("marker", MARKERS)
def test_afterwards_it_is_in_no_file_and_in_no_answer(home, marker):
    home.mkdir(parents=True)
    plant(home, marker)
    assert len(files_holding(home, marker)) >= 5
    with Memory.open(providers=[forgetful()]) as memory:
        instance_of(memory)  # loaded
        instance_of(memory).seen.append(f"{marker} from another day")
        preview = memory.forget(marker)
        places = {one.place for one in preview if one.matched}
        assert places >= {
            "notes",
            "notes history",
            "notes backups",
            "history",
            "trash",
            "outbox",
            "frozen prompts",
            "notices",
            "pending",
            "decisions log",
            "spills",
            "drafts",
            "logs",
            "temporary files",
            "keeper: facts",
        }
        assert all(one.removed == 0 for one in preview)
        before = files_holding(home, marker)
        assert before, "a preview removes nothing"

        receipts = memory.forget(marker, dry_run=False)
        assert [one for one in receipts if one.reason] == []
        assert all(one.removed == one.matched for one in receipts)
        assert files_holding(home, marker) == []

        assert memory.history.search(marker) == []
        assert all(marker not in note.text for note in memory.notes.list())
        with memory.session(session_id="open") as session:
            assert marker not in session.system_prompt()
            assert marker not in session.begin_turn("tell me what you know about it").text
        # what did not hold it is as it was
        assert [note.text for note in memory.notes.list()] == ["Something else entirely"]
        assert memory.history.search("honest")[0].content == "an honest other turn"
        assert memory.forget(marker) == []
    assert files_holding(home, marker) == []
    assert (home / "logs" / "agent.log").read_text().splitlines()[::2] == ["one", "three"]


def test_a_live_sessions_prompt_is_made_anew(home):
    with Memory.open() as memory, memory.session() as session:
        memory.notes.add("memory", "Marker Quokka7 here")
        assert "Quokka7" in session.system_prompt()
        memory.forget("quokka7", dry_run=False)
        assert "Quokka7" not in session.system_prompt()


def test_g14_a_provider_that_cannot_forget_is_named(home):
    with Memory.open(providers=[provider_class("keeper", prefetch=lambda self: None)]) as memory:
        for dry_run in (True, False):
            (one,) = memory.forget("anything", dry_run=dry_run)
            assert one.place == "keeper"
            assert "no way to forget" in one.reason


@pytest.mark.parametrize(
    "answer",
    [ProviderUnavailableError("no answer"), ValueError("boom"), SystemExit(3), ["not a receipt"]],
)
def test_a_provider_that_fails_costs_only_its_own_receipt(home, answer):
    def forget(self, query):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with Memory.open(providers=[provider_class("keeper", forget=forget)]) as memory:
        memory.notes.add("memory", "Marker Quokka7 here")
        receipts = {one.place: one for one in memory.forget("Quokka7", dry_run=False)}
        assert receipts["notes"].removed == 1
        assert receipts["keeper"].reason


def test_a_provider_that_hangs_is_left_at_its_deadline(home, monkeypatch):
    monkeypatch.setattr("hermes_memory_core.engine.forgetting.FORGET_TIMEOUT_S", 0.1)

    def forget(self, query):
        time.sleep(1.5)

    with Memory.open(providers=[provider_class("keeper", forget=forget)]) as memory:
        started = time.monotonic()
        (one,) = memory.forget("x1", dry_run=False)
        assert time.monotonic() - started < 1.4
        assert "did not answer" in one.reason


def test_an_earlier_provider_that_took_things_is_named(home):
    with Memory.open(providers=[forgetful()]) as memory, memory.session() as session:
        session.end_turn("hello there", "hi")
        memory.flush()
        eventually(lambda: instance_of(memory).seen)
    with Memory.open() as memory:
        (one,) = memory.forget("hello there")[-1:]
        assert one.place == "keeper"
        assert "not active" in one.reason


def test_nothing_reaches_the_provider_from_the_outbox_afterwards(home):
    def sync_turn(self, session, turn):
        if not getattr(self.context, "open_now", None) and not self.seen:
            raise ProviderUnavailableError("later")

    kind = forgetful(sync_turn=sync_turn)
    with Memory.open(providers=[kind]) as memory, memory.session() as session:
        session.end_turn("the Quokka7 turn", "ok")
        memory.forget("quokka7", dry_run=False)
        seen = []
        for item in memory._profile.outbox.items():
            if item.ref is not None:
                turn = memory.history.read_turn(item.ref)
                seen.append(turn.user if turn else "")
        assert all("Quokka7" not in text for text in seen)


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_a_blank_query_would_be_in_everything(home, query):
    with Memory.open() as memory, pytest.raises(UsageError):
        memory.forget(query)


def test_one_layer_leaves_the_others(home):
    with Memory.open() as memory:
        memory.notes.add("memory", "Quokka7 note")
        memory.history.append("s", "user", "Quokka7 message")
        receipts = memory.forget("quokka7", dry_run=False, layers=["notes"])
        assert memory.notes.list() == []
        assert len(memory.history.search("quokka7")) == 1
        left = [one for one in receipts if one.place.startswith("file sessions/")]
        assert left
        assert left[0].reason
        with pytest.raises(UsageError):
            memory.forget("x1", layers=["everything"])


def test_what_cannot_be_removed_is_reported_with_the_reason(home):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("# Quokka7 is mentioned here\n")
    (home / "providers" / "other").mkdir(parents=True)
    (home / "providers" / "other" / "cache.bin").write_bytes(b"\0Quokka7\0")
    (home / "history.db.corrupt-20250101-000000").write_bytes(b"SQLite ... Quokka7")
    database = sqlite3.connect(home / "state.db")
    database.execute("CREATE TABLE m(t)")
    database.execute("INSERT INTO m VALUES('Quokka7')")
    database.commit()
    database.close()
    (home / "logs").mkdir()
    (home / "logs" / "old.log.gz").write_bytes(b"\x1f\x8b")
    with Memory.open() as memory:
        receipts = {one.place: one for one in memory.forget("QUOKKA7", dry_run=False)}
    assert "setting" in receipts["file config.yaml"].reason
    assert "`other`" in receipts["file providers/other/cache.bin"].reason
    assert "set aside" in receipts["file history.db.corrupt-20250101-000000"].reason
    assert "Hermes Agent" in receipts["file state.db"].reason
    assert "packed" in receipts["logs"].reason


def test_other_profiles_are_not_touched(home):
    with Memory.open(profile=None) as memory:
        memory.notes.add("memory", "Quokka7 in the default profile")
    other = home / "profiles" / "work"
    other.mkdir(parents=True, mode=0o700)
    with Memory.open(profile="work") as memory:
        memory.notes.add("memory", "Quokka7 at work")
    with Memory.open(profile="default") as memory:
        assert not [one for one in memory.forget("Quokka7", dry_run=False) if one.reason]
    with Memory.open(profile="work") as memory:
        assert [note.text for note in memory.notes.list()] == ["Quokka7 at work"]


# ---------------------------------------------------------------- scopes


def test_one_persons_forgetting_leaves_another_persons_memory(home):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("memory:\n  isolation: user\n")
    with Memory.open() as memory:
        scopes = {}
        for name in ("anna", "ben"):
            with memory.session("telegram", f"s-{name}", user_id=name, on_exit="detach") as session:
                scopes[name] = session.info.scope
                memory.notes.add("memory", f"Quokka7 of {name}", scope=session.info.scope)
                session.system_prompt()
                session.end_turn(f"Quokka7 said {name}", "ok")
                memory.notes.remove("memory", "Quokka7", scope=session.info.scope, origin=REVIEW)
            with memory.session("telegram", f"bin-{name}", user_id=name) as session:
                session.end_turn(f"Quokka7 binned by {name}", "ok")
            memory.history.delete_sessions([f"bin-{name}"])
            spilled = home / "hook_outputs" / f"s-{name}" / "a.txt"
            spilled.parent.mkdir(parents=True)
            spilled.write_text("Quokka7")
        with pytest.raises(ScopeRequired):
            memory.forget("Quokka7")
        receipts = memory.forget("Quokka7", scope=scopes["anna"], dry_run=False)
        assert not [one for one in receipts if one.reason]
        assert memory.notes.list(scope=scopes["anna"]) == []
        assert memory.history.search("Quokka7", scope=scopes["anna"]) == []
        assert len(memory.notes.list(scope=scopes["ben"])) == 1
        assert len(memory.history.search("Quokka7", scope=scopes["ben"])) == 1
        assert len(memory.pending.list(scope=scopes["ben"])) == 1
        assert memory.pending.list(scope=scopes["anna"]) == []
        assert [item.id for item in memory.history.trashed()] == ["bin-ben"]
        assert (home / "hook_outputs" / "s-ben" / "a.txt").exists()
        assert not (home / "hook_outputs" / "s-anna" / "a.txt").exists()
        assert "Quokka7" in memory._profile.open_sessions.get("s-ben").snapshot
        assert memory._profile.open_sessions.get("s-anna").snapshot is None
        everything = memory.forget("Quokka7", scope=PROFILE_SCOPE, dry_run=False)
        assert not [one for one in everything if one.reason]
    assert files_holding(home, "Quokka7") == []


def test_a_scope_that_nobody_has_holds_nothing(home):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("memory:\n  isolation: chat\n")
    with Memory.open() as memory:
        assert memory.forget("anything", scope=Scope("chat", "telegram:nowhere")) == []


# ---------------------------------------------------------------- the search of bytes


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("text", ["needle", "ÄÖ straße", '"quoted"', "暗号"])
def test_bytes_are_found_across_chunks_and_counted_once(tmp_path, monkeypatch, size, text):
    path = tmp_path / "file"
    path.write_bytes(b"." * 30 + text.encode() + b"." * size + text.encode() + b".")
    wanted = bytecheck.needles(text)
    for chunk in (3, 5, 8, 1 << 20):
        monkeypatch.setattr(bytecheck, "CHUNK", chunk)
        assert bytecheck.count_in(path, wanted) == 2


@pytest.mark.parametrize(
    "spelling",
    [
        b"Zebra \xc3\x84nne",
        b"zebra \xc3\xa4nne",
        b"ZEBRA \xc3\x84NNE",
        b"Zebra \\u00c4nne",
        "Zebra Änne".encode("utf-16-le"),
    ],
)
def test_every_way_a_file_may_spell_it_is_found(tmp_path, spelling):
    (tmp_path / "file").write_bytes(b"\0\1" + spelling + b"\n")
    (left,) = bytecheck.search(bytecheck.files_below(tmp_path), "Zebra Änne")
    assert left.count == 1


def test_links_are_not_followed_and_unreadable_files_are_named(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").write_text("needle")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "needle.txt").write_text("nothing")
    found = bytecheck.search(bytecheck.files_below(tmp_path / "root"), "needle")
    assert [(left.path.name, left.count) for left in found] == [("needle.txt", 0)]


def test_looking_at_a_database_keeps_its_locks(home):
    """POSIX drops a process's locks on a file when any descriptor of it is closed."""
    home.mkdir(parents=True)
    path = home / "some.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE t(x)")
    holder.execute("BEGIN EXCLUSIVE")
    bytecheck.count_in(path, bytecheck.needles("needle"))
    child = (
        "import sqlite3, sys\n"
        f"db = sqlite3.connect({str(path)!r}, timeout=0)\n"
        "try:\n    db.execute('INSERT INTO t VALUES(1)')\n"
        "except sqlite3.OperationalError:\n    sys.exit(7)\n"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", child], check=False).returncode == 7
    holder.execute("ROLLBACK")
    holder.close()


def test_the_matcher_takes_case_and_json_and_nothing_else():
    holds = matcher('Say "Hi"')
    assert holds('they say "hi" often')
    assert holds(json.dumps({"text": 'Say "Hi"'}))
    assert not holds("say hi")
    assert matcher("ä.*")("Ä.* here")
    assert not matcher("a.*")("abc")


def test_the_process_keeps_nothing_of_a_forgotten_text_either(home):
    marker = "zanzibar-7719"
    opened = provider_class("keeper", prefetch=lambda self, session, query: f"- {marker} is near")
    with Memory.open(home, providers=[opened]) as memory:
        with memory.session() as session:
            assert marker in session.begin_turn("Where is it, please?").text
        assert without_orders.cache_info().currsize
        memory.forget(marker, dry_run=False)
        memos = (without_orders, lines_of, dump_session)
        assert [memo.cache_info().currsize for memo in memos] == [0, 0, 0]
