# ruff: noqa: F811 - fixtures are imported by name
"""``hermes plugins …`` as a person types it; installs themselves are tested in tests/plugins."""

from __future__ import annotations

import json
import sys

import pytest
from helpers.distributions import site  # noqa: F401
from helpers.wheels import sandbox  # noqa: F401

from hermes_memory_core.plugins import discover

GOOD = """
from hermes_memory_core import hookimpl
class Provider:
    def __init__(self, context): pass
    @hookimpl
    def prefetch(self, query): return None
"""


@pytest.fixture
def modules():
    before = set(sys.modules)
    return lambda: {name for name in set(sys.modules) - before if name.startswith("fake_")}


def states(hermes, *more):
    return {row["name"]: row["state"] for row in hermes("plugins", "list", "--json", *more).data}


def test_nothing_installed_says_where_to_look(hermes):
    ran = hermes("plugins")
    assert ran.code == 0
    assert "No plugin is installed." in ran.out
    assert "hermes plugins search" in ran.err


def test_every_state_has_its_line_and_nothing_is_imported(
    hermes, site, write_config, modules, profile_dir, monkeypatch
):
    site.add("active", GOOD)
    site.add("idle", "raise SystemExit('imported')")
    site.add("off", GOOD)
    site.add("old", GOOD, requires="hermes-memory-core<0.1")
    site.add("twice", GOOD, distribution="twice-one")
    site.add("twice", GOOD, distribution="twice-two")
    write_config("memory: {provider: active}\nplugins: {disabled: [off]}\n")
    assert states(hermes) == {
        "active": "active",
        "idle": "installed",
        "off": "disabled",
        "old": "incompatible",
        "twice": "conflict",
    }
    assert modules() == set()
    monkeypatch.setenv("COLUMNS", "200")
    ran = hermes("plugins", "list")
    lines = {line.split()[0]: line for line in ran.out.splitlines() if not line.startswith(" ")}
    assert "twice-two" in lines["twice"]
    assert "<0.1" in lines["old"]
    assert "→ hermes plugins update old" in ran.out
    assert "files" not in lines
    assert states(hermes, "--all")["files"] == "active"


def test_the_active_one_that_is_not_installed_has_a_line(hermes, write_config):
    write_config("memory: {provider: honcho}\n")
    (row,) = hermes("plugins", "list", "--json").data
    assert (row["state"], row["hint"]) == ("not installed", "hermes plugins install honcho")
    assert "untouched" in row["why"]


def test_a_provider_that_did_not_load_is_failed_until_it_is_another_version(
    hermes, site, write_config
):
    site.add("sea", "raise RuntimeError('no harbour')")
    write_config("memory: {provider: sea}\n")
    hermes("memory", "status", "--check")
    (row,) = hermes("plugins", "list", "--json").data
    assert row["state"] == "failed"
    assert "no harbour" in row["why"]
    info = site.path / "hermes_memory_sea-1.2.3.dist-info"
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("1.2.3", "1.2.4"))
    discover.forget_cache()
    assert states(hermes) == {"sea": "active"}


@pytest.mark.parametrize("config", ["memory: [", "memory: {provider: 3}\nplugins: 7\n", "\x00"])
def test_a_broken_config_stops_no_plugin_command(hermes, site, write_config, config):
    site.add("sea", GOOD)
    write_config(config)
    for arguments in (["list"], ["info", "sea"], ["search"], ["check", "sea", "--load-only"]):
        ran = hermes("plugins", *arguments)
        assert ran.code in (0, 1), ran.err
        assert "Traceback" not in ran.err
    assert states(hermes)["sea"] == "installed"


def test_against_a_coming_core(hermes, site, write_config):
    site.add("sea", GOOD)
    site.add("land", GOOD, requires="hermes-memory-core>=0.1")
    write_config("memory: {provider: sea}\n")
    ran = hermes("plugins", "list", "--against", "0.2.0")
    assert ran.code == 1
    assert "would lose `sea`. Among them the active one." in ran.err
    assert hermes("plugins", "list", "--against", "0.1.9").code == 0
    assert hermes("plugins", "list", "--against", "new").code == 2


def test_info(hermes, site):
    site.add("sea", GOOD)
    data = hermes("plugins", "info", "sea", "--json").data
    assert data["installed"]["requires"] == ["hermes-memory-core>=0.1,<0.2"]
    assert data["installed"]["location"] == str(site.path)
    assert data["catalog"] is None
    by_distribution = hermes("plugins", "info", "hermes-memory-sea")
    assert "fake_hermes_memory_sea_sea:Provider" in by_distribution.out
    known = hermes("plugins", "info", "honcho")
    assert "not installed" in known.out
    assert "hermes plugins install honcho" in known.err
    wrong = hermes("plugins", "info", "honhco")
    assert wrong.code == 2
    assert "Did you mean `honcho`?" in wrong.err


def test_search_and_another_catalog(hermes, write_config, tmp_path):
    assert "honcho" in hermes("plugins", "search").out
    assert hermes("plugins", "search", "zzz").code == 1
    path = tmp_path / "catalog.json"
    entry = {"name": "sea", "distribution": "acme-sea", "summary": "Waves."}
    path.write_text(json.dumps({"schema": "hermes-memory/catalog/1", "plugins": [entry]}))
    write_config(f"plugins: {{catalog: '{path}'}}\n")
    assert [row["name"] for row in hermes("plugins", "search", "--json").data] == ["sea"]
    path.write_text("{")
    ran = hermes("plugins", "search")
    assert "honcho" in ran.out
    assert "cannot be used" in ran.err


