"""Which distribution a person means by a plugin's name, and removing it: works with any plugin broken.

Read from metadata alone; no plugin is imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes_memory_core.errors import PluginConflictError, PluginInstallError, UsageError
from hermes_memory_core.plugins.catalog import same_name
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, CORE_DISTRIBUTION
from hermes_memory_core.plugins.environment import Installed, Snapshot, read_environment
from hermes_memory_core.plugins.installer import Installer

UNCHANGED = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing a plugin will do."""

    distribution: Installed
    providers: tuple[str, ...]
    dependents: tuple[str, ...] = ()
    """Installed distributions that need it."""
    left_behind: tuple[str, ...] = ()
    """Distributions nothing else needs; they stay."""


def plan_removal(name: str, before: Snapshot) -> Removal:
    """What removing a plugin will do.

    Raises:
        UsageError: It is a built-in, ships with the core, or is no plugin.
        PluginConflictError: Two distributions offer this provider; the distribution must be named.
    """
    if name.lower() in BUILT_IN_NAMES and not before.get(name):
        raise UsageError(
            f"`{name}` is built in and cannot be removed; it can be switched off.",
            hint="hermes config explain memory",
        )
    installed = find_installed(name, before)
    needs = {same_name(requirement_name(text)) for text in installed.requires}
    others = [one for one in before.distributions.values() if one.name != installed.name]
    needed = {
        same_name(requirement_name(text)): one.name for one in others for text in one.requires
    }
    return Removal(
        installed,
        tuple(provider for provider, _ in installed.providers),
        tuple(
            one.name
            for one in others
            if installed.name in {same_name(requirement_name(text)) for text in one.requires}
        ),
        tuple(
            sorted(
                need
                for need in needs
                if before.get(need) and need not in needed and need != CORE_DISTRIBUTION
            )
        ),
    )


def remove(removal: Removal, installer: Installer) -> None:
    """Uninstall the distribution; no plugin is imported for it.

    Raises:
        PluginInstallError: The installer failed, or the distribution is still there.
    """
    name = removal.distribution.name
    installer.uninstall([name])
    if read_environment(installer.python).get(name) is not None:
        raise PluginInstallError(
            f"{installer.program} said it removed {name}, but it is still there.",
            hint=f"look at {removal.distribution.root}",
        )


def find_installed(name: str, before: Snapshot) -> Installed:
    """The distribution a person means by a provider's name or by its own.

    Raises:
        UsageError: None is meant, or it is the core itself.
        PluginConflictError: Two distributions offer a provider of this name.
    """
    own = before.get(name)
    holders = [own] if own and own.providers else before.holders(name)
    if len(holders) > 1:
        both = " and ".join(f"`{one.name}`" for one in holders)
        raise PluginConflictError(
            f"`{name}` is offered by {both}; say which one. {UNCHANGED}",
            hint="\n".join(f"hermes plugins remove {one.name}" for one in holders),
        )
    if not holders:
        known = ", ".join(
            f"`{provider}`"
            for one in before.distributions.values()
            for provider, _ in one.providers
            if one.name != CORE_DISTRIBUTION
        )
        raise UsageError(
            f"No plugin `{name}` is installed. {UNCHANGED}"
            + (f" There are {known}." if known else ""),
            hint="hermes plugins list",
        )
    if holders[0].name == CORE_DISTRIBUTION:
        raise UsageError(
            f"`{name}` comes with {CORE_DISTRIBUTION}; it is updated and removed with it. {UNCHANGED}",
            hint=f"hermes plugins disable {name}",
        )
    return holders[0]


def requirement_name(text: str) -> str:
    """The name at the start of a requirement."""
    found = re.match(r"\s*([A-Za-z0-9._-]+)", text)
    return found[1] if found else ""
