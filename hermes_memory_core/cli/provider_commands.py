"""``hermes NAME …``: the click commands an installed provider brings as its class attribute ``commands``.

Found through entry-point metadata; the provider's module is imported only when its command is invoked, guarded,
because a broken plugin must not take the program along.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli.base import Group, add_global_options
from hermes_memory_core.errors import PluginConflictError, ProviderUnavailableError, UsageError

if TYPE_CHECKING:
    from hermes_memory_core.plugins.discover import FoundPlugin


def command_of(name: str, *, no_plugins: bool = False) -> click.Command | None:
    """The command of the installed provider ``name``; None when no such provider is installed.

    Raises:
        ProviderUnavailableError: It is installed and cannot be loaded, or brings no commands.
        PluginConflictError: Two distributions claim the name.
        UsageError: It is installed, but ``--no-plugins`` is on.
    """
    from hermes_memory_core.plugins.discover import find

    found = find(name)
    if found is None or found.built_in:
        return None
    if no_plugins:
        raise UsageError(
            f"`{name}` is a command of the plugin {found.distribution}, and plugins are switched off.",
            hint="leave out --no-plugins and unset HERMES_MEMORY_NO_PLUGINS",
        )
    if found.conflict:
        raise PluginConflictError(
            f"`{name}` is claimed by {found.distribution} and {', '.join(found.conflict)}; none is used.",
            hint=f"hermes plugins remove {found.conflict[0]}",
        )
    commands = getattr(_import(found), "commands", None)
    command = _as_command(name, commands)
    if command is None:
        raise ProviderUnavailableError(
            f"The plugin {found.distribution} {found.version} brings no commands of its own.",
            hint=f"hermes memory use {name}",
            retryable=False,
        )
    return command


def explain_missing(name: str, *, no_plugins: bool = False) -> None:
    """Raise a UsageError with the install command when ``name`` is a provider that could be installed."""
    if no_plugins:
        return
    try:
        catalog = importlib.import_module("hermes_memory_core.plugins.catalog")
    except ImportError:  # the catalogue is optional: without it the name is just unknown
        return
    if catalog.find(name) is not None:
        raise UsageError(
            f"`{name}` is a memory provider that is not installed here.",
            hint=f"hermes plugins install {name}",
        )


def _import(found: FoundPlugin) -> Any:
    from hermes_memory_core.plugins.load import GUARDED, check_version, import_class

    try:
        check_version(found)
        return import_class(found)
    except GUARDED as error:
        raise ProviderUnavailableError(
            f"The plugin {found.distribution} {found.version} cannot be loaded "
            f"({type(error).__name__}: {error}). Nothing else is affected.",
            hint=f"hermes plugins check {found.name}",
            details={
                "name": found.name,
                "distribution": found.distribution,
                "version": found.version,
            },
            retryable=False,
        ) from error


def _as_command(name: str, commands: Any) -> click.Command | None:
    """One command or group as it is; a list as the group ``name``."""
    if isinstance(commands, click.Command):
        return with_global_options(commands)
    if isinstance(commands, Sequence) and not isinstance(commands, str) and commands:
        group = Group(name, help=f"Commands of the provider {name}.")
        for command in commands:
            if isinstance(command, click.Command):
                group.add_command(with_global_options(command))
        return group if group.commands else None
    return None


def with_global_options(command: click.Command) -> click.Command:
    """Let ``-p``, ``--home`` and the rest stand anywhere in a plugin's commands too."""
    if not getattr(command, "takes_global_options", False):
        command.params = add_global_options(command.params)
        command.takes_global_options = True  # type: ignore[attr-defined]
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                with_global_options(inner)
    return command
