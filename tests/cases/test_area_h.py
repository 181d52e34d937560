"""Area H of the reported faults: installing, discovering and loading plugins."""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

import json
import sys

import pytest
from helpers import Clock, eventually, instance_of, provider_class
from helpers.distributions import site  # noqa: F401
from helpers.wheels import GOOD, Unzipper, sandbox  # noqa: F401

from hermes_memory_core import Memory, hookimpl
from hermes_memory_core.cli.run import run
from hermes_memory_core.errors import PluginInstallError, PluginLoadError
from hermes_memory_core.plugins.catalog import Catalog
from hermes_memory_core.plugins.discover import discover, find
from hermes_memory_core.plugins.environment import read_environment
from hermes_memory_core.plugins.install import apply, plan_install
from hermes_memory_core.plugins.targets import understand
from hermes_memory_core.plugins.validate import validate


@pytest.fixture
def hermes(capsys):
    def run_it(*arguments):
        capsys.readouterr()
        code = run(list(arguments), "hermes")
        return code, *capsys.readouterr()

    return run_it


def use(home, name):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"memory: {{provider: {name}}}\n", encoding="utf-8")


def layer(memory):
    return next(one for one in memory.status()["layers"] if one["kind"] == "external")


def test_h01_a_provider_that_left_is_told_at_the_terminal_with_the_command_and_its_data_stays(
    home, hermes
):
    use(home, "honcho")
    kept = home / "providers" / "honcho" / "data.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"precious": true}')
    for arguments in (("memory", "status"), ("plugins", "list")):
        _, out, err = hermes(*arguments)
        assert "hermes plugins install honcho" in out + err, arguments
    notices = []
    with Memory.open(home, notify=notices.append) as memory, memory.session() as session:
        session.begin_turn("what is new here")
        assert session.end_turn("said", "heard").saved
    assert [notice.hint for notice in notices] == ["hermes plugins install honcho"]
    assert json.loads(kept.read_text()) == {"precious": True}


@pytest.mark.process
@pytest.mark.timeout(30)
def test_h03_a_package_without_an_entry_point_is_no_success(sandbox):
    sandbox.plugin("sea", providers={})
    before = sandbox.contents()
    plan = plan_install(
        understand("acme-sea", Catalog(())), Unzipper.of(sandbox), read_environment(sandbox.python)
    )
    with pytest.raises(PluginInstallError, match=r"hermes_memory\.providers"):
        apply(plan)
    assert sandbox.contents() == before


RAISING = {
    "import error": "import no_such_module_anywhere",
    "exit": "raise SystemExit('bye')",
    "interrupt": "raise KeyboardInterrupt",
    "generator exit": "raise GeneratorExit",
    "own base exception": "class Mine(BaseException): pass\nraise Mine",
    "slow": "import time; time.sleep(60)",
    "syntax": "def broken(:",
}
COMMANDS = [
    ["--help"],
    ["memory", "status"],
    ["memory", "list"],
    ["sessions", "list"],
    ["config", "show"],
    ["plugins", "list"],
    ["plugins", "info", "sea"],
    ["plugins", "search"],
    ["plugins", "disable", "sea"],
    ["plugins", "enable", "sea"],
    ["memory", "off"],
]


@pytest.mark.parametrize("case", RAISING)
def test_h04_no_command_is_harmed_by_a_plugin_that_cannot_be_imported(home, site, hermes, case):
    module = site.add("sea", RAISING[case])
    use(home, "sea")
    for arguments in COMMANDS:
        code, _, err = hermes(*arguments)
        assert code == 0, (arguments, err)
    assert module not in sys.modules


@pytest.mark.parametrize("case", ["import error", "exit", "generator exit", "syntax"])
def test_h04_a_note_is_written_without_the_plugin_and_a_check_names_it(home, site, hermes, case):
    module = site.add("sea", RAISING[case])
    use(home, "sea")
    assert hermes("memory", "add", "The ferry leaves at nine")[0] == 0
    assert module not in sys.modules
    assert "ferry" in hermes("memory", "list")[1]
    _, out, err = hermes("memory", "status", "--check")
    assert "sea" in out
    assert "hermes plugins check sea" in out + err


@pytest.mark.process
@pytest.mark.timeout(30)
def test_h04_it_can_be_removed_with_the_program_itself(sandbox):
    sandbox.put_info("acme-sea", "1.0", providers={"sea": "acme_sea:Provider"})
    (sandbox.site / "acme_sea.py").write_text("raise SystemExit('not even this')")
    sandbox.hermes("memory", "use", "sea")
    code, out, err = sandbox.hermes("plugins", "remove", "sea", "--yes", "--off", "--with", "pip")
    assert (code, "Removed acme-sea 1.0" in out) == (0, True), err
    assert find("sea") is None


