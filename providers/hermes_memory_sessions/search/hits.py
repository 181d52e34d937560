"""Ranked messages to ``Hit`` values. Snippet and reason are made when somebody looks at them: most hits are only counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hermes_memory_core.types import Hit

from .corpus import Corpus
from .rank import Ranked
from .snippet import Marker, snippet


class FoundHit(Hit):
    """A ``Hit`` whose ``snippet`` and ``why`` are made on first use; in all else the same value."""

    __slots__ = ("_made", "_make")

    _make: Callable[[str], tuple[str, str]] | None
    _made: tuple[str, str]

    def __init__(self, *values: Any, **named: Any) -> None:
        plain = Hit(*values, **named)
        self._fill(plain.message_id, plain.session_id, plain.role, plain.name, plain.timestamp)
        _set(self, "content", plain.content)
        _set(self, "score", plain.score)
        _set(self, "_make", None)
        _set(self, "_made", (plain.snippet, plain.why))

    @classmethod
    def later(
        cls, one: Ranked, session_id: str, content: str, make: Callable[[str], tuple[str, str]]
    ) -> FoundHit:
        """The hit for a ranked message; ``make`` gives snippet and reason for its text."""
        hit = object.__new__(cls)
        row = one.row
        hit._fill(row.id, session_id, row.role, row.name, row.ts)
        _set(hit, "content", content)
        _set(hit, "score", round(one.score, 4))
        _set(hit, "_make", make)
        return hit

    def _fill(self, id_: int, session_id: str, role: str, name: str | None, ts: float) -> None:
        _set(self, "message_id", id_)
        _set(self, "session_id", session_id)
        _set(self, "role", role)
        _set(self, "name", name)
        _set(self, "timestamp", ts)

    def _shown(self) -> tuple[str, str]:
        make = self._make
        if make is not None:
            _set(self, "_made", make(self.content))
            _set(self, "_make", None)
        return self._made

    @property
    def snippet(self) -> str:
        """Part of the content around the evidence, terms marked ``>>>`` … ``<<<``."""
        return self._shown()[0]

    @property
    def why(self) -> str:
        """Why it was found, in one short field: terms, neighbour, speaker, date."""
        return self._shown()[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hit) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __reduce__(self) -> tuple[type[Hit], tuple[Any, ...]]:
        return Hit, _values(self)


_set = object.__setattr__


def _values(hit: Hit) -> tuple[Any, ...]:
    return tuple(getattr(hit, name) for name in Hit.__dataclass_fields__)


def hits(corpus: Corpus, page: list[Ranked], marker: Marker) -> list[Hit]:
    """The page as a person gets it, in its order; a message deleted meanwhile is left out."""
    texts = corpus.texts
    missing = [one.row.id for one in page if one.row.id not in texts]
    if missing:
        rows = corpus.db.execute(
            "SELECT m.id, s.id, m.content FROM messages m JOIN sessions s ON s.key = m.session "
            "WHERE m.id IN (SELECT value FROM json_each(?))",
            (json.dumps(missing),),
        )
        texts |= {id_: (session, content) for id_, session, content in rows}
    return [
        FoundHit.later(one, *texts[one.row.id], _maker(one, marker))
        for one in page
        if one.row.id in texts
    ]


def _maker(one: Ranked, marker: Marker) -> Callable[[str], tuple[str, str]]:
    def make(content: str) -> tuple[str, str]:
        return snippet(content, marker), one.reasons.of(one.row) if one.reasons else "signs"

    return make
