"""Recall without being asked: a few lines of past evidence for the turn at hand, when the person wants that."""

from __future__ import annotations

import time
from typing import Final

from hermes_memory_core.types import Recall, SessionInfo

from . import discover
from .payload import shown
from .store import History
from .times import local

BUDGET: Final = 1200
"""Characters a recall may have."""
LINES: Final = 5
CLIP: Final = 260
WEAK: Final = 0.5
"""Hits below this share of the best score are not worth an unasked line."""


def recall(history: History, session: SessionInfo, query: str, deadline: float) -> Recall | None:
    """The best evidence from other conversations; None when there is none or no time left."""
    if time.monotonic() >= deadline:
        return None
    request = discover.Request(
        limit=LINES,
        sort="relevance",
        since=None,
        until=None,
        roles=("user", "assistant"),
        sources=(),
        session_id=None,
        budget=BUDGET,
    )
    hits, _ = discover.find(history, session, query, request)
    if not hits:
        return None
    best = hits[0].score
    strong = [hit for hit in hits if best <= 0 or hit.score >= best * WEAK]
    lines: list[str] = []
    left = BUDGET
    groups = discover.group(history, strong)
    titles = {hit.message_id: item.record for item in groups for hit in item.hits}
    for hit in strong:
        record = titles.get(hit.message_id)
        if record is None or record.source in discover.AUTOMATED:
            continue
        text = " ".join(shown(hit.content, CLIP, hit.snippet).split())
        line = f"- {local(hit.timestamp, '%Y-%m-%d')} {hit.name or hit.role}: {text}"
        if len(line) + 1 > left:
            continue
        lines.append(line)
        left -= len(line) + 1
        if len(lines) == LINES:
            break
    if not lines:
        return None
    noun = "message" if len(lines) == 1 else "messages"
    return Recall("From past conversations:\n" + "\n".join(lines), f"{len(lines)} past {noun}")
