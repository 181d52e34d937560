"""``hermes profile create | use | rename | delete | export | import``: changing which profiles there are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.profile_read import contents_text, root_of
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError


@click.command("create", cls=Command)
@click.argument("name")
@click.option("--clone-from", metavar="PROFILE", help="Copy settings and skills from PROFILE.")
@click.option("--with-memories", is_flag=True, help="Copy its notes too.")
@click.option("--with-secrets", is_flag=True, help="Copy its API keys too.")
@click.option("--use", "use_it", is_flag=True, help="Make it the active profile.")
@click.pass_obj
def create(
    state: State,
    name: str,
    clone_from: str | None,
    with_memories: bool,
    with_secrets: bool,
    use_it: bool,
) -> None:
    """Make the profile NAME, empty or from another one. Notes and secrets are copied only when asked for.

    hermes profile create work
    hermes profile create play --clone-from work --with-memories
    """
    from hermes_memory_core.profiles import create_profile, use_profile

    if clone_from is None and (with_memories or with_secrets):
        raise UsageError(
            "There is nothing to copy from; no profile was made.",
            hint=f"hermes profile create {name} --clone-from PROFILE",
        )
    root = root_of(state)
    made = create_profile(
        root, name, clone_from=clone_from, with_memories=with_memories, with_secrets=with_secrets
    )
    if use_it:
        use_profile(root, made.name)
    data = {"name": made.name, "path": str(made.path), "cloned_from": clone_from, "active": use_it}
    state.result("profile-create", data, lambda: f"Made the profile `{made.name}` in {made.path}")
    if not use_it:
        state.hint(f"use it for one command: hermes -p {made.name} memory")
        state.hint(f"use it from now on: hermes profile use {made.name}")


@click.command("use", cls=Command)
@click.argument("name")
@click.pass_obj
def use(state: State, name: str) -> None:
    """Make NAME the profile that commands use when none is named; `default` goes back."""
    from hermes_memory_core.profiles import use_profile
    from hermes_memory_core.profiles.resolve import split_home

    used = use_profile(root_of(state), name)
    own = split_home(state.root())[1]
    data = {"name": used.name, "path": str(used.path)}
    state.result("profile-use", data, lambda: f"The active profile is `{used.name}` now.")
    if own is not None and own != used.name:
        state.say(f"! HERMES_HOME names the profile `{own}` itself, and that comes first.")


@click.command("rename", cls=Command)
@click.argument("old")
@click.argument("new")
@click.pass_obj
def rename(state: State, old: str, new: str) -> None:
    """Give the profile OLD the name NEW. Everything in it stays as it is."""
    from hermes_memory_core.profiles import rename_profile

    renamed = rename_profile(root_of(state), old, new)
    data = {"before": old, "name": renamed.name, "path": str(renamed.path)}
    state.result("profile-rename", data, lambda: f"`{old}` is `{renamed.name}` now.")


@click.command("delete", cls=Command)
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for the name.")
@click.option("--final", is_flag=True, help="Remove it for good instead of moving it to the trash.")
@click.option("--dry-run", is_flag=True, help="Show what would go and change nothing.")
@click.pass_obj
def delete(state: State, name: str, yes: bool, final: bool, dry_run: bool) -> None:
    """Delete the profile NAME with everything in it, after you typed its name.

    It goes to the trash below the home, from where it can be moved back by hand; with --final it is gone.
    """
    from hermes_memory_core.profiles import delete_profile, profile_contents

    root = root_of(state)
    contents = profile_contents(root, name)
    data: dict[str, Any] = {
        "name": contents.profile.name,
        "path": str(contents.profile.path),
        "provider": None,
        "problem": None,
        "files": contents.files,
        "bytes": contents.size_bytes,
        "ours": list(contents.ours),
        "foreign": list(contents.foreign),
        "running_pid": contents.running_pid,
        "dry_run": dry_run,
        "deleted": False,
        "trash": None,
    }
    if dry_run:
        state.result("profile-delete", data, lambda: contents_text(data))
        return
    if not yes:
        state.say(contents_text(data))
    word = contents.profile.name
    if not state.ask_word(f"Type `{word}` to delete it", word, yes=yes):
        state.say("That was not its name; nothing was changed.")
        raise click.exceptions.Exit(exits.FAILED)
    grave = delete_profile(root, name, final=final)
    data |= {"deleted": True, "trash": str(grave) if grave else None}
    where = f" It is in {grave}" if grave else ""
    state.result("profile-delete", data, lambda: f"Deleted the profile `{word}`.{where}")


@click.command("export", cls=Command)
@click.argument("name", required=False)
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path),
    help="The file to write [NAME-DATE.tar.gz here].",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@click.pass_obj
def export(state: State, name: str | None, target: Path | None, overwrite: bool) -> None:
    """Pack a profile (the current one without NAME) into one .tar.gz: settings, notes, conversations, skills.

    Secrets, logs and databases stay behind; the databases are made again from the conversations.
    """
    from hermes_memory_core.profiles import export_profile, resolve_profile

    if name is None:
        name = resolve_profile(state.root(), state.profile).name
    place = target or Path.cwd() / f"{name}-{time.strftime('%Y-%m-%d')}.tar.gz"
    report = export_profile(root_of(state), name, place, overwrite=overwrite)
    data = {
        "name": name,
        "path": str(report.path),
        "files": report.files,
        "bytes": report.size_bytes,
        "left_out": list(report.left_out),
    }

    def human() -> str:
        packed = f"{output.count(report.files, 'file')} ({output.size(report.size_bytes)})"
        lines = [f"Packed {packed} into {report.path}"]
        if report.left_out:
            lines.append("Left out: " + output.clean(", ".join(report.left_out), one_line=True))
        return "\n".join(lines)

    state.result("profile-export", data, human)


@click.command("import", cls=Command)
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="Name of the new profile [the one in the archive].")
@click.pass_obj
def import_(state: State, archive: Path, name: str | None) -> None:
    """Make a new profile from ARCHIVE, written by `profile export` here or by Hermes Agent.

    Nothing existing is touched, and only settings, notes, conversations and skills are taken from it.
    """
    from hermes_memory_core.profiles import import_profile

    report = import_profile(root_of(state), archive, name)
    data = {
        "name": report.profile.name,
        "path": str(report.profile.path),
        "files": report.files,
        "bytes": report.size_bytes,
        "skipped": list(report.skipped),
        "warnings": list(report.warnings),
    }

    def human() -> str:
        text = (
            f"Made the profile `{report.profile.name}` from {output.count(report.files, 'file')}."
        )
        if report.skipped:
            text += f"\nLeft out: {output.count(len(report.skipped), 'file')} that do not belong to a memory."
        return text

    state.result("profile-import", data, human)
    for warning in report.warnings:
        state.say("! " + output.clean(warning))
    state.hint(f"see it: hermes -p {report.profile.name} memory")
