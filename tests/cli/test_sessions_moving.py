"""``hermes sessions export`` and ``import``: out of one home and into another, nothing lost, nothing twice."""

from __future__ import annotations

import json
import stat
import sys

import pytest
from cli.sessions_kit import compressed, fill

from hermes_memory_core import Memory
from hermes_memory_core.cli.sessions_export import file_name
from hermes_memory_core.types import SessionRecord

CHAT = [
    {"role": "user", "content": "Which tea goes with the cake?"},
    {"role": "assistant", "content": "The smoky one."},
]


def contents(home):
    """What every session says, with times."""
    with Memory.open(home=home) as memory:
        return {
            record.id: [
                (message.role, message.content, message.timestamp)
                for message in memory.history.messages(record.id)
            ]
            for record in memory.history.sessions(
                limit=1000, include_archived=True, include_subagents=True
            )
        }


# ---------------------------------------------------------------- export


def test_an_export_comes_back_the_same_in_another_home_and_only_once(hermes, home, tmp_path):
    fill(home)
    hermes("sessions", "archive", "lisbon")
    out = tmp_path / "all.jsonl"
    ran = hermes("sessions", "export", str(out), "--json")
    assert ran.code == 0
    assert (ran.data["sessions"], ran.data["messages"], ran.data["format"]) == (4, 8, "jsonl")
    assert ran.data["bytes"] == out.stat().st_size
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    other = tmp_path / "other"
    arguments = ["--home", str(other), "sessions", "import", str(out), "--json"]
    assert hermes(*arguments).data["imported"] == 4
    again = hermes(*arguments).data
    assert (again["imported"], again["extended"], again["unchanged"]) == (0, 0, 4)
    assert contents(other) == contents(home)


def test_standard_output_is_the_data_and_nothing_else(hermes, home):
    fill(home)
    lines = hermes("sessions", "export").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [
        "lisbon_0001",
        "kitchen_0002",
        "deploy_0003",
        "hello_0004",
    ]
    assert hermes("sessions", "export", "-", "--json").code == 2


def test_one_conversation_as_a_page_and_several_as_a_directory(hermes, home, tmp_path):
    fill(home)
    page = tmp_path / "trip.md"
    assert hermes("sessions", "export", str(page), "--session", "Trip to Lisbon").code == 0
    assert page.read_text("utf-8").startswith("# Trip to Lisbon\n")
    pages = tmp_path / "pages"
    ran = hermes("sessions", "export", str(pages), "--format", "html", "--json")
    files = sorted(path.name for path in pages.iterdir())
    assert len(files) == 4
    assert any(name.endswith("-厨房装修-kitchen_0002.html") for name in files)
    assert sorted(ran.data["files"]) == sorted(str(pages / name) for name in files)
    assert stat.S_IMODE(pages.stat().st_mode) == 0o700


def test_a_compressed_conversation_is_exported_with_all_its_parts(hermes, home):
    first, second = compressed(home)
    lines = hermes("sessions", "export", "-", "--session", "Long talk").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [first, second]


def test_filters_choose_and_what_matches_nothing_writes_nothing(hermes, home, tmp_path):
    fill(home)
    lines = hermes("sessions", "export", "--source", "telegram").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["kitchen_0002"]
    out = tmp_path / "none.jsonl"
    ran = hermes("sessions", "export", str(out), "--title", "no such thing")
    assert (ran.code, ran.out) == (0, "No conversation matches; nothing was written.\n")
    assert not out.exists()


def test_a_file_that_exists_is_kept_unless_forced(hermes, home, tmp_path):
    fill(home)
    out = tmp_path / "all.jsonl"
    out.write_text("mine")
    assert hermes("sessions", "export", str(out)).code == 2
    assert out.read_text() == "mine"
    assert hermes("sessions", "export", str(out), "--force").code == 0
    assert len(out.read_text("utf-8").splitlines()) == 4


def test_a_link_is_not_written_through_and_a_file_is_no_directory(hermes, home, tmp_path):
    fill(home)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = tmp_path / "link.jsonl"
    link.symlink_to(precious)
    assert hermes("sessions", "export", str(link), "--force").code == 1
    assert hermes("sessions", "export", str(precious), "--format", "md", "--force").code == 2
    assert precious.read_text() == "mine"


def test_an_export_that_fails_half_way_leaves_no_file(hermes, home, tmp_path, monkeypatch):
    fill(home)
    from hermes_memory_core.cli import sessions_export

    real = sessions_export._Counting.text

    def broken(self, record):
        if record.id == "deploy_0003":
            raise OSError(28, "No space left on device")
        return real(self, record)

    monkeypatch.setattr(sessions_export._Counting, "text", broken)
    ran = hermes("sessions", "export", str(tmp_path / "all.jsonl"), "--json")
    assert (ran.code, ran.error["code"]) == (1, "store_full")
    assert [path.name for path in tmp_path.iterdir() if "jsonl" in path.name] == []


def test_session_and_filters_exclude_each_other(hermes, home):
    fill(home)
    ran = hermes("sessions", "export", "-", "--session", "lisbon", "--source", "cli")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize(
    "record",
    [
        SessionRecord("../../etc/passwd", title="/etc/../x", started_at=1e9),
        SessionRecord("a" * 300, title="字" * 100, started_at=1e9),
        SessionRecord("...", title="...", preview="\x00", started_at=1e9),
    ],
)
def test_file_names_stay_in_their_directory_and_within_a_file_systems_limit(record):
    name = file_name(record, "md")
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name.encode()) < 255
    assert name.isprintable()


