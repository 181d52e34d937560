"""What the program ends with, and what it says, when something goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import click
import pytest

from hermes_memory_core import errors
from hermes_memory_core.cli import app as app_module
from hermes_memory_core.cli.base import Command, Group, Lazy
from hermes_memory_core.cli.state import State


def subclasses(kind):
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


@pytest.fixture
def add_command():
    """Put a command below the root for one test."""
    added = []

    def add(function, name="boom"):
        app_module.app.add_command(Command(name, callback=click.pass_obj(function)))
        added.append(name)

    yield add
    for name in added:
        del app_module.app.commands[name]


@pytest.mark.parametrize(
    "kind", sorted(set(subclasses(errors.HermesMemoryError)), key=lambda k: k.__name__)
)
def test_every_error_ends_with_its_own_code_message_and_hint(hermes, add_command, kind):
    def boom(state):
        raise kind("What happened.", hint="hermes memory use X", details={"n": 1})

    add_command(boom)
    ran = hermes("boom", program="hermes-memory")
    assert ran.code == kind.exit_code
    assert ran.code in (1, 2, 3, 4, 5)
    assert ran.out == ""
    assert ran.err == "What happened.\n→ hermes-memory memory use X\n"

    ran = hermes("--json", "boom")
    assert ran.code == kind.exit_code
    assert ran.schema == "hermes-memory/error/1"
    assert ran.error["code"] == kind.code
    assert ran.error["message"] == "What happened."
    assert ran.error["hint"] == "hermes memory use X"
    assert ran.error["details"] == {"n": 1}
    assert ran.err == ""


def test_a_bug_becomes_a_short_report_and_the_traceback_only_with_v(hermes, add_command):
    def boom(state):
        raise ZeroDivisionError("of a kind nobody foresaw")

    add_command(boom)
    ran = hermes("boom")
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err
    assert "--no-plugins" in ran.err
    assert "Traceback" not in ran.err
    assert "Traceback" in hermes("boom", "-v").err
    assert hermes("boom", "--json").error["details"]["type"] == "ZeroDivisionError"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, click.Abort])
def test_ctrl_c_ends_with_130(hermes, add_command, stop):
    def boom(state):
        raise stop

    add_command(boom)
    ran = hermes("boom")
    assert ran.code == 130
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("leave", "code"), [(None, 0), (7, 7), ("words", 1)])
def test_a_command_that_leaves_like_a_script_keeps_its_code(hermes, add_command, leave, code):
    def boom(state):
        raise SystemExit(leave)

    add_command(boom)
    ran = hermes("boom")
    assert ran.code == code
    assert ("words" in ran.err) == (leave == "words")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["memry"], "Did you mean `memory`?"),
        (["memory", "lst"], "Did you mean `list`?"),
        (["memory", "list", "--nope"], "--nope"),
        (["memory", "list", "--target", "neither"], "neither"),
        (["memory", "patch", "one"], "REPLACEMENT"),
        (["--home"], "--home"),
    ],
)
def test_a_wrong_line_ends_with_2_and_a_way_to_the_help(hermes, arguments, said):
    ran = hermes(*arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.rstrip().endswith("--help")
    assert ran.out == ""
    as_json = hermes("--json", *arguments)
    assert as_json.code == 2
    assert as_json.error["code"] == "usage"


def test_the_bare_program_shows_its_help(hermes):
    ran = hermes()
    assert ran.code == 0
    assert "Commands:" in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "work", "--home", "HOME", "look", "--no-input", "-vv"],
        ["look", "-p", "work", "--home", "HOME", "--no-input", "-v", "-v"],
        ["--no-input", "-vv", "look", "--home=HOME", "--profile=work"],
    ],
    ids=" ".join,
)
def test_global_options_may_stand_anywhere(hermes, add_command, arguments):
    seen = {}
    add_command(lambda state: seen.update(vars(state)), "look")
    assert hermes(*arguments).code == 0
    assert (seen["home"], seen["profile"], seen["no_input"], seen["verbose"]) == (
        "HOME",
        "work",
        True,
        2,
    )


def test_an_option_of_the_command_itself_wins_over_a_global_one(hermes):
    seen = {}
    command = Command(
        "own",
        params=[click.Option(["-p", "--port"], type=int)],
        callback=lambda port: seen.update(port=port),
    )
    app_module.app.add_command(command)
    try:
        assert hermes("-p", "work", "own", "-p", "80", "--home", "X").code == 0
    finally:
        del app_module.app.commands["own"]
    assert seen == {"port": 80}


def test_no_plugins_comes_from_the_option_or_the_environment(monkeypatch):
    assert State().no_plugins is False
    for off in ("0", ""):
        monkeypatch.setenv("HERMES_MEMORY_NO_PLUGINS", off)
        assert State().no_plugins is False
    monkeypatch.setenv("HERMES_MEMORY_NO_PLUGINS", "1")
    assert State().no_plugins is True


def test_a_command_whose_module_is_missing_is_not_listed_and_not_found():
    group = Group("g", lazy={"gone": Lazy("hermes_memory_core.cli.not_there:gone", "Not there.")})
    context = click.Context(group, obj=State())
    assert group.list_commands(context) == []
    assert group.get_command(context, "gone") is None


def test_colour_only_where_it_is_wanted(hermes, add_command, monkeypatch):
    add_command(lambda state: click.echo(click.style("red", fg="red")), "paint")
    assert hermes("paint").out == "red\n"  # no terminal
    assert hermes("paint", "--color").out == "\x1b[31mred\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert hermes("paint").out == "red\n"
    assert "\x1b" in hermes("--color", "paint").out  # asked for on this very line


@pytest.mark.process
def test_a_closed_pipe_is_no_error(home):
    command = f"{sys.executable} -m hermes_memory_core config show --effective --json"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -c 1"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.process
def test_ctrl_c_in_a_real_process(home):
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "\nStopped.\n"


_WAITING = """
import sys, time, click
from hermes_memory_core.cli import app, main
from hermes_memory_core.cli.base import Command
def wait():
    print("waiting", flush=True)
    time.sleep(30)
app.app.add_command(Command("wait", callback=wait))
sys.exit(main(["wait"]))
"""
