"""``hermes plugins remove``: uninstalls a plugin, however broken it or any other is. Its data is not touched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.plugins_common import profiles_using
from hermes_memory_core.cli.plugins_install import (
    LOCK_NAME,
    dry_run_option,
    installer_for,
    installer_option,
    yes_option,
)
from hermes_memory_core.cli.state import State

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_memory_core.plugins.removal import Removal


@click.command("remove", cls=Command)
@click.argument("name")
@click.option(
    "--off/--keep-active",
    default=None,
    help="In profiles where it is active: use no external provider from now on, or leave it named.",
)
@installer_option
@yes_option
@dry_run_option
@click.pass_obj
def remove(
    state: State, name: str, off: bool | None, program: str | None, yes: bool, dry_run: bool
) -> None:
    """Uninstall the plugin NAME (a provider's or a distribution's name).

    No plugin is imported for this. What the provider remembers, its settings, its keys, and what waits in the
    outbox stay where they are. Where it is the active provider of a profile you are asked whether to switch that
    off; without an answer (--yes alone) the profile goes on naming it, and says so.

    hermes plugins remove honcho
    hermes plugins remove hermes-memory-honcho --yes --off
    """
    from hermes_memory_core.plugins import discover
    from hermes_memory_core.plugins.removal import plan_removal
    from hermes_memory_core.plugins.removal import remove as uninstall
    from hermes_memory_core.storage.locks import file_lock

    with file_lock(state.root() / LOCK_NAME, timeout_s=5.0):
        installer, before = installer_for(state, program)
        removal = plan_removal(name, before)
        using = profiles_using(state, removal.providers)
        state.say(_shown(removal, using))
        if dry_run:
            state.result(
                "plugins-remove",
                {**_data(removal, using), "dry_run": True, "switched_off": []},
                lambda: "Nothing was changed (--dry-run).",
            )
            return
        if not state.confirm("Remove it?", yes=yes):
            state.say("Nothing was changed.")
            raise click.exceptions.Exit(exits.FAILED)
        switch = _consent(state, using, off, yes=yes)
        try:
            uninstall(removal, installer)
        finally:
            discover.forget_cache()
    switched = _switch_off(using) if switch else []
    _report(state, removal, using, switched)


def _report(
    state: State, removal: Removal, using: list[tuple[str, Path, str]], switched: list[str]
) -> None:
    distribution = removal.distribution
    data = {**_data(removal, using), "dry_run": False, "switched_off": switched}
    said = f"Removed {distribution.name} {distribution.version}. What it remembers was kept."
    state.result("plugins-remove", data, lambda: said)
    for profile in switched:
        state.say(f"The profile `{profile}` uses no external provider now.")
    for profile, _, provider in using:
        if profile not in switched:
            state.say(f"! The profile `{profile}` still names `{provider}` as its provider.")
            state.hint(f"hermes -p {profile} memory off")


def _consent(
    state: State, using: list[tuple[str, Path, str]], off: bool | None, *, yes: bool
) -> bool:
    """Whether the profiles that use it may be switched to none; never taken for granted."""
    if not using or off is not None:
        return bool(off)
    if yes or state.no_input or state.json or not _somebody():
        return False
    profiles = ", ".join(f"`{profile}`" for profile, _, _ in using)
    return state.confirm(f"Use no external provider in {profiles} from now on?", yes=False)


def _somebody() -> bool:
    return sys.stdin is not None and not sys.stdin.closed


def _switch_off(using: list[tuple[str, Path, str]]) -> list[str]:
    from hermes_memory_core.config.edit import set_value

    for _, directory, _ in using:
        set_value(directory, "memory.provider", "")
    return [profile for profile, _, _ in using]


def _shown(removal: Removal, using: list[tuple[str, Path, str]]) -> str:
    distribution = removal.distribution
    providers = ", ".join(f"`{name}`" for name in removal.providers)
    lines = [f"Removes  {distribution.name} {distribution.version}: {providers}"]
    if removal.left_behind:
        lines.append(f"Stay     {', '.join(removal.left_behind)} (nothing else needs them)")
    for profile, _, provider in using:
        lines.append(f"! `{provider}` is the active provider of the profile `{profile}`.")
    if removal.dependents:
        lines.append(
            f"! Needed by {', '.join(removal.dependents)}, which will not work without it."
        )
    return "\n".join(lines)


def _data(removal: Removal, using: list[tuple[str, Path, str]]) -> dict[str, Any]:
    return {
        "distribution": removal.distribution.name,
        "version": removal.distribution.version,
        "providers": list(removal.providers),
        "dependents": list(removal.dependents),
        "left_behind": list(removal.left_behind),
        "active_in": [profile for profile, _, _ in using],
    }
