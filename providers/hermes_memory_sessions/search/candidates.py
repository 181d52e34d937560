"""The messages worth ranking, with their evidence: from all postings where they are few, else the best 200.

Two ways to the same values: offsets of the query's tokens in each message. Nothing is scored here beyond
what it takes to choose.
"""

from __future__ import annotations

import heapq
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from . import compile as fts
from .edges import judge, needs_judging
from .evidence import TermEvidence, allowed, gather, rarity, union
from .filters import Condition
from .index import searchable_text
from .postings import Offsets, about, among, expansions, ids, offsets, offsets_among, reach, totals
from .scripts import compatible, fold
from .snippet import Marker
from .syntax import Node, Term, excluded, plain, terms
from .weights import DEMOTED_SOURCES

BEST: Final = 200
"""Candidates that are ranked in full, unless more hits are asked for."""

BEST_OF_ONE: Final = 60
"""The same for a single word: its messages differ little."""

FEW: Final = 120
FAINT: Final = 0.15
"""Beyond the first ``FEW``, messages whose terms weigh less than this share of the best one's are left out."""

ALL_POSTINGS: Final = 4_000
"""Up to so many postings of a query are read whole (1 µs each); beyond, the best messages are chosen first."""

COUNTED: Final = 4_000
"""Terms in no more messages are counted exactly and read with their offsets; beyond, their number is judged."""

PRUNE_FROM: Final = 50_000
"""Messages in a store from which on frequent terms do not bring in candidates."""

PRUNED_POSTINGS: Final = 20_000
PRUNED_SHARE: Final = 0.02
"""Above ``PRUNE_FROM``, terms enter rarest first until their postings exceed the greater of the two."""

DEEPEST: Final = 8_000
"""Messages looked through for those that may stay; with a filter, all are."""

_CHUNK: Final = 400


class Row(NamedTuple):
    """What ranking needs of a message."""

    id: int
    session: int
    position: int
    tokens: int
    flags: int
    ts: float
    role: str
    name: str | None
    source: str
    passes: int
    """Whether the filters let it through; neighbours are evidence even when they do not."""


COLUMNS: Final = "m.id, m.session, m.position, m.tokens, m.flags, m.ts, m.role, m.name, s.source"


@dataclass(slots=True)
class Candidates:
    """Messages with evidence for a query."""

    rows: dict[int, Row] = field(default_factory=dict)
    evidence: list[TermEvidence] = field(default_factory=list)
    mean_length: float = 1.0
    pruned: bool = False
    """Frequent terms or old messages were not looked at for candidates."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A database and its size at the time of the search."""

    db: sqlite3.Connection
    messages: int
    mean_length: float
    condition: Condition
    asked: int
    """Hits that are wanted, those before the page included."""
    low: int = -(2**62)
    high: int = 2**62
    """Between which ids everything lies that the filters let through, where that is cheap to know."""
    counts: dict[str, int] = field(default_factory=dict)
    """Numbers of matches that were counted to their end."""

    @staticmethod
    def of(db: sqlite3.Connection, condition: Condition, asked: int) -> Corpus:
        """Read the totals once for the whole search."""
        messages, mean_length = totals(db)
        found = Corpus(db, messages, mean_length, condition, asked)
        if not condition.sessions:
            return found
        low, high = db.execute(
            "SELECT min(m.id), max(m.id) FROM sessions s JOIN messages m ON m.session = s.key "
            "WHERE s.id IN (SELECT value FROM json_each(?))",
            (json.dumps(condition.sessions),),
        ).fetchone()
        return replace(found, low=low or 0, high=high or 0)

    def count(self, expression: str, limit: int) -> int:
        """How many messages match; counting stops just above ``limit``."""
        known = self.counts.get(expression)
        if known is None:
            known = reach(self.db, expression, limit)
            if known <= limit:
                self.counts[expression] = known
        return known

    def ids(self, expression: str, most: int) -> list[int]:
        """The newest messages that match, newest first, within the bounds."""
        return ids(self.db, expression, most, self.low, self.high)

    def best(self, terms: int) -> int:
        """How many candidates to rank for so many terms."""
        return max(BEST, self.asked) if terms > 1 else max(BEST_OF_ONE, 2 * self.asked)


