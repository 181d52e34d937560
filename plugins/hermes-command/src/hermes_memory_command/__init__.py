"""Puts the program of hermes-memory-core on the path as ``hermes``; holds no logic of its own.

Beside a Hermes Agent, whose own command is called the same, it steps back: see ``main``.
"""

from __future__ import annotations

import sys
from importlib import metadata


def main() -> int:
    """Run the command line of Hermes Memory; refuses where Hermes Agent is installed.

    Both distributions would own the same script, and the one installed last wins silently. If that is us, say so
    instead of answering commands that were meant for the agent.
    """
    try:
        version = metadata.version("hermes-agent")
    except metadata.PackageNotFoundError:
        from hermes_memory_core.cli import main as run

        return run()
    sys.stderr.write(
        f"hermes-agent {version} is installed here and owns the `hermes` command; "
        "hermes-memory-command has taken its place.\n"
        "→ pip uninstall hermes-memory-command && pip install --force-reinstall --no-deps hermes-agent\n"
        "→ Hermes Memory itself answers to `hermes-memory`\n"
    )
    return 5
