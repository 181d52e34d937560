"""The mask: what stands where a secret stood, and how to recognise it later.

Nothing here finds secrets. The mask holds no quote, backslash, bracket or line break, so JSON
stays JSON and YAML stays YAML. It carries the kind only, never a part of the value: a hint of
even four characters helps whoever guesses, and tells a reader nothing the kind does not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MASK_PREFIX = "«redacted:"
"""Every mask starts with this; a text that holds it must not be written over a real value."""

MASK_SUFFIX = "»"
MASK = re.compile(r"«redacted:[a-z0-9-]{1,48}»")


def mask(kind: str) -> str:
    """Return the mask for a kind, for example ``«redacted:github-token»``."""
    return f"{MASK_PREFIX}{kind}{MASK_SUFFIX}"


def contains_mask(text: str) -> bool:
    """Tell whether a text holds a mask, so a caller can refuse to write it over a real value."""
    return MASK_PREFIX in text


class Span(NamedTuple):
    """A stretch of text that holds a secret."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset behind the last character."""
    kind: str
    """Kind for the mask, in lower case with hyphens."""
    sure: bool
    """So certain, and so random, that the value may be masked elsewhere without context."""
