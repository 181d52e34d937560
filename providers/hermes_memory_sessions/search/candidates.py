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
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from . import compile as fts
from .edges import judge, needs_judging
from .evidence import TermEvidence, allowed, gather, rarity, union
from .filters import Condition
from .index import searchable_text
from .postings import Offsets, expansions, offsets, offsets_among, reach, totals
from .scripts import compatible, fold
from .syntax import Node, Term, excluded, plain, terms
from .weights import DEMOTED_SOURCES

BEST: Final = 200
"""Candidates that are ranked in full."""

FEW: Final = 60
FAINT: Final = 0.1
"""Beyond the first ``FEW``, messages whose terms weigh less than this share of the best one's are left out."""

ALL_POSTINGS: Final = 4_000
"""Up to so many postings of a query are read whole (1 µs each); beyond, the best messages are chosen first."""

EXACT_POSTINGS: Final = 25_000
"""Terms in more messages than this count once per message: walking their postings would cost 3 ms and more."""

PRUNE_FROM: Final = 50_000
"""Messages in a store from which on frequent terms do not bring in candidates."""

PRUNED_POSTINGS: Final = 20_000
PRUNED_SHARE: Final = 0.02
"""Above ``PRUNE_FROM``, terms enter rarest first until their postings exceed the greater of the two."""

DEEPEST: Final = 8_000
"""Messages looked through for ``BEST`` that may stay; with a filter, all are."""

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

    @staticmethod
    def of(db: sqlite3.Connection, condition: Condition) -> Corpus:
        """Read the totals once for the whole search."""
        messages, mean_length = totals(db)
        return Corpus(db, messages, mean_length, condition)


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
    return _whole(corpus, node, wanted, refused)


def _postings(corpus: Corpus, term: Term, limit: int) -> int:
    """Postings that reading ``term`` whole takes; counting stops above ``limit``."""
    size = 0
    for reading in term.readings:
        for i, token in enumerate(reading):
            prefix = term.prefix and i == len(reading) - 1
            size += reach(corpus.db, fts.token(token, prefix), limit - size)
            if size > limit:
                return size
    return size


# ---------------------------------------------------------------- few postings: read them all


def _whole(corpus: Corpus, node: Node, wanted: list[Term], refused: list[Term]) -> Candidates:
    known: dict[tuple[str, bool], Offsets] = {}

    def lookup(token: str, prefix: bool) -> Offsets:
        key = (token, prefix)
        if key not in known:
            known[key] = _beginning(corpus, token) if prefix else offsets(corpus.db, [token])
        return known[key]

    evidence = {term: gather(term, lookup, corpus.messages) for term in [*wanted, *refused]}
    kept = [evidence[term] for term in wanted]
    ids = allowed(node, evidence)
    if ids is None:
        ids = union(kept)
    found = _filled(corpus, kept, _by_weight(ids, kept), pruned=False)
    short = [one for one in kept if needs_judging(one.term)]
    if short:
        ids = union(short) & found.rows.keys()
        texts = dict(_texts(corpus, ids))
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


def _by_weight(ids: set[int], evidence: list[TermEvidence]) -> list[int]:
    """Likeliest first; of equals the newest."""
    weight = dict.fromkeys(ids, 0.0)
    for one in evidence:
        for message in one.frequency:
            if message in weight:
                weight[message] += one.rarity * one.share.get(message, 1.0)
    order = sorted(ids, key=lambda message: (-weight[message], -message))
    if len(order) > FEW:
        faint = FAINT * weight[order[0]]
        while len(order) > FEW and weight[order[-1]] < faint:
            order.pop()
    return order


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
    sizes = {term: reach(corpus.db, fts.term(term), most) for term in wanted}
    weight: dict[int, float] = {}
    pruned = False
    # an AND or NOT narrows more than any term: then the tree itself says who is a candidate
    narrowed = None if plain(node) and not by_time else set(_ids(corpus, fts.tree(node), most))
    read = 0
    for term in sorted(wanted, key=sizes.__getitem__):
        if read > most:
            pruned = True
            break
        worth = rarity(sizes[term], corpus.messages)
        ids = _ids(corpus, fts.term(term), most)
        pruned |= len(ids) >= most
        read += len(ids)
        for message in ids:
            weight[message] = weight.get(message, 0.0) + worth
        if not ids and len(term.units) > 1 and not term.exact:
            read += _part_weights(corpus, term, most, weight)
    if narrowed is not None:
        weight = {message: weight.get(message, 0.0) for message in narrowed}
    order: Iterable[int]
    if by_time:
        order = sorted(weight, reverse=True)
    else:
        order = _heaviest(weight)
    found = _filled(corpus, [], order, pruned=pruned)
    evidence = _read_evidence(corpus, found, [*wanted, *refused], sizes)
    found.evidence = [evidence[term] for term in wanted]
    sure = allowed(node, evidence)
    left = union(found.evidence) if sure is None else sure
    found.rows = {id_: row for id_, row in found.rows.items() if id_ in left}
    return found


