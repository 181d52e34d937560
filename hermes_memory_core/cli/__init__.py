"""The command line, ``hermes`` or ``hermes-memory``: the person's door to memory.

Here is only the entry point, kept free of imports so that ``--version`` costs nothing but Python. The root
group is in ``app``, the base classes of commands in ``base``, what a command gets in ``state``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and say what the process should end with.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        An exit code of ``exits``. Nothing is raised, whatever the command does.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    from hermes_memory_core.cli.naming import invoked_name

    if arguments == ["--version"]:
        from hermes_memory_core.version import VERSION

        sys.stdout.write(f"{invoked_name()} {VERSION}\n")
        return 0
    from hermes_memory_core.cli.run import run

    return run(arguments, invoked_name())
