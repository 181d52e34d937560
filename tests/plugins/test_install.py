"""Real installs into an environment of its own: planned, verified, undone. No network; wheels written by hand."""

from __future__ import annotations

import shutil
import textwrap

import pytest
from helpers.wheels import CORE_REQUIREMENT, GOOD, Unzipper, write_wheel

from hermes_memory_core.errors import (
    PluginConflictError,
    PluginInstallError,
    PluginLoadError,
    PluginVersionError,
    UsageError,
)
from hermes_memory_core.plugins.catalog import Catalog
from hermes_memory_core.plugins.environment import broken_by, held_versions, read_environment
from hermes_memory_core.plugins.install import apply, plan_install, plan_update
from hermes_memory_core.plugins.installer import choose
from hermes_memory_core.plugins.removal import find_installed, plan_removal, remove
from hermes_memory_core.plugins.targets import understand

NONE = Catalog(())
PROGRAMS = [
    "pip",
    pytest.param("uv", marks=pytest.mark.skipif(not shutil.which("uv"), reason="no uv")),
]
pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]


@pytest.fixture(params=PROGRAMS)
def installer(request, sandbox):
    return choose(sandbox.python, request.param)


@pytest.fixture
def pip(sandbox):
    return choose(sandbox.python, "pip")


@pytest.fixture
def unzipper(sandbox):
    return Unzipper.of(sandbox)


def plan(sandbox, installer, text, **more):
    return plan_install(understand(text, NONE, **more), installer, read_environment(sandbox.python))


def versions(sandbox, *names):
    now = read_environment(sandbox.python)
    return [now.version(name) for name in names]


def test_install_shows_pins_installs_them_and_names_the_provider(sandbox, installer):
    sandbox.plugin("sea", requires=(CORE_REQUIREMENT, "acme-sdk>=1"))
    write_wheel(sandbox.wheels, "acme-sdk", "2.0", requires=())
    planned = plan(sandbox, installer, "acme-sea")
    assert {change.line for change in planned.changes} == {"+ acme-sea 1.0", "+ acme-sdk 2.0"}
    assert all("==" in pin for pin in planned.pins)
    assert versions(sandbox, "acme-sea") == [None], "planning installs nothing"
    outcome = apply(planned)
    assert [one.name for one in outcome.providers] == ["sea"]
    assert set(outcome.providers[0].hooks) == {"prefetch", "health"}
    assert versions(sandbox, "acme-sea", "acme-sdk") == ["1.0", "2.0"]
    assert plan(sandbox, installer, "acme-sea").changes == ()


def test_pip_installs_by_hash_and_so_refuses_a_wheel_that_was_changed_meanwhile(sandbox, pip):
    sandbox.plugin("sea")
    planned = plan(sandbox, pip, "acme-sea")
    assert "--hash=sha256:" in planned.pins[0]
    sandbox.plugin("sea", code=GOOD + "\nstolen = True\n")
    before = sandbox.contents()
    with pytest.raises(PluginInstallError, match=r"not what was shown before.*put back"):
        apply(planned)
    assert sandbox.contents() == before


def test_update_and_back_again_when_the_new_version_is_broken(sandbox, installer):
    sandbox.plugin("sea", "1.0")
    apply(plan(sandbox, installer, "acme-sea"))
    sandbox.plugin("sea", "1.1")
    update = plan_update("sea", installer, read_environment(sandbox.python), NONE)
    assert [change.line for change in update.changes] == ["~ acme-sea 1.0 → 1.1"]
    apply(update)
    assert "up to date" in plan_update(
        "acme-sea", installer, read_environment(sandbox.python), NONE
    )
    sandbox.plugin("sea", "1.2", code="raise RuntimeError('half finished')")
    before = sandbox.contents()
    with pytest.raises(PluginLoadError, match=r"half finished.*put back"):
        apply(plan_update("sea", installer, read_environment(sandbox.python), NONE))
    assert sandbox.contents() == before, (
        "the old version is back, byte for byte, without a download"
    )


