"""``memory setup``: what is asked, where it is kept, and that nothing is active that does not answer."""

from __future__ import annotations

import pytest
from helpers.distributions import site  # noqa: F401

PROVIDER = """
from typing import Literal
from pydantic import BaseModel, Field, SecretStr
from hermes_memory_core import hookimpl
from hermes_memory_core.types import Health
class Provider:
    class Config(BaseModel):
        api_key: SecretStr = Field(description="The service's key")
        base_url: str = Field("http://localhost:1", description="Where it runs")
        mode: Literal["fast", "deep"] = "fast"
        depth: int = Field(1, ge=1, le=3)
        shared: bool = False
    def __init__(self, context):
        self.context = context
    @hookimpl
    def health(self):
        good = self.context.config.api_key.get_secret_value() == "right-key-123456"
        return Health(good, "it said hello" if good else "the key was refused", "" if good else "hermes memory setup sea")
"""


@pytest.fixture
def sea(site):  # noqa: F811
    site.add("sea", PROVIDER)


def test_settings_and_secrets_go_where_they_belong_and_it_is_active(hermes, sea, home):
    ran = hermes(
        "memory",
        "setup",
        "sea",
        "--set",
        "api_key=right-key-123456",
        "--set",
        "depth=2",
        "--set",
        "shared=on",
        "--json",
    )
    assert ran.code == 0, ran.err + ran.out
    assert ran.data["health"] == {"ok": True, "message": "it said hello"}
    env = home / ".env"
    assert "SEA_API_KEY" in env.read_text()
    assert env.stat().st_mode & 0o777 == 0o600
    config = (home / "config.yaml").read_text()
    assert "right-key" not in config
    assert "right-key" not in ran.out + ran.err
    assert hermes("config", "get", "memory.provider").out.strip() == "sea"
    assert "depth: 2" in config


def test_c06_what_does_not_answer_is_kept_but_not_active(hermes, sea, home):
    hermes("config", "set", "memory.provider", "")
    ran = hermes("memory", "setup", "sea", "--set", "api_key=wrong-key-123456")
    assert ran.code == 4
    assert "the key was refused" in ran.err
    assert "not changed" in ran.err
    assert "SEA_API_KEY" in (home / ".env").read_text(), "what was entered is kept"
    assert hermes("config", "get", "memory.provider").out.strip() in ("", '""')


def test_c08_a_second_setup_keeps_what_is_not_said_again(hermes, sea, home):
    hermes("memory", "setup", "sea", "--set", "api_key=right-key-123456", "--set", "mode=deep")
    ran = hermes("memory", "setup", "sea", "--set", "depth=3")
    assert ran.code == 0, ran.err
    config = (home / "config.yaml").read_text()
    assert "mode: deep" in config
    assert "depth: 3" in config


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("depth=9", "depth"),
        ("mode=slow", "fast"),
        ("nope=1", "nope"),
        ("depth", "lacks"),
        ("shared=perhaps", "shared"),
    ],
)
def test_a_wrong_answer_changes_nothing(hermes, sea, home, answer, word):
    ran = hermes("memory", "setup", "sea", "--set", "api_key=right-key-123456", "--set", answer)
    assert ran.code in (2, 3)
    assert word in ran.err
    assert not (home / "config.yaml").exists()
    assert not (home / ".env").exists()


def test_what_is_needed_and_missing_is_named(hermes, sea):
    ran = hermes("memory", "setup", "sea")
    assert ran.code == 3
    assert "api_key" in ran.err


def test_prompts_ask_again_after_a_wrong_answer_and_hide_the_key(hermes, sea, home, monkeypatch):
    from hermes_memory_core.cli.state import State

    monkeypatch.setattr(State, "interactive", property(lambda self: True))
    answers = iter(["right-key-123456", "", "slow", "deep", "2", ""])
    hidden = []

    def prompt(key, **options):
        hidden.append((key, options["hide_input"]))
        return next(answers)

    monkeypatch.setattr("click.prompt", prompt)
    ran = hermes("memory", "setup", "sea")
    assert ran.code == 0, ran.err
    assert ("api_key", True) in hidden
    assert [key for key, _ in hidden].count("mode") == 2
    assert "mode: deep" in (home / "config.yaml").read_text()


def test_nothing_installed(hermes):
    ran = hermes("memory", "setup")
    assert ran.code == 2
    ran = hermes("memory", "setup", "honcho")
    assert "plugins install honcho" in ran.err
