"""Every plugin with its state, from metadata and what the caller knows of a profile. Imports no plugin.

One function for ``plugins list``, ``info`` and the others, so that none sees a plugin another does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from hermes_memory_core.errors import PluginVersionError
from hermes_memory_core.plugins.catalog import find as find_known
from hermes_memory_core.plugins.discover import FoundPlugin, discover
from hermes_memory_core.plugins.load import check_version

State = Literal[
    "active", "installed", "disabled", "failed", "incompatible", "conflict", "not installed"
]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``plugins list``."""

    name: str
    state: State
    distribution: str = ""
    version: str = ""
    requires_core: str = ""
    why: str = ""
    hint: str = ""
    active: bool = False
    """Whether the profile's ``memory.provider`` names it, whatever its state."""
    built_in: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """What the profile last saw go wrong when it loaded a provider."""

    version: str
    why: str
    hint: str


def entries(
    *,
    active: str = "",
    disabled: Collection[str] = (),
    failed: Mapping[str, Failure] | None = None,
    core: str | None = None,
    built_ins: bool = False,
    plugins: Iterable[FoundPlugin] | None = None,
) -> list[Entry]:
    """All installed plugins, and the active one where it is missing.

    Args:
        active: The profile's ``memory.provider``.
        disabled: The profile's ``plugins.disabled``.
        failed: By provider name; a failure of another version than the installed one is old news.
        core: Judge by this version of the core instead of the running one.
        built_ins: List files, sessions and skills too.
        plugins: What is installed; None asks ``discover``.
    """
    found = list(discover() if plugins is None else plugins)
    rows = [
        _entry(plugin, active, disabled, failed or {}, core)
        for plugin in found
        if built_ins or not plugin.built_in
    ]
    if active and not any(plugin.name == active for plugin in found):
        rows.append(_missing(active))
    return rows


def _entry(
    plugin: FoundPlugin,
    active: str,
    disabled: Collection[str],
    failed: Mapping[str, Failure],
    core: str | None,
) -> Entry:
    state, why, hint = _judge(plugin, disabled, failed, core)
    if state == "installed" and (plugin.name == active or plugin.built_in):
        state = "active"
    return Entry(
        name=plugin.name,
        state=state,
        distribution=plugin.distribution,
        version=plugin.version,
        requires_core=plugin.requires_core,
        why=why,
        hint=hint,
        active=plugin.name == active,
        built_in=plugin.built_in,
    )


def _judge(
    plugin: FoundPlugin,
    disabled: Collection[str],
    failed: Mapping[str, Failure],
    core: str | None,
) -> tuple[State, str, str]:
    if plugin.conflict:
        others = ", ".join(plugin.conflict)
        return (
            "conflict",
            f"also offered by {others}",
            f"hermes plugins remove {plugin.conflict[0]}",
        )
    try:
        check_core(plugin, core)
    except PluginVersionError as error:
        return "incompatible", error.message, error.hint
    if plugin.name in disabled:
        return "disabled", "named in plugins.disabled", f"hermes plugins enable {plugin.name}"
    failure = failed.get(plugin.name)
    if failure is not None and failure.version in ("", plugin.version):
        return "failed", failure.why, failure.hint
    return "installed", "", ""


def check_core(plugin: FoundPlugin, core: str | None) -> None:
    """Refuse a plugin whose range leaves out a version of the core; None is the running version.

    Raises:
        PluginVersionError: It does.
    """
    if core is None:
        check_version(plugin)
        return
    if not plugin.requires_core or plugin.built_in:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        fits = SpecifierSet(plugin.requires_core).contains(core, prereleases=True)
    except InvalidSpecifier:
        return
    if not fits:
        raise PluginVersionError(
            f"written for hermes-memory-core {plugin.requires_core}; {core} would lose it",
            hint=f"hermes plugins update {plugin.name}",
        )


def _missing(active: str) -> Entry:
    known = find_known(active)
    return Entry(
        name=active,
        state="not installed",
        distribution=known.distribution if known else "",
        why="active in this profile and not installed; what it holds is untouched",
        hint=f"hermes plugins install {active}",
        active=True,
    )
