"""What the commands below ``hermes plugins`` share: a profile's choice of plugins, read so that nothing stops it.

Settings are read without being validated: a mistake elsewhere in config.yaml must not keep a person from listing
or removing a plugin, and validating costs more than the whole list.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.plugins.catalog import Catalog, load
from hermes_memory_core.plugins.listing import Entry, Failure, entries


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a profile says about plugins."""

    active: str = ""
    disabled: tuple[str, ...] = ()
    catalog: str = ""
    problem: HermesMemoryError | None = None
    """Why the settings could not be read; the rest is then at its defaults."""
    failed: Mapping[str, Failure] = field(default_factory=dict)


def chosen(state: State) -> Chosen:
    """The profile's active provider, disabled plugins, catalog, and what it last saw fail."""
    from hermes_memory_core.config.layers import sort_environment, sort_mapping
    from hermes_memory_core.config.yamlfile import FILE_NAME, parse_mapping, read_config

    try:
        directory = state.profile_dir()
        path = directory / FILE_NAME
        file = read_config(path)
        values: dict[str, Any] = {}
        if file is not None:
            values.update(sort_mapping(parse_mapping(file.text, path), str(path)).values)
        values.update(sort_environment(os.environ).values)
    except HermesMemoryError as error:
        return Chosen(problem=error)
    return Chosen(
        _provider(values.get("memory.provider")),
        tuple(_names(values.get("plugins.disabled"))),
        str(values.get("plugins.catalog") or ""),
        failed=_failures(directory / "runtime.db"),
    )


def listed(state: State, **more: Any) -> tuple[list[Entry], Chosen]:
    """All plugins as this profile sees them; problems of the profile are said, not raised."""
    found = chosen(state)
    if found.problem is not None:
        state.say(f"! Nothing of this profile is known: {found.problem.message}")
        state.hint(found.problem.hint)
    rows = entries(active=found.active, disabled=found.disabled, failed=found.failed, **more)
    return rows, found


def catalog_of(state: State) -> Catalog:
    """The catalog this profile uses; a warning when it is not the one that was wished for."""
    catalog = load(chosen(state).catalog)
    if catalog.warning:
        state.say(f"! {catalog.warning}")
    return catalog


def profiles_using(state: State, names: tuple[str, ...]) -> list[tuple[str, Path, str]]:
    """(profile, its directory, provider) of all profiles whose active provider is one of ``names``."""
    from hermes_memory_core.profiles import list_profiles
    from hermes_memory_core.profiles.resolve import split_home

    root = split_home(state.root())[0]
    found = []
    for profile in list_profiles(root):
        one = State(state.naming.program)
        one.home, one.profile = str(root), profile.name
        active = chosen(one).active
        if active in names:
            found.append((profile.name, profile.path, active))
    return found


def _provider(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return "" if text.lower() in ("", "off", "none") else text


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        value = value.split(",")
    return [str(name).strip() for name in value] if isinstance(value, list) else []


def _failures(path: Path) -> dict[str, Failure]:
    """What runtime.db says of providers that did not load; {} where it says nothing."""
    if not path.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.5)) as db:
            rows = db.execute(
                "SELECT name, version, why, hint FROM providers WHERE state='failed'"
            ).fetchall()
    except (
        sqlite3.Error
    ):  # `status` and `doctor` report a damaged runtime.db; the list stays a list
        return {}
    return {name: Failure(version, why, hint) for name, version, why, hint in rows}
