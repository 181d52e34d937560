"""Writes docs/reference/cli.md from the click tree: ``python docs/_tools/cli_reference.py [--check]``.

With ``--check`` nothing is written; the exit code is 1 when the page is not what the program says of itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["HERMES_MEMORY_NO_PLUGINS"] = "1"  # the page must not depend on what is installed here

import click

from hermes_memory_core.cli.app import COMMANDS, app
from hermes_memory_core.cli.state import State

PAGE = Path(__file__).resolve().parent.parent / "reference" / "cli.md"
PROGRAM = "hermes"

HEAD = """\
# Command line

<!-- Written by docs/_tools/cli_reference.py from the program itself; change the help texts, not this page. -->

`hermes` and `hermes-memory` are the same program; hints and help name the one you typed.

Results go to standard output, everything else to standard error. With `--json` the result is one object
`{"schema": "hermes-memory/<name>/1", "data": …}`; an error is
`{"schema": "hermes-memory/error/1", "error": {"code", "message", "hint", "details", "retryable"}}`.

| exit code | meaning |
|---|---|
| 0 | done, or the answer is yes |
| 1 | it ran, and the answer is no or something failed |
| 2 | the command cannot work as typed |
| 3 | a setting or profile cannot be used |
| 4 | an external provider is not there or did not answer |
| 5 | locked by another process, or changed meanwhile |
| 130 | interrupted |
"""


def walk(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command with the context its help is shown in, groups before their commands."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from walk(inner, click.Context(inner, parent=context, info_name=name))


def page() -> str:
    """The whole page."""
    state = State(PROGRAM)
    root = click.Context(app, info_name=PROGRAM, obj=state, terminal_width=100)
    root.max_content_width = 100
    root.help_option_names = ["-h", "--help"]
    parts = [HEAD]
    for command, context in walk(app, root):
        depth = len(context.command_path.split())
        parts.append(f"{'#' * min(depth + 1, 4)} {context.command_path}\n")
        parts.append(f"```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or with ``--check`` compare it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
        print(
            f"{PAGE.name}: {sum(1 for line in text.splitlines() if line.startswith('#'))} headings"
        )
        return 0
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if there == text:
        return 0
    missing = [
        name for name, lazy in COMMANDS.items() if lazy.exists and f"{PROGRAM} {name}" not in there
    ]
    print(
        f"docs/reference/{PAGE.name} is not what the program says; run docs/_tools/cli_reference.py"
    )
    if missing:
        print(f"missing: {', '.join(missing)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
