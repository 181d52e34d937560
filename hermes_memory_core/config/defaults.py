"""Every setting's default, once, as plain data, and which sections belong to whom.

Types, bounds and descriptions stand in ``models.py``. They are apart because most commands only need these
values, and importing pydantic costs more than such a command's whole work. Every key here has a field there
and the other way round (tests/config/test_models.py holds them together).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

DEFAULTS: Mapping[str, Any] = {
    "memory": {
        "memory_enabled": True,
        "user_profile_enabled": True,
        "history_enabled": True,
        "history_recall": "off",
        "write_approval": False,
        "memory_char_limit": 2200,
        "user_char_limit": 1375,
        "provider": "",
        "isolation": "profile",
        "prefetch_spill_enabled": False,
        "snapshot_ttl_s": 3600,
        "nudge_interval": 10,
        "deadlines": {
            "prefetch_s": 2.0,
            "first_prefetch_s": 5.0,
            "system_block_s": 2.0,
            "tools_s": 2.0,
            "call_tool_s": 60.0,
            "before_compression_s": 5.0,
            "health_s": 10.0,
            "delivery_s": 30.0,
            "close_s": 5.0,
        },
        "breaker": {"failures": 5, "open_s": 60.0, "max_open_s": 900.0},
        "outbox": {"max_items": 100_000, "max_age_days": 30.0, "max_bytes": 512 * 1024 * 1024},
        "identity": {"links": {}},
    },
    "hooks": {
        "output_spill": {
            "enabled": True,
            "max_chars": 10_000,
            "preview_head": 500,
            "preview_tail": 500,
            "directory": None,
        }
    },
    "sessions": {
        "auto_prune": False,
        "retention_days": 90,
        "vacuum_after_prune": True,
        "min_interval_hours": 24,
    },
    "skills": {"write_approval": False},
    "security": {
        "redact_secrets": True,
        "redact_storage": True,
        "redact_patterns": [],
        "allow_environment_secrets": False,
    },
    "display": {"memory_notifications": "on", "platforms": {}},
    "auxiliary": {"title_generation": {"enabled": True, "timeout": 30.0, "language": ""}},
    "plugins": {"disabled": [], "catalog": ""},
    "providers": {},
}

OPEN = frozenset({"providers", "auxiliary", "display.platforms", "memory.identity.links"})
"""Mappings whose keys the person chooses; nobody's typo can be told here."""

STRICT = frozenset({"memory.deadlines", "memory.breaker", "memory.outbox", "memory.identity"})
"""Sections only Hermes Memory owns: an unknown key in them is an error. All others may hold Hermes Agent's keys."""

AGENT_KEYS = frozenset({"session", "hooks_auto_accept", "plugins.enabled", "plugins.entries"})
"""Hermes Agent's own names that look like a misspelling of one of ours and are none."""


KNOWN_TASKS = ("title_generation",)
"""Tasks below the open mapping ``auxiliary`` of which some settings are ours; the rest is kept as written."""


def default_values() -> dict[str, Any]:
    """A fresh copy of all defaults, safe to change."""
    return copy.deepcopy(dict(DEFAULTS))


def is_section(dotted: str) -> bool:
    """Whether the key names a group of settings rather than one setting."""
    return dotted not in OPEN and isinstance(lookup(DEFAULTS, dotted), Mapping)


def is_setting(dotted: str) -> bool:
    """Whether the key can hold a value: one of ours, or anything below an open mapping."""
    if any(dotted.startswith(f"{name}.") for name in OPEN):
        return True
    return dotted in OPEN or dotted in SETTINGS


def lookup(tree: Mapping[str, Any], dotted: str, default: Any = None) -> Any:
    """The value at ``a.b.c``, or ``default`` where the path ends early."""
    node: Any = tree
    for part in dotted.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return default
        node = node[part]
    return node


def assign(tree: dict[str, Any], dotted: str, value: Any) -> None:
    """Set the value at ``a.b.c``, making the mappings on the way."""
    *parents, last = dotted.split(".")
    node = tree
    for part in parents:
        child = node.get(part)
        if not isinstance(child, dict):
            child = node[part] = {}
        node = child
    node[last] = value


def fill_tasks(tree: dict[str, Any]) -> None:
    """Put our settings of auxiliary tasks in where a file that names only others left them out."""
    for task in KNOWN_TASKS:
        own, defaults = tree["auxiliary"].get(task), DEFAULTS["auxiliary"][task]
        if own is None or isinstance(own, Mapping):
            given = {key: value for key, value in (own or {}).items() if value is not None}
            tree["auxiliary"][task] = {**(own or {}), **defaults, **given}


def _settings(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, Mapping) and dotted not in OPEN:
            yield from _settings(value, f"{dotted}.")
        else:
            yield dotted, value


SETTINGS: Mapping[str, Any] = dict(_settings(DEFAULTS))
"""Dotted key to default, for every single setting, in the order of the sections."""
