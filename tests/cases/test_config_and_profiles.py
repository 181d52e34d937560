"""Reported faults about settings, secrets and profiles, each by the id of its case."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hermes_memory_core.config import Secrets, load_settings
from hermes_memory_core.config.edit import set_value
from hermes_memory_core.config.explain import rows
from hermes_memory_core.config.secrets import set_secret
from hermes_memory_core.errors import ConfigError, ProfileError
from hermes_memory_core.profiles import (
    create_profile,
    delete_profile,
    profile_contents,
    resolve_home,
    resolve_profile,
    use_profile,
)

ALLOW = "security: {allow_environment_secrets: true}\n"


def secrets_of(profile, environ):
    allowed = load_settings(profile.path, environ={}).get("security.allow_environment_secrets")
    return Secrets.load(profile.path, allow_environment=allowed, environ=environ)


def test_e04_a_key_of_one_profile_never_reaches_another(tmp_path):
    first, second = create_profile(tmp_path, "first"), create_profile(tmp_path, "second")
    set_secret(first.path, "HONCHO_API_KEY", "key-of-first")
    environ = {"HONCHO_API_KEY": "key-of-first"}  # what a start of `first` may have left behind
    assert dict(secrets_of(first, environ).for_provider("honcho", ["api_key"])) == {
        "api_key": "key-of-first"
    }
    for key_in_default in (False, True):
        if key_in_default:
            set_secret(tmp_path, "HONCHO_API_KEY", "key-of-default")
        found = secrets_of(second, environ)
        assert dict(found.for_provider("honcho", ["api_key"])) == {}
        assert found.source("HONCHO_API_KEY") is None


def test_e04_the_environment_counts_only_where_a_profile_says_so(tmp_path):
    profile = create_profile(tmp_path, "open")
    (profile.path / "config.yaml").write_text(ALLOW)
    found = secrets_of(profile, {"HONCHO_API_KEY": "from-the-shell-0123"})
    assert found.source("HONCHO_API_KEY") == "environment"
    assert found.masked("HONCHO_API_KEY") == "set (…0123)"


def test_e04_loading_secrets_leaves_the_environment_as_it_was(tmp_path):
    set_secret(tmp_path, "HONCHO_API_KEY", "x")
    before = dict(os.environ)
    Secrets.load(tmp_path, allow_environment=True)
    assert dict(os.environ) == before


def test_e05_a_child_with_a_cleared_environment_finds_the_same_profile(tmp_path):
    home = tmp_path / "user" / ".hermes"
    create_profile(home, "work")
    use_profile(home, "work")
    code = (
        "from hermes_memory_core.profiles import resolve_home, resolve_profile;"
        "print(resolve_profile(resolve_home()).path)"
    )
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={"HOME": str(tmp_path / "user")},
        capture_output=True,
        text=True,
        check=True,
        timeout=4,
    )
    assert child.stdout.strip() == str(home / "profiles" / "work")


@pytest.mark.parametrize("marker", ["work", "w/../rk", "\x00"])
def test_e05_a_marker_that_leads_nowhere_is_never_the_default(tmp_path, marker):
    (tmp_path / "active_profile").write_text(marker)
    with pytest.raises(ProfileError) as caught:
        resolve_profile(resolve_home(tmp_path))
    assert "profile" in caught.value.hint
    assert [child.name for child in tmp_path.iterdir()] == ["active_profile"]


@pytest.mark.parametrize(
    "key", ["memory.memory_enabled", "security.redact_secrets", "sessions.auto_prune"]
)
@pytest.mark.parametrize("word", ["'false'", '"False"', "'no'", "'off'", "'0'"])
def test_g22_a_quoted_false_is_false(tmp_path, key, word):
    section, name = key.split(".")
    (tmp_path / "config.yaml").write_text(f"{section}: {{{name}: {word}}}\n")
    assert load_settings(tmp_path, environ={}).get(key) is False


def test_g22_an_unknown_key_is_told_with_a_suggestion(tmp_path):
    (tmp_path / "config.yaml").write_text("memory: {user_char_limt: 5, deadlines: {}}\n")
    (warning,) = load_settings(tmp_path, environ={}).warnings
    assert "memory.user_char_limt" in warning.message
    assert "memory.user_char_limit" in warning.message
    (tmp_path / "config.yaml").write_text("memory: {outbox: {max_item: 5}}\n")
    with pytest.raises(ConfigError, match=r"did you mean `memory\.outbox\.max_items`"):
        load_settings(tmp_path, environ={})


def test_j10_what_is_set_is_what_is_in_effect_and_says_who_set_it(tmp_path):
    for key, value in {
        "memory.deadlines.prefetch_s": "1.5",
        "memory.outbox.max_items": "7",
        "hooks.output_spill.preview_head": "9",
        "providers.honcho.model": "mine",
        "auxiliary.title_generation.model": "other",
    }.items():
        set_value(tmp_path, key, value)
        loaded = load_settings(tmp_path, environ={})
        assert str(loaded.get(key)) == value
        (row,) = rows(loaded, key)
        assert (str(row.value), row.source) == (value, str(tmp_path / "config.yaml"))


def test_j11_a_deletion_takes_exactly_what_was_listed(tmp_path):
    profile = create_profile(tmp_path, "work")
    for name in ("config.yaml", "history.db", "memories/MEMORY.md", "other.txt"):
        (profile.path / name).parent.mkdir(exist_ok=True)
        (profile.path / name).write_text("x")
    listed = profile_contents(tmp_path, "work")
    assert set(listed.ours) | set(listed.foreign) == {
        child.name for child in profile.path.iterdir()
    }
    assert (listed.files, listed.size_bytes) == (4, 4)
    delete_profile(tmp_path, "work", final=True)
    assert not profile.path.exists()
    assert list(create_profile(tmp_path, "work").path.iterdir()) == []


def test_c08_settings_and_secrets_of_a_setup_are_there_when_read_again(tmp_path):
    answers = {"workspace": "我的 工作区", "timeout_s": 12, "tags": ["a", "b: c"], "flag": False}
    for field, value in answers.items():
        set_value(tmp_path, f"providers.honcho.{field}", value)
    set_secret(tmp_path, "HONCHO_API_KEY", "k#1 '\"\\$x")
    assert load_settings(tmp_path, environ={}).provider_config("honcho") == answers
    assert dict(Secrets.load(tmp_path).for_provider("honcho", ["api_key"])) == {
        "api_key": "k#1 '\"\\$x"
    }
    assert "k#1" not in (tmp_path / "config.yaml").read_text()


def test_c11_each_part_has_its_own_switch_and_its_decider_is_known(tmp_path):
    set_value(tmp_path, "memory.memory_enabled", False)
    set_value(tmp_path, "memory.provider", "honcho")
    loaded = load_settings(tmp_path, environ={})
    assert loaded.get("memory.memory_enabled") is False
    assert loaded.get("memory.user_profile_enabled") is True
    assert loaded.get("memory.history_enabled") is True
    assert loaded.get("memory.provider") == "honcho"
    assert loaded.source("memory.memory_enabled") == str(tmp_path / "config.yaml")
    assert loaded.source("memory.history_enabled") == "default"
    (row,) = rows(loaded, "memory.memory_enabled")
    assert "external provider" in row.description