def _heaviest(weight: dict[int, float]) -> Iterator[int]:
    """Ids by weight, of equals the newest first; nearly always the first few are all that is asked for."""
    pairs = list(zip(weight.values(), weight.keys(), strict=True))
    first = heapq.nlargest(2 * BEST, pairs)
    yield from (message for _, message in first)
    yield from (message for _, message in sorted(pairs, reverse=True)[len(first) :])


def _part_weights(corpus: Corpus, term: Term, most: int, weight: dict[int, float]) -> int:
    """A longer word that is nowhere as a whole: its rarest parts bring in candidates."""
    parts = [(reach(corpus.db, fts.token(unit, False), most), unit) for unit in set(term.units)]
    parts = sorted(part for part in parts if part[0])[:3]
    for size, unit in parts:
        worth = rarity(size, corpus.messages) / len(term.units)
        for message in _ids(corpus, fts.token(unit, False), most):
            weight[message] = weight.get(message, 0.0) + worth
    return sum(size for size, _ in parts)


def _ids(corpus: Corpus, expression: str, most: int) -> list[int]:
    """The newest messages that match, at most ``most``."""
    rows = corpus.db.execute(
        "SELECT rowid FROM message_index WHERE message_index MATCH ? ORDER BY rowid DESC LIMIT ?",
        (expression, most),
    )
    return [row[0] for row in rows]


def _read_evidence(
    corpus: Corpus, found: Candidates, wanted: list[Term], sizes: dict[Term, int]
) -> dict[Term, TermEvidence]:
    """The same evidence as from all postings, for the candidates alone."""
    only = json.dumps(list(found.rows))
    known: dict[str, Offsets] = {}

    def lookup(token: str, _prefix: bool) -> Offsets:
        if token not in known:
            known[token] = offsets_among(corpus.db, token, only)
        return known[token]

    evidence: dict[Term, TermEvidence] = {}
    for term in wanted:
        if term.prefix or sizes.get(term, 0) > EXACT_POSTINGS:
            one = _presence(corpus, term, only)
        else:
            one = gather(term, lookup, corpus.messages)
        one.rarity = rarity(sizes.get(term) or len(one.frequency), corpus.messages)
        evidence[term] = one
    short = [one for one in evidence.values() if needs_judging(one.term)]
    if short:
        texts = dict(_texts(corpus, union(short)))
        for one in short:
            judge(one, texts)
    return evidence


def _presence(corpus: Corpus, term: Term, only: str) -> TermEvidence:
    """Which candidates have a term at all: where its postings are too many to be walked for counts."""
    one = TermEvidence(term)
    one.frequency = dict.fromkeys(_among(corpus, fts.term(term, surely=True), only), 1.0)
    hidden = list(fts.shorter(term.units[-1])) if term.prefix and len(term.units) == 1 else []
    for token in hidden:
        begins = _begins(term.units[-1])
        others = [id_ for id_ in _among(corpus, fts.token(token, False), only) if id_ not in one]
        for id_, text in _texts(corpus, others):
            if begins.search(fold(compatible(text))):
                one.frequency[id_] = 1.0
    return one


def _among(corpus: Corpus, expression: str, only: str) -> list[int]:
    rows = corpus.db.execute(
        "SELECT rowid FROM message_index WHERE message_index MATCH ? "
        "AND rowid IN (SELECT value FROM json_each(?))",
        (expression, only),
    )
    return [row[0] for row in rows]


def _texts(corpus: Corpus, ids: Iterable[int]) -> list[tuple[int, str]]:
    found = corpus.db.execute(
        "SELECT id, content, tool_name, tool_calls FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return [(row[0], searchable_text(row[1], row[2], row[3])) for row in found]


# ---------------------------------------------------------------- rows


def _filled(
    corpus: Corpus, evidence: list[TermEvidence], order: Iterable[int], *, pruned: bool
) -> Candidates:
    """Rows of the first ``BEST`` messages in ``order`` that the filters let through.

    Messages of sessions without a person take no more than half the places, however many there are (case B22).
    """
    found = Candidates(evidence=evidence, mean_length=corpus.mean_length, pruned=pruned)
    ids = iter(order)
    unattended = 0
    for _ in range(DEEPEST // _CHUNK if not corpus.condition.narrow else 10**6):
        chunk = list(islice(ids, _CHUNK))
        if not chunk:
            break
        rows = {row.id: row for row in passing(corpus, chunk)}
        for id_ in chunk:
            row = rows.get(id_)
            if row is None:
                continue
            if row.source in DEMOTED_SOURCES:
                unattended += 1
                if unattended > BEST // 2:
                    continue
            found.rows[id_] = row
            if len(found.rows) >= BEST:
                return found
    return found


def passing(corpus: Corpus, ids: list[int]) -> list[Row]:
    """Rows of those messages that the filters let through."""
    found = corpus.db.execute(
        # both parts are constants of this package; what people give is bound
        f"SELECT {COLUMNS}, 1 FROM messages m JOIN sessions s ON s.key = m.session "  # noqa: S608
        f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {corpus.condition.sql}",
        (json.dumps(ids), *corpus.condition.values),
    )
    return list(map(Row._make, found))
