"""``hermes demo``: a home of its own, the scenes in order, and a clear failure when one does not hold.

What is played stands in ``demo_scenes``, how it looks in ``demo_paper``.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError

MARK = ".made-by-hermes-demo"
"""File that tells a demo's home from a person's."""


@click.command("demo", cls=Command)
@click.option(
    "--home", metavar="DIR", help="Keep the result in DIR (new, empty, or of an earlier demo)."
)
@click.pass_obj
def demo(state: State, home: str | None) -> None:
    """Play a conversation over several weeks and show what memory does: no key, no network, no model.

    Everything shown is computed while you watch, through the public API. Your own home is not touched. Exits 1
    when something does not hold.

    hermes demo --home ./demo-home
    """
    from hermes_memory_core.cli.demo_paper import Paper
    from hermes_memory_core.cli.demo_scenes import play

    wanted = home if home is not None else state.home
    if wanted is not None:
        state.naming.home = wanted
    paper = Paper(quiet=state.json or state.quiet, named=state.naming.text)
    begun = time.perf_counter()
    state.set_up_logging()
    with _place(wanted) as path:
        play(path, paper, no_plugins=state.no_plugins)
        seconds = time.perf_counter() - begun
        data = {
            "home": str(path) if wanted is not None else None,
            "seconds": round(seconds, 3),
            "facts": paper.facts,
        }
        held = (
            f"{output.count(len(paper.facts), 'statement')} checked, all true, in {seconds:.1f} s."
        )
        state.result("demo", data, lambda: click.style(f"\n{held}", bold=True))
    if wanted is None:
        state.hint("keep the result to look at: hermes demo --home DIR")
    else:
        state.hint("look around: hermes sessions list")
        state.hint("hermes memory log")


@contextmanager
def _place(wanted: str | None) -> Iterator[Path]:
    """The directory to play in; one that nobody named is removed afterwards.

    Raises:
        UsageError: DIR holds something that no demo made.
    """
    if wanted is None:
        path = Path(tempfile.mkdtemp(prefix="hermes-demo-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
        return
    path = Path(wanted).expanduser().absolute()
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(
            f"`{path}` is no directory; nothing was done.", hint="name a new directory"
        )
    if path.is_dir() and any(path.iterdir()):
        if not (path / MARK).is_file():
            raise UsageError(
                f"`{path}` is not empty, and no demo made what is in it; nothing was done.",
                hint="name a new directory",
            )
        shutil.rmtree(path)
    from hermes_memory_core.storage.atomic import make_private_dir, write_atomic

    make_private_dir(path)
    write_atomic(path / MARK, b"The next demo in this directory begins by deleting it.\n")
    yield path
