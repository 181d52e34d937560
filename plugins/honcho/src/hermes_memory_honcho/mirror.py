"""Notes about the user become conclusions, and follow every change: add, patch, replace, remove, undo.

Each change is worked out from its before and after, so it does not matter by which command it came.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_memory_core.types import NoteWrite
from hermes_memory_honcho import texts
from hermes_memory_honcho.answers import Stored
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.naming import digest
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.tool_calls import CONCLUSION_CHARS
from hermes_memory_honcho.who import Place

LOOKED_THROUGH = 500
"""Newest conclusions compared when it is not known which one mirrors a note."""


class Mirror:
    """Mirrors USER.md; MEMORY.md holds the assistant's own notes and stays here.

    Args:
        server: Where to.
        ledger: Which conclusion mirrors which note.
        clock: Epoch seconds.
    """

    def __init__(self, server: Server, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._server = server
        self._ledger = ledger
        self._clock = clock

    def apply(self, place: Place, session: str | None, write: NoteWrite) -> None:
        """Bring the conclusions in line with a committed change; the same change twice is one."""
        if write.target != "user":
            return
        key = f"note:{write.id}"
        row = self._ledger.known([key]).get(key)
        if row is not None and row.done:
            return
        before = {texts.clean(one).strip() for one in write.before}
        after = [texts.clean(one).strip() for one in write.after]
        gone = [one for one in dict.fromkeys(write.before) if texts.clean(one).strip() not in after]
        new = [one for one in dict.fromkeys(after) if one and one not in before]
        if gone or new:
            self._server.ensure(place)
        # tried before (here or by a process that died): the conclusion may be there already
        doubtful = row is not None
        self._ledger.sending({key: (key, 0)}, self._clock())
        for text in gone:
            self._remove(place, texts.clean(text).strip())
        for text in new:
            self._add(place, session, text, doubtful)
        self._ledger.done([key])

    def _add(self, place: Place, session: str | None, text: str, doubtful: bool) -> None:
        note, pair = digest(text, 32), f"{place.observer}/{place.user}"
        if self._ledger.conclusion_of(note, pair) is not None:
            return
        pieces = texts.parts(text, CONCLUSION_CHARS)
        found: list[Stored] = []
        if doubtful:
            found = [one for one in self._listed(place) if one.content == pieces[0]]
        if not found:
            found = self._server.conclude(place.observer, place.user, pieces, session)
        self._ledger.keep_conclusion(note, pair, " ".join(one.id for one in found))

    def _remove(self, place: Place, text: str) -> None:
        note, pair = digest(text, 32), f"{place.observer}/{place.user}"
        known = self._ledger.conclusion_of(note, pair)
        ids = known.split() if known else []
        if not ids:
            pieces = set(texts.parts(text, CONCLUSION_CHARS)) if text else set()
            ids = [one.id for one in self._listed(place) if one.content in pieces]
        for one in ids:
            self._server.delete_conclusion(place.observer, place.user, one)
        self._ledger.keep_conclusion(note, pair, None)

    def _listed(self, place: Place) -> list[Stored]:
        return self._server.conclusions(place.observer, place.user, LOOKED_THROUGH)
