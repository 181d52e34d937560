"""Times: reading the many ways they are written, and filling in the ones that are missing. No I/O."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hermes_memory_core.types import Message

from .records import ImportedConversation

EARLIEST = 86_400.0
"""A time in the first day of 1970 is a zero that went through a time zone, not a date."""
SKEW_S = 86_400.0
"""Clocks differ; a time more than a day ahead is wrong."""

_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))  # from nano-, micro- and milliseconds
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")

NOTE_NEIGHBOUR = "missing or impossible times taken from neighbouring messages"
NOTE_SESSION = "messages without times dated by the conversation's own date"
NOTE_FILE = "messages without times dated by the file's date"


def parse_time(value: Any, *, now: float | None = None) -> float | None:
    """Epoch seconds from seconds, milli-, micro- or nanoseconds, numeric strings and ISO 8601.

    None for everything that cannot be when something was said: not a time, not finite, negative, about zero,
    or more than a day in the future. ISO times without a zone are taken as UTC.
    """
    try:
        seconds = _seconds(value)
    except (ValueError, OverflowError, OSError):
        return None
    if seconds is None or not math.isfinite(seconds):
        return None
    limit = (time.time() if now is None else now) + SKEW_S
    return seconds if EARLIEST <= seconds <= limit else None


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        text = value.strip()[:64]
        if not _NUMBER.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        value = float(text)
    number = float(value)
    for least, unit in _UNITS:
        if number >= least:
            return number / unit
    return number


def fill(
    times: Sequence[float | None], session: float | None, file: float
) -> tuple[list[float], str | None]:
    """Give every message a time, and say where the missing ones came from (None: none were missing).

    A missing time is that of the message before; at the beginning, of the first one that has one; without any,
    the conversation's own; without that, the file's.
    """
    known = next((at for at in times if at is not None), None)
    if known is None:
        base, note = (file, NOTE_FILE) if session is None else (session, NOTE_SESSION)
        return [base] * len(times), note if times else None
    filled: list[float] = []
    last = known if session is None else min(session, known)
    for at in times:
        last = last if at is None else at
        filled.append(last)
    return filled, NOTE_NEIGHBOUR if None in times else None


def with_times(conversation: ImportedConversation, file_time: float) -> ImportedConversation:
    """The conversation with every message timed, ``started_at`` set, and a note where times were guessed."""
    times, note = fill(
        [message.timestamp for message in conversation.messages],
        conversation.started_at or conversation.ended_at,
        file_time,
    )
    messages: tuple[Message, ...] = tuple(
        message if message.timestamp == at else replace(message, timestamp=at)
        for message, at in zip(conversation.messages, times, strict=True)
    )
    started = conversation.started_at
    if started is None:
        started = min(times, default=conversation.ended_at or file_time)
    ended = conversation.ended_at
    return replace(
        conversation,
        messages=messages,
        started_at=started,
        ended_at=None if ended is None else max(ended, started),
        notes=conversation.notes + ((note,) if note else ()),
    )
