"""Finding: hits grouped by conversation, the evidence first, and no character spent on anything else.

The current conversation is left out in the query itself, before any limit; a lineage is one result;
conversations with a person stand before what ran by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hermes_memory_core.types import Hit, SessionInfo, SessionRecord, SessionSort

from . import search
from .payload import clip, shown, size, without_empty
from .store import History
from .times import local

AUTOMATED: Final = ("cron", "tool", "subagent")
"""Sources nobody talked in: shown after the others, never hidden."""
FETCH: Final = 40
"""Hits looked at before grouping."""
EVIDENCE: Final = 8
"""Messages shown in all, or two for each conversation asked for: more cost more than they tell."""
PER_SESSION: Final = 6
SURE: Final = 3
"""Hits shown however they score: below that a weak score says nothing."""
WEAK: Final = 0.5
"""Share of the best score below which a hit is left to a second search."""
WHY: Final = 40
"""Characters of the reason given for the best hit of each conversation."""
OVERHEAD: Final = 150
"""Characters of the answer around its results."""
CLIP: Final = 420
"""Characters of one message, around what matched."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a discovery looks for."""

    limit: int
    sort: SessionSort
    since: str | float | None
    until: str | float | None
    roles: Sequence[str]
    sources: Sequence[str]
    session_id: str | None
    budget: int
    title: str | None = None
    cwd: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    include_subagents: bool = False
    offset: int = 0


@dataclass(slots=True)
class Group:
    """Hits of one lineage, best first."""

    record: SessionRecord
    hits: list[Hit]


def answer(history: History, session: SessionInfo, query: str, request: Request) -> dict[str, Any]:
    """The ``discover`` shape."""
    hits, warnings = find(history, session, query, request)
    groups = group(history, hits)
    if request.sort == "relevance":
        groups.sort(
            key=lambda item: item.record.source in AUTOMATED
        )  # stable: rank within each kind
    chosen = groups[request.offset : request.offset + request.limit]
    results = _spend(chosen, hits, request.budget, session.source)
    found: dict[str, Any] = {
        "success": True,
        "mode": "discover",
        "results": results,
        "count": len(results),
        "sessions_searched": len(groups),
    }
    if not results:
        found["message"] = "Nothing in past conversations matches; other words may."
    if warnings:
        found["warning"] = " ".join(warnings)
    return found


def find(
    history: History, session: SessionInfo, query: str, request: Request
) -> tuple[list[Hit], list[str]]:
    """Hits outside the current lineage; interactive ones looked for again when all are automated."""
    filters = search.Filters(
        source=list(request.sources) or None,
        role=list(request.roles) or None,
        session_id=request.session_id,
        exclude_sessions=() if request.session_id else tuple(history.lineage_ids(session.id)),
        since=request.since,
        until=request.until,
        title=request.title,
        cwd=request.cwd,
        user_id=request.user_id,
        chat_id=request.chat_id,
        include_subagents=request.include_subagents or "subagent" in request.sources,
        sort=request.sort,
        limit=FETCH * (1 + (request.offset + request.limit) // 20),
    )
    result = history.search_filtered(query, filters, scope=session.scope)
    hits = list(result.hits)
    if hits and not request.sources and not request.session_id:
        known = history.records({hit.session_id for hit in hits})
        if all(record.source in AUTOMATED for record in known.values()):
            others = [name for name in history.sources() if name not in AUTOMATED]
            if others:
                more = history.search_filtered(
                    query, replace(filters, source=others), scope=session.scope
                )
                hits = list(more.hits) + hits
    return hits, list(result.warnings)


def group(history: History, hits: Sequence[Hit]) -> list[Group]:
    """Hits by lineage, in the order of their best hit; the same text is not shown twice."""
    records = history.records({hit.session_id for hit in hits})
    groups: dict[str, Group] = {}
    seen: set[tuple[str, str]] = set()
    for hit in hits:
        record = records.get(hit.session_id)
        if record is None:
            continue
        lineage = record.lineage or record.id
        same = (lineage, hit.content)
        if same in seen:
            continue
        seen.add(same)
        groups.setdefault(lineage, Group(record, [])).hits.append(hit)
    return list(groups.values())


def _spend(
    groups: Sequence[Group], order: Sequence[Hit], budget: int, own_source: str
) -> list[dict[str, Any]]:
    """Give the budget to hits by rank, at most a few of one conversation; weak ones are not worth it."""
    heads = {id(item): _head(item.record, own_source) for item in groups}
    owner = {hit.message_id: item for item in groups for hit in item.hits}
    spent: dict[int, list[dict[str, Any]]] = {key: [] for key in heads}
    best = max((hit.score for hit in order), default=0.0)
    left = budget - OVERHEAD
    count = 0
    for hit in order:
        item = owner.get(hit.message_id)
        if item is None or count >= max(EVIDENCE, 2 * len(groups)):
            continue
        taken = spent[id(item)]
        if len(taken) >= PER_SESSION or (count >= SURE and hit.score < best * WEAK):
            continue
        fields = _message(hit, why=not taken)
        cost = size(fields) + 2 + (0 if taken else size(heads[id(item)]) + 20)
        if cost > left:
            continue
        left -= cost
        count += 1
        taken.append(fields)
    return [heads[key] | {"messages": messages} for key, messages in spent.items() if messages]


def _head(record: SessionRecord, own_source: str) -> dict[str, Any]:
    return without_empty(
        {
            "session_id": record.id,
            "title": shown(record.title or ""),
            "when": local(record.started_at),
            "source": record.source if record.source != own_source else "",
        }
    )


def _message(hit: Hit, *, why: bool) -> dict[str, Any]:
    text = shown(hit.content, CLIP, hit.snippet)
    named = hit.name and not text.startswith(f"{hit.name}:")
    return without_empty(
        {
            "id": hit.message_id,
            "role": hit.role,
            "name": hit.name if named else None,
            "content": text,
            "why": clip(hit.why, WHY) if why else "",
        }
    )
