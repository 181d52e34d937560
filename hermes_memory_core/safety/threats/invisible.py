"""Characters nobody sees: tag letters, variation selectors, zero-width and direction marks, judged by context.

A joiner between emoji or inside Persian and Indic words is spelling, a soft hyphen is typography; the same characters
inside a Latin or Chinese word are a disguise. What invisible letters spell is handed back for scanning.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from hermes_memory_core.types import Severity

_ANY = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ff]+"
)
_FLAG = "\U0001f3f4"
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OVERRIDES = frozenset("\u202d\u202e")
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_ZERO_WIDTH_LIMIT = 8


class Unseen(NamedTuple):
    """A run of invisible characters that has no business there, and the text it spells, if any."""

    id: str
    severity: Severity
    start: int
    end: int
    message: str


def find_unseen(text: str) -> list[Unseen]:
    """Every suspicious run of invisible characters in ``text``; offsets are those of ``text``."""
    if text.isascii():
        return []
    found: list[Unseen] = []
    has_rtl: bool | None = None
    for match in _ANY.finditer(text):
        run, start, end = match.group(), match.start(), match.end()
        tags = [ord(char) - 0xE0000 for char in run if 0xE0020 <= ord(char) <= 0xE007E]
        if tags:
            if text[start - 1 : start] == _FLAG and run[-1] == "\U000e007f":
                continue
            message = "".join(map(chr, tags))
            found.append(Unseen("tag_characters", "review", start, end, message))
            continue
        selectors = [value for value in map(_selector, run) if value is not None]
        if len(selectors) > 3:
            message = bytes(selectors).decode("utf-8", "replace")
            found.append(Unseen("invisible_characters", "review", start, end, message))
            continue
        if _OVERRIDES & set(run):
            found.append(Unseen("direction_override", "review", start, end, ""))
            continue
        if has_rtl is None:
            has_rtl = _RTL.search(text) is not None
        if has_rtl and _DIRECTIONS.issuperset(run):
            continue
        if not _in_place(text, start, end):
            severity: Severity = "review" if len(run) > _ZERO_WIDTH_LIMIT else "warn"
            found.append(Unseen("invisible_characters", severity, start, end, ""))
    return found


def _selector(char: str) -> int | None:
    code = ord(char)
    if 0xFE00 <= code <= 0xFE0F:
        return code - 0xFE00
    if 0xE0100 <= code <= 0xE01EF:
        return code - 0xE0100 + 16
    return None


def _in_place(text: str, start: int, end: int) -> bool:
    """True when the run is ordinary spelling or typography where it stands."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if start == 0 and run == "\ufeff":
        return True
    if len(run) <= 3 and (_is_symbol(before) or _is_symbol(after)):
        return True
    if run in ("\u00ad", "\u2060", "\u200e", "\u200f"):
        return not (_is_latin(before) and _is_latin(after) and text.count(run) > 3)
    if run in ("\ufe0e", "\ufe0f"):
        return True
    if len(run) <= 2 and set(run) <= set(
        "\u200b\u200c\u200d\u034f\u17b4\u17b5\u180b\u180c\u180d\u180e"
    ):
        return _joins(before) or _joins(after)
    if 0xFE00 <= ord(run[0]) <= 0xFE0F or 0xE0100 <= ord(run[0]) <= 0xE01EF:
        return len(run) == 1 and "\u3400" <= before <= "\U000323af"
    return False


def _is_symbol(char: str) -> bool:
    return bool(char) and unicodedata.category(char) in ("So", "Sk", "Sm", "Me")


def _is_latin(char: str) -> bool:
    return bool(char) and char.isalpha() and char < "\u0250"


def _joins(char: str) -> bool:
    """Scripts in which joiners and zero-width spaces are part of the spelling."""
    return bool(char) and (
        "\u0600" <= char <= "\u1cff" or "\u2d30" <= char <= "\u2dff" or char > "\U00011000"
    )
