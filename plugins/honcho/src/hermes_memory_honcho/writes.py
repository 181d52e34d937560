"""Storing turns exactly once and in order: parts, batches, and a look at the server before anything is sent again.

A write that failed may have arrived. So each turn is written down before it is sent (``Ledger``), carries its id in
the metadata, and is looked for on the server before a second try.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hermes_memory_core.errors import ProviderBusyError, ProviderError, ProviderTimeoutError
from hermes_memory_honcho import texts
from hermes_memory_honcho.answers import Outgoing
from hermes_memory_honcho.edge import NotThereError
from hermes_memory_honcho.ledger import Ledger, Sent
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.who import Place

BATCH = 100
"""Messages in one request; the server takes no more."""
KILLED_S = 2.0
"""A request of a process that was killed may still be stored for so long."""
TIMED_OUT_S = 5.0
"""The same after a time-out, when the server is slow."""
TURNS_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Item:
    """Something to store: a turn, a delegation, an imported record."""

    key: str
    speakers: tuple[str, ...]
    texts: tuple[str, ...]
    at: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For the ledger."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Item:
        """Back from the ledger."""
        return cls(
            data["key"],
            tuple(data["speakers"]),
            tuple(data["texts"]),
            float(data["at"]),
            data["facts"],
        )


class Writer:
    """The one way messages go to the server.

    Args:
        server: Where to.
        ledger: What was sent before.
        clock: Epoch seconds.
        max_chars: Longest message.
    """

    def __init__(
        self, server: Server, ledger: Ledger, clock: Callable[[], float], max_chars: int
    ) -> None:
        self._server = server
        self._ledger = ledger
        self._clock = clock
        self._max_chars = max_chars
        self._guard = threading.Lock()
        self._lanes: dict[str, threading.Lock] = {}

    def store(self, place: Place, items: Sequence[Item]) -> int:
        """Store what is not stored yet, in order; how many items were new.

        Raises:
            ProviderError: Not everything is stored; what is, is known and will not be sent again.
        """
        with self._lane(place.session):
            new = 0
            for at in range(0, len(items), TURNS_AT_ONCE):
                new += self._store(place, items[at : at + TURNS_AT_ONCE])
            return new

    def hold(self, place: Place, item: Item) -> int:
        """Keep for later; how many wait for this session. What was sent before is not held again."""
        sent = self._ledger.known([item.key]).get(item.key)
        if sent is not None and sent.done:
            return 0
        return self._ledger.hold(place.session, item.key, item.to_dict())

    def flush(self, place: Place) -> int:
        """Send what is held for this session; how many items."""
        held = [Item.from_dict(one) for one in self._ledger.held(place.session)]
        return self.store(place, held) if held else 0

    # ------------------------------------------------------------ inside

    def _lane(self, session: str) -> threading.Lock:
        with self._guard:
            if len(self._lanes) > 512:
                self._lanes = {key: lock for key, lock in self._lanes.items() if lock.locked()}
            return self._lanes.setdefault(session, threading.Lock())

    def _store(self, place: Place, items: Sequence[Item]) -> int:
        items = list({item.key: item for item in items}.values())
        known = self._ledger.known([item.key for item in items])
        todo = [item for item in items if item.key not in known or not known[item.key].done]
        if not todo:
            return 0
        self._server.ensure(place)
        present = self._present(place, todo, known)
        run = uuid.uuid4().hex
        runs = {
            item.key: known[item.key].run if item.key in known else self._run(item, todo, run)
            for item in todo
        }
        messages: dict[str, list[Outgoing]] = {}
        for item in todo:
            there = present.get(item.key, set())
            every = self._messages(item, runs[item.key])
            messages[item.key] = [one for one in every if one.metadata["part"] not in there]
        self._send(place, todo, messages, runs)
        return len(todo)

    @staticmethod
    def _run(item: Item, todo: Sequence[Item], run: str) -> str:
        return item.key if len(todo) == 1 else run

    def _present(
        self, place: Place, todo: Sequence[Item], known: Mapping[str, Sent]
    ) -> dict[str, set[int]]:
        """Key → parts that are on the server already, for what may be there."""
        present: dict[str, set[int]] = {}
        questions: dict[tuple[str, str], None] = {}
        began = self._ledger.began
        for item in todo:
            row = known.get(item.key)
            if row is not None:
                questions["run", row.run] = None
            elif 0 < item.at < began and not item.facts.get("fresh"):
                # older than this ledger: one before it (lost, another machine) may have sent it
                questions["turn_id", item.key] = None
        for name, value in questions:
            for stored in self._server.messages(place.session, {name: value}):
                key, part = stored.metadata.get("turn_id"), stored.metadata.get("part")
                if isinstance(key, str) and isinstance(part, int):
                    present.setdefault(key, set()).add(part)
        self._not_too_early(todo, known, present)
        return present

    def _not_too_early(
        self, todo: Sequence[Item], known: Mapping[str, Sent], present: Mapping[str, set[int]]
    ) -> None:
        """A request that timed out a moment ago may be stored after we looked: then it would be there twice."""
        now = self._clock()
        for item in todo:
            row = known.get(item.key)
            if row is not None and row.quiet_until > now and item.key not in present:
                raise ProviderBusyError(
                    "Honcho may still be storing this turn from an earlier try; looking again shortly.",
                    details={"wait_s": round(row.quiet_until - now, 3)},
                )

    def _messages(self, item: Item, run: str) -> list[Outgoing]:
        pieces = [
            (speaker, part)
            for speaker, text in zip(item.speakers, item.texts, strict=True)
            if text.strip()
            for part in texts.parts(texts.clean(text), self._max_chars)
            if part.strip()
        ]
        facts = {key: value for key, value in item.facts.items() if key != "fresh"}
        return [
            Outgoing(
                speaker,
                content,
                {**facts, "turn_id": item.key, "run": run, "part": number, "parts": len(pieces)},
                item.at,
            )
            for number, (speaker, content) in enumerate(pieces)
        ]

    def _send(
        self,
        place: Place,
        todo: Sequence[Item],
        messages: Mapping[str, Sequence[Outgoing]],
        runs: Mapping[str, str],
    ) -> None:
        """Batches of up to 100 messages; an item is done when its last message is stored."""
        left = {item.key: len(messages[item.key]) for item in todo}
        self._ledger.done([key for key, count in left.items() if not count])
        line = [(item.key, one) for item in todo for one in messages[item.key]]
        for at in range(0, len(line), BATCH):
            batch = line[at : at + BATCH]
            keys = list(dict.fromkeys(key for key, _ in batch))
            self._ledger.sending(
                {key: (runs[key], len(messages[key])) for key in keys}, self._clock() + KILLED_S
            )
            self._request(place, [one for _, one in batch], keys)
            for key, _ in batch:
                left[key] -= 1
            self._ledger.done([key for key in keys if not left[key]])

    def _request(self, place: Place, batch: Sequence[Outgoing], keys: Sequence[str]) -> None:
        try:
            try:
                self._server.add(place, batch)
            except NotThereError:
                # a server that no longer makes sessions by itself, or a session somebody deleted
                self._server.forget_session(place.session)
                self._server.ensure(place)
                self._server.add(place, batch)
        except ProviderError as error:
            timed_out = isinstance(error, ProviderTimeoutError)
            self._ledger.quiet(keys, self._clock() + TIMED_OUT_S if timed_out else 0.0)
            raise
