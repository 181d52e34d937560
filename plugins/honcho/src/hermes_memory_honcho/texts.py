"""Cutting and judging text: messages into parts, recall to a budget, answers that say nothing. Pure functions."""

from __future__ import annotations

import re

CONTINUED = "[continued] "
"""Begins every part but the first; counted in the limit."""
_LEAST = 0.3
"""A cut before this share of the window would waste it; then the next coarser one is taken."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”]*")
_LIST_LINE = re.compile(r"^\s*(?:#{1,6}\s|[-*•]\s|\d+[.)]\s)", re.MULTILINE)
_ABSTAINS = re.compile(
    r"\b(?:no|not|n't|don't|do not|doesn't|cannot|can't|unable|without|lack|insufficient)\b"
    r"[^.\n]{0,80}\b(?:information|info|data|memory|memories|record|records|knowledge|know|details|"
    r"context|conclusions|observations|anything|evidence)\b"
    r"|\b(?:information|memory|context|conversation history)\b[^.\n]{0,40}\b(?:is|are) (?:not available|"
    r"unavailable|empty|missing)\b"
    r"|没有(?:关于|任何|相关|足够)|暂无|无法(?:确定|回答)|沒有(?:關於|任何|相關)",
    re.IGNORECASE,
)
ABSTENTION_CHARS = 400
"""Longer answers found something even if they begin with what they lack."""
_THINK_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINK_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)


def clean(text: str) -> str:
    """Text JSON and a database take: half a surrogate pair becomes a question mark, NUL goes."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def parts(text: str, limit: int) -> list[str]:
    """Cut a message into parts of at most ``limit`` characters, at paragraph or sentence ends where possible.

    Joined without their markers the parts are the text again, character for character.
    """
    if len(text) <= limit:
        return [text]
    found: list[str] = []
    rest = text
    while rest:
        marker = CONTINUED if found else ""
        room = limit - len(marker)
        if len(rest) <= room:
            found.append(marker + rest)
            break
        at = _cut(rest, room)
        found.append(marker + rest[:at])
        rest = rest[at:]
    return found


def _cut(text: str, room: int) -> int:
    """Where the window ends: last blank line, else sentence end, else space, else the window itself."""
    window = text[:room]
    least = int(room * _LEAST)
    blank = window.rfind("\n\n")
    if blank + 2 > least and blank >= 0:
        return blank + 2
    # a sentence's end is looked for in the last stretch only: texts may have a hundred thousand of them
    start = max(least, room - 4000)
    ends = [match.end() for match in _SENTENCE_END.finditer(window, start)]
    if ends:
        return ends[-1]
    space = max(window.rfind(" "), window.rfind("\n"))
    return space + 1 if space + 1 > least else room


def trimmed(text: str, limit: int) -> str:
    """At most ``limit`` characters, cut at a word where one ends in the last fifth, with an ellipsis."""
    if len(text) <= limit:
        return text
    if limit <= 1:
        return text[:limit]
    head = text[: limit - 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    return (head[:space] if space >= limit * 0.8 else head).rstrip() + "…"


def cut_query(text: str, limit: int) -> str:
    """A question cut at its last space, without an ellipsis: a model reads it."""
    if len(text) <= limit:
        return text
    space = text.rfind(" ", 0, limit + 1)
    return text[: space if space > limit * 0.5 else limit]


def abstains(answer: str) -> bool:
    """True for a short answer that only says there is nothing: it must not be taken for knowledge."""
    text = answer.strip()
    return not text or (len(text) <= ABSTENTION_CHARS and bool(_ABSTAINS.search(text[:200])))


def suffices(answer: str) -> bool:
    """True when another pass is not worth it: long, or structured and not too short (section 1.7)."""
    text = answer.strip()
    if len(text) > 300:
        return True
    return len(text) >= 100 and "\n" in text and bool(_LIST_LINE.search(text))


def usable_summary(text: str | None) -> str:
    """A server-side summary without what its model thought aloud; "" when nothing else is left."""
    if not text:
        return ""
    ends = list(_THINK_END.finditer(text))
    if ends:
        text = text[ends[-1].end() :]
    opened = _THINK_OPEN.search(text)
    if opened:
        text = text[: opened.start()]
    return text.strip()


def one_line(text: str, limit: int) -> str:
    """For tables and previews."""
    return trimmed(" ".join(text.split()), limit)
