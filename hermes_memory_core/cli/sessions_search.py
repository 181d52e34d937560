"""``hermes sessions search``: hits grouped by conversation, each with why it was found. Ranks nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import (
    AUTOMATED,
    BEGIN,
    absolute,
    ago,
    filters,
    find_session,
    history_of,
    name_of,
    paging,
    parts_of,
    session_data,
)
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import PROFILE_SCOPE, HistoryStore, Hit, SessionRecord

SNIPPET_LINES = 2
_MARKS = (">>>", "<<<")
_OPEN, _CLOSE = "\u2062", "\u2063"
"""Characters without width that stand for the marks while lines are measured and broken."""


@dataclass(slots=True)
class Group:
    """Hits of one conversation, best first."""

    record: SessionRecord
    hits: list[Hit] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """What a search came to."""

    groups: list[Group]
    warnings: list[str]
    more: bool

    @property
    def count(self) -> int:
        """Messages found, after what was there twice."""
        return sum(len(group.hits) for group in self.groups)


@click.command("search", cls=Command)
@click.argument("query", nargs=-1, required=True)
@filters("source", "role", "user_id", "chat_id", "cwd", "session", "since", "until", "title")
@filters("include_subagents")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
    help="Which messages come first.",
)
@paging(20)
@click.pass_obj
def search(state: State, /, query: tuple[str, ...], **named: Any) -> None:
    """Find messages in all conversations: words, a phrase, or a whole question in your own words.

    hermes sessions search "how much may the trip to Lisbon cost?"
    hermes sessions search 预算 --since "last month"
    hermes sessions search '"exact phrase" OR prefix* NOT draft' --role user

    The best conversations come first, and the best message of each. What a message was found by stands below
    it.
    """
    text = " ".join(query)
    if not text.strip():
        raise UsageError("There is nothing to search for.", hint='hermes sessions search "a word"')
    with history_of(state) as history:
        found = run_search(history, text, **named)
        empty = not found.groups and not history.stats().get("sessions")
    offset = int(named["offset"])
    data = {
        "query": text,
        "results": [
            {
                "session": session_data(group.record),
                "hits": [hit_data(hit) for hit in group.hits],
            }
            for group in found.groups
        ],
        "count": found.count,
        "offset": offset,
        "more": found.more,
        "warnings": found.warnings,
    }
    for warning in found.warnings:
        state.say(warning)
    state.result("sessions-search", data, lambda: _render(found, text, empty=empty))
    if found.more:
        state.say(f"… more (--offset {offset + int(named['limit'])})")
    if found.groups:
        best = found.groups[0].hits[0]
        state.hint(f"hermes sessions show {best.session_id} --around {best.message_id}")
    elif empty:
        state.hint(BEGIN)


def run_search(
    history: HistoryStore,
    query: str,
    *,
    source: Sequence[str] = (),
    role: Sequence[str] = (),
    session: str | None = None,
    cwd: str | None = None,
    limit: int = 20,
    **named: Any,
) -> Found:
    """Ask the store and group what it gives.

    Raises:
        SessionNotFoundError: ``session`` is none.
        UsageError: A filter cannot be understood.
        StoreError: The database cannot be read.
    """
    named |= {"source": list(source) or None, "role": list(role) or None, "cwd": absolute(cwd)}
    if session is not None:
        parts = parts_of(history, find_session(history, session).id)
        named["session_id"] = parts if len(parts) > 1 else parts[0]
    explained = getattr(history, "search_explained", None)
    # one more than asked for tells whether there is another page
    if callable(explained):
        result = explained(query, limit + 1, scope=PROFILE_SCOPE, **named)
        hits, warnings = list(result.hits), list(result.warnings)
    else:
        hits, warnings = history.search(query, limit + 1, scope=PROFILE_SCOPE, **named), []
    groups = group_hits(history, hits[:limit])
    if named.get("sort", "relevance") == "relevance":
        groups.sort(key=lambda group: group.record.source in AUTOMATED)
    return Found(groups, warnings, len(hits) > limit)


def group_hits(history: HistoryStore, hits: Sequence[Hit]) -> list[Group]:
    """Hits by conversation in the order of their best hit; a text that a compression copied comes once."""
    groups: dict[str, Group] = {}
    records: dict[str, SessionRecord | None] = {}
    seen: set[tuple[str, str, str]] = set()
    for hit in hits:
        if hit.session_id not in records:
            records[hit.session_id] = history.session(hit.session_id)
        record = records[hit.session_id]
        if record is None:  # deleted while we looked
            continue
        lineage = record.lineage or record.id
        if (lineage, hit.role, hit.content) in seen:
            continue
        seen.add((lineage, hit.role, hit.content))
        groups.setdefault(lineage, Group(record)).hits.append(hit)
    return list(groups.values())


def hit_data(hit: Hit) -> dict[str, Any]:
    """One hit for ``--json``; the time is epoch seconds, terms stand between ``>>>`` and ``<<<``."""
    return {
        "message_id": hit.message_id,
        "session_id": hit.session_id,
        "role": hit.role,
        "name": hit.name,
        "timestamp": hit.timestamp,
        "snippet": hit.snippet,
        "content": hit.content,
        "why": hit.why,
        "score": hit.score,
    }


def _render(found: Found, query: str, *, empty: bool) -> str:
    if empty:
        return "No conversations yet, so there is nothing to search."
    if not found.groups:
        return f"Nothing found for {output.cut(query, 60)}"
    return "\n\n".join(_group(group) for group in found.groups)


def _group(group: Group) -> str:
    record = group.record
    width = output.terminal_width()
    place = f"{ago(record.last_active)} · {record.source} · {record.id}"
    name = output.cut(name_of(record), max(20, width - output.cells(place) - 2))
    lines = [f"{click.style(name, bold=True)}  {click.style(place, dim=True)}"]
    for hit in group.hits:
        part = "" if hit.session_id == record.id else f" in {hit.session_id}"
        who = " ".join(filter(None, (hit.role, hit.name)))
        head = f"  #{hit.message_id}  {output.moment(hit.timestamp)}  {who}{part}"
        lines.append(output.cut(head, width))
        lines += ["    " + line for line in snippet_lines(hit.snippet or hit.content, width - 4)]
        if hit.why:
            lines.append(
                click.style("    " + output.cut(f"found by {hit.why}", width - 4), dim=True)
            )
    return "\n".join(lines)


def snippet_lines(snippet: str, width: int, most: int = SNIPPET_LINES) -> list[str]:
    """The snippet in lines of at most ``width`` columns, its terms bold (on a terminal; else unmarked)."""
    text = snippet.replace(_OPEN, "").replace(_CLOSE, "")
    text = text.replace(_MARKS[0], _OPEN).replace(_MARKS[1], _CLOSE)
    lines = wrap(text, width, most)
    painted, inside = [], False
    for line in lines:
        pieces, current = [], ""
        for character in line:
            if character in (_OPEN, _CLOSE):
                pieces.append(_term(current) if inside else current)
                inside, current = character == _OPEN, ""
            else:
                current += character
        pieces.append(_term(current) if inside else current)
        painted.append("".join(pieces))
    return painted


def _term(text: str) -> str:
    return click.style(text, fg="yellow", bold=True) if text else ""


def wrap(text: str, width: int, most: int) -> list[str]:
    """At most ``most`` lines of ``width`` columns, broken at spaces where there are some; … when cut."""
    left = output.clean(text, one_line=True)
    left = " ".join(left.split())
    lines: list[str] = []
    while left:
        if len(lines) == most - 1:
            lines.append(output.cut(left, width))
            break
        head = _fitting(left, width)
        if len(head) < len(left):
            space = head.rfind(" ")
            if space > len(head) // 2 and left[len(head)] != " ":
                head = head[:space]
        lines.append(head.rstrip())
        left = left[len(head) :].lstrip()
    return lines


def _fitting(text: str, width: int) -> str:
    """The longest beginning of ``text`` that takes at most ``width`` columns."""
    used = 0
    for index, character in enumerate(text):
        used += output.cells(character)
        if used > width:
            return text[: max(1, index)]
    return text
