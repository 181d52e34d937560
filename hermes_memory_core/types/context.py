"""What a provider is constructed with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hermes_memory_core.types.notes import Decision, NoteWrite, Notice

if TYPE_CHECKING:
    import logging


class LLM(Protocol):
    """The auxiliary model a host may lend: titles, reviews, summaries."""

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, task: str, max_tokens: int = 500
    ) -> str:
        """One completion as plain text. ``task`` names what it is for, e.g. ``title``."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider is constructed with: ``Class(context)``."""

    name: str
    """The provider's own name: its entry point's, the key of ``providers.NAME``."""
    home: Path
    """The profile's directory (not the root home, unless the profile is ``default``)."""
    data_dir: Path
    """A directory of this provider's own below the profile; made on first use by the provider."""
    profile: str
    config: Any
    """An instance of the provider's ``Config``, or a plain mapping when it declares none."""
    settings: Mapping[str, Any]
    """The validated core settings as plain data, e.g. ``settings["memory"]["memory_char_limit"]``."""
    secrets: Mapping[str, str]
    """This provider's secrets from ``.env`` by field name; never the process environment."""
    logger: logging.Logger
    llm: LLM | None = None
    clock: Callable[[], float] = field(default=lambda: 0.0)
    """Epoch seconds; use this instead of ``time.time()``."""
    redact: Callable[[str], str] = field(default=lambda text: text)
    """Masks credentials, remembering those seen before in this profile."""
    notify: Callable[[Notice], None] = field(default=lambda _notice: None)
    """Tells the person, once per key."""
    notes_changed: Callable[[NoteWrite], None] = field(default=lambda _write: None)
    """To be called after a committed note write; the core passes it on as ``notes_written``."""
    approve: Callable[[NoteWrite], Decision] = field(default=lambda _write: Decision("allow"))
    """To be asked before a note write; the answer is what happens."""
