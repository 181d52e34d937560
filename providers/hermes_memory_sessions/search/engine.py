"""One search from query string to hits: parse, gather evidence, rank, cut, explain."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from hermes_memory_core.types import Hit

from . import compile as fts
from .candidates import ALL_POSTINGS, find
from .corpus import BEST, COLUMNS, Candidates, Corpus, Row, passing
from .evidence import without_weak
from .filters import MOST_HITS, Filters, condition
from .hits import hits
from .languages import LATIN
from .parser import Query, parse
from .rank import Question, Ranked, rank
from .scripts import fold
from .snippet import CLOSE, OPEN, Marker
from .stems import stem
from .syntax import Node, Term, mapped, terms
from .weights import DEFAULT, Weights
from .when import spans

LITERAL_DEPTH: Final = 20_000
"""Newest messages that are read through for a query of signs alone."""

_SPOKEN: Final = 0.002
"""Share of the messages from which on a language counts as spoken here."""

_LATIN_LETTER: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_VAGUE: Final = frozenset(
    [
        "talk",
        "talked",
        "talking",
        "discuss",
        "discussed",
        "discussion",
        "say",
        "said",
        "tell",
        "told",
        "chat",
        "chatted",
        "conversation",
        "conversations",
        "happen",
        "happened",
        "work",
        "worked",
        "working",
        "session",
        "sessions",
        "message",
        "messages",
        "聊",
        "聊了",
        "说",
        "讨论",
        "话",
        "話",
        "話し",
    ]
)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first (or by time, as asked), and what a person should know about them."""

    hits: list[Hit]
    warnings: list[str]
    """Sentences: which part of the query's syntax or which filter was ignored, and why."""
    considered: int
    """Messages that were ranked before paging; ``offset + limit`` below this means there is more."""


def search(
    db: sqlite3.Connection,
    query: str,
    filters: Filters | None = None,
    *,
    now: float,
    tz: tzinfo | None = None,
    weights: Weights = DEFAULT,
) -> SearchResult:
    """Find messages. No query string raises or goes silently empty because of its syntax.

    Args:
        db: An open history database; only read. Its row factory must be the default one.
        query: Words, a phrase, FTS5 syntax, or a whole question, in any script; up to 100,000 characters.
        filters: None means no filter, 20 hits by relevance.
        now: Epoch seconds, for "yesterday" in the query or the filters.
        tz: The person's time zone; None means the machine's.
        weights: For measuring; everybody else leaves it alone.

    Raises:
        hermes_memory_core.errors.UsageError: A filter value cannot be understood (a date, a sort order).
        sqlite3.Error: The database cannot be read; mapping it to a StoreError is the store's business.
    """
    filters = filters or Filters()
    asked = filters.offset + min(filters.limit, MOST_HITS)
    corpus = Corpus.of(db, condition(filters, now, tz), asked)
    parsed = parse(query)
    parsed = replace(parsed, node=_in_all_languages(corpus, parsed.node))
    if parsed.node is None:
        found = _literal(corpus, parsed.literal) if parsed.literal else []
        marker = _signs(parsed.literal)
    else:
        found = _found(corpus, parsed, filters, now, tz, weights)
        marker = Marker(terms(parsed.node if not found else without_weak(parsed.node)))
    if filters.sort != "relevance":
        found.sort(key=lambda one: (one.row.ts, one.row.id), reverse=filters.sort == "newest")
    page = found[filters.offset : filters.offset + min(filters.limit, MOST_HITS)]
    return SearchResult(hits(corpus, page, marker), list(parsed.warnings), len(found))


def _found(
    corpus: Corpus,
    parsed: Query,
    filters: Filters,
    now: float,
    tz: tzinfo | None,
    weights: Weights,
) -> list[Ranked]:
    assert parsed.node is not None  # noqa: S101 - the caller has looked
    named = spans(parsed.text, now, tz)
    question = Question(parsed.text, parsed.question and not _strict(parsed.node), named, tz)
    found = _candidates(corpus, parsed.node, filters)
    if not found.rows and isinstance(parsed.node, Term):
        wider = _in_all_languages(corpus, parsed.node, nowhere=True)
        if wider is not None and wider != parsed.node:
            found = _candidates(corpus, wider, filters)
    if named and _only_time(parsed.node, question):
        question.timely = True
        _add_spans(corpus, found, question)
    ranked = rank(corpus, found, question, weights)
    if filters.sort != "relevance":
        # by time, only what was said counts, not what stands beside it
        ranked = [one for one in ranked if one.own or question.timely]
    return ranked


