"""``hermes memory use NAME`` and ``off``: which external provider this profile uses."""

from __future__ import annotations

import difflib

import click

from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import PluginConflictError, ProviderUnavailableError, UsageError

KEY = "memory.provider"
_NONE = ("none", "off", "")


@click.command("use", cls=Command)
@click.argument("name")
@click.pass_obj
def use(state: State, name: str) -> None:
    """Make NAME the external provider of this profile, in place of the one it had; `none` for no provider.

    Sessions that are open keep the one they started with. The built-in layers (notes, history, skills) are
    always on beside it: their switches are `memory.memory_enabled`, `memory.history_enabled`.

    hermes memory use honcho
    hermes -p work memory use none
    """
    _choose(state, "" if name.lower() in _NONE else name)


@click.command("off", cls=Command)
@click.pass_obj
def off(state: State) -> None:
    """Use no external provider: the same as `use none`. Its settings and data stay where they are."""
    _choose(state, "")


def _choose(state: State, name: str) -> None:
    from hermes_memory_core.config.edit import set_value

    if name:
        _require_installed(name)
    change = set_value(state.profile_dir(), KEY, name)
    before = str(change.before or "")
    data = {
        "provider": name or None,
        "before": before or None,
        "changed": before != name,
        "path": str(change.path),
    }
    state.result("memory-use", data, lambda: _sentence(before, name))
    decided = state.settings()
    if decided.get(KEY) != name:
        state.say(f"! {KEY} is decided by {decided.source(KEY)}, which stands above the file.")
    elif name:
        state.hint("see whether it works: hermes memory status --check")


def _sentence(before: str, name: str) -> str:
    if before == name:
        return (
            f"`{name}` is the external provider already." if name else "No external provider is on."
        )
    if not name:
        return f"The external provider is off (it was `{before}`). Its settings and data were kept."
    instead = f", in place of `{before}`" if before else ""
    return f"`{name}` is the external provider of this profile now{instead}."


def _require_installed(name: str) -> None:
    """Raise unless ``name`` is an installed external provider; what is installed is read from metadata."""
    from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, discover

    if name in BUILT_IN_NAMES:
        raise UsageError(
            f"`{name}` is built in and always beside the external provider; nothing was changed.",
            hint="hermes memory status",
        )
    installed = {found.name: found for found in discover() if not found.built_in}
    found = installed.get(name)
    if found is None:
        near = difflib.get_close_matches(name, installed, 1, 0.7)
        meant = f" Did you mean `{near[0]}`?" if near else ""
        raise ProviderUnavailableError(
            f"No provider `{name}` is installed; nothing was changed.{meant}",
            hint=f"hermes memory use {near[0]}" if near else f"hermes plugins install {name}",
            details={"installed": sorted(installed)},
            retryable=False,
        )
    if found.conflict:
        raise PluginConflictError(
            f"`{name}` is claimed by {found.distribution} and {', '.join(found.conflict)}; "
            "nothing was changed.",
            hint=f"hermes plugins remove {found.conflict[0]}",
        )