# ---------------------------------------------------------------- import


def test_import_says_what_it_did_and_doing_it_again_changes_nothing(hermes, home, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT), "utf-8")
    ran = hermes("sessions", "import", str(path))
    assert ran.code == 0
    assert ran.out.startswith("Imported 1 conversation.\n")
    assert "hermes sessions list" in ran.err
    before = contents(home)
    again = hermes("sessions", "import", str(path))
    assert "1 conversation was there already, unchanged." in again.out
    assert contents(home) == before


def test_a_conversation_that_has_grown_gains_what_is_new(hermes, home, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"id": "tea", "messages": CHAT}), "utf-8")
    hermes("sessions", "import", str(path))
    more = [*CHAT, {"role": "user", "content": "And with the bread?"}]
    path.write_text(json.dumps({"id": "tea", "messages": more}), "utf-8")
    rehearsed = hermes("sessions", "import", str(path), "--dry-run", "--json").data
    done = hermes("sessions", "import", str(path), "--json").data
    for data in (rehearsed, done):
        assert (data["imported"], data["extended"], data["unchanged"]) == (0, 1, 0)
    [messages] = contents(home).values()
    assert [text for _, text, _ in messages] == [message["content"] for message in more]


def test_a_dry_run_counts_and_writes_nothing(hermes, home, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT), "utf-8")
    ran = hermes("sessions", "import", str(path), "--dry-run")
    assert ran.out.startswith("Would import 1 conversation.")
    assert contents(home) == {}
    assert list((home / "sessions").glob("*.jsonl")) == []


def test_progress_is_a_line_that_changes_on_a_terminal_and_nothing_in_a_pipe(
    hermes, home, tmp_path, monkeypatch
):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"id": "tea", "title": "Tea", "messages": CHAT}), "utf-8")
    assert "\r" not in hermes("sessions", "import", str(path)).err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ran = hermes("sessions", "import", str(path), "--color")
    assert "\r\x1b[K100% 1 conversation" in ran.err
    assert ran.err.partition("→")[0].endswith("\r\x1b[K"), "cleared before anything else is said"
    assert "\r" not in ran.out
    assert "1 conversation was there already, unchanged.\n" in ran.out
    assert "\r" not in hermes("sessions", "import", str(path), "--quiet").err


def test_what_was_left_out_is_named_with_its_place(hermes, home, tmp_path):
    path = tmp_path / "chat.jsonl"
    lines = [json.dumps(message) for message in CHAT]
    path.write_text("\n".join([*lines, "{broken", lines[0]]), "utf-8")
    ran = hermes("sessions", "import", str(path))
    assert ran.code == 0
    assert "Left out:\n  1 × " in ran.out
    assert "(first: chat.jsonl:3)" in ran.out
    [item] = hermes("sessions", "import", str(path), "--json").data["skipped"]
    assert item["count"] == 1


def test_a_file_that_is_no_conversation_is_refused_naming_the_formats(hermes, home, tmp_path):
    path = tmp_path / "photo.bin"
    path.write_bytes(bytes(range(256)) * 8)
    ran = hermes("sessions", "import", str(path), "--json")
    assert ran.code == 2
    assert "chatgpt" in ran.error["hint"]
    assert hermes("sessions", "import", str(tmp_path / "nothing"), "--json").code == 2
    assert contents(home) == {}


def test_a_format_nobody_knows_names_those_there_are(hermes, home, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT), "utf-8")
    ran = hermes("sessions", "import", str(path), "--format", "word", "--json")
    assert ran.code == 2
    assert "openai" in ran.error["hint"]


def test_among_several_paths_one_bad_one_is_named_and_the_others_come_in(hermes, home, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(CHAT), "utf-8")
    bad.write_text("neither JSON nor anything", "utf-8")
    ran = hermes("sessions", "import", str(bad), str(good), "--json")
    assert ran.code == 0
    assert ran.data["imported"] == 1
    assert str(bad) in [item["first"] for item in ran.data["skipped"]]
    alone = hermes("sessions", "import", str(bad), str(bad), "--json")
    assert alone.code == 1, "nothing came in"


# ---------------------------------------------------------------- the store behind it


def test_a_store_without_these_methods_is_told_and_not_guessed(hermes, home, monkeypatch):
    fill(home)
    from hermes_memory_core.cli import sessions_common

    class Bare:
        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            if name in ("import_path", "export", "trashed", "plan_prune", "transcript_sizes"):
                raise AttributeError(name)
            return getattr(self._store, name)

    real = sessions_common.State.history
    monkeypatch.setattr(
        sessions_common.State, "history", staticmethod(lambda memory: Bare(real(memory)))
    )
    for arguments in (
        ["import", "x"],
        ["export"],
        ["trash"],
        ["prune", "--yes"],
        ["delete", "lisbon", "--yes"],
    ):
        ran = hermes("sessions", *arguments)
        assert ran.code == 2, arguments
        assert "nothing was changed" in ran.err
    assert hermes("sessions", "list").code == 0
    assert hermes("sessions", "stats").code == 0


def test_with_history_switched_off_every_command_says_so(hermes, home, write_config):
    write_config("memory:\n  history_enabled: false\n")
    for arguments in (["list"], ["search", "x"], ["stats"], ["check"]):
        ran = hermes("sessions", *arguments)
        assert ran.code == 2
        assert "switched off" in ran.err