def find(corpus: Corpus, node: Node, *, by_time: bool = False, prune: bool = True) -> Candidates:
    """Candidates for a tree; ``by_time`` wants the newest and oldest matches, not the likeliest."""
    wanted = list(dict.fromkeys(terms(node)))
    refused = [term for term in dict.fromkeys(excluded(node)) if term not in wanted]
    limit = ALL_POSTINGS if not by_time else 10 * ALL_POSTINGS
    size = 0
    for term in [*wanted, *refused]:
        size += _postings(corpus, term, limit - size)
        if size > limit:
            return _chosen(corpus, node, wanted, refused, by_time=by_time, prune=prune)
    return _whole(corpus, node, wanted, refused, by_time=by_time)


def _postings(corpus: Corpus, term: Term, limit: int) -> int:
    """Postings that reading ``term`` whole takes; counting stops above ``limit``."""
    size = 0
    if term.prefix and corpus.messages >= PRUNE_FROM:
        return limit + 1  # FTS5 gathers all of a prefix before it counts the first
    for reading in term.readings:
        for i, token in enumerate(reading):
            prefix = term.prefix and i == len(reading) - 1
            size += corpus.count(fts.token(token, prefix), limit - size)
            if size > limit:
                return size
    return size


# ---------------------------------------------------------------- few postings: read them all


def _whole(
    corpus: Corpus, node: Node, wanted: list[Term], refused: list[Term], *, by_time: bool
) -> Candidates:
    known: dict[tuple[str, bool], Offsets] = {}

    def lookup(token: str, prefix: bool) -> Offsets:
        key = (token, prefix)
        if key not in known:
            known[key] = _beginning(corpus, token) if prefix else offsets(corpus.db, [token])
        return known[key]

    evidence = {term: gather(term, lookup, corpus.messages) for term in [*wanted, *refused]}
    kept = [evidence[term] for term in wanted]
    matching = allowed(node, evidence)
    if matching is None:
        matching = union(kept)
    order = sorted(matching, reverse=True) if by_time else _by_weight(matching, kept)
    if not (by_time or corpus.condition.narrow):
        order = order[: _telling(order, kept, corpus.asked)]
    found = _filled(corpus, order, corpus.best(len(kept)))
    found.evidence = kept
    short = [one for one in kept if needs_judging(one.term)]
    if short:
        texts = dict(_texts(corpus, union(short) & found.rows.keys()))
        for one in short:
            judge(one, texts)
        _drop_unfounded(found, node)
    return found


def _drop_unfounded(found: Candidates, node: Node) -> None:
    """Rows that lost their last term to a second look."""
    if plain(node):
        left = union(found.evidence)
        found.rows = {id_: row for id_, row in found.rows.items() if id_ in left}


def _beginning(corpus: Corpus, prefix: str) -> Offsets:
    """Where a token begins with ``prefix``, or a word does whose stem hides it."""
    found = offsets(corpus.db, [name for name, _ in expansions(corpus.db, prefix)])
    hidden = offsets(corpus.db, fts.shorter(prefix))
    texts = dict(_texts(corpus, hidden.keys() - found.keys()))
    begins = _begins(prefix)
    for id_, text in texts.items():
        if begins.search(fold(compatible(text))):
            found[id_] = hidden[id_]
    return found


def _begins(prefix: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){re.escape(prefix)}")


def _by_weight(messages: set[int], evidence: list[TermEvidence]) -> list[int]:
    """Likeliest first; of equals the newest."""
    weight = _weights(messages, evidence)
    return sorted(messages, key=lambda message: (-weight[message], -message))


def _weights(messages: Iterable[int], evidence: list[TermEvidence]) -> dict[int, float]:
    weight = dict.fromkeys(messages, 0.0)
    for one in evidence:
        for message in one.frequency:
            if message in weight:
                weight[message] += one.rarity * one.share.get(message, 1.0)
    return weight


