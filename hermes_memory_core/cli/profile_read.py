"""``hermes profile list | show``: which profiles there are and what is in them. Opens no store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError, ProfileError

if TYPE_CHECKING:
    from hermes_memory_core.profiles import Profile


def root_of(state: State) -> Path:
    """The home that holds the profiles, also when HERMES_HOME names one of them."""
    from hermes_memory_core.profiles.resolve import split_home

    return split_home(state.root())[0]


@click.command("list", cls=Command)
@click.pass_obj
def list_profiles(state: State) -> None:
    """List all profiles with their external provider; ◆ marks the one commands use now."""
    from hermes_memory_core.profiles import list_profiles as profiles_of
    from hermes_memory_core.profiles import resolve_profile

    root = root_of(state)
    try:
        current = resolve_profile(state.root(), state.profile).name
    except ProfileError as error:  # a marker that names nobody must not hide the list that mends it
        state.failure(error) if not state.json else None
        current = ""
    found = [_summary(profile, current) for profile in profiles_of(root)]
    data = {"home": str(root), "current": current or None, "profiles": found}

    def human() -> str:
        rows = [
            ["◆" if item["current"] else "", item["name"], item["provider"] or "", item["path"]]
            for item in found
        ]
        return output.table(("", "Profile", "Provider", "Path"), rows)

    state.result("profile-list", data, human)
    if len(found) == 1:
        state.hint("make another: hermes profile create NAME")


def _summary(profile: Profile, current: str) -> dict[str, Any]:
    from hermes_memory_core.config import load_settings

    try:
        provider = str(load_settings(profile.path).get("memory.provider") or "")
        problem = ""
    except HermesMemoryError as error:
        provider, problem = "", error.message
    return {
        "name": profile.name,
        "path": str(profile.path),
        "current": profile.name == current,
        "provider": provider or None,
        "exists": profile.path.is_dir(),
        "problem": problem or None,
    }


@click.command("show", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def show(state: State, name: str | None) -> None:
    """Show what a profile holds and how large it is; the current one without NAME."""
    from hermes_memory_core.profiles import profile_contents, resolve_profile

    root = root_of(state)
    if name is None:
        name = resolve_profile(state.root(), state.profile).name
    contents = profile_contents(root, name)
    summary = _summary(contents.profile, name)
    data = {
        "name": contents.profile.name,
        "path": str(contents.profile.path),
        "exists": summary["exists"],
        "provider": summary["provider"],
        "problem": summary["problem"],
        "files": contents.files,
        "bytes": contents.size_bytes,
        "ours": list(contents.ours),
        "foreign": list(contents.foreign),
        "running_pid": contents.running_pid,
    }
    state.result("profile", data, lambda: contents_text(data))
    if not summary["exists"]:
        state.hint(f'the first note makes it: hermes -p {name} memory add "…"')


def contents_text(data: dict[str, Any]) -> str:
    """What a profile holds, for a person who is about to use or delete it."""
    rows = [
        ("Profile", data["name"]),
        ("Path", data["path"]),
        ("Provider", data["provider"] or "none"),
        ("Size", f"{output.count(data['files'], 'file')}, {output.size(data['bytes'])}"),
    ]
    if data["ours"]:
        rows.append(("Memory", ", ".join(data["ours"])))
    if data["foreign"]:
        rows.append(("Others'", ", ".join(data["foreign"])))
    if data["running_pid"]:
        rows.append(("In use", f"by a Hermes Agent gateway, process {data['running_pid']}"))
    if data["problem"]:
        rows.append(("Settings", data["problem"]))
    return output.fields(rows)
