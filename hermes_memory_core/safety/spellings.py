"""The ways a text may be spelt in a file: in either case, and as JSON writes it, once or inside other JSON.

Used wherever something is to be forgotten; a tool call's arguments, for one, are JSON kept inside JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable

DEPTH = 3
"""How deep JSON inside JSON is looked into."""


def spellings(text: str) -> tuple[str, ...]:
    """All spellings of a text, none of which holds another."""
    found: dict[str, None] = {}
    level = {text, text.lower(), text.upper(), text.casefold(), text.title()}
    for _ in range(DEPTH + 1):
        found.update(dict.fromkeys(sorted(level)))
        level = {
            json.dumps(one, ensure_ascii=plain)[1:-1] for one in level for plain in (True, False)
        }
    return _shortest(found)


def holder(text: str) -> Callable[[str], bool]:
    """A function that tells whether a string holds the text, in either case and any spelling."""
    forms = _shortest(dict.fromkeys(form.casefold() for form in spellings(text)))

    def holds(value: str) -> bool:
        folded = value.casefold()
        return any(form in folded for form in forms)

    return holds


def _shortest(forms: dict[str, None]) -> tuple[str, ...]:
    """Without those that hold another: they are found with it."""
    return tuple(one for one in forms if not any(two != one and two in one for two in forms))
