"""Every command there is, walked from the click tree: help, JSON, and imports (case H10: a command nobody ran)."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from hermes_memory_core.cli.app import app
from hermes_memory_core.cli.base import Group
from hermes_memory_core.cli.state import State

HEAVY = ("pydantic", "httpx", "rich", "ruamel", "filelock", "mcp")


def walk(command, path=()):
    """(path, command) of every command that can be typed."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1] if path else "hermes", obj=State())
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, f"{' '.join((*path, name))} is listed and cannot be had"
            yield from walk(inner, (*path, name))


ALL = list(walk(app))
LEAVES = [path for path, command in ALL if not isinstance(command, click.Group)]


@pytest.mark.parametrize(
    "path", [path for path, _ in ALL], ids=lambda path: " ".join(path) or "hermes"
)
def test_h10_every_command_has_help_with_a_sentence_and_an_option_list(hermes, path):
    ran = hermes(*path, "--help", program="hermes-memory")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: {' '.join(('hermes-memory', *path))}")
    text = dict(ALL)[path].help
    assert text
    assert text.split("\n")[0].endswith(".")
    assert "--json" in ran.out
    assert " hermes " not in ran.out, "the help shows a program name that was not typed"


@pytest.mark.parametrize("path", [path for path, _ in ALL if path], ids=" ".join)
def test_the_line_in_a_list_of_commands_needs_no_import_and_is_there(path):
    parent = dict(ALL)[path[:-1]]
    assert isinstance(parent, Group)
    lazy = parent.lazy.get(path[-1])
    assert lazy is None or lazy.help.endswith(".")


def modules_after(*arguments: str, home) -> tuple[int, set[str]]:
    script = (
        "import sys, json, io; from hermes_memory_core.cli import main; out = sys.stdout;"
        "sys.stdout = io.StringIO(); code = main(sys.argv[1:]); print(json.dumps([code, sorted(sys.modules)]), file=out)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    code, modules = json.loads(done.stdout)
    return code, {name.partition(".")[0] for name in modules} | set(modules)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["memory", "--help"],
        ["memory", "add", "--help"],
        ["config", "path"],
    ],
    ids=" ".join,
)
def test_help_and_version_import_nothing_heavy(home, arguments):
    code, modules = modules_after(*arguments, home=home)
    assert code == 0
    assert not modules.intersection(HEAVY)
    assert "hermes_memory_core.memory" not in modules
    if arguments == ["--version"]:
        assert "click" not in modules


@pytest.mark.parametrize(
    "arguments", [["memory", "status"], ["memory", "list"], ["--json", "memory"]]
)
def test_reading_an_ordinary_home_needs_no_heavy_library(home, arguments):
    code, modules = modules_after(*arguments, home=home)
    assert code == 0
    assert not modules.intersection({"pydantic", "httpx", "rich", "ruamel", "mcp"})


def test_only_the_invoked_group_is_imported(home):
    _, modules = modules_after("config", "path", home=home)
    ours = {name for name in modules if name.startswith("hermes_memory_core.cli.")}
    assert "hermes_memory_core.cli.config_read" in ours
    assert not {name for name in ours if "notes" in name or "profile_" in name or "status" in name}
