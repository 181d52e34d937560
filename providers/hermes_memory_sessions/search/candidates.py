"""The messages worth ranking, with their evidence: from all postings where they are few, else the best 200.

Two ways to the same values: offsets of the query's tokens in each message. Nothing is scored here beyond
what it takes to choose.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from . import compile as fts
from .chosen import PRUNE_FROM, chosen
from .corpus import Candidates, Corpus, filled, texts_of, word_beginning
from .edges import judge, needs_judging
from .evidence import TermEvidence, allowed, gather, union
from .postings import Offsets, expansions, offsets
from .scripts import compatible, fold
from .single import one_word
from .syntax import Node, Term, excluded, plain, terms

FEW: Final = 120
FAINT: Final = 0.15
"""Beyond the first ``FEW``, messages whose terms weigh less than this share of the best one's are left out."""

ALL_POSTINGS: Final = 1_500
"""Up to so many postings of a query are read whole (1 µs each); beyond, the best messages are chosen first."""


def find(corpus: Corpus, node: Node, *, by_time: bool = False, prune: bool = True) -> Candidates:
    """Candidates for a tree; ``by_time`` wants the newest and oldest matches, not the likeliest."""
    wanted = list(dict.fromkeys(terms(node)))
    refused = [term for term in dict.fromkeys(excluded(node)) if term not in wanted]
    limit = ALL_POSTINGS if not by_time else 10 * ALL_POSTINGS
    if isinstance(node, Term) and not by_time:
        found = one_word(corpus, node, ALL_POSTINGS)
        if found is not None:
            return found
    size = 0
    for term in [*wanted, *refused]:
        size += _postings(corpus, term, limit - size)
        if size > limit:
            return chosen(corpus, node, wanted, refused, by_time=by_time, prune=prune)
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
    found = filled(corpus, order, corpus.best(len(kept)))
    found.evidence = kept
    short = [one for one in kept if needs_judging(one.term)]
    if short:
        texts = texts_of(corpus, union(short) & found.rows.keys())
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
    texts = texts_of(corpus, hidden.keys() - found.keys())
    begins = word_beginning(prefix)
    for id_, text in texts.items():
        if begins.search(fold(compatible(text))):
            found[id_] = hidden[id_]
    return found


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
