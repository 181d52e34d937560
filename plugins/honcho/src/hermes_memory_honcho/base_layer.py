"""The base layer: session summary, what is known of the user, what the assistant knows of itself. Three calls.

``peer.context`` answers representation and card in one; nothing is asked again because it came back empty.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_core.errors import ProviderAuthError, ProviderError
from hermes_memory_honcho import texts
from hermes_memory_honcho.answers import View
from hermes_memory_honcho.background import together
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.settings import Section
from hermes_memory_honcho.who import Place

HEADINGS: dict[Section, str] = {
    "summary": "Summary of this session so far",
    "peerRepresentation": "What is known about the user",
    "peerCard": "The user in short",
    "aiRepresentation": "What is known about the assistant",
    "aiCard": "The assistant in short",
}
SEARCH_CHARS = 1000
"""Of the message that picks what is shown; it travels in the address."""
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Base:
    """What was found."""

    parts: dict[Section, str]
    missing: tuple[str, ...] = ()
    """What could not be read, in words; the rest is shown."""

    def text(self, wanted: Sequence[Section]) -> str:
        """The layer as text, empty parts left out."""
        return "\n\n".join(
            f"## {HEADINGS[name]}\n{self.parts[name]}"
            for name in HEADINGS
            if name in wanted and self.parts.get(name)
        )

    def sections(self, wanted: Sequence[Section]) -> list[str]:
        """Names of the parts that have text."""
        return [name for name in HEADINGS if name in wanted and self.parts.get(name)]


def fetch(
    server: Server,
    place: Place,
    query: str,
    wanted: Sequence[Section],
    logger: logging.Logger,
) -> Base:
    """Ask for what is wanted, at once.

    What the assistant knows of itself comes from everybody it talked to, so it is shown to the profile's owner only.

    Raises:
        ProviderError: Nothing could be read, or the key was refused.
    """
    search = texts.cut_query(texts.clean(query).strip(), SEARCH_CHARS)
    calls = []
    if "summary" in wanted:
        calls.append(("summary", lambda: View(server.summary(place.session), ())))
    if {"peerRepresentation", "peerCard"} & set(wanted):
        calls.append(("user", lambda: server.view(place.observer, place.user, search)))
    if place.owner and {"aiRepresentation", "aiCard"} & set(wanted):
        calls.append(("ai", lambda: server.view(place.ai, place.ai)))
    answers = together([call for _, call in calls])
    found: dict[str, View] = {}
    errors: list[Exception] = []
    for (name, _), answer in zip(calls, answers, strict=True):
        if isinstance(answer, Exception):
            errors.append(answer)
        else:
            found[name] = answer
    for error in errors:
        if isinstance(error, ProviderAuthError) or not isinstance(error, ProviderError):
            raise error
    base = _base(found, tuple(str(error) for error in errors))
    if errors and not any(base.parts.values()):
        raise errors[0]
    if errors:
        logger.warning("Honcho: a part of the base layer is missing: %s", errors[0])
    return base


def _base(found: dict[str, View], missing: tuple[str, ...]) -> Base:
    nothing = View("", ())
    user, ai = found.get("user", nothing), found.get("ai", nothing)
    parts: dict[Section, str] = {
        "summary": texts.usable_summary(found.get("summary", nothing).representation),
        "peerRepresentation": user.representation.strip(),
        "peerCard": _card(user.card),
        "aiRepresentation": ai.representation.strip(),
        "aiCard": _card(ai.card),
    }
    return Base(parts, missing)


def _card(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines if line.strip())


def within_budget(text: str, tokens: int | None) -> str:
    """The injection cut to its budget of tokens."""
    return text if tokens is None else texts.trimmed(text, tokens * CHARS_PER_TOKEN)
