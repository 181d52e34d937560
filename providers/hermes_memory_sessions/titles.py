"""Titles: cleaning, the ``#N`` of a lineage, and which session a title means. Pure functions over text.

Rules and numbers: spec/builtin.md section 5.6 and 14.5 (D9, D10).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hermes_memory_core.errors import SessionError

from .transcript import clean_text

MAX_CHARS: Final = 100

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]"
)
_NUMBER = re.compile(r"(?P<base>.*?)\s*#(?P<number>[1-9]\d{0,8})", re.DOTALL)


def clean_title(title: str | None) -> str | None:
    """The title on one line without invisible characters; None when nothing is left.

    Raises:
        SessionError: It is longer than 100 characters after cleaning.
    """
    if title is None:
        return None
    text = " ".join(_INVISIBLE.sub("", clean_text(title)).split())
    if len(text) > MAX_CHARS:
        raise SessionError(
            f"The title has {len(text)} characters; at most {MAX_CHARS} are kept. Nothing was changed.",
            hint="give a shorter title",
            details={"length": len(text), "limit": MAX_CHARS},
        )
    return text or None


def split_number(title: str) -> tuple[str, int]:
    """Base and lineage number of a title: ``("Trip", 3)`` for ``Trip #3``, ``("Trip", 1)`` for ``Trip``."""
    match = _NUMBER.fullmatch(title)
    if match and match["base"]:
        return match["base"], int(match["number"])
    return title, 1


def next_title(title: str, taken: Iterable[str]) -> str:
    """The first free title of the lineage: the base itself, else ``base #N`` one above the highest taken.

    The base is shortened so that the whole stays within 100 characters.
    """
    base, _ = split_number(title)
    numbers = [number for other, number in map(split_number, taken) if same(other, base)]
    if not numbers:
        return base
    suffix = f" #{max(numbers) + 1}"
    return base[: MAX_CHARS - len(suffix)].rstrip() + suffix


def same(one: str, other: str) -> bool:
    """True when two titles are the same to a person."""
    return one.casefold() == other.casefold()


def one_line(text: str, limit: int) -> str:
    """The text's first words on one line, at most ``limit`` code points."""
    flat = " ".join(text[: limit * 8].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
