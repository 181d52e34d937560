"""The tree a query is read into: plain frozen nodes, no behaviour beyond walking them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: a word, a word of several parts, a run of an unspaced script, or a phrase."""

    text: str
    """As typed, but for folding in scripts without spaces."""
    readings: tuple[tuple[str, ...], ...]
    """Sequences of adjacent index tokens, each of which is this term."""
    prefix: bool = False
    """The last token of a reading only begins a token of the index."""
    exact: bool = False
    """A quoted phrase: its parts alone are no evidence."""
    weak: bool = False
    """A function word: counts only when a query has nothing better."""
    typed: str = field(default="", compare=False)
    """Where ``text`` is folded: as typed, or "" where that cannot be told."""

    @property
    def units(self) -> tuple[str, ...]:
        """Tokens of the first reading."""
        return self.readings[0]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Words in a row, or joined by OR."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Joined by AND."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """``node`` NOT ``excluded``."""

    node: Node
    excluded: Node


Node = Term | AnyOf | AllOf | Without


def terms(node: Node | None) -> Iterator[Term]:
    """Terms that are looked for, left to right; excluded ones are not among them."""
    if node is None:
        return
    if isinstance(node, Term):
        yield node
    elif isinstance(node, Without):
        yield from terms(node.node)
    else:
        for child in node.nodes:
            yield from terms(child)


def excluded(node: Node | None) -> Iterator[Term]:
    """Terms that must not occur, those inside an exclusion's own exclusions left aside."""
    if isinstance(node, Without):
        yield from excluded(node.node)
        yield from terms(node.excluded)
    elif isinstance(node, AnyOf | AllOf):
        for child in node.nodes:
            yield from excluded(child)


def plain(node: Node | None) -> bool:
    """Whether any one of the terms is enough: no AND and no NOT."""
    if isinstance(node, AnyOf):
        return all(plain(child) for child in node.nodes)
    return node is None or isinstance(node, Term)


def strict(node: Node) -> Node:
    """The tree with every term whole: under AND and NOT a part of a word decides nothing."""
    return mapped(node, lambda term: replace(term, exact=True))


def mapped(node: Node, change: Callable[[Term], Term]) -> Node:
    """The tree with every term changed."""
    if isinstance(node, Term):
        return change(node)
    if isinstance(node, Without):
        return Without(mapped(node.node, change), mapped(node.excluded, change))
    children = tuple(mapped(child, change) for child in node.nodes)
    return AllOf(children) if isinstance(node, AllOf) else AnyOf(children)
