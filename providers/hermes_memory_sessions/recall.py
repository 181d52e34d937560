"""Recall without being asked: a few lines of past evidence for the turn at hand, when the person wants that."""

from __future__ import annotations

import time
from typing import Final

from hermes_memory_core.types import Recall, SessionInfo

from . import discover, search
from .payload import clip, shown
from .store import History
from .times import local

BUDGET: Final = 1200
"""Characters a recall may have, all told: about 300 tokens a turn, and no setting, since a deeper look is a search."""
HEAD: Final = "From past conversations, each with what it was found by:\n"
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
    if not hits or not _is_about_it(history, session, query):
        return None
    best = hits[0].score
    strong = [hit for hit in hits if best <= 0 or hit.score >= best * WEAK]
    lines: list[str] = []
    left = BUDGET - len(HEAD)
    groups = discover.group(history, strong)
    records = {hit.message_id: item.record for item in groups for hit in item.hits}
    known = [hit for hit in strong if hit.message_id in records]
    # what ran by itself comes after what a person said, and only where there is room left
    known.sort(key=lambda hit: records[hit.message_id].source in discover.AUTOMATED)
    for hit in known:
        text = " ".join(shown(hit.content, CLIP, hit.snippet).split())
        why = f" [{clip(hit.why, discover.WHY)}]" if hit.why else ""
        line = f"- {local(hit.timestamp, '%Y-%m-%d')} {hit.name or hit.role}: {text}{why}"
        if len(line) + 1 > left:
            continue
        lines.append(line)
        left -= len(line) + 1
        if len(lines) == LINES:
            break
    if not lines:
        return None
    noun = "message" if len(lines) == 1 else "messages"
    return Recall(HEAD + "\n".join(lines), f"{len(lines)} past {noun}")


def _is_about_it(history: History, session: SessionInfo, query: str) -> bool:
    """Whether past messages hold a word of the query that says something.

    A search that finds none of them falls back to the function words; that is an answer to somebody who asked,
    and noise to somebody who did not.
    """
    from .search.syntax import terms

    found = list(terms(search.parse(query).node))
    strong = [term.text for term in found if not term.weak]
    if not strong or len(strong) == len(found):
        return bool(strong)
    filters = search.Filters(
        role=("user", "assistant"),
        exclude_sessions=tuple(history.lineage_ids(session.id)),
        limit=1,
    )
    return bool(history.search_filtered(" ".join(strong), filters, scope=session.scope).hits)