BROKEN = {
    "no entry point": ({"providers": {}}, "offers no memory provider", PluginInstallError),
    "raises": ({"code": "raise KeyError('x')"}, "KeyError", PluginLoadError),
    "exits": ({"code": "raise SystemExit(3)"}, "SystemExit", PluginLoadError),
    "interrupts": ({"code": "raise KeyboardInterrupt"}, "KeyboardInterrupt", PluginLoadError),
    "kills its process": (
        {"code": "import os; os.kill(os.getpid(), 9)"},
        "exit code -9",
        PluginLoadError,
    ),
    "ends its process": ({"code": "import os; os._exit(0)"}, "exit code 0", PluginLoadError),
    "misspelt hook": ({"code": GOOD.replace("prefetch", "prefech")}, "prefech", PluginLoadError),
    "async hook": (
        {"code": GOOD.replace("def prefetch", "async def prefetch")},
        "async",
        PluginLoadError,
    ),
    "no context": ({"code": "class Provider:\n    pass"}, "one argument", PluginLoadError),
    "a built-in's name": (
        {"providers": {"files": "acme_sea:Provider"}},
        "built-in",
        PluginConflictError,
    ),
    "no class named": ({"providers": {"sea": "acme_sea"}}, "module:Class", PluginInstallError),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_plugin_that_does_not_work_leaves_everything_as_it_was(sandbox, unzipper, case):
    more, word, kind = BROKEN[case]
    sandbox.plugin("sea", **more)
    before = sandbox.contents()
    with pytest.raises(kind) as caught:
        apply(plan(sandbox, unzipper, "acme-sea"))
    assert word in caught.value.message
    assert "put back as it was" in caught.value.message
    assert sandbox.contents() == before


def test_a_stop_half_way_is_undone_too(sandbox, unzipper):
    sandbox.plugin("sea")
    before = sandbox.contents()

    def stopped(name, python):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan(sandbox, unzipper, "acme-sea"), check=stopped)
    assert sandbox.contents() == before


def test_the_name_of_another_plugin_is_refused_naming_both(sandbox, unzipper):
    sandbox.put_info("other-sea", "3.0", providers={"sea": "elsewhere:Sea"})
    sandbox.plugin("sea")
    with pytest.raises(PluginConflictError, match=r"acme-sea.*other-sea"):
        apply(plan(sandbox, unzipper, "acme-sea"))
    assert versions(sandbox, "acme-sea", "other-sea") == [None, "3.0"]


def test_a_plugin_for_another_core_is_refused_even_where_that_core_could_be_had(sandbox, installer):
    core = "0.2.0"
    sandbox.plugin("sea", requires=(f"hermes-memory-core=={core}",))
    write_wheel(sandbox.wheels, "hermes-memory-core", core, requires=())
    before = sandbox.contents()
    with pytest.raises((PluginInstallError, PluginVersionError)) as caught:
        plan(sandbox, installer, "acme-sea")
    assert f"hermes-memory-core =={core} was asked for" in caught.value.message.replace(
        "core==", "core =="
    )
    assert "Nothing was changed" in caught.value.message
    assert sandbox.contents() == before


def test_an_older_version_that_fits_this_core_is_taken(sandbox, pip):
    sandbox.plugin("sea", "1.0")
    sandbox.plugin("sea", "2.0", requires=("hermes-memory-core>=0.2",))
    assert [change.after for change in plan(sandbox, pip, "acme-sea").changes] == ["1.0"]


def test_a_hermes_agents_pins_are_held(sandbox, installer):
    sandbox.put_info("acme-http", "0.28.1")
    sandbox.put_info("hermes-agent", "0.19.0", requires=("acme-http==0.28.1", "acme-log>=1"))
    write_wheel(sandbox.wheels, "acme-http", "0.29", requires=())
    sandbox.plugin("sea", requires=(CORE_REQUIREMENT, "acme-http>=0.29"))
    before = read_environment(sandbox.python)
    assert "acme-http==0.28.1" in held_versions(before)
    with pytest.raises(PluginInstallError, match="contradict"):
        plan(sandbox, installer, "acme-sea")


def test_what_anything_else_needs_is_not_broken_either(sandbox, pip):
    sandbox.put_info("acme-http", "0.28.1")
    sandbox.put_info("someones-tool", "1.0", requires=("acme-http<0.29",))
    write_wheel(sandbox.wheels, "acme-http", "0.29", requires=())
    sandbox.plugin("sea", requires=(CORE_REQUIREMENT, "acme-http>=0.29"))
    with pytest.raises(PluginConflictError) as caught:
        plan(sandbox, pip, "acme-sea")
    assert "someones-tool needs acme-http<0.29, which would be 0.29" in caught.value.message


def test_what_would_break_is_told_only_where_it_holds_now(sandbox):
    sandbox.put_info("acme-http", "0.28.1")
    for name, needs in [
        ("one", "acme-http==0.28.1"),
        ("two", "acme-http==9"),
        ("three", "acme-http; python_version<'3'"),
    ]:
        sandbox.put_info(name, "1", requires=(needs,))
    before = read_environment(sandbox.python)
    assert broken_by(before, {"acme-http": "0.29"}) == [
        "one needs acme-http==0.28.1, which would be 0.29"
    ]
    assert "would be removed" in broken_by(before, {"acme-http": None})[0]
    assert broken_by(before, {"acme-http": "0.28.1"}) == []


