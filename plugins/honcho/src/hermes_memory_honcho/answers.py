"""What comes back from the server, as values of our own, and handles that make nothing there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import ProviderRejectedError

if TYPE_CHECKING:
    from honcho import Honcho, Peer, Session


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message on its way."""

    peer: str
    content: str
    metadata: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Stored:
    """One message or conclusion on the server."""

    id: str
    content: str
    peer: str
    session: str | None
    at: float
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What one peer knows of another (or of itself)."""

    representation: str
    card: tuple[str, ...]


def check_name(name: str, what: str) -> str:
    """A peer a model or person named.

    Raises:
        ProviderRejectedError: The server would not take it.
    """
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,512}", name):
        raise ProviderRejectedError(f"`{name[:40]}` cannot be the name of a {what}.")
    return name


def peer_of(sdk: Honcho, name: str) -> Peer:
    """A handle; makes nothing on the server."""
    from honcho import Peer

    return Peer(name, sdk)


def session_of(sdk: Honcho, name: str) -> Session:
    """Likewise."""
    from honcho import Session

    return Session(name, sdk)


def everything(page: Any, limit: int) -> Iterator[Any]:
    """Items of a page and the following ones."""
    seen = 0
    while page is not None:
        check_page(page)
        for item in page.items:
            yield item
            seen += 1
            if seen >= limit:
                return
        page = page.get_next_page()


def check_page(page: Any) -> None:
    """The SDK takes any JSON object for a page; taken for "nothing there", a turn would be stored twice."""
    if page.total is None:
        raise ValueError("no page of results")


def message_of(one: Any) -> Stored:
    """From the SDK's message."""
    return Stored(
        one.id,
        one.content,
        one.peer_id,
        one.session_id,
        _epoch(one.created_at),
        dict(one.metadata or {}),
    )


def conclusion_of(one: Any) -> Stored:
    """From the SDK's conclusion; who knows it about whom stands in the metadata."""
    facts = {"observer": one.observer_id, "observed": one.observed_id}
    level = getattr(one, "level", None)
    if level:
        facts["level"] = str(level)
    return Stored(
        one.id, one.content, one.observed_id, one.session_id, _epoch(one.created_at), facts
    )


def _epoch(value: Any) -> float:
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo else value.replace(tzinfo=UTC).timestamp()
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return 0.0
    return 0.0
