"""The tree as an FTS5 expression; every token is quoted, so nothing in it can be syntax."""

from __future__ import annotations

from collections.abc import Iterator

from .stems import stem
from .syntax import AllOf, Node, Term, Without


def token(text: str, prefix: bool, *, surely: bool = False) -> str:
    """One token, or all that begin with it; ``surely`` leaves out stems that may hide such a word."""
    if not prefix:
        return _quoted(text)
    also = [] if surely else [_quoted(other) for other in shorter(text)]
    return _either([f"{_quoted(text)}*", *also])


def term(wanted: Term, *, surely: bool = False) -> str:
    """Any of a term's readings, each as tokens in a row."""
    found: list[str] = []
    for reading in wanted.readings:
        if len(reading) == 1:
            found.append(token(reading[0], wanted.prefix, surely=surely))
        else:
            found.append(_quoted(" ".join(reading)) + ("*" if wanted.prefix else ""))
    return _either(found)


def tree(node: Node, *, surely: bool = False) -> str:
    """The whole tree, at least all that satisfy it; with ``surely`` at most those.

    A term of several parts stands for the parts in a row.
    """
    if isinstance(node, Term):
        return term(node, surely=surely)
    if isinstance(node, Without):
        return f"({tree(node.node, surely=surely)} NOT {tree(node.excluded, surely=not surely)})"
    children = [tree(child, surely=surely) for child in node.nodes]
    return f"({' AND '.join(children)})" if isinstance(node, AllOf) else _either(children)


def shorter(prefix: str) -> Iterator[str]:
    """Stems that hide words beginning with ``prefix``: ``runni*`` means ``running``, indexed as ``run``.

    A message found by one of them still has to show such a word: ``organi*`` does not mean ``organ``.
    """
    seen = {prefix}
    for ending in ("", "g", "ng", "ing", "s", "d", "ed", "y", "e", "ion", "on", "n"):
        found = stem(prefix + ending)
        if found not in seen and not found.startswith(prefix):
            seen.add(found)
            yield found


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _either(expressions: list[str]) -> str:
    return expressions[0] if len(expressions) == 1 else f"({' OR '.join(expressions)})"
