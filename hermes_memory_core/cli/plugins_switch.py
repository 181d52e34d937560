"""``hermes plugins enable | disable``: the profile's list of plugins that are never imported."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.plugins_common import chosen
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError

KEY = "plugins.disabled"


@click.command("disable", cls=Command)
@click.argument("name")
@click.pass_obj
def disable(state: State, name: str) -> None:
    """Never import the plugin NAME in this profile. It stays installed, and what it holds stays.

    hermes plugins disable honcho
    """
    from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, discover

    if name in BUILT_IN_NAMES:
        raise UsageError(
            f"`{name}` is built in; its switches are settings of their own. Nothing was changed.",
            hint="hermes config explain memory",
        )
    found = chosen(state)
    if name not in found.disabled and not any(one.name == name for one in discover()):
        import difflib

        near = difflib.get_close_matches(name, [one.name for one in discover()], 1, 0.6)
        meant = f" Did you mean `{near[0]}`?" if near else ""
        raise UsageError(
            f"No plugin `{name}` is installed; nothing was changed.{meant}",
            hint="hermes plugins list",
        )
    changed = _write(state, [*found.disabled, name] if name not in found.disabled else None)
    said = (
        f"`{name}` is never imported in this profile now."
        if changed
        else f"`{name}` is disabled already."
    )
    data = {"name": name, "disabled": True, "changed": changed, "active": found.active == name}
    state.result("plugins-disable", data, lambda: said)
    if found.active == name:
        state.say("! It is the active provider of this profile, which has none at work now.")
        state.hint(f"hermes plugins enable {name}")


@click.command("enable", cls=Command)
@click.argument("name")
@click.pass_obj
def enable(state: State, name: str) -> None:
    """Let the disabled plugin NAME be used again in this profile. That does not make it the active one.

    hermes plugins enable honcho
    """
    found = chosen(state)
    there = name in found.disabled
    changed = _write(state, [one for one in found.disabled if one != name] if there else None)
    said = f"`{name}` can be used again." if changed else f"`{name}` was not disabled."
    data = {"name": name, "disabled": False, "changed": changed, "active": found.active == name}
    state.result("plugins-enable", data, lambda: said)
    if changed and found.active != name:
        state.hint(f"hermes memory use {name}")


def _write(state: State, names: list[str] | None) -> bool:
    """Write the list; None when there is nothing to change."""
    from hermes_memory_core.config.edit import set_value

    if names is None:
        return False
    return set_value(state.profile_dir(), KEY, names).changed
