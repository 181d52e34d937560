"""Past messages as a model may see them: cleaned, scanned, clipped around the evidence, within a budget.

What comes back from history was written by anybody; it is shown as quotation, never as instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

BLOCKED: Final = "[left out: this past message tries to give instructions ({ids})]"
_TAG = re.compile(r"</?\s*memory-context\b[^>]*>", re.IGNORECASE)
_MARKS = re.compile(r">>>|<<<")
_SPACES = re.compile(r"[ \t]*\n\s*\n\s*")


def shown(text: str, limit: int = 200, snippet: str = "") -> str:
    """At most about ``limit`` code points of the text, around the snippet's evidence, fit to be shown.

    Fence tags are taken out; what the safety scan would block becomes a placeholder. Only what is shown is
    scanned: the rest reaches nobody.
    """
    from hermes_memory_core.safety import scan

    cleaned = _SPACES.sub("\n", _TAG.sub("", text)).strip()
    part = clip(cleaned, limit, snippet)
    found = sorted({item.id for item in scan(part) if item.severity == "block"})
    return BLOCKED.format(ids=", ".join(found)) if found else part


def clip(text: str, limit: int, snippet: str = "") -> str:
    """At most ``limit`` code points of the text, around what the snippet shows."""
    if len(text) <= limit:
        return text
    at = _evidence(text, snippet)
    start = max(0, min(at - limit // 3, len(text) - limit))
    if start:  # begin at a word, where the script has words
        space = text.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + limit)
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _evidence(text: str, snippet: str) -> int:
    """Where in the text the first marked term of the snippet stands; 0 when it cannot be told."""
    before, mark, rest = snippet.partition(">>>")
    if not mark:
        return 0
    term = rest.partition("<<<")[0]
    context = _MARKS.sub("", before).strip(" .…")[-20:]
    place = text.find(context + term) if context else -1
    if place >= 0:
        return place + len(context)
    return max(0, text.find(term))


def size(value: Any) -> int:
    """Characters the value takes in the answer."""
    return len(json.dumps(value, ensure_ascii=False))


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something: every key costs the model's context."""
    return {key: value for key, value in fields.items() if value not in (None, "", (), [])}
