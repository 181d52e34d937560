"""Which turn each session's transcript ends with: a turn that is handed over twice is known by its id. No writing."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Final

from hermes_memory_core.errors import StoreError
from hermes_memory_core.types import TurnRef

from .transcript import Event, messages_in, read_lines
from .writer import Transcripts

SESSIONS: Final = 256
"""Sessions remembered; of others the file's end is read again."""
_TAIL_BYTES: Final = 1 << 18


class LastTurns:
    """The last turn of recent sessions, read from the file once and then kept along."""

    def __init__(self, transcripts: Transcripts) -> None:
        self._transcripts = transcripts
        self._known: OrderedDict[str, TurnRef | None] = OrderedDict()

    def get(self, session_id: str) -> TurnRef | None:
        """The last turn as far as this process knows; None when there is none, or it was undone."""
        if session_id not in self._known:
            self.put(session_id, self._read(session_id))
        return self._known.get(session_id)

    def put(self, session_id: str, ref: TurnRef | None) -> None:
        """Remember what the session ends with now."""
        self._known[session_id] = ref
        self._known.move_to_end(session_id)
        while len(self._known) > SESSIONS:
            self._known.popitem(last=False)

    def _read(self, session_id: str) -> TurnRef | None:
        found: TurnRef | None = None
        path = self._transcripts.path(session_id)
        if path is None:
            return None
        # unreadable here, it is refused with words where it is written
        with suppress(OSError, StoreError), path.open("rb") as file:
            for line in read_lines(file, max(0, path.stat().st_size - _TAIL_BYTES)):
                if line.event is None:
                    continue
                if line.event["type"] == "turn":
                    found = _ref(session_id, line.event, line.offset, line.end)
                elif line.event["type"] == "undo":
                    found = None
        return found


def _ref(session_id: str, event: Event, offset: int, end: int) -> TurnRef | None:
    head = event.get("turn")
    if not isinstance(head, dict):
        return None
    ids = tuple(fields["id"] for fields in messages_in(event))
    return TurnRef(session_id, str(head.get("id")), offset, ids, end)
