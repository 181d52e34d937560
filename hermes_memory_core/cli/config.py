"""``hermes config``: the table of its commands. Bare ``hermes config`` shows what was set."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy

_HERE = "hermes_memory_core.cli"

COMMANDS = {
    "show": Lazy(
        f"{_HERE}.config_read:show", "The settings that were changed, or all with their source."
    ),
    "get": Lazy(f"{_HERE}.config_read:get", "One value as it is in effect."),
    "explain": Lazy(f"{_HERE}.config_read:explain", "What a setting is for, and what it may be."),
    "set": Lazy(f"{_HERE}.config_write:set_", "Change a setting."),
    "unset": Lazy(f"{_HERE}.config_write:unset", "Go back to the default."),
    "secret": Lazy(f"{_HERE}.config_write:secret", "Keep an API key in .env."),
    "unset-secret": Lazy(f"{_HERE}.config_write:unset_secret", "Take an API key out of .env."),
    "edit": Lazy(
        f"{_HERE}.config_write:edit", "Open config.yaml in your editor, checked on leaving."
    ),
    "path": Lazy(f"{_HERE}.config_read:path", "Where config.yaml is."),
    "check": Lazy(f"{_HERE}.config_read:check", "Whether config.yaml and .env can be used."),
    "schema": Lazy(f"{_HERE}.config_read:schema", "JSON Schema of config.yaml, for editors."),
}


@click.group("config", cls=Group, lazy=COMMANDS, default="show")
def config() -> None:
    """Read and change the settings of a profile. Alone it shows what was changed from the defaults.

    hermes config set memory.memory_char_limit 4000
    hermes config show --effective
    hermes config explain memory.isolation
    """
