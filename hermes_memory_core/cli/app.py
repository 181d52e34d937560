"""The root command and the table of everything below it. Imports no command.

``hermes NAME …`` for a name that is not in the table is a provider's own command (``provider_commands``).
"""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy
from hermes_memory_core.cli.state import State
from hermes_memory_core.version import VERSION

_HERE = "hermes_memory_core.cli"

COMMANDS = {
    "memory": Lazy(f"{_HERE}.memory:memory", "See and change what is remembered."),
    "sessions": Lazy(f"{_HERE}.sessions:sessions", "List, read, search and move conversations."),
    "skills": Lazy(f"{_HERE}.skills:skills", "See and change what it taught itself to do."),
    "profile": Lazy(f"{_HERE}.profile:profile", "Keep separate memories apart."),
    "config": Lazy(f"{_HERE}.config:config", "Read and change settings."),
    "plugins": Lazy(f"{_HERE}.plugins:plugins", "Find, install and check external providers."),
    "doctor": Lazy(f"{_HERE}.doctor:doctor", "Check that everything works, and say what to do."),
    "mcp": Lazy(f"{_HERE}.mcp:mcp", "Serve this memory to MCP clients."),
    "demo": Lazy(f"{_HERE}.demo:demo", "Play a conversation and show what memory does."),
}


class Root(Group):
    """The program itself: its own commands, then those of installed providers."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of the table, or what an installed provider of that name brings."""
        command = super().get_command(ctx, cmd_name)
        if command is not None or cmd_name in self.lazy:
            return command
        from hermes_memory_core.cli.provider_commands import command_of

        return command_of(cmd_name, no_plugins=ctx.ensure_object(State).no_plugins)

    def unknown_command(self, ctx: click.Context, name: str) -> None:
        """Say whether it could be a provider that is not installed, or a misspelling."""
        from hermes_memory_core.cli.provider_commands import explain_missing

        explain_missing(name, no_plugins=ctx.ensure_object(State).no_plugins)
        super().unknown_command(ctx, name)


def _version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"{context.find_root().info_name} {VERSION}")
        context.exit()


EPILOG = (
    "Options may stand anywhere on the line. Each provider you install adds its own command: "
    "`hermes NAME --help`."
)


@click.group(
    cls=Root,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version and leave.",
)
def app() -> None:
    """See, search, change and move what your agent remembers.

    hermes memory                        what is remembered, and how full it is
    hermes memory add "Prefers tea"      remember something
    hermes sessions search "tea house"   find it in past conversations
    hermes -p work memory                the same for the profile `work`
    """


for _option in app.params:  # below the root most of them are hidden, though they work everywhere
    if isinstance(_option, click.Option):
        _option.hidden = False
