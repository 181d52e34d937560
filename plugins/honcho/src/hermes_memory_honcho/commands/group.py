"""The commands as click sees them: names, options, help. What they do is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hermes_memory_core.cli.state import State

LEVEL = click.Choice(["minimal", "low", "medium", "high", "max"])


@click.group("honcho", invoke_without_command=True)
@click.pass_context
def group(ctx: click.Context) -> None:
    """Honcho: a model of the user that grows over all conversations.

    Without a command: status.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status)


@group.command()
@click.option("--all", "everyone", is_flag=True, help="One line a profile; asks no server.")
@click.pass_obj
def status(state: State, everyone: bool = False) -> None:
    """Settings, where they come from, and a real look at the server."""
    from hermes_memory_honcho.commands import looking

    looking.status_of_all(state) if everyone else looking.status(state)


@group.command()
@click.pass_obj
def peers(state: State) -> None:
    """Peers of the workspace."""
    from hermes_memory_honcho.commands import looking

    looking.peers(state)


@group.command()
@click.pass_obj
def sessions(state: State) -> None:
    """Sessions of the workspace, and directories that are mapped to one."""
    from hermes_memory_honcho.commands import looking

    looking.sessions(state)


@group.command()
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="Answer beforehand.")
@click.option("--no-check", is_flag=True, help="Skip the round trip.")
@click.option("--no-activate", is_flag=True, help="Leave the active provider as it is.")
@click.pass_context
def setup(ctx: click.Context, /, **options: Any) -> None:
    """Ask for the settings, make a real round trip, make Honcho active: `hermes memory setup honcho`."""
    from hermes_memory_core.cli.setup import setup as memory_setup

    ctx.invoke(memory_setup, name="honcho", **options)


@group.command()
@click.option("--user", help="Your peer.")
@click.option("--ai", help="The assistant's peer.")
@click.option("--reasoning", type=LEVEL, help="Base level of questions.")
@click.pass_obj
def peer(state: State, user: str | None, ai: str | None, reasoning: str | None) -> None:
    """Show or set the two peers."""
    from hermes_memory_honcho.commands import changing

    changing.peer(state, user, ai, reasoning)


@group.command("map")
@click.argument("name", required=False)
@click.option("--directory", help="Another directory than this one.")
@click.option("--remove", is_flag=True, help="Take the mapping of the directory away.")
@click.pass_obj
def map_(state: State, name: str | None, directory: str | None, remove: bool) -> None:
    """Show mapped directories, or give this directory's session a name."""
    from hermes_memory_honcho.commands import changing

    changing.map_directory(state, name, directory, remove)


@group.command()
@click.argument("value", required=False, type=click.Choice(["hybrid", "context", "tools"]))
@click.pass_obj
def mode(state: State, value: str | None) -> None:
    """Show or set what the model gets: recall and tools, recall only, tools only."""
    from hermes_memory_honcho.commands import changing

    changing.choose(state, "recall_mode", value)


@group.command()
@click.argument(
    "value",
    required=False,
    type=click.Choice(["per-directory", "per-repo", "per-session", "global"]),
)
@click.pass_obj
def strategy(state: State, value: str | None) -> None:
    """Show or set what one Honcho session stands for."""
    from hermes_memory_honcho.commands import changing

    changing.choose(state, "session_strategy", value)


@group.command()
@click.option(
    "--context", type=click.IntRange(0, 100_000), help="Tokens before a turn; 0: no limit."
)
@click.option("--dialectic", type=click.IntRange(50), help="Characters of an answer before a turn.")
@click.pass_obj
def tokens(state: State, context: int | None, dialectic: int | None) -> None:
    """Show or set how much is put before a turn."""
    from hermes_memory_honcho.commands import changing

    changing.tokens(state, context, dialectic)


@group.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--show", is_flag=True, help="Show your card and what the assistant knows of itself.")
@click.pass_obj
def identity(state: State, file: str | None, show: bool) -> None:
    """Send a file that describes the assistant, or show what Honcho holds."""
    from hermes_memory_honcho.commands import sending

    sending.identity(state, file, show)


@group.command()
@click.option(
    "--from",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    help="Files of another agent.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be uploaded.")
@click.option("--undo", is_flag=True, help="Delete what earlier migrations uploaded.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def migrate(state: State, directory: str | None, dry_run: bool, undo: bool, yes: bool) -> None:
    """Upload what was known before Honcho, once: MEMORY.md, USER.md, SOUL.md, or another agent's files."""
    from hermes_memory_honcho.commands import sending

    sending.migrate(state, directory, dry_run, undo, yes)


@group.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def sync(state: State, yes: bool) -> None:
    """Give profiles without Honcho settings those of the default profile, each with a peer of its own."""
    from hermes_memory_honcho.commands import changing

    changing.sync(state, yes)


@group.command()
@click.pass_obj
def enable(state: State) -> None:
    """Switch Honcho on in this profile."""
    from hermes_memory_honcho.commands import changing

    changing.switch(state, on=True)


@group.command()
@click.pass_obj
def disable(state: State) -> None:
    """Switch Honcho off in this profile; what it holds is untouched."""
    from hermes_memory_honcho.commands import changing

    changing.switch(state, on=False)