def _telling(order: list[int], evidence: list[TermEvidence], asked: int) -> int:
    """How many of the likeliest messages say anything beside the best one."""
    few = max(FEW, asked)
    if len(order) <= few:
        return len(order)
    weight = _weights(order, evidence)
    faint = FAINT * weight[order[0]]
    return next((i for i in range(few, len(order)) if weight[order[i]] < faint), len(order))


# ---------------------------------------------------------------- many postings: the best, then their text


def _chosen(
    corpus: Corpus,
    node: Node,
    wanted: list[Term],
    refused: list[Term],
    *,
    by_time: bool,
    prune: bool,
) -> Candidates:
    large = prune and corpus.messages >= PRUNE_FROM
    most = int(max(PRUNED_POSTINGS, PRUNED_SHARE * corpus.messages)) if large else corpus.messages
    read: dict[Term, list[int]] = {}
    sizes: dict[Term, int] = {}
    for term in [*wanted, *refused]:
        sizes[term] = _size(corpus, term, most, read)
    # an AND or NOT narrows more than any term: then the tree itself says who is a candidate
    narrowed = None if plain(node) else set(corpus.ids(fts.tree(node), most))
    weight: dict[int, float] = {}
    total = entered = 0
    for term in sorted(wanted, key=sizes.__getitem__):
        if total > most:
            break
        entered += 1
        worth = rarity(sizes[term], corpus.messages)
        if term not in read:
            read[term] = corpus.ids(fts.term(term), most)
        holding = read[term]
        total += len(holding)
        if weight:
            get = weight.get
            for message in holding:
                weight[message] = get(message, 0.0) + worth
        else:
            weight = dict.fromkeys(holding, worth)
        if not holding and len(term.units) > 1 and not term.exact:
            total += _part_weights(corpus, term, most, weight)
    pruned = entered < len(wanted) or any(len(holding) >= most for holding in read.values())
    if narrowed is not None:
        weight = {message: weight.get(message, 0.0) for message in narrowed}
    order: Iterable[int]
    if by_time:
        order = sorted(weight, reverse=True)
    else:
        order = _heaviest(weight)
    found = _filled(corpus, order, corpus.best(len(wanted)))
    found.pruned = pruned
    evidence = _read_evidence(corpus, found, [*wanted, *refused], sizes, read)
    found.evidence = [evidence[term] for term in wanted]
    sure = allowed(node, evidence)
    left = union(found.evidence) if sure is None else sure
    found.rows = {id_: row for id_, row in found.rows.items() if id_ in left}
    return found


def _size(corpus: Corpus, term: Term, most: int, read: dict[Term, list[int]]) -> int:
    """Messages with a term. To count a phrase or a prefix is to read it, so what was read is kept."""
    if not term.prefix and len(term.units) == 1:
        return about(corpus.db, fts.term(term), COUNTED)
    read[term] = holding = corpus.ids(fts.term(term), most)
    return len(holding)


def _heaviest(weight: dict[int, float]) -> Iterator[int]:
    """Ids by weight, of equals the newest first; nearly always the first few are all that is asked for."""
    pairs = list(zip(weight.values(), weight.keys(), strict=True))
    first = heapq.nlargest(2 * BEST, pairs)
    yield from (message for _, message in first)
    yield from (message for _, message in sorted(pairs, reverse=True)[len(first) :])


def _part_weights(corpus: Corpus, term: Term, most: int, weight: dict[int, float]) -> int:
    """A longer word that is nowhere as a whole: its rarest parts bring in candidates."""
    parts = [(about(corpus.db, fts.token(unit, False), most), unit) for unit in set(term.units)]
    parts = sorted(part for part in parts if part[0])[:3]
    for size, unit in parts:
        worth = rarity(size, corpus.messages) / len(term.units)
        for message in corpus.ids(fts.token(unit, False), most):
            weight[message] = weight.get(message, 0.0) + worth
    return sum(size for size, _ in parts)


