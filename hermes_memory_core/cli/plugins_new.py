"""``hermes plugins new NAME``: writes a complete small distribution with a working provider."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError


@click.command("new", cls=Command)
@click.argument("name")
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    help="Directory to write into; must not exist or be empty [hermes-memory-NAME].",
)
@click.option("--author", default="", help="Name for the licence and the metadata.")
@click.pass_obj
def new(state: State, name: str, path: Path | None, author: str) -> None:
    """Write a provider of your own: a complete package with tests, CI, and a notebook that works at once.

    hermes plugins new seaside
    cd hermes-memory-seaside; python -m pytest
    """
    from hermes_memory_core.cli.app import COMMANDS
    from hermes_memory_core.plugins.scaffold import names_for, write

    if name in COMMANDS:
        raise UsageError(
            f"`{name}` is a command of this program, so a provider of that name could have none; nothing was "
            "written.",
            hint="choose another name",
        )
    names = names_for(name)
    directory = path if path is not None else Path(names.distribution)
    written = write(names, directory, author=author)
    data = {
        "name": names.name,
        "distribution": names.distribution,
        "package": names.package,
        "path": str(directory),
        "files": [str(one) for one in written],
    }
    state.result(
        "plugins-new",
        data,
        lambda: "\n".join([f"Wrote {directory}:", *(f"  {one}" for one in written)]),
    )
    state.hint(f"hermes plugins install {directory.resolve()} --editable")
    state.hint(f"hermes memory use {names.name}")
