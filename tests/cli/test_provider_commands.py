"""``hermes NAME …`` of installed providers: real distributions on ``sys.path``, good ones and broken ones."""

from __future__ import annotations

import sys
import uuid

import pytest

from hermes_memory_core.plugins import discover

GOOD = '''
import click

@click.group()
def notebook():
    """Look after the notebook."""

@notebook.command()
@click.pass_obj
def status(state):
    """Say how it is."""
    click.echo(f"fine in {state.profile}")

class Notebook:
    commands = notebook
'''
LIST = '''
import click

@click.command("ping")
def ping():
    """Answer."""
    click.echo("pong")

class Notebook:
    commands = [ping]
'''
NONE = "class Notebook:\n    pass\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution with one provider on the path."""
    site = tmp_path / "site"
    site.mkdir()

    def put(
        code: str, name: str = "notebook", dist: str = "acme-notebook", requires: str = ""
    ) -> str:
        module = f"{dist.replace('-', '_')}_{uuid.uuid4().hex[:8]}"  # nobody imported it before
        (site / f"{module}.py").write_text(code)
        info = site / f"{dist.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n"
            + (f"Requires-Dist: hermes-memory-core{requires}\n" if requires else "")
        )
        (info / "entry_points.txt").write_text(
            f"[hermes_memory.providers]\n{name} = {module}:Notebook\n"
        )
        monkeypatch.syspath_prepend(str(site))
        discover.forget_cache()
        return module

    yield put
    discover.forget_cache()


def test_a_group_a_list_and_options_anywhere(hermes, install):
    module = install(GOOD)
    assert hermes("--help").code == 0
    assert module not in sys.modules, "listing commands must not import a provider"
    assert hermes("notebook", "status", "-p", "work").out == "fine in work\n"
    assert hermes("-p", "play", "notebook", "status").out == "fine in play\n"
    assert "Look after the notebook." in hermes("notebook", "--help").out


def test_a_list_of_commands_becomes_a_group(hermes, install):
    install(LIST)
    assert hermes("notebook", "ping").out == "pong\n"
    assert "ping" in hermes("notebook").out


@pytest.mark.parametrize(
    "code",
    [
        "raise RuntimeError('broken at import')",
        "import sys; sys.exit('broken at import')",
        "import not_installed_anywhere",
        "Other = 1",
        "def broken(:",
    ],
)
def test_a_broken_provider_is_reported_with_its_distribution_and_harms_nobody(
    hermes, install, code
):
    install(code)
    ran = hermes("notebook", "status")
    assert ran.code == 4
    assert "acme-notebook 1.2" in ran.err
    assert "→ hermes plugins check notebook" in ran.err
    assert "Traceback" not in ran.err
    assert (
        hermes("notebook", "status", "--json").error["details"]["distribution"] == "acme-notebook"
    )
    assert hermes("config", "path").code == 0
    assert hermes("--help").code == 0


def test_a_provider_without_commands_says_so(hermes, install):
    install(NONE)
    ran = hermes("notebook")
    assert ran.code == 4
    assert "no commands" in ran.err


def test_a_provider_for_another_core_is_not_imported(hermes, install):
    module = install(GOOD, requires=">=99")
    ran = hermes("notebook", "status")
    assert ran.code == 4
    assert ">=99" in ran.err
    assert module not in sys.modules


def test_two_distributions_with_one_name_are_both_named_and_none_is_run(hermes, install):
    install(GOOD)
    install(LIST, dist="other-notebook")
    ran = hermes("notebook", "status")
    assert ran.code == 5
    assert "acme-notebook" in ran.err
    assert "other-notebook" in ran.err
    assert hermes("memory", "use", "notebook").code == 5


def test_no_plugins_runs_no_provider_code(hermes, install):
    module = install(GOOD)
    assert hermes("--no-plugins", "notebook", "status").code == 2
    assert module not in sys.modules


def test_a_provider_cannot_take_a_built_in_commands_place(hermes, install):
    module = install(GOOD, name="config")
    assert hermes("config", "path").code == 0
    assert module not in sys.modules


def test_use_takes_an_installed_provider_without_importing_it(hermes, install, home):
    module = install(GOOD)
    ran = hermes("memory", "use", "notebook")
    assert ran.code == 0
    assert "hermes memory status --check" in ran.err
    assert module not in sys.modules
    assert hermes("config", "get", "memory.provider").out == "notebook\n"
    assert "already" in hermes("memory", "use", "notebook").out
    data = hermes("memory", "use", "none", "--json").data
    assert (data["provider"], data["before"], data["changed"]) == (None, "notebook", True)
    hermes("memory", "use", "notebook")
    assert hermes("memory", "off").code == 0
    assert hermes("config", "get", "memory.provider").out == ""


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("notebok", 4, "Did you mean `notebook`?"),
        ("elsewhere", 4, "hermes plugins install elsewhere"),
        ("files", 2, "built in"),
    ],
)
def test_use_refuses_what_cannot_be_used_and_changes_nothing(
    hermes, install, home, name, code, said
):
    install(GOOD)
    ran = hermes("memory", "use", name)
    assert ran.code == code
    assert said in ran.err
    assert not (home / "config.yaml").exists()
