"""``hermes plugins``: the table of its commands, none of them here. Bare ``hermes plugins`` is its list."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy

_HERE = "hermes_memory_core.cli"

COMMANDS = {
    "list": Lazy(f"{_HERE}.plugins_read:list_plugins", "Installed plugins, each with its state."),
    "search": Lazy(f"{_HERE}.plugins_read:search", "Plugins that can be installed by name."),
    "info": Lazy(f"{_HERE}.plugins_read:info", "Everything known about one plugin."),
    "install": Lazy(f"{_HERE}.plugins_install:install", "Install a plugin; verified, or undone."),
    "update": Lazy(f"{_HERE}.plugins_install:update", "Bring plugins to a newer version."),
    "remove": Lazy(f"{_HERE}.plugins_remove:remove", "Uninstall a plugin; its data stays."),
    "enable": Lazy(f"{_HERE}.plugins_switch:enable", "Let a disabled plugin be used again."),
    "disable": Lazy(f"{_HERE}.plugins_switch:disable", "Never import a plugin in this profile."),
    "check": Lazy(f"{_HERE}.plugins_check:check", "Whether a plugin loads and keeps its promises."),
    "new": Lazy(f"{_HERE}.plugins_new:new", "Write a provider of your own: a whole small package."),
}


@click.group("plugins", cls=Group, lazy=COMMANDS, default="list")
def plugins() -> None:
    """Find, install, check and write external providers. Alone it lists what is installed.

    hermes plugins search
    hermes plugins install honcho
    hermes plugins check honcho

    Which plugins are installed belongs to the Python environment; which one is active belongs to the profile:
    `hermes memory use NAME`. All of these commands work while any plugin is broken.
    """
