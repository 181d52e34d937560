"""From a query's tree and the index's postings to evidence: which message has which term, how often. No weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from .postings import Offsets
from .syntax import AllOf, AnyOf, Node, Term, Without, plain

Lookup = Callable[[str, bool], Offsets]
"""(token, is a prefix) to where it stands."""


PART: Final = 0.6
"""Worth of a term of several parts of which only some are there, before the share that is."""


@dataclass(slots=True)
class TermEvidence:
    """One term's messages."""

    term: Term
    frequency: dict[int, float] = field(default_factory=dict)
    """Occurrences by message id; of a term of several parts, of all of them in a row."""
    share: dict[int, float] = field(default_factory=dict)
    """Messages in which the term is worth less: only some of its parts, or not a word of its own."""
    rarity: float = 0.0
    """Inverse document frequency, in natural logarithms."""

    def __contains__(self, message: int) -> bool:
        return message in self.frequency


def gather(term: Term, lookup: Lookup, messages: int) -> TermEvidence:
    """All evidence for one term; ``messages`` is the size of the store."""
    found = TermEvidence(term)
    for reading in term.readings:
        for message, count in _in_a_row(reading, term.prefix, lookup).items():
            found.frequency[message] = max(found.frequency.get(message, 0), count)
    whole = len(found.frequency)
    if len(term.units) > 1 and not term.exact:
        _add_parts(found, lookup, whole > 0)
    found.rarity = rarity(whole or len(found.frequency), messages)
    return found


def rarity(holding: int, messages: int) -> float:
    """BM25's inverse document frequency; never negative."""
    messages = max(messages, holding)
    return math.log(1 + (messages - holding + 0.5) / (holding + 0.5))


def _in_a_row(tokens: tuple[str, ...], prefix: bool, lookup: Lookup) -> dict[int, float]:
    last = len(tokens) - 1
    first = lookup(tokens[0], prefix and last == 0)
    if last == 0:
        return {message: float(len(places)) for message, places in first.items()}
    rest = [lookup(token, prefix and i == last) for i, token in enumerate(tokens[1:], 1)]
    rarest = min(rest, key=len)
    counts: dict[int, float] = {}
    for message in first if len(first) < len(rarest) else rarest:
        if message not in first or any(message not in places for places in rest):
            continue
        later = [set(places[message]) for places in rest]
        count = sum(
            all(start + i in places for i, places in enumerate(later, 1))
            for start in first[message]
        )
        if count:
            counts[message] = float(count)
    return counts


def _add_parts(found: TermEvidence, lookup: Lookup, whole_exists: bool) -> None:
    """Messages with some of the parts: half of them where the whole exists, else any two (of up to three, any one).

    A single pair of characters out of a longer word is a false friend more often than not.
    """
    parts = list(dict.fromkeys(found.term.units))
    least = max(2, math.ceil(len(parts) / 2)) if whole_exists else 2 if len(parts) > 3 else 1
    have: dict[int, int] = {}
    for part in parts:
        for message in lookup(part, False):
            have[message] = have.get(message, 0) + 1
    for message, count in have.items():
        if count >= least and message not in found.frequency:
            found.frequency[message] = 1.0
            found.share[message] = PART * count / (len(parts) + 1)


# ---------------------------------------------------------------- the tree


def without_weak(node: Node) -> Node:
    """The tree without function words, wherever a row of words has something better."""
    if isinstance(node, Term):
        return node
    if isinstance(node, Without):
        return Without(without_weak(node.node), node.excluded)
    children = tuple(without_weak(child) for child in node.nodes)
    if isinstance(node, AnyOf):
        strong = tuple(c for c in children if not (isinstance(c, Term) and c.weak))
        children = strong or children
        return children[0] if len(children) == 1 else AnyOf(children)
    return AllOf(children)


def satisfying(node: Node, evidence: dict[Term, TermEvidence]) -> set[int]:
    """Ids of the messages for which the tree holds."""
    if isinstance(node, Term):
        return set(evidence[node].frequency)
    if isinstance(node, Without):
        return satisfying(node.node, evidence) - satisfying(node.excluded, evidence)
    sets = [satisfying(child, evidence) for child in node.nodes]
    return set.union(*sets) if isinstance(node, AnyOf) else set.intersection(*sets)


def allowed(node: Node, evidence: dict[Term, TermEvidence]) -> set[int] | None:
    """Like ``satisfying``, or None where every message with any term will do."""
    return None if plain(node) else satisfying(node, evidence)


def union(evidence: Iterable[TermEvidence]) -> set[int]:
    """Messages that have any of the terms."""
    out: set[int] = set()
    for one in evidence:
        out.update(one.frequency)
    return out
