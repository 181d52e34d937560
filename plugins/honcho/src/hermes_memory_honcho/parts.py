"""Everything one profile needs to talk to Honcho, put together once; used by the provider and by the commands."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hermes_memory_core.errors import ConfigError
from hermes_memory_honcho.address import is_private
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.legacy import Resolved, resolve
from hermes_memory_honcho.migrate import Migrator
from hermes_memory_honcho.mirror import Mirror
from hermes_memory_honcho.moving import Mover
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.settings import HonchoSettings
from hermes_memory_honcho.tool_calls import ToolCalls
from hermes_memory_honcho.who import Directory
from hermes_memory_honcho.writes import Writer

VERSION = "0.1.0"


@dataclass
class Parts:
    """One profile's parts. Making it reads honcho.json and nothing else."""

    given: HonchoSettings
    home: Path
    data_dir: Path
    profile: str
    clock: Callable[[], float]
    redact: Callable[[str], str]
    logger: logging.Logger

    @cached_property
    def resolved(self) -> Resolved:
        """The settings that count."""
        return resolve(self.given, self.home, self.profile, Path.home())

    @property
    def settings(self) -> HonchoSettings:
        """The knobs."""
        return self.resolved.settings

    def require_access(self) -> None:
        """Say what is missing before anything is tried.

        Raises:
            ConfigError: Neither a key nor a server.
        """
        resolved = self.resolved
        own = resolved.settings.base_url is not None or is_private(resolved.url)
        if resolved.settings.enabled and resolved.key is None and not own:
            raise ConfigError(
                "Honcho needs `api_key` (its cloud) or `base_url` (a server of your own).",
                hint="hermes memory setup honcho",
            )

    @cached_property
    def ledger(self) -> Ledger:
        """What was sent."""
        return Ledger(self.data_dir / "ledger.db", self.clock)

    @cached_property
    def server(self) -> Server:
        """The server."""
        return Server(self.resolved, self.ledger, VERSION)

    @cached_property
    def directory(self) -> Directory:
        """Sessions to places."""
        return Directory(self.resolved, self.ledger.name_of)

    @cached_property
    def looking(self) -> Directory:
        """The same without writing names down: for commands that only look."""
        return Directory(self.resolved)

    @cached_property
    def writer(self) -> Writer:
        """Messages to the server."""
        return Writer(self.server, self.ledger, self.clock, self.settings.message_max_chars)

    @cached_property
    def tool_calls(self) -> ToolCalls:
        """The five tools."""
        return ToolCalls(self.server, self.settings)

    @cached_property
    def mirror(self) -> Mirror:
        """Notes to conclusions."""
        return Mirror(self.server, self.ledger, self.clock)

    @cached_property
    def mover(self) -> Mover:
        """Export, import, forgetting."""
        return Mover(self.server, self.ledger, self.directory, self.writer)

    @cached_property
    def migrator(self) -> Migrator:
        """What was known before."""
        return Migrator(
            self.server,
            self.ledger,
            self.directory,
            self.data_dir / "migrate.lock",
            self.clock,
            self.redact,
        )

    def close(self) -> None:
        """Let connections and files go."""
        if "server" in self.__dict__:
            self.server.close()
        if "ledger" in self.__dict__:
            self.ledger.close()
