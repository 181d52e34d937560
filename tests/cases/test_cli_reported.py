"""Reported faults a person meets at the command line: A01, A13, A14, A17, C11, H10, J06, J10, J11."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click
import pytest

from hermes_memory_core.cli.app import app
from hermes_memory_core.cli.run import run
from hermes_memory_core.cli.state import State


@pytest.fixture
def hermes(capsys, monkeypatch):
    """(exit code, standard output, standard error) of one command line."""

    def run_it(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run(list(arguments), "hermes")
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_it


@pytest.fixture
def data(hermes):
    """The data of one command line with ``--json``."""

    def read(*arguments: str):
        return json.loads(hermes(*arguments, "--json")[1])["data"]

    return read


def test_a01_a_write_refused_for_fullness_is_told_to_the_person_and_stays_in_status(hermes, data):
    hermes("memory", "add", "x" * 2100)
    for _ in range(3):
        code, out, err = hermes("memory", "add", "one more that does not fit " * 5)
        assert code == 1
        assert out == ""
        assert "characters too many" in err
    told = [
        notice for notice in data("memory", "status")["notices"] if notice["code"] == "notes_full"
    ]
    assert len(told) == 1
    assert "MEMORY.md" in told[0]["message"]
    assert told[0]["hint"].startswith("hermes memory ")


def test_a13_status_names_the_file_and_count_and_a_repeated_note_is_known(hermes, data, home):
    for text in ("Uses Python", "Likes tea", "Lives in Wien"):
        hermes("memory", "add", text)
    for text in ("Uses Python  ", "  Likes tea", "Lives in Wien\n"):
        code, out, _ = hermes("memory", "add", text)
        assert code == 0
        assert "already" in out
    notes = data("memory", "status")["notes"]["memory"]
    assert notes["entries"] == 3
    assert Path(notes["path"]) == home / "memories" / "MEMORY.md"
    assert Path(notes["path"]).read_text().count("Likes tea") == 1


def test_a14_the_backup_of_a_reset_holds_what_was_there_before(hermes, data, home):
    hermes("memory", "add", "worth keeping")
    before = (home / "memories" / "MEMORY.md").read_bytes()
    done = data("memory", "reset", "--target", "memory", "--yes")["done"]
    assert [Path(path).read_bytes() for path in done[0]["backups"]] == [before]
    assert data("memory", "list")["notes"] == []


def test_a17_the_command_line_shows_what_another_session_just_saved(hermes, data):
    from hermes_memory_core import Memory

    with Memory.open() as memory, memory.session() as session:
        frozen = session.system_prompt()
        hermes("memory", "add", "saved meanwhile")
        assert "saved meanwhile" in [note["text"] for note in data("memory", "list")["notes"]]
        assert "saved meanwhile" in hermes("memory", "show")[1]
        assert session.system_prompt() == frozen


@pytest.mark.parametrize(
    ("key", "layer"),
    [("memory.history_enabled", "sessions"), ("memory.memory_enabled", "files")],
)
def test_c11_a_switch_says_which_part_it_switched_and_no_other_changes(hermes, data, key, layer):
    before = {one["name"]: one["state"] for one in data("memory", "status")["layers"]}
    hermes("config", "set", key, "false")
    if layer == "files":
        hermes("config", "set", "memory.user_profile_enabled", "false")
    after = {one["name"]: one for one in data("memory", "status")["layers"]}
    assert after[layer]["state"] == "off"
    assert key in after[layer]["why"]
    for name, state in before.items():
        if name != layer:
            assert after[name]["state"] == state
    row = next(row for row in data("config", "show", key)["settings"] if row["key"] == key)
    assert row["source"].endswith("config.yaml")


def leaves(command: click.Command, path: tuple[str, ...] = ()):
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command, info_name=path[-1] if path else "hermes", obj=State())
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(inner, (*path, name))


@pytest.mark.parametrize("path", list(leaves(app)), ids=" ".join)
def test_h10_every_command_answers_a_wrong_option_like_a_program_and_not_like_a_crash(hermes, path):
    code, out, err = hermes(*path, "--no-such-option")
    assert code == 2
    assert "--no-such-option" in err
    assert "unexpected" not in err
    assert out == ""


READING = [
    ["memory", "status"],
    ["memory", "list"],
    ["memory", "show"],
    ["memory", "log"],
    ["memory", "diff"],
    ["config", "show"],
    ["config", "check"],
    ["profile", "list"],
    ["profile", "show"],
    ["doctor"],
]


@pytest.mark.parametrize("profile", ["default", "work"])
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_j06_every_reading_command_starts_the_same_way_in_every_profile(hermes, profile, arguments):
    hermes("profile", "create", "work")
    code, _, err = hermes("-p", profile, *arguments)
    assert code == 0, err
    shown = json.loads(hermes("-p", profile, *arguments, "--json")[1])
    assert set(shown) == {"schema", "data"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory.memory_char_limit", 300),
        ("memory.isolation", "chat"),
        ("memory.deadlines.prefetch_s", 1.5),
        ("memory.write_approval", True),
    ],
)
def test_j10_what_is_set_is_what_is_in_effect_with_its_source(hermes, data, home, key, value):
    hermes("config", "set", key, json.dumps(value).strip('"'))
    row = next(
        row for row in data("config", "show", "--effective")["settings"] if row["key"] == key
    )
    assert row["value"] == value
    assert row["source"] == str(home / "config.yaml")


def test_j10_a_limit_that_was_set_is_the_one_that_is_kept(hermes, data):
    hermes("config", "set", "memory.memory_char_limit", "50")
    assert hermes("memory", "add", "x" * 60)[0] == 1
    assert data("memory", "status")["notes"]["memory"]["limit"] == 50


def test_j11_a_reset_removes_exactly_what_its_dry_run_lists(hermes, data, home):
    hermes("memory", "add", "one")
    hermes("memory", "add", "two", "-t", "user")
    hermes("config", "set", "memory.memory_char_limit", "900")
    planned = {
        item["target"]: item["entries"] for item in data("memory", "reset", "--dry-run")["files"]
    }
    assert planned == {"memory": 1, "user": 1}
    config = (home / "config.yaml").read_bytes()
    done = data("memory", "reset", "--yes")["done"]
    assert {item["target"] for item in done if item["emptied"]} == set(planned)
    assert data("memory", "list")["notes"] == []
    assert (home / "config.yaml").read_bytes() == config
    assert data("memory", "status")["notes"]["memory"]["entries"] == 0
