"""What is shown of the settings: all of them, with their source, and no secret."""

from __future__ import annotations

import json

import pytest

from hermes_memory_core.config import Secrets, load_settings
from hermes_memory_core.config.defaults import SETTINGS
from hermes_memory_core.config.explain import mask, rows, secret_rows
from hermes_memory_core.errors import ConfigError


def load(tmp_path, text=""):
    (tmp_path / "config.yaml").write_text(text)
    return load_settings(tmp_path, environ={"HERMES_MEMORY_MEMORY__NUDGE_INTERVAL": "3"})


def test_every_setting_has_a_row_with_its_source(tmp_path):
    found = {row.key: row for row in rows(load(tmp_path, "memory: {provider: honcho}\n"))}
    assert set(SETTINGS) - {"auxiliary"} <= set(found)
    assert {f"auxiliary.title_generation.{key}" for key in ("enabled", "timeout", "language")} <= (
        set(found)
    )
    assert found["memory.provider"].value == "honcho"
    assert found["memory.provider"].default == ""
    assert found["memory.provider"].source == str(tmp_path / "config.yaml")
    assert found["memory.nudge_interval"].source.startswith("environment variable")
    assert found["memory.isolation"].kind == "profile | user | chat"
    assert found["memory.memory_char_limit"].kind == "whole number, at least 1"
    assert found["memory.deadlines.prefetch_s"].kind == "number, above 0"
    assert all(row.description for row in found.values())


def test_a_section_or_one_key_can_be_asked_for(tmp_path):
    loaded = load(tmp_path)
    assert {row.key for row in rows(loaded, "memory.breaker")} == {
        "memory.breaker.failures",
        "memory.breaker.open_s",
        "memory.breaker.max_open_s",
    }
    assert [row.key for row in rows(loaded, "memory.provider")] == ["memory.provider"]
    with pytest.raises(ConfigError, match=r"did you mean `memory\.provider`"):
        rows(loaded, "memory.provder")


def test_secrets_written_into_the_config_are_not_shown(tmp_path):
    loaded = load(
        tmp_path,
        "auxiliary: {title_generation: {api_key: hunter2, model: m}}\n"
        "providers: {x: {token: hunter2, deep: {list: [{password: hunter2}]}}, flat: 1}\n",
    )
    shown = json.dumps([[row.key, row.value] for row in rows(loaded)])
    assert "hunter2" not in shown
    assert mask("a.api_key", "") == "not set"
    assert mask("a.max_tokens", 5) == 5
    found = {row.key: row.value for row in rows(loaded)}
    assert found["auxiliary.title_generation.model"] == "m"
    assert found["providers.x.token"] == "set"
    assert [row.key for row in rows(loaded, "providers.x.token")] == ["providers.x.token"]


def test_secret_rows_say_set_or_not_set(tmp_path):
    (tmp_path / ".env").write_text("HONCHO_API_KEY=abc\nOTHER=x\n")
    found = secret_rows(
        Secrets.load(tmp_path), {"HONCHO_API_KEY": "Its key.", "MEM0_API_KEY": "Its key."}
    )
    assert [(row.key, row.value) for row in found] == [
        ("HONCHO_API_KEY", "set"),
        ("MEM0_API_KEY", "not set"),
        ("OTHER", "set"),
    ]
