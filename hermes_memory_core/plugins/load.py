"""From a found plugin to a live provider, phase by phase, each with its own guard.

Phases: version → import → config → construct → validate. Whatever happens in one, the outcome is a value:
a ``Loaded`` or a ``PluginStatus`` that names distribution, version, phase, error and the next command.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes_memory_core.errors import PluginVersionError
from hermes_memory_core.plugins.describe import describe, hint_of
from hermes_memory_core.plugins.discover import CORE_DISTRIBUTION, FoundPlugin
from hermes_memory_core.plugins.validate import validate
from hermes_memory_core.storage import forks
from hermes_memory_core.types import ProviderContext

logger = logging.getLogger(__name__)

Phase = Literal["version", "import", "config", "construct", "validate", "call"]

GUARDED = (Exception, SystemExit, GeneratorExit)
"""What a plugin may raise without taking the host along. Ctrl-C is not among them."""


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """Why a plugin is not running, for ``plugins list`` and ``memory status``."""

    name: str
    distribution: str
    version: str
    phase: Phase
    error: str
    hint: str

    def line(self) -> str:
        """One line for a person."""
        return (
            f"{self.name} ({self.distribution} {self.version}): {self.phase} failed: {self.error}"
        )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A live provider and what it implements."""

    name: str
    distribution: str
    version: str
    instance: Any
    hooks: frozenset[str]
    built_in: bool
    single_thread: bool


def load(
    plugin: FoundPlugin,
    make_context: Callable[[str, Any], ProviderContext],
    raw_config: Callable[[Any], Mapping[str, Any]],
    *,
    provider_class: Any = None,
) -> Loaded | PluginStatus:
    """Bring one plugin to life.

    Args:
        plugin: From ``discover``, or made up for an in-process class.
        make_context: ``(name, config) -> ProviderContext``.
        raw_config: ``(class) -> mapping``: the ``providers.NAME`` section with the secrets its ``Config``
            asks for, not yet validated.
        provider_class: The class itself for in-process providers; the import phase is then skipped.
    """
    phase: Phase = "version"
    try:
        check_version(plugin)
        phase = "import"
        kind = provider_class if provider_class is not None else import_class(plugin)
        phase = "config"
        config = validate_config(plugin.name, kind, raw_config(kind))
        phase = "construct"
        instance = kind(make_context(plugin.name, config))
        phase = "validate"
        hooks = validate(instance, plugin.name)
    except GUARDED as error:
        return _failed(plugin, phase, error)
    return Loaded(
        name=plugin.name,
        distribution=plugin.distribution,
        version=plugin.version,
        instance=instance,
        hooks=hooks,
        built_in=plugin.built_in,
        single_thread=bool(getattr(kind, "single_thread", False)),
    )


def import_class(plugin: FoundPlugin) -> Any:
    """Import the module and get the provider class. Runs the plugin's code: only for active ones."""
    module_name, _, attribute = plugin.value.partition(":")
    with forks.importing():
        found: Any = importlib.import_module(module_name)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found


def check_version(plugin: FoundPlugin) -> None:
    """Refuse a plugin written for another core, before its code runs.

    Raises:
        PluginVersionError: ``requires_core`` excludes this core's version.
    """
    if not plugin.requires_core or plugin.built_in:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    from hermes_memory_core.version import VERSION

    try:
        wanted = SpecifierSet(plugin.requires_core, prereleases=True)
    except InvalidSpecifier:
        return
    if VERSION not in wanted:
        raise PluginVersionError(
            f"written for {CORE_DISTRIBUTION} {plugin.requires_core}; this is {VERSION}. "
            "It was not imported.",
            hint=f"hermes plugins update {plugin.name}",
        )


def validate_config(name: str, kind: Any, raw: Mapping[str, Any]) -> Any:
    """An instance of the class's ``Config``, or the plain mapping when it declares none.

    Raises:
        ConfigError: Names each wrong key under ``providers.NAME``, and what is expected.
    """
    model = getattr(kind, "Config", None)
    if model is None:
        return dict(raw)
    import pydantic

    from hermes_memory_core.errors import ConfigError

    try:
        return model.model_validate(dict(raw))
    except pydantic.ValidationError as error:
        problems = "; ".join(
            f"`providers.{name}{''.join(f'.{part}' for part in item['loc'])}`: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(
            f"{problems}. Nothing was changed.",
            hint=f"hermes memory setup {name}",
            details={"provider": name},
        ) from None  # pydantic's own text repeats the input, which may hold a secret


def _failed(plugin: FoundPlugin, phase: Phase, error: BaseException) -> PluginStatus:
    status = PluginStatus(
        name=plugin.name,
        distribution=plugin.distribution,
        version=plugin.version,
        phase=phase,
        error=describe(error),
        hint=hint_of(error) or default_hint(plugin, phase),
    )
    logger.warning("%s", status.line(), exc_info=error if logger.isEnabledFor(10) else None)
    return status


def default_hint(plugin: FoundPlugin, phase: Phase) -> str:
    """The next command after a failure in this phase."""
    if plugin.built_in:
        return f"reinstall it: pip install --force-reinstall {CORE_DISTRIBUTION}"
    if phase == "config":
        return f"hermes memory setup {plugin.name}"
    return f"hermes plugins check {plugin.name} says more; or hermes plugins update {plugin.name}"
