"""Commands that change settings of a profile. They ask no server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import UsageError
from hermes_memory_honcho import naming
from hermes_memory_honcho.commands.common import NAME, keep, parts_of

if TYPE_CHECKING:
    from hermes_memory_core.cli.state import State

CHOICES = {
    "recall_mode": ("hybrid", "context", "tools"),
    "session_strategy": ("per-directory", "per-repo", "per-session", "global"),
}


def choose(state: State, key: str, value: str | None) -> None:
    """Show the choices with the current one marked, or set one; counts from the next session on."""
    if value is not None:
        keep(state, key, value)
    with parts_of(state) as parts:
        current = getattr(parts.settings, key)
    choices = CHOICES[key]
    data = {
        "setting": key,
        "value": current,
        "choices": list(choices),
        "changed": value is not None,
    }

    def human() -> str:
        return "\n".join(f"{'→' if one == current else ' '} {one}" for one in choices)

    state.result("honcho-setting", data, human)


def peer(state: State, user: str | None, ai: str | None, reasoning: str | None) -> None:
    """Show or set the peers and the base level."""
    given = {"peer_name": user, "ai_peer": ai, "dialectic_reasoning_level": reasoning}
    changed = {key: value for key, value in given.items() if value is not None}
    for key, value in changed.items():
        keep(state, key, value)
    with parts_of(state) as parts:
        data = {
            "user_peer": parts.looking.owner_peer,
            "ai_peer": parts.looking.ai_peer,
            "dialectic_reasoning_level": parts.settings.dialectic_reasoning_level,
            "changed": sorted(changed),
        }
    _show(state, "honcho-peer", data)


def tokens(state: State, context: int | None, dialectic: int | None) -> None:
    """Show or set the budgets."""
    if context is not None:
        keep(state, "context_tokens", context or None)
    if dialectic is not None:
        keep(state, "dialectic_max_chars", dialectic)
    with parts_of(state) as parts:
        data = {
            "context_tokens": parts.settings.context_tokens,
            "dialectic_max_chars": parts.settings.dialectic_max_chars,
        }
    _show(state, "honcho-tokens", data)


def map_directory(state: State, name: str | None, directory: str | None, remove: bool) -> None:
    """Show the mappings, add one, or take one away.

    Raises:
        UsageError: A name and ``--remove`` together, or nothing to remove.
    """
    place = str(Path(directory).resolve()) if directory else str(Path.cwd())
    with parts_of(state) as parts:
        mapped = dict(parts.settings.sessions)
    if name and remove:
        raise UsageError("Give a name or --remove, not both; nothing was changed.")
    if remove and place not in mapped:
        raise UsageError(f"`{place}` is not mapped; nothing was changed.", hint="hermes honcho map")
    if remove:
        del mapped[place]
    elif name:
        mapped[place] = naming.safe_name(name)
    if name or remove:
        keep(state, "sessions", mapped)
    data = {"directory": place, "session": mapped.get(place), "sessions": mapped}

    def human() -> str:
        lines = [f"{'→' if one == place else ' '} {one}  {mapped[one]}" for one in sorted(mapped)]
        return "\n".join(lines) or "no directory is mapped"

    state.result("honcho-map", data, human)


def switch(state: State, *, on: bool) -> None:
    """Enable or disable."""
    keep(state, "enabled", on)
    state.result(
        "honcho-enabled",
        {"enabled": on},
        lambda: f"Honcho is {'on' if on else 'off'} in this profile.",
    )
    if on:
        state.hint("hermes honcho status")


def sync(state: State, yes: bool) -> None:
    """Copy the default profile's settings and key to profiles that have none."""
    from hermes_memory_core.config import load_settings
    from hermes_memory_core.config.edit import set_value
    from hermes_memory_core.config.secrets import Secrets, secret_name, set_secret
    from hermes_memory_core.profiles import list_profiles

    root = state.root()
    every = list_profiles(root)
    default = next(one for one in every if one.is_default)
    settings = dict(load_settings(default.path).provider_config(NAME))
    key = Secrets.load(default.path).get(secret_name(NAME, "api_key"))
    wanting = [
        one
        for one in every
        if not one.is_default and not load_settings(one.path).provider_config(NAME)
    ]
    if wanting and not (settings or key):
        raise UsageError(
            "The default profile has no Honcho settings to copy; nothing was changed.",
            hint="hermes memory setup honcho",
        )
    names = [one.name for one in wanting]
    if wanting and not state.confirm(f"Set up Honcho in {', '.join(names)}?", yes=yes):
        wanting, names = [], []
    workspace = settings.get("workspace") or "hermes"
    for one in wanting:
        block: dict[str, Any] = {**settings, "workspace": workspace, "ai_peer": one.name}
        set_value(one.path, f"providers.{NAME}", block)
        if key:
            set_secret(one.path, secret_name(NAME, "api_key"), key)
    state.result(
        "honcho-sync",
        {"profiles": names},
        lambda: f"set up: {', '.join(names)}" if names else "every profile has its settings",
    )


def _show(state: State, schema: str, data: dict[str, Any]) -> None:
    from hermes_memory_core.cli import output

    def human() -> str:
        rows = [
            (key.replace("_", " "), _text(value)) for key, value in data.items() if key != "changed"
        ]
        return output.fields(rows)

    state.result(schema, data, human)


def _text(value: Any) -> str:
    return "unlimited" if value is None else str(value)
