"""Query string to AST; one parser for every path, and it never raises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    text: str
    warnings: tuple[str, ...] = ()


def parse(text: str) -> Query:
    """Read any string as a query."""
    raise NotImplementedError
