"""`hermes honcho …` as a person types it: against the stub, in this process."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass

import pytest


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)["data"]

    @property
    def error(self):
        return json.loads(self.out)["error"]


@pytest.fixture
def hermes(capsys, monkeypatch, stub, own_home):
    own_home.mkdir()
    settings = {"providers": {"honcho": {"base_url": stub.url}}}
    (own_home / "config.yaml").write_text(json.dumps(settings))

    def run(*arguments, stdin=""):
        from hermes_memory_core.cli.run import run as run_it

        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run_it(list(arguments), "hermes")
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def made_nothing(stub):
    return stub.state.workspaces == {}


def test_status_looks_for_real_and_makes_nothing(hermes, stub):
    ran = hermes("honcho", "status", "--json")
    assert ran.code == 0
    assert ran.data["server"]["ok"]
    assert ran.data["settings"]["url"] == stub.url
    assert ran.data["settings"]["origins"]["base_url"] == "config.yaml or .env"
    assert stub.asked
    assert made_nothing(stub)
    assert hermes("honcho").out.splitlines()[0].startswith("enabled")


def test_status_of_a_server_that_is_down_fails(hermes, stub):
    stub.stop()
    ran = hermes("honcho", "status")
    assert ran.code == 4
    assert "NOT OK" in ran.out
    assert hermes("honcho", "status", "--json").error["details"]["server"]["ok"] is False


def test_status_of_a_refused_key_fails_and_hides_it(hermes, stub, own_home):
    stub.state.keys = {"right": "*"}
    (own_home / ".env").write_text("HONCHO_API_KEY=hch-v3-wrong-secret-key\n")
    ran = hermes("honcho", "status")
    assert ran.code == 4
    assert "refuses the key" in ran.out + ran.err
    assert "wrong-secret" not in ran.out + ran.err


def test_status_shows_what_is_known(hermes, stub, rig):
    from rig import session

    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "I like tea.", "Tea it is."))
    stub.state.workspaces["hermes"].cards["hermes", "user"] = ["Name: Ada"]
    data = hermes("honcho", "status", "--json").data
    assert data["server"]["user_card"] == ["Name: Ada"]
    assert "Tea it is" in data["server"]["ai_representation"]
    assert data["server"]["accepted"] == 2


def test_a_workspace_key_is_enough(hermes, stub, own_home):
    stub.state.handle("POST", "/v3/workspaces", {}, b'{"id": "hermes"}')
    stub.state.keys = {"hch-workspace-key": "hermes"}
    (own_home / ".env").write_text("HONCHO_API_KEY=hch-workspace-key\n")
    assert hermes("honcho", "status").code == 0


@pytest.mark.parametrize(
    "command", ["status", "peers", "sessions", "map", "peer", "mode", "strategy", "tokens"]
)
def test_reading_commands_have_json_and_make_nothing(hermes, stub, command):
    ran = hermes("honcho", command, "--json")
    assert ran.code == 0
    assert isinstance(ran.data, dict)
    assert made_nothing(stub)


def test_peers_and_sessions(hermes, rig):
    from rig import session

    one = rig.provider()
    one.sync_turn(session(), rig.turn(session(), "hi"))
    assert {p["peer"]: p["role"] for p in hermes("honcho", "peers", "--json").data["peers"]} == {
        "user": "you",
        "hermes": "assistant",
    }
    (found,) = hermes("honcho", "sessions", "--json").data["sessions"]
    assert found["session"] == "s1"
    assert "s1" in hermes("honcho", "sessions").out


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (("mode", "context"), "recall_mode", "context"),
        (("strategy", "global"), "session_strategy", "global"),
        (("tokens", "--context", "500"), "context_tokens", 500),
        (("tokens", "--dialectic", "900"), "dialectic_max_chars", 900),
        (("peer", "--user", "ada"), "peer_name", "ada"),
        (("peer", "--ai", "iris"), "ai_peer", "iris"),
        (("peer", "--reasoning", "high"), "dialectic_reasoning_level", "high"),
        (("disable",), "enabled", False),
        (("enable",), "enabled", True),
    ],
)
def test_changing_commands_are_kept(hermes, stub, own_home, arguments, key, value):
    from hermes_memory_honcho.commands.common import make

    assert hermes("honcho", *arguments).code == 0
    assert getattr(make(own_home, "default").settings, key) == value
    assert stub.asked == []


def test_no_budget_again(hermes, own_home):
    hermes("honcho", "tokens", "--context", "500")
    assert hermes("honcho", "tokens", "--context", "0", "--json").data["context_tokens"] is None


def test_wrong_choices_end_with_two(hermes):
    for arguments in (("mode", "sometimes"), ("peer", "--reasoning", "deep"), ("dream",)):
        assert hermes("honcho", *arguments).code == 2


def test_a_disabled_profile_is_not_ok(hermes):
    hermes("honcho", "disable")
    assert hermes("honcho", "status").code == 4


def test_map(hermes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = hermes("honcho", "map", "my shop", "--json")
    assert ran.data["session"].startswith("my-shop-")
    assert "→" in hermes("honcho", "map").out
    assert hermes("honcho", "map", "--remove").code == 0
    assert hermes("honcho", "map", "--remove").code == 2


def test_setup_makes_a_round_trip_and_activates(hermes, stub, own_home):
    (own_home / "config.yaml").write_text("{}\n")
    ran = hermes("honcho", "setup", "--set", f"base_url={stub.url}")
    assert ran.code == 0, ran.err
    assert "honcho" in (own_home / "config.yaml").read_text()
    assert made_nothing(stub)
    stub.stop()
    assert hermes("memory", "setup", "honcho", "--set", f"base_url={stub.url}").code == 4


def test_identity_is_sent_once(hermes, stub, tmp_path):
    soul = tmp_path / "soul.md"
    soul.write_text("You are calm.")
    assert "sent" in hermes("honcho", "identity", str(soul)).out
    assert "before" in hermes("honcho", "identity", str(soul)).out
    (message,) = stub.messages("You are calm.")
    assert message["peer_id"] == "hermes"
    assert "You are calm" in hermes("honcho", "identity", "--show").out
    assert hermes("honcho", "identity").code == 2


def test_migrate_plans_uploads_and_takes_back(hermes, stub, own_home, tmp_path):
    (own_home / "memories").mkdir()
    (own_home / "memories" / "USER.md").write_text("Prefers tea.")
    other = tmp_path / "claw"
    other.mkdir()
    (other / "IDENTITY.md").write_text("I am Claw.")
    planned = hermes("honcho", "migrate", "--from", str(other), "--dry-run", "--json").data["files"]
    assert [(one["file"], one["target"]) for one in planned] == [
        ("USER.md", "user"),
        ("IDENTITY.md", "ai"),
    ]
    assert made_nothing(stub)
    assert hermes("honcho", "migrate", "--from", str(other), "--no-input").code == 2
    assert hermes("honcho", "migrate", "--from", str(other), "--yes").code == 0
    assert len(stub.messages()) == 2
    assert hermes("honcho", "migrate", "--undo", "--yes").code == 0
    assert stub.messages() == []


def test_sync_gives_profiles_their_settings(hermes, stub, own_home):
    from hermes_memory_honcho.commands.common import make

    assert hermes("profile", "create", "work").code == 0
    (own_home / ".env").write_text("HONCHO_API_KEY=hch-shared-key-1234\n")
    ran = hermes("honcho", "sync", "--yes", "--json")
    assert ran.data["profiles"] == ["work"]
    parts = make(own_home / "profiles" / "work", "work")
    assert (parts.resolved.ai_peer, parts.resolved.workspace) == ("work", "hermes")
    assert parts.resolved.key == "hch-shared-key-1234"
    assert hermes("honcho", "sync", "--yes", "--json").data["profiles"] == []
    table = hermes("honcho", "status", "--all", "--json").data["profiles"]
    assert {row["profile"] for row in table} == {"default", "work"}


def test_a_broken_honcho_json_is_told_by_name(hermes, own_home):
    (own_home / "honcho.json").write_text("{broken")
    ran = hermes("honcho", "status")
    assert ran.code == 3
    assert "honcho.json" in ran.err
