"""What each setting is, in a person's words: rows for ``hermes config show|explain``, and the JSON Schema.

Nothing is decided here; secrets are shown as set or not set, never as themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_memory_core.config.defaults import DEFAULTS, OPEN, SETTINGS, is_section, lookup
from hermes_memory_core.config.layers import suggest
from hermes_memory_core.config.load import LoadedConfig, is_secret_key
from hermes_memory_core.config.secrets import Secrets
from hermes_memory_core.errors import ConfigError

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Row:
    """One setting as it is in effect."""

    key: str
    value: Any
    default: Any
    source: str
    """``default``, the file's path, ``environment variable …`` or ``override``."""
    description: str
    kind: str = ""
    """What it may be: ``true or false``, ``whole number, at least 1``, ``off | on`` …"""


def rows(loaded: LoadedConfig, key: str | None = None) -> list[Row]:
    """All settings, those of one section, or one setting.

    Raises:
        ConfigError: There is no such key.
    """
    if (
        key
        and not is_section(key)
        and key not in SETTINGS
        and loaded.get(key, _MISSING) is _MISSING
    ):
        near = suggest(key)
        raise ConfigError(
            f"There is no setting `{key}`{f'; did you mean `{near}`?' if near else '.'}",
            hint="`hermes config explain` lists all settings",
        )
    described = _descriptions()
    chosen = []
    for name in SETTINGS:
        for dotted, value in _leaves(name, loaded.get(name)):
            if key is None or dotted == key or dotted.startswith(f"{key}."):
                default = lookup(DEFAULTS, dotted)
                text, kind = described.get(dotted) or (described[name][0], "")
                chosen.append(
                    Row(dotted, mask(dotted, value), default, loaded.source(dotted), text, kind)
                )
    return chosen


def secret_rows(secrets: Secrets, names: Mapping[str, str] | None = None) -> list[Row]:
    """The secrets of ``.env``, and those in ``names`` (name to description) that are not set."""
    described = dict(names or {})
    listed = list(dict.fromkeys([*described, *secrets.names()]))
    return [
        Row(
            name,
            secrets.masked(name),
            None,
            secrets.source(name) or "",
            described.get(name, ""),
            "secret",
        )
        for name in listed
    ]


def mask(dotted: str, value: Any) -> Any:
    """The value as it may be shown: secrets by name become ``set`` or ``not set``, also inside."""
    if is_secret_key(dotted):
        return "set" if value else "not set"
    if isinstance(value, Mapping):
        return {key: mask(f"{dotted}.{key}", child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask(dotted, child) for child in value]
    return value


def json_schema() -> dict[str, Any]:
    """JSON Schema of ``config.yaml``, with defaults; keys of other programs stay allowed where they may be."""
    from hermes_memory_core.config.defaults import STRICT
    from hermes_memory_core.config.models import Settings

    schema = Settings.model_json_schema()
    definitions = schema["$defs"]
    waiting: list[tuple[str, dict[str, Any]]] = [("", schema)]
    while waiting:
        prefix, node = waiting.pop()
        node.pop("required", None)  # every setting has a default
        node["additionalProperties"] = prefix.rstrip(".") not in STRICT
        for name, child in node["properties"].items():
            dotted = f"{prefix}{name}"
            if "$ref" in child:
                waiting.append((f"{dotted}.", definitions[child["$ref"].rpartition("/")[2]]))
            else:
                child["default"] = lookup(DEFAULTS, dotted)
    return {"$schema": SCHEMA_ID, **schema}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A setting itself; of an open mapping each key that is there, or the empty mapping."""
    if name in OPEN and isinstance(value, Mapping) and value:
        for key, child in value.items():
            if isinstance(child, Mapping) and child and name in ("providers", "auxiliary"):
                yield from ((f"{name}.{key}.{inner}", deeper) for inner, deeper in child.items())
            else:
                yield f"{name}.{key}", child
    else:
        yield name, value


_MISSING = object()


def _descriptions() -> dict[str, tuple[str, str]]:
    """Dotted key to (description, kind)."""
    from hermes_memory_core.config.models import TASKS

    schema = json_schema()
    found: dict[str, tuple[str, str]] = {}

    def walk(node: Mapping[str, Any], prefix: str) -> None:
        for name, child in node["properties"].items():
            if "$ref" in child:
                walk(schema["$defs"][child["$ref"].rpartition("/")[2]], f"{prefix}{name}.")
            else:
                found[f"{prefix}{name}"] = (child.get("description", ""), _kind(child))

    walk(schema, "")
    for task, model in TASKS.items():
        walk(model.model_json_schema(), f"auxiliary.{task}.")
    return found


def _kind(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return " | ".join(node["enum"])
    if "anyOf" in node:
        return " or ".join(_kind(choice) for choice in node["anyOf"])
    words = {
        "boolean": "true or false",
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "array": "list of texts",
        "object": "mapping",
        "null": "empty",
    }
    kind = words[node["type"]]
    if "minimum" in node:
        kind += f", at least {node['minimum']}"
    if "exclusiveMinimum" in node:
        kind += f", above {node['exclusiveMinimum']:g}"
    return kind
