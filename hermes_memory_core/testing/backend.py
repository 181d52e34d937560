"""What a test can do to the service behind a provider: look into it, make it hang, make it answer nonsense.

Optional: a provider without one is tested by what its own hooks show.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable


@runtime_checkable
class Backend(Protocol):
    """The stand-in for the service a provider talks to; ``LoopbackServer`` is one."""

    def stored(self, text: str) -> int | None:
        """How many things the service keeps that contain ``text``; None when it cannot tell."""
        ...

    def hang(self, seconds: float) -> AbstractContextManager[None]:
        """Answer nothing for that long."""
        ...

    def fail(
        self, status: int, body: str = "", headers: dict[str, str] | None = None
    ) -> AbstractContextManager[None]:
        """Answer everything with this HTTP status."""
        ...

    def drop(self) -> AbstractContextManager[None]:
        """Close every connection without an answer."""
        ...
