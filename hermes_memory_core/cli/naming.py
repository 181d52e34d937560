"""The program's name as the person typed it, and hints rewritten to it. The one place that does so.

Hints are written everywhere as ``hermes memory use NAME``. What is printed names the program that was really
started, and keeps the ``-p`` and ``--home`` it was started with: a hint that acts on another profile is worse
than none.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

KNOWN_NAMES = ("hermes", "hermes-memory")
MODULE_NAME = "python -m hermes_memory_core"

_COMMAND = re.compile(r"(?P<lead>^|[`→(]\s?|\s)hermes(?P<rest> +(?:[-a-z]|NAME\b))")
_HINT_KEYS = frozenset({"hint", "next"})


def invoked_name(path: str | None = None) -> str:
    """``hermes`` or ``hermes-memory``; ``python -m hermes_memory_core`` when no script was started."""
    name = PurePath(sys.argv[0] if path is None else path).name
    name = name.removesuffix(".exe")
    if name in KNOWN_NAMES:
        return name
    return MODULE_NAME if name == "__main__.py" else "hermes-memory"


class Naming:
    """Rewrites hints for one run of the program."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.home: str | None = None
        """``--home`` as given, so that a hint leads back to the same place."""
        self.profile: str | None = None
        """``--profile`` as given."""

    @property
    def prefix(self) -> str:
        """What a command line starts with, e.g. ``hermes -p work``."""
        parts = [self.program]
        if self.home is not None:
            parts += ["--home", shlex.quote(self.home)]
        if self.profile is not None:
            parts += ["-p", shlex.quote(self.profile)]
        return " ".join(parts)

    def _prefix_for(self, first: str) -> str:
        """What goes before a command whose first word is ``first``: its own choice of profile stands."""
        if first in ("-p", "--profile", "profile"):  # `profile create NAME` names one itself
            home = [] if self.home is None else ["--home", shlex.quote(self.home)]
            return " ".join([self.program, *home])
        return self.program if first.startswith("-") else self.prefix

    def text(self, text: str) -> str:
        """The text with every ``hermes …`` command in it made typeable as it stands."""

        def put(found: re.Match[str]) -> str:
            rest = found["rest"]
            return (
                f"{found['lead']}{self._prefix_for(text[found.start('rest') :].split()[0])}{rest}"
            )

        return _COMMAND.sub(put, text)

    def data(self, value: Any) -> Any:
        """JSON data with its ``hint`` and ``next`` fields rewritten, whatever the depth."""
        if isinstance(value, Mapping):
            return {
                key: self.text(item)
                if key in _HINT_KEYS and isinstance(item, str)
                else self.data(item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.data(item) for item in value]
        return value
