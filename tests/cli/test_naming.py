from __future__ import annotations

import pytest

from hermes_memory_core.cli.naming import Naming, invoked_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/opt/bin/hermes", "hermes"),
        ("/opt/bin/hermes-memory", "hermes-memory"),
        ("hermes-memory.exe", "hermes-memory"),
        ("/site-packages/hermes_memory_core/__main__.py", "python -m hermes_memory_core"),
        ("/somewhere/pytest", "hermes-memory"),
    ],
)
def test_the_name_is_the_one_that_was_typed(path, name):
    assert invoked_name(path) == name


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("hermes memory use honcho", "hermes-memory memory use honcho"),
        ("`hermes config check`", "`hermes-memory config check`"),
        (
            "a: hermes memory undo 1 or hermes memory log",
            "a: hermes-memory memory undo 1 or hermes-memory memory log",
        ),
        ("hermes --help", "hermes-memory --help"),
        ("→ hermes doctor", "→ hermes-memory doctor"),
        # no command: a name, a package, a path
        ("pip install hermes-memory-core", "pip install hermes-memory-core"),
        ("look into ~/.hermes or hermes_memory_core", "look into ~/.hermes or hermes_memory_core"),
        ("a Hermes Agent home", "a Hermes Agent home"),
    ],
)
def test_commands_in_hints_get_the_name_that_was_typed(hint, shown):
    assert Naming("hermes-memory").text(hint) == shown


def test_hints_stay_in_the_profile_and_home_they_came_from():
    naming = Naming("hermes")
    naming.profile = "work"
    naming.home = "/data/my memory"
    assert (
        naming.text("hermes memory undo 1")
        == "hermes --home '/data/my memory' -p work memory undo 1"
    )
    assert (
        naming.text("`hermes -p default memory`")
        == "`hermes --home '/data/my memory' -p default memory`"
    )


def test_a_command_about_profiles_is_not_run_inside_the_missing_one():
    naming = Naming("hermes")
    naming.profile = "wrok"
    assert (
        naming.text("`hermes profile create wrok` makes it")
        == "`hermes profile create wrok` makes it"
    )


def test_json_hints_are_rewritten_at_any_depth_and_nothing_else_is():
    data = {
        "next": "hermes doctor",
        "text": "hermes doctor",
        "layers": ({"hint": "hermes memory"},),
    }
    assert Naming("hermes-memory").data(data) == {
        "next": "hermes-memory doctor",
        "text": "hermes doctor",
        "layers": [{"hint": "hermes-memory memory"}],
    }
