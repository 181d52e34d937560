"""Defaults and models are two halves of one thing; these tests hold them together."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from pydantic import BaseModel

from hermes_memory_core.config import explain
from hermes_memory_core.config.defaults import DEFAULTS, OPEN, SETTINGS, STRICT, lookup
from hermes_memory_core.config.models import Settings


def fields(model: type[BaseModel], prefix: str = ""):
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from fields(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def test_every_default_is_valid_and_unchanged_by_validation():
    plain = Settings.model_validate(DEFAULTS).model_dump(mode="python")
    assert plain == DEFAULTS
    for key, default in SETTINGS.items():
        assert type(lookup(plain, key)) is type(default), key


def test_models_and_defaults_name_the_same_keys():
    assert [key for key, _ in fields(Settings)] == list(SETTINGS)


def test_every_setting_is_described():
    for key, field in fields(Settings):
        assert field.description, key
        assert field.description.endswith("."), key


def test_open_and_strict_name_real_sections():
    for key in OPEN | STRICT:
        assert isinstance(lookup(DEFAULTS, key), dict), key


def test_values_with_a_unit_say_it_in_their_name():
    for key in SETTINGS:
        if key.startswith("memory.deadlines."):
            assert key.endswith("_s")


def test_settings_cannot_be_changed_after_loading():
    settings = Settings.model_validate(DEFAULTS)
    with pytest.raises(ValueError, match="frozen"):
        settings.memory.provider = "honcho"  # type: ignore[misc]


def test_json_schema_knows_every_default_and_bound():
    schema = explain.json_schema()
    memory = schema["$defs"]["MemorySection"]["properties"]
    assert memory["memory_char_limit"]["default"] == 2200
    assert memory["memory_char_limit"]["minimum"] == 1
    assert "required" not in schema["$defs"]["MemorySection"]
    assert schema["$defs"]["Deadlines"]["additionalProperties"] is False
    assert schema["$defs"]["MemorySection"]["additionalProperties"] is True


def test_loading_defaults_imports_nothing_heavy(tmp_path):
    (tmp_path / "config.yaml").write_text("memory: {memory_char_limit: 2200}\n")
    code = (
        "import sys, pathlib; from hermes_memory_core.config import load_settings;"
        "load_settings(pathlib.Path('nowhere'), environ={});"
        "assert 'ruamel.yaml' not in sys.modules;"
        "load_settings(pathlib.Path(sys.argv[1]), environ={});"
        "assert 'pydantic' not in sys.modules and 'filelock' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=4)


def test_keys_are_snake_case():
    for key in SETTINGS:
        assert re.fullmatch(r"[a-z0-9_.]+", key)
