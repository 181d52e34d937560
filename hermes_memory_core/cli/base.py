"""Base classes of all commands: options every command understands, and groups that import on use.

A command made with ``@group.command()`` of these groups takes ``--json``, ``-p`` and the rest anywhere on the
line; their values go to the ``State`` of the run, never to the command's function. Knows no command by name.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from hermes_memory_core.cli.state import State


def _global_options() -> list[click.Option]:
    """The options of every command, made anew because click keeps state in them."""

    def option(*names: str, help: str, **more: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_keep, help=help, **more)

    return [
        option(
            "--home",
            metavar="PATH",
            help="Directory all data lives under [HERMES_HOME; ~/.hermes].",
        ),
        option("-p", "--profile", metavar="NAME", help="Profile to use, only for this command."),
        option("--json", is_flag=True, default=None, help="Print one JSON object."),
        option("-v", "--verbose", count=True, default=None, help="Say more; twice for everything."),
        option("-q", "--quiet", is_flag=True, default=None, help="Print results only."),
        option("--color/--no-color", is_flag=True, default=None, help="Colour or none [NO_COLOR]."),
        option("--no-input", is_flag=True, default=None, help="Never ask; fail instead."),
        option(
            "--no-plugins",
            is_flag=True,
            default=None,
            help="Load no external provider [HERMES_MEMORY_NO_PLUGINS].",
        ),
    ]


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and value != 0:
        context.ensure_object(State).keep(str(parameter.name), value)
        if parameter.name == "color":
            context.find_root().color = value
            context.color = value


_SHOWN_BELOW_ROOT = ("json", "profile")


def add_global_options(
    own: list[click.Parameter], *, shown: Iterable[str] = _SHOWN_BELOW_ROOT
) -> list[click.Parameter]:
    """The command's own parameters and those global options whose names it does not use itself."""
    taken = {name for parameter in own for name in (*parameter.opts, *parameter.secondary_opts)}
    names = {parameter.name for parameter in own}
    added: list[click.Parameter] = []
    for option in _global_options():
        free = [name for name in option.opts if name not in taken]
        if not free or option.name in names or len(free) < len(option.opts):
            continue
        option.hidden = option.name not in shown
        added.append(option)
    return [*own, *added]


def with_examples(help: str | None) -> str | None:
    """Help text whose examples (paragraphs that start with a command) click will not re-wrap."""
    if help is None:
        return None
    paragraphs = inspect.cleandoc(help).split("\n\n")
    return "\n\n".join(
        "\b\n" + paragraph if paragraph.startswith("hermes ") else paragraph
        for paragraph in paragraphs
    )


class Command(click.Command):
    """A command that takes the global options and names the program as it was invoked."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params = add_global_options(self.params)
        self.help = with_examples(self.help)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help text, its examples typeable as they stand."""
        with self._named(ctx):
            super().format_help_text(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The last lines, likewise."""
        with self._named(ctx):
            super().format_epilog(ctx, formatter)

    @contextmanager
    def _named(self, ctx: click.Context) -> Iterator[None]:
        """Help and epilog name the program that was typed, for as long as they are printed."""
        written = self.help, self.epilog
        naming = ctx.ensure_object(State).naming
        self.help = self.help and naming.text(self.help)
        self.epilog = self.epilog and naming.text(self.epilog)
        try:
            yield
        finally:
            self.help, self.epilog = written


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is imported when it is invoked."""

    target: str
    """``package.module:attribute``"""
    help: str
    """One line for the list of commands, so that listing imports nothing."""
    hidden: bool = False

    @property
    def exists(self) -> bool:
        """Whether the module is there; it is not imported."""
        return importlib.util.find_spec(self.target.partition(":")[0]) is not None

    def load(self) -> click.Command:
        """Import it."""
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


class Group(Command, click.Group):
    """A group with lazy commands, a default command for the bare noun (else its help), and "did you mean".

    Args:
        lazy: Commands by name; those whose module does not exist are left out.
        default: The command the bare noun stands for.
    """

    command_class = Command
    group_class = type

    def __init__(
        self,
        *arguments: Any,
        lazy: Mapping[str, Lazy] | None = None,
        default: str | None = None,
        **options: Any,
    ) -> None:
        options["invoke_without_command"] = True
        options["callback"] = self._bare(options.get("callback"))
        super().__init__(*arguments, **options)
        self.lazy = dict(lazy or {})
        self.default = default

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order they were declared: the everyday ones first."""
        names = [name for name, lazy in self.lazy.items() if lazy.exists]
        return [*names, *(name for name in self.commands if name not in names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import what is asked for, and only that."""
        lazy = self.lazy.get(cmd_name)
        if lazy is not None and lazy.exists:
            return lazy.load()
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from what is known without importing them."""
        rows = []
        for name in self.list_commands(ctx):
            lazy = self.lazy.get(name)
            if lazy is not None:
                if not lazy.hidden:
                    rows.append((name, lazy.help))
            elif not self.commands[name].hidden:
                rows.append((name, self.commands[name].get_short_help_str(limit=200)))
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names when there is no such command."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not name.startswith("-"):
            self.unknown_command(ctx, name)
        return super().resolve_command(ctx, args)

    def unknown_command(self, ctx: click.Context, name: str) -> None:
        """Raise a UsageError that names what was probably meant."""
        near = difflib.get_close_matches(name, self.list_commands(ctx), 2, 0.6)
        meant = f" Did you mean {' or '.join(f'`{item}`' for item in near)}?" if near else ""
        raise click.UsageError(f"There is no command `{name}`.{meant}", ctx)

    def _bare(self, callback: Callable[..., Any] | None) -> Callable[..., Any]:
        """The group's own callback, followed by the default command when no other was typed."""

        def run(*arguments: Any, **options: Any) -> Any:
            context = click.get_current_context()
            result = callback(*arguments, **options) if callback is not None else None
            if context.invoked_subcommand is not None:
                return result
            command = self.get_command(context, self.default) if self.default else None
            if self.default is None or command is None:
                click.echo(context.get_help())
                return result
            with command.make_context(self.default, [], parent=context) as inner:
                return command.invoke(inner)

        return run


def option_target(*, both: bool = False) -> Callable[[Any], Any]:
    """``-t/--target``: memory, user, and ``all`` where both make sense; with ``option_whose``."""
    choices = ["memory", "user", *(["all"] if both else [])]
    target = click.option(
        "-t",
        "--target",
        type=click.Choice(choices),
        default="all" if both else None,
        show_default=both,
        help="MEMORY.md (the agent's notes) or USER.md (who the user is).",
    )
    return lambda function: target(option_whose(function))


def option_whose(function: Any) -> Any:
    """``--user`` and ``--chat``: whose memory, where ``memory.isolation`` keeps it apart (``State.scope``)."""
    for kind, example in (("chat", "telegram:-42"), ("user", "telegram:111")):
        function = click.option(
            f"--{kind}",
            f"whose_{kind}",
            metavar="SOURCE:ID",
            expose_value=False,
            callback=_keep,
            help=f"Whose memory, where it is kept per {kind}, for example {example}.",
        )(function)
    return function
