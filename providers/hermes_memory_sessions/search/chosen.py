"""The best candidates of a query with many postings: chosen by whole terms, their evidence read afterwards."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from . import compile as fts
from .corpus import BEST, Candidates, Corpus, filled, texts_of, word_beginning
from .edges import judge, needs_judging
from .evidence import TermEvidence, allowed, gather, rarity, union
from .postings import Offsets, about, among, offsets_among
from .scripts import compatible, fold
from .snippet import Marker
from .syntax import AllOf, Node, Term, plain

COUNTED: Final = 4_000
"""Terms in no more messages are counted exactly and read with their offsets; beyond, their number is judged."""

PRUNE_FROM: Final = 50_000
"""Messages in a store from which on frequent terms do not bring in candidates."""

PRUNED_POSTINGS: Final = 20_000
PRUNED_SHARE: Final = 0.02
"""Above ``PRUNE_FROM``, terms enter rarest first until their postings exceed the greater of the two."""


def chosen(
    corpus: Corpus,
    node: Node,
    wanted: list[Term],
    refused: list[Term],
    *,
    by_time: bool,
    prune: bool,
) -> Candidates:
    """Candidates by the weight of their terms; see ``candidates.find`` for the arguments."""
    large = prune and corpus.messages >= PRUNE_FROM
    most = int(max(PRUNED_POSTINGS, PRUNED_SHARE * corpus.messages)) if large else corpus.messages
    read: dict[Term, list[int]] = {}
    sizes: dict[Term, int] = {}
    for term in [*wanted, *refused]:
        sizes[term] = _size(corpus, term, most, read)
    # an AND or NOT narrows more than any term: then the tree itself says who is a candidate
    narrowed = None if plain(node) else set(corpus.ids(fts.tree(node), most))
    best = corpus.best(len(wanted))
    if narrowed is not None and _all_of_words(node):
        entered, weight = len(wanted), dict.fromkeys(narrowed, 0.0)
        holding = list(narrowed)
        read |= dict.fromkeys(wanted, holding)
    else:
        # beyond these, a message with the remaining terms alone cannot be among the best any more
        enough = 0 if by_time or corpus.condition.narrow else 2 * best
        entered, weight = _weighed(corpus, wanted, sizes, read, most, narrowed, enough)
    pruned = entered < len(wanted) or any(len(holding) >= most for holding in read.values())
    order: Iterable[int]
    if by_time:
        order = sorted(weight, reverse=True)
    else:
        order = _heaviest(weight)
    found = filled(corpus, order, best)
    found.pruned = pruned
    evidence = _read_evidence(corpus, found, [*wanted, *refused], sizes, read)
    found.evidence = [evidence[term] for term in wanted]
    sure = allowed(node, evidence)
    left = union(found.evidence) if sure is None else sure
    found.rows = {id_: row for id_, row in found.rows.items() if id_ in left}
    return found


def _all_of_words(node: Node) -> bool:
    """Whether every word has to be there: then all candidates weigh the same."""
    return isinstance(node, AllOf) and all(
        isinstance(child, Term) and not child.prefix for child in node.nodes
    )


def _weighed(
    corpus: Corpus,
    wanted: list[Term],
    sizes: dict[Term, int],
    read: dict[Term, list[int]],
    most: int,
    narrowed: set[int] | None,
    enough: int,
) -> tuple[int, dict[int, float]]:
    """Candidates with the worth of their terms, and how many terms entered, the rarest first.

    What was read is kept in ``read``. With ``enough`` candidates that no newcomer can reach any more, no newcomer
    is taken in: half a million additions of one number each are what a frequent word costs otherwise.
    """
    terms = sorted(wanted, key=sizes.__getitem__)
    worths = [rarity(sizes[term], corpus.messages) for term in terms]
    weight: dict[int, float] = dict.fromkeys(narrowed, 0.0) if narrowed is not None else {}
    closed = narrowed is not None
    total = entered = 0
    for place, term in enumerate(terms):
        if total > most:
            break
        entered += 1
        worth = worths[place]
        if term not in read:
            read[term] = corpus.ids(fts.term(term), most)
        holding = read[term]
        total += len(holding)
        if not closed and 0 < enough < len(weight):
            closed = _weight_of(enough, weight) > sum(worths[place:])
        if closed:
            for message in weight.keys() & set(holding):
                weight[message] += worth
        elif weight:
            get = weight.get
            for message in holding:
                weight[message] = get(message, 0.0) + worth
        else:
            weight = dict.fromkeys(holding, worth)
        if not closed and not holding and len(term.units) > 1 and not term.exact:
            total += _part_weights(corpus, term, most, weight)
    return entered, weight


def _size(corpus: Corpus, term: Term, most: int, read: dict[Term, list[int]]) -> int:
    """Messages with a term. To count a phrase or a prefix is to read it, so what was read is kept."""
    if not term.prefix and len(term.units) == 1:
        return about(corpus.db, fts.term(term), COUNTED)
    read[term] = holding = corpus.ids(fts.term(term), most)
    return len(holding)


def _heaviest(weight: dict[int, float]) -> Iterator[int]:
    """Ids by weight, of equals the newest first; nearly always the first few are all that is asked for."""
    least = _weight_of(2 * BEST, weight)
    first = heapq.nlargest(2 * BEST, [(w, message) for message, w in weight.items() if w >= least])
    yield from (message for _, message in first)
    pairs = sorted(zip(weight.values(), weight.keys(), strict=True), reverse=True)
    yield from (message for _, message in pairs[len(first) :])


def _weight_of(place: int, weight: dict[int, float]) -> float:
    """The weight in that place from the top; sums of the same few terms are few, however many messages."""
    counts = Counter(weight.values())
    for value in sorted(counts, reverse=True):
        place -= counts[value]
        if place <= 0:
            return value
    return 0.0


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
    texts = texts_of(corpus, found.rows)
    if in_text:
        finder = Marker(in_text)
        for id_, text in texts.items():
            counts = finder.frequencies(text)
            for term in in_text:
                if count := counts.get(term.units[0]):
                    evidence[term].frequency[id_] = float(count)
    for one in hidden:
        begins = word_beginning(one.term.units[0])
        if any(True for _ in fts.shorter(one.term.units[0])):
            one.frequency = {
                id_: 1.0 for id_, text in texts.items() if begins.search(fold(compatible(text)))
            }
    for one in short:
        judge(one, texts)
