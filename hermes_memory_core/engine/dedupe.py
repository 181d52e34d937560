"""The same fact from several layers goes into the prompt once.

Works line by line on normalised text; lines that differ in substance (a newer fact, a contradiction) all stay.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from hermes_memory_core.storage import memos

MIN_CHARS = 12
"""Shorter lines (headings, "none", brackets) repeat for good reasons and are left alone."""
_MARKS = re.compile(r"^(?:[-*•·–—>#\s]+|\(?\d{1,3}[.)]\s+)+")
_SPACE = re.compile(r"[\s\u200b-\u200d\ufeff]+")
_END = " .。!！;；,，"


def normalise(line: str) -> str:
    """What makes two lines the same: width, case, spacing, list marks and closing marks do not count."""
    folded = unicodedata.normalize("NFKC", line).casefold()
    return _SPACE.sub(" ", _MARKS.sub("", folded)).strip(_END)


@lru_cache(maxsize=64)
def lines_of(text: str) -> frozenset[str]:
    """The normalised lines of a text; kept, since a session asks for those of its frozen prompt every turn."""
    return frozenset(normalise(line) for line in text.splitlines())


memos.register(lines_of.cache_clear)


class LineFilter:
    """Remembers the lines it let through.

    Args:
        known: Text that is in the prompt already (the frozen notes): its lines are not repeated.
    """

    def __init__(self, known: str = "") -> None:
        self._known = lines_of(known)
        self._seen: set[str] = set()
        self.dropped = 0

    def apply(self, text: str) -> str:
        """The text without lines seen before; "" when nothing new is left."""
        kept = []
        code = False
        for line in text.splitlines():
            if line.lstrip().startswith("```"):
                code = not code
            key = normalise(line)
            if code or len(key) < MIN_CHARS:
                kept.append(line)
                continue
            if key in self._seen or key in self._known:
                self.dropped += 1
                continue
            self._seen.add(key)
            kept.append(line)
        result = "\n".join(kept).strip()
        return result if any(len(normalise(line)) >= 2 for line in kept) else ""