def _read_evidence(
    corpus: Corpus,
    found: Candidates,
    wanted: list[Term],
    sizes: dict[Term, int],
    read: dict[Term, list[int]],
) -> dict[Term, TermEvidence]:
    """Evidence for the candidates alone: of rarer terms as exact as from all postings.

    Of a frequent term that brought in candidates it is known which; another frequent word is looked for in the text.
    """
    only = json.dumps(list(found.rows))
    known: dict[str, Offsets] = {}

    def lookup(token: str, _prefix: bool) -> Offsets:
        if token not in known:
            known[token] = offsets_among(corpus.db, token, only)
        return known[token]

    evidence: dict[Term, TermEvidence] = {}
    in_text: list[Term] = []
    for term in wanted:
        if not term.prefix and sizes[term] <= COUNTED:
            evidence[term] = gather(term, lookup, corpus.messages)
        elif term in read or term.prefix or len(term.units) > 1:
            holding = read.get(term) or among(corpus.db, fts.term(term, surely=True), only)
            evidence[term] = TermEvidence(term, {i: 1.0 for i in holding if i in found.rows})
        else:
            in_text.append(term)
            evidence[term] = TermEvidence(term)
    _read_texts(corpus, found, evidence, in_text)
    for term, one in evidence.items():
        one.rarity = rarity(sizes[term] or len(one.frequency), corpus.messages)
    return evidence


def _read_texts(
    corpus: Corpus,
    found: Candidates,
    evidence: dict[Term, TermEvidence],
    in_text: list[Term],
) -> None:
    """What only the text can tell: frequent words, hidden prefixes, edges of short words."""
    hidden = [one for term, one in evidence.items() if term.prefix and len(term.units) == 1]
    short = [one for one in evidence.values() if needs_judging(one.term)]
    if not (in_text or hidden or short):
        return
    texts = dict(_texts(corpus, found.rows))
    if in_text:
        finder = Marker(in_text)
        for id_, text in texts.items():
            counts = finder.frequencies(text)
            for term in in_text:
                if count := counts.get(term.units[0]):
                    evidence[term].frequency[id_] = float(count)
    for one in hidden:
        begins = _begins(one.term.units[0])
        if any(True for _ in fts.shorter(one.term.units[0])):
            one.frequency = {
                id_: 1.0 for id_, text in texts.items() if begins.search(fold(compatible(text)))
            }
    for one in short:
        judge(one, texts)


def _texts(corpus: Corpus, messages: Iterable[int]) -> list[tuple[int, str]]:
    found = corpus.db.execute(
        "SELECT id, content, tool_name, tool_calls FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(messages)),),
    )
    return [(row[0], searchable_text(row[1], row[2], row[3])) for row in found]


# ---------------------------------------------------------------- rows


def _filled(corpus: Corpus, order: Iterable[int], best: int) -> Candidates:
    """Rows of the first ``best`` messages in ``order`` that the filters let through.

    Messages of sessions without a person take no more than half the places, however many there are (case B22).
    """
    found = Candidates(mean_length=corpus.mean_length)
    rest = iter(order)
    unattended = 0
    for _ in range(DEEPEST // _CHUNK if not corpus.condition.narrow else 10**6):
        chunk = list(islice(rest, min(_CHUNK, best + 20)))
        if not chunk:
            break
        rows = {row.id: row for row in passing(corpus, chunk)}
        for id_ in chunk:
            row = rows.get(id_)
            if row is None:
                continue
            if row.source in DEMOTED_SOURCES:
                unattended += 1
                if unattended > best // 2:
                    continue
            found.rows[id_] = row
            if len(found.rows) >= best:
                return found
    return found


def passing(corpus: Corpus, messages: list[int]) -> list[Row]:
    """Rows of those messages that the filters let through."""
    found = corpus.db.execute(
        # both parts are constants of this package; what people give is bound
        f"SELECT {COLUMNS}, 1 FROM messages m JOIN sessions s ON s.key = m.session "  # noqa: S608
        f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {corpus.condition.sql}",
        (json.dumps(messages), *corpus.condition.values),
    )
    return list(map(Row._make, found))
