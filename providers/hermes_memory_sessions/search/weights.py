"""The few numbers of the ranking, each with where it comes from. No code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEMOTED_SOURCES: Final = frozenset({"cron", "tool"})
"""Sources of sessions that no person took part in."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Structure first (spec/search.md section 2); tuned on LoCoMo by cross-validation, see bench/search_quality.py."""

    k1: float = 0.9
    """Saturation of a term's frequency."""
    b: float = 0.3
    """How much a long message is held against it."""
    near: float = 0.3
    """Share of a neighbour's own evidence that a message gets."""
    next_near: float = 0.2
    """The same at a distance of two."""
    answer: float = 0.7
    """Share of a question's evidence that the message after it gets, instead of ``near``."""
    session: float = 0.4
    """Share of the best message's score that the best session adds to its messages."""
    speaker: float = 0.7
    """Gain of messages by somebody the query names, or means by "I" and "you"."""
    date: float = 1.5
    """Gain of messages from the day, month or year the query names."""
    temporal: float = 0.6
    """Gain of messages with words of time when the query asks "when"."""
    asking: float = 0.15
    """Loss of messages that are questions themselves."""
    demoted: float = 0.5
    """Factor for sessions that no person had: cron and tools."""
    recent: float = 0.005
    """Gain of the newest message over the oldest: breaks ties, decides nothing else."""


DEFAULT = Weights()