def _candidates(corpus: Corpus, node: Node, filters: Filters) -> Candidates:
    """By the words that say something, function words only when there are no others; wider when filters leave too few."""
    by_time = filters.sort != "relevance"
    strong = without_weak(node)
    found = find(corpus, strong, by_time=by_time)
    if (
        found.pruned
        and corpus.condition.narrow
        and len(found.rows) < filters.offset + filters.limit
    ):
        found = find(corpus, strong, by_time=by_time, prune=False)
    return found


def _strict(node: Node) -> bool:
    """Whether the person used syntax: then only what it asks for is a hit."""
    return not isinstance(node, Term) and any(
        term.exact or (term.prefix and len(term.text) > 1) for term in terms(node)
    )


def _in_all_languages(corpus: Corpus, node: Node | None, *, nowhere: bool = False) -> Node | None:
    """Single words also by the stems of the store's other languages.

    Of languages with next to no messages here (a name may look like one), only words that are nowhere else;
    that is ``nowhere`` for a query of one word, which need not be counted before it is looked for.
    """
    if node is None or not any(_LATIN_LETTER.search(term.text) for term in terms(node)):
        return node
    rows = corpus.db.execute("SELECT key, value FROM meta WHERE key GLOB 'language.*'").fetchall()
    met = {key.removeprefix("language."): number for key, number in rows}
    spoken = [name for name in met if name in LATIN]
    if not spoken:
        return node
    common = [name for name in spoken if met[name] >= _SPOKEN * corpus.messages]
    several = not isinstance(node, Term)

    def widen(term: Term) -> Term:
        if term.prefix or term.weak or len(term.units) > 1 or not term.text.isalpha():
            return term
        rare = len(common) < len(spoken) and (
            nowhere or (several and not corpus.count(fts.term(term), ALL_POSTINGS))
        )
        names = spoken if rare else common
        if not names:
            return term
        word = fold(term.text)
        more = {(stem(word, name),) for name in names}
        return replace(term, readings=(*term.readings, *sorted(more - set(term.readings))))

    return mapped(node, widen)


# ---------------------------------------------------------------- time alone


def _only_time(node: Node, question: Question) -> bool:
    said = " ".join(span.words.lower() for span in question.spans)
    return all(
        term.weak or fold(term.text) in said or fold(term.text) in _VAGUE for term in terms(node)
    )


def _add_spans(corpus: Corpus, found: Candidates, question: Question) -> None:
    """The newest messages of the named time, through the sessions that were alive then."""
    for span in question.spans:
        if not span.end:
            continue
        ids = corpus.db.execute(
            "SELECT m.id FROM sessions s JOIN messages m ON m.session = s.key "
            "WHERE s.last_active >= ? AND s.started_at < ? AND m.ts >= ? AND m.ts < ? "
            "AND m.role IN ('user', 'assistant') ORDER BY m.ts DESC LIMIT ?",
            (span.start, span.end, span.start, span.end, BEST),
        ).fetchall()
        for row in passing(corpus, [id_ for (id_,) in ids]):
            found.rows.setdefault(row.id, row)


# ---------------------------------------------------------------- signs alone


def _literal(corpus: Corpus, literal: str) -> list[Ranked]:
    rows = corpus.db.execute(
        f"SELECT {COLUMNS}, 1 FROM "  # noqa: S608
        "(SELECT * FROM messages ORDER BY id DESC LIMIT ?) m JOIN sessions s ON s.key = m.session "
        f"WHERE instr(m.content, ?) > 0 AND {corpus.condition.sql} ORDER BY m.id DESC LIMIT ?",
        (LITERAL_DEPTH, literal, *corpus.condition.values, BEST),
    )
    return [Ranked(row, 1.0) for row in map(Row._make, rows)]


class _Signs(Marker):
    def __init__(self, literal: str) -> None:
        super().__init__(())
        self._literal = re.compile(re.escape(literal)) if literal else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._literal.finditer(text)] if self._literal else []


def _signs(literal: str) -> Marker:
    return _Signs(literal)


__all__ = ["CLOSE", "OPEN", "SearchResult", "search"]