def test_disable_and_enable(hermes, site, profile_dir, modules):
    site.add("sea", GOOD)
    site.add("land", GOOD)
    hermes("memory", "use", "sea")
    ran = hermes("plugins", "disable", "sea")
    assert ran.code == 0
    assert "active provider" in ran.err
    assert hermes("plugins", "disable", "land").code == 0
    assert states(hermes) == {"sea": "disabled", "land": "disabled"}
    assert "already" in hermes("plugins", "disable", "sea").out
    assert hermes("plugins", "enable", "sea").code == 0
    assert states(hermes) == {"sea": "active", "land": "disabled"}
    assert "was not disabled" in hermes("plugins", "enable", "sea").out
    wrong = hermes("plugins", "disable", "lnad")
    assert (wrong.code, "Did you mean `land`?" in wrong.err) == (2, True)
    assert hermes("plugins", "disable", "files").code == 2
    assert modules() == set()


def test_check_tells_what_is_wrong_in_a_process_of_its_own(hermes, site, monkeypatch, modules):
    monkeypatch.setenv("PYTHONPATH", str(site.path))
    site.add("sea", GOOD)
    site.add("gone", "import os; os._exit(7)")
    good = hermes("plugins", "check", "sea", "--load-only", "--json").data
    assert good["ok"]
    assert good["load"]["hooks"] == ["prefetch"]
    assert any("health" in warning for warning in good["load"]["warnings"])
    bad = hermes("plugins", "check", "gone")
    assert bad.code == 1
    assert "exit code 7" in bad.out
    assert "hermes plugins remove gone" in bad.err
    assert hermes("plugins", "check", "nowhere").code == 2
    assert modules() == set()


def test_new_writes_a_package_and_refuses_a_commands_name(hermes, tmp_path):
    ran = hermes("plugins", "new", "deep-sea", "--path", str(tmp_path / "here"), "--json")
    assert ran.data["package"] == "hermes_memory_deep_sea"
    assert all((tmp_path / "here" / path).is_file() for path in ran.data["files"])
    assert hermes("plugins", "new", "config", "--path", str(tmp_path / "there")).code == 2
    assert not (tmp_path / "there").exists()
    assert hermes("plugins", "new", "deep-sea", "--path", str(tmp_path / "here")).code == 2


@pytest.mark.parametrize(
    "arguments", [["update"], ["remove", "sea"], ["install", "-x"], ["install", "files"]]
)
def test_what_cannot_work_as_typed_says_what_to_type(hermes, arguments):
    ran = hermes("plugins", *arguments, "--no-input")
    assert ran.code in (1, 2)
    assert "→" in ran.err or "Usage" in ran.err


@pytest.mark.process
@pytest.mark.timeout(60)
def test_a_life_of_a_plugin_at_the_command_line(sandbox, home):
    """Shown, refused without a yes, installed, not active (C07), removed with its profile asked about."""
    sandbox.plugin("sea")
    code, out, err = sandbox.hermes("plugins", "install", "acme-sea", "--with", "pip", "--dry-run")
    assert code == 0
    assert "+ acme-sea 1.0   sha256:" in err
    assert "pip" in err
    assert "Nothing was changed" in out
    code, _, err = sandbox.hermes("plugins", "install", "acme-sea", "--with", "pip", "--json")
    assert code == 2
    assert sandbox.hermes("plugins", "install", "acme-sea", "--with", "pip", stdin="n\n")[0] == 1
    assert sandbox.data("plugins", "list") == []
    data = sandbox.data("plugins", "install", "acme-sea", "--with", "pip", "--yes")
    assert [one["name"] for one in data["providers"]] == ["sea"]
    assert data["pins"][0].startswith("acme-sea==1.0 --hash=sha256:")
    assert sandbox.data("plugins", "list")[0]["state"] == "installed"
    assert "installed already" in sandbox.hermes("plugins", "install", "acme-sea")[1]
    sandbox.commands(
        ["memory", "use", "sea"],
        ["profile", "create", "work"],
        ["-p", "work", "memory", "use", "sea"],
    )
    (home / "providers" / "sea").mkdir(parents=True)
    (home / "providers" / "sea" / "kept.db").write_text("precious")
    data = sandbox.data("plugins", "remove", "sea", "--yes", "--with", "pip")
    assert data["active_in"] == ["default", "work"]
    assert data["switched_off"] == [], "a yes to the removal is no yes to the profiles"
    assert (home / "providers" / "sea" / "kept.db").read_text() == "precious"
    assert sandbox.data("plugins", "list")[0]["state"] == "not installed"


@pytest.mark.process
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("answers", "left"), [("y\ny\n", ""), ("y\nn\n", "sea"), ("n\n", "sea")])
def test_removing_the_active_one_asks_about_the_profile(sandbox, answers, left):
    sandbox.put_info("acme-sea", "1.0", providers={"sea": "x:Y"})
    sandbox.hermes("memory", "use", "sea")
    code, _, err = sandbox.hermes("plugins", "remove", "sea", "--with", "pip", stdin=answers)
    assert "active provider of the profile `default`" in err
    gone, used = sandbox.commands(["plugins", "list"], ["config", "get", "memory.provider"])
    assert used["value"] == left
    assert code == (1 if answers == "n\n" else 0)
    if answers == "n\n":
        assert gone[0]["state"] == "active"
    elif left:
        assert gone[0]["state"] == "not installed"
        assert "hermes_memory_core -p default memory off" in err
    else:
        assert gone == []
