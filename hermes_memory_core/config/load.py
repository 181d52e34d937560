"""Loading the settings of one profile: defaults < config.yaml < environment < the caller's overrides.

Every profile is a complete home (spec/builtin.md section 9), so nothing is inherited from the root home or another
profile. The environment is read here once and never again. Nothing is written. pydantic is imported only when a
value differs from its default, or when ``LoadedConfig.settings`` is asked for.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.config.defaults import (
    KNOWN_TASKS,
    OPEN,
    SETTINGS,
    assign,
    default_values,
    fill_tasks,
    lookup,
)
from hermes_memory_core.config.layers import (
    ENVIRONMENT,
    Layer,
    Problem,
    sort_environment,
    sort_mapping,
    suggest,
)
from hermes_memory_core.config.yamlfile import FILE_NAME, parse_mapping, read_config
from hermes_memory_core.errors import ConfigError
from hermes_memory_core.types import Notice

if TYPE_CHECKING:
    from hermes_memory_core.config.models import Settings

SECRET_WORDS = (
    *("api_key", "apikey", "token", "secret", "password", "passphrase", "private_key"),
    "authorization",
)
"""A key with one of these at its end (or alone) holds a secret and belongs into ``.env``."""


@dataclass(frozen=True)
class LoadedConfig:
    """The settings of one profile, and where each of them comes from."""

    profile_dir: Path
    path: Path
    """The profile's ``config.yaml``, whether it exists or not."""
    plain: Mapping[str, Any]
    """All settings as nested plain data, validated: what ``ProviderContext.settings`` is."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """``config.yaml`` as written, other programs' keys included."""
    warnings: tuple[Notice, ...] = ()
    ignored: tuple[str, ...] = ()
    """Keys of the file that are not ours: kept, not used."""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def settings(self) -> Settings:
        """The same as a typed, frozen model. Imports pydantic; use ``plain`` where start-up time counts."""
        from hermes_memory_core.config.models import Settings

        return Settings.model_validate(self.plain)

    def get(self, dotted: str, default: Any = None) -> Any:
        """The effective value at ``section.key``, or ``default`` when there is no such key."""
        return lookup(self.plain, dotted, default)

    def source(self, dotted: str) -> str:
        """Who decided a value: ``default``, the file's path, ``environment variable …`` or ``override``."""
        if dotted in self.sources:
            return self.sources[dotted]
        missing = object()
        for name in OPEN:
            if dotted.startswith(f"{name}.") and self.get(dotted, missing) is not missing:
                return self.sources.get(name, "default")
        return "default"

    def provider_config(self, name: str) -> dict[str, Any]:
        """A copy of ``providers.NAME`` as written; {} when the provider has no settings.

        Raises:
            ConfigError: It is there and is not a mapping.
        """
        providers = self.plain["providers"]
        value = providers.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise config_error(
                [Problem(f"providers.{name}", "must be a mapping", self.source("providers"))],
                self.path,
            )
        return copy.deepcopy(dict(value))

    def notifications(self, platform: str | None = None) -> str:
        """``off``, ``on`` or ``verbose`` for a platform, which may have its own answer."""
        own = self.get("display.platforms").get(platform) if platform else None
        if isinstance(own, Mapping) and own.get("memory_notifications") is not None:
            return str(own["memory_notifications"])
        return str(self.get("display.memory_notifications"))


def load_settings(
    profile_dir: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Load and validate the settings of the profile in ``profile_dir``.

    Args:
        profile_dir: The profile's directory; need not exist yet.
        overrides: Settings that win over all others, nested or with dotted keys.
        environ: Where ``HERMES_MEMORY_<SECTION>__<KEY>`` is read; None for the process environment.

    Raises:
        ConfigError: ``config.yaml`` cannot be understood, or a value cannot be used; all mistakes at once.
        StoreUnreadableError: ``config.yaml`` is there and cannot be read. Never the same as no settings.
    """
    path = profile_dir / FILE_NAME
    file = read_config(path)
    raw = parse_mapping(file.text, path) if file else {}
    layers = [
        sort_mapping(raw, str(path)),
        sort_environment(os.environ if environ is None else environ),
    ]
    if overrides:
        layers.append(sort_mapping(overrides, "override", closed=True))
    plain, problems = combine(layers)
    if problems:
        raise config_error(problems, path)
    return LoadedConfig(
        profile_dir,
        path,
        plain,
        raw,
        tuple(notice for layer in layers for notice in layer.warnings),
        tuple(key for layer in layers for key in layer.ignored),
        _sources(layers),
    )


def check_mapping(raw: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """The settings a file's data gives, and all its mistakes, without raising: for checks before a write."""
    return combine([sort_mapping(raw, str(path))])


def combine(layers: Sequence[Layer]) -> tuple[dict[str, Any], list[Problem]]:
    """Lay the layers over the defaults and validate; (settings as plain data, mistakes)."""
    plain = default_values()
    sources = _sources(layers)
    for layer in layers:
        for dotted, value in layer.values.items():
            assign(plain, dotted, copy.deepcopy(value))
    fill_tasks(plain)
    problems = [problem for layer in layers for problem in layer.problems]
    if any(
        _needs_validation(key, value) for layer in layers for key, value in layer.values.items()
    ):
        from hermes_memory_core.config.validate import validated

        plain, wrong = validated(plain, sources)
        problems += wrong
    return plain, problems


def is_secret_key(dotted: str) -> bool:
    """Whether a key's name says that its value is a secret."""
    last = dotted.rpartition(".")[2].lower().replace("-", "_")
    return any(last == name or last.endswith(f"_{name}") for name in SECRET_WORDS)


def config_error(problems: Sequence[Problem], path: Path) -> ConfigError:
    """One error for all mistakes, each with its key, the reason and where it stands."""
    lines = [
        f"`{problem.key}` {problem.message}" + (f" (in {problem.source})" if problem.source else "")
        for problem in problems
    ]
    return ConfigError(
        "; ".join(lines) + ". Nothing was changed, and no setting was guessed.",
        hint=_way_out(problems[0]),
        details={
            "path": str(path),
            "problems": [
                {"key": p.key, "message": p.message, "source": p.source} for p in problems
            ],
        },
    )


def _way_out(problem: Problem) -> str:
    key = problem.key
    if problem.source.startswith(ENVIRONMENT):
        return f"change or unset the {problem.source}"
    if key == "memory.provider":
        return "`hermes memory use NAME` makes one provider the active one"
    known = key if lookup(default_values(), key) is not None else suggest(key)
    change = f"`hermes config set {key} VALUE`" if key in SETTINGS else "`hermes config edit`"
    explain = f"`hermes config explain{f' {known}' if known else ''}`"
    return f"change it with {change}; {explain} says what it may be"


def _needs_validation(dotted: str, value: Any) -> bool:
    """Whether a value may be wrong: a default given again is known to be right, open mappings are others' business."""
    if dotted == "auxiliary":
        return any(task in value for task in KNOWN_TASKS)
    if dotted == "providers" or dotted.startswith("providers."):
        return False
    if dotted.startswith("auxiliary."):
        return dotted.split(".")[1] in KNOWN_TASKS
    if dotted == "display.platforms":  # Hermes Agent fills it with settings of its own
        return any(
            "memory_notifications" in own for own in value.values() if isinstance(own, Mapping)
        )
    default = SETTINGS.get(dotted)
    return type(value) is not type(default) or value != default


def _sources(layers: Sequence[Layer]) -> dict[str, str]:
    return {
        dotted: layer.sources.get(dotted, layer.source)
        for layer in layers
        for dotted in layer.values
    }
