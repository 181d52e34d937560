"""``hermes profile``: the table of its commands. Bare ``hermes profile`` lists the profiles."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy

_READ = "hermes_memory_core.cli.profile_read"
_WRITE = "hermes_memory_core.cli.profile_write"

COMMANDS = {
    "list": Lazy(f"{_READ}:list_profiles", "All profiles; the active one is marked."),
    "show": Lazy(f"{_READ}:show", "What a profile holds."),
    "create": Lazy(f"{_WRITE}:create", "Make a profile."),
    "use": Lazy(f"{_WRITE}:use", "Make a profile the active one."),
    "rename": Lazy(f"{_WRITE}:rename", "Give a profile another name."),
    "delete": Lazy(f"{_WRITE}:delete", "Move a profile to the trash, or remove it for good."),
    "export": Lazy(f"{_WRITE}:export", "Pack a profile into one file, without secrets."),
    "import": Lazy(f"{_WRITE}:import_", "Make a profile from such a file."),
}


@click.group("profile", cls=Group, lazy=COMMANDS, default="list")
def profile() -> None:
    """Keep separate memories apart. Alone it lists the profiles.

    Each profile has its own notes, conversations, settings, secrets and external provider. `hermes -p NAME …`
    uses one for a single command, `hermes profile use NAME` from now on.
    """