def test_what_cannot_be_put_back_is_not_replaced(sandbox, pip):
    sandbox.put_info("acme-http", "0.28.1", recorded=False)
    write_wheel(sandbox.wheels, "acme-http", "0.29", requires=())
    sandbox.plugin("sea", requires=(CORE_REQUIREMENT, "acme-http>=0.29"))
    before = sandbox.contents()
    with pytest.raises(PluginInstallError, match="list of its files"):
        apply(plan(sandbox, pip, "acme-sea"))
    assert sandbox.contents() == before


BACKEND = """
import os, sys
sys.path.insert(0, os.environ["TEST_HELPERS"])
from helpers.wheels import write_wheel

def build_wheel(directory, config_settings=None, metadata_directory=None):
    code = open("acme_sea.py").read()
    return write_wheel(directory, "acme-sea", "1.0", providers={"sea": "acme_sea:Provider"}, files={"acme_sea.py": code}).name

def build_editable(directory, config_settings=None, metadata_directory=None):
    files = {"acme_sea.pth": os.getcwd() + "\\n"}
    return write_wheel(directory, "acme-sea", "1.0", providers={"sea": "acme_sea:Provider"}, files=files).name
"""


@pytest.fixture
def project(sandbox, monkeypatch):
    """A source directory whose build needs nothing from an index."""
    import sysconfig

    from helpers.wheels import REPOSITORY

    path = sandbox.root / "the project"
    path.mkdir()
    (path / "pyproject.toml").write_text(
        '[project]\nname = "acme-sea"\nversion = "1.0"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    purelib = sysconfig.get_paths()["purelib"]
    (path / "backend.py").write_text(
        f"import sys; sys.path += [{str(REPOSITORY)!r}, {purelib!r}]\n" + BACKEND
    )
    (path / "acme_sea.py").write_text(textwrap.dedent(GOOD))
    monkeypatch.setenv("TEST_HELPERS", str(REPOSITORY / "tests"))
    return path


def test_h02_every_route_is_seen_by_every_command(sandbox, pip, unzipper, project):
    import subprocess

    sandbox.plugin("sea")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(project)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], check=True)
    pins = plan(sandbox, pip, str(project)).pins
    assert pins == (f"acme-sea @ {project.as_uri()}",)
    for installer, typed in ((unzipper, "acme-sea"), (pip, f"git+{project.as_uri()}")):
        planned = plan(sandbox, installer, typed)
        if installer is pip:
            assert len(planned.pins[0].rpartition("@")[2]) == 40, "the commit is the pin"
        apply(planned)
        listed, info, used = sandbox.commands(
            ["plugins", "list"], ["plugins", "info", "sea"], ["memory", "use", "sea"]
        )
        assert listed[0]["name"] == "sea", typed
        assert info["installed"]["distribution"] == "acme-sea"
        assert used["provider"] == "sea"
        remove(plan_removal("sea", read_environment(sandbox.python)), unzipper)
        assert versions(sandbox, "acme-sea") == [None]


def test_an_editable_directory_stays_where_it_is(sandbox, installer, project):
    planned = plan(sandbox, installer, str(project), editable=True)
    assert planned.pins == (f"--editable {project.as_uri()}",)
    apply(planned)
    assert (sandbox.site / "acme_sea.pth").read_text().strip() == str(project)
    said = plan_update("sea", installer, read_environment(sandbox.python), NONE)
    assert "is editable" in said


def test_removal_names_what_needs_it_and_what_stays(sandbox):
    needs = (CORE_REQUIREMENT, "acme-sdk", "acme-shared")
    sandbox.put_info("acme-sea", "1.0", requires=needs, providers={"sea": "x:Y"})
    sandbox.put_info("acme-sdk", "1.0")
    sandbox.put_info("acme-shared", "1.0")
    sandbox.put_info("someones-tool", "1.0", requires=("acme-shared", "acme-sea"))
    removal = plan_removal("sea", read_environment(sandbox.python))
    assert removal.providers == ("sea",)
    assert removal.dependents == ("someones-tool",)
    assert removal.left_behind == ("acme-sdk",)


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("files", "built in", UsageError),
        ("hermes-memory-core", "comes with hermes-memory-core", UsageError),
        ("nothing", "No plugin `nothing`", UsageError),
        ("sea", "say which one", PluginConflictError),
    ],
)
def test_what_is_not_removed(sandbox, name, said, kind):
    for distribution in ("one-sea", "two-sea"):
        sandbox.put_info(distribution, "1", providers={"sea": "x:Y"})
    with pytest.raises(kind, match=said) as caught:
        plan_removal(name, read_environment(sandbox.python))
    assert caught.value.hint
    assert find_installed("two-sea", read_environment(sandbox.python)).name == "two-sea"