def test_h05_a_plugin_with_a_hook_argument_that_is_gone_is_off_with_a_reason_and_the_host_runs(
    home, site
):
    site.add("sea", GOOD.replace("self, query", "self, query, projectname"))
    use(home, "sea")
    with Memory.open(home) as memory, memory.session() as session:
        session.begin_turn("what do you know")
        assert session.end_turn("it runs", "all the same").saved
        found = layer(memory)
    assert found["state"] == "failed"
    assert "projectname" in found["why"]


@pytest.mark.parametrize("raised", [SystemExit(1), GeneratorExit(), RuntimeError("x")])
def test_h06_what_a_hook_raises_is_contained_and_reported(home, raised):
    def prefetch(self):
        raise raised

    with Memory.open(home, providers=[provider_class("bad", prefetch=prefetch)]) as memory:
        with memory.session() as session:
            turn = session.begin_turn("what do you know")
            assert [one.state for one in turn.recalls if one.provider == "bad"] == ["failed"]
            assert session.end_turn("it runs", "all the same").saved
        assert type(raised).__name__ in layer(memory)["last_error"]["message"]


def test_h07_one_that_raises_at_the_end_keeps_nobody_else_from_ending(home):
    ended = []

    def end_session(self, session, reason):
        ended.append(reason)
        raise RuntimeError("cannot end")

    with Memory.open(
        home, providers=[provider_class("bad", end_session=end_session)], clock=Clock()
    ) as memory:
        with memory.session() as session:
            session.end_turn("what was said", "and heard")
            old = session.id
        eventually(lambda: ended)
        assert memory.history.session(old).ended_at, "the built-in layers ended it all the same"
        assert layer(memory)["last_error"]["hook"] == "end_session"


def test_h08_an_async_hook_is_refused_when_it_is_registered():
    class Later:
        @hookimpl
        async def end_session(self):
            """Never awaited."""

    with pytest.raises(PluginLoadError, match="async"):
        validate(Later(), "later")


def test_h09_a_misspelt_hook_is_refused_with_the_right_name():
    class Typo:
        @hookimpl
        def prefech(self):
            """Never called."""

    with pytest.raises(PluginLoadError) as caught:
        validate(Typo(), "typo")
    assert "did you mean `prefetch`?" in caught.value.hint


def test_h11_an_index_of_plugins_is_never_stale(site):
    assert find("sea") is None
    site.add("sea", GOOD)
    assert find("sea").version == "1.2.3"
    info = site.path / "hermes_memory_sea-1.2.3.dist-info"
    newer = site.path / "hermes_memory_sea-2.0.dist-info"
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("1.2.3", "2.0"))
    info.rename(newer)  # what an update in another process does; nobody tells this one
    assert find("sea").version == "2.0"
    for path in newer.iterdir():
        path.unlink()
    newer.rmdir()
    assert find("sea") is None


def test_h12_a_refused_plugin_leaves_nothing_half_registered(home, site):
    site.add("sea", GOOD.replace("self, query", "self, topic"))
    use(home, "sea")
    with Memory.open(home) as memory, memory.session() as session:
        session.begin_turn("what do you know")
        manager = memory._profile.roster._manager
        assert manager.get_plugin("sea") is None
        assert not [
            one for one in manager.hook.prefetch.get_hookimpls() if "sea" in one.plugin_name
        ]
    site.add("sea", GOOD.replace("VERSION", "the harbour light"), distribution="hermes-memory-sea2")
    for path in (site.path / "hermes_memory_sea-1.2.3.dist-info").iterdir():
        path.unlink()
    with Memory.open(home) as memory, memory.session() as session:
        assert "harbour light" in session.begin_turn("what do you know").text


def test_h13_only_decorated_methods_count_whatever_else_is_called_like_a_hook():
    class Lookalike:
        prefetch = "a text"
        health = json
        close = None
        tools = 3

        @property
        def stores(self):
            raise RuntimeError("looked at")

        @hookimpl
        def sync_turn(self, turn):
            """The only hook."""

    assert validate(Lookalike(), "lookalike") == {"sync_turn"}


def test_h13_an_instance_attribute_called_like_a_hook_is_no_hook(home):
    def prefetch(self):
        self.health = "fine"
        return "found"

    with Memory.open(home, providers=[provider_class("odd", prefetch=prefetch)]) as memory:
        with memory.session() as session:
            assert "found" in session.begin_turn("what do you know").text
        assert instance_of(memory).health == "fine"


def test_one_discovery_for_all(site):
    site.add("sea", GOOD)
    assert {one.name for one in discover()} >= {"files", "sessions", "sea"}
