"""The external provider of the demo, as short as one can be. Its "server" is two lists in this process."""

# ruff: noqa: D101, D102 - its source is shown, so it carries nothing but itself

from __future__ import annotations

from typing import Any, ClassVar

from hermes_memory_core import hookimpl
from hermes_memory_core.errors import ProviderUnavailableError
from hermes_memory_core.types import Turn


class Server:
    """What would be a service elsewhere."""

    up: ClassVar[bool] = True
    turns: ClassVar[dict[str, str]] = {}


class Diary:
    def __init__(self, context: Any) -> None: ...

    @hookimpl
    def prefetch(self) -> str:
        return f"The diary holds {len(Server.turns)} turns."

    @hookimpl
    def sync_turn(self, turn: Turn) -> None:
        if not Server.up:
            raise ProviderUnavailableError("The diary's server does not answer.")
        Server.turns[turn.id] = turn.user
