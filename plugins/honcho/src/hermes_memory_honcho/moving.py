"""Taking everything out, taking records in, forgetting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_core.types import (
    PROFILE_SCOPE,
    ForgetReceipt,
    ImportCounts,
    MemoryRecord,
    Scope,
)
from hermes_memory_honcho import texts
from hermes_memory_honcho.answers import Stored
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.naming import digest, safe_name
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.tool_calls import CONCLUSION_CHARS
from hermes_memory_honcho.who import Directory, Place
from hermes_memory_honcho.writes import Item, Writer

TURN_KINDS = ("turn", "message")
IMPORTED = "imported"
"""Session for records that name none."""
AT_ONCE = 50
"""Records in one go: a turn is two messages, a request takes 100."""
NOT_DELETED = (
    "Honcho cannot delete single messages: conclusions and cards are gone, the messages are still there. "
    "`honcho_search` can find them until their session is deleted on the server."
)


class Mover:
    """Export, import and forgetting for one profile.

    Args:
        server: Where everything is.
        ledger: What was sent before.
        directory: Whose peers belong to a scope.
        writer: Takes imported turns to the server.
    """

    def __init__(
        self, server: Server, ledger: Ledger, directory: Directory, writer: Writer
    ) -> None:
        self._server = server
        self._ledger = ledger
        self._directory = directory
        self._writer = writer

    # ------------------------------------------------------------ out

    def export(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Messages, conclusions, cards; of one scope only what carries its mark."""
        if not self._server.workspace_exists():
            return
        yield from self._messages(scope)
        pairs: dict[tuple[str, str], None] = {}
        for one in self._conclusions(scope):
            pairs[one.metadata["observer"], one.metadata["observed"]] = None
            yield MemoryRecord(
                one.id, "conclusion", one.content, one.at, scope or PROFILE_SCOPE, _facts(one)
            )
        for observer, observed in pairs:
            card = self._server.card(observer, observed)
            if card:
                yield MemoryRecord(
                    f"card-{digest(f'{observer}/{observed}', 24)}",
                    "profile",
                    "\n".join(card),
                    None,
                    scope or PROFILE_SCOPE,
                    {"observer": observer, "observed": observed},
                )

    def _messages(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        wanted = None if scope is None else scope.key
        for name in self._server.session_names():
            for one in self._server.messages(name):
                found = str(one.metadata.get("scope") or PROFILE_SCOPE.key)
                if wanted is not None and found != wanted:
                    continue
                yield MemoryRecord(
                    one.id, "message", one.content, one.at, _scope_of(one, scope), _facts(one)
                )

    def _conclusions(self, scope: Scope | None) -> list[Stored]:
        found = self._server.all_conclusions()
        if scope is None:
            return found
        peers = self._directory.peers_of(scope)
        if peers is None:
            return []
        return [
            one
            for one in found
            if one.metadata["observed"] in peers and one.metadata["observer"] in peers
        ]

    # ------------------------------------------------------------ in

    def take_in(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Turns and messages become messages, everything else conclusions about the user.

        A record that is known by its id is a duplicate; the id stays with what is stored.
        """
        tally = _Tally()
        batch: list[MemoryRecord] = []
        for record in records:
            batch.append(record)
            if len(batch) >= AT_ONCE:
                self._take(batch, tally)
                batch = []
        if batch:
            self._take(batch, tally)
        return tally.counts()

    def _take(self, batch: list[MemoryRecord], tally: _Tally) -> None:
        known = self._ledger.known([_key(record) for record in batch])
        turns: dict[str, tuple[Place, list[Item]]] = {}
        facts: dict[str, tuple[Place, list[MemoryRecord]]] = {}
        seen: set[str] = set()
        for record in batch:
            row = known.get(_key(record))
            peers = self._directory.peers_of(record.scope)
            if record.id in seen or (row is not None and row.done):
                tally.duplicates += 1
                continue
            seen.add(record.id)
            if not record.content.strip():
                tally.leave("empty")
            elif peers is None:
                tally.leave("of an anonymous user")
            elif record.kind in TURN_KINDS:
                place = self._place(record, peers)
                turns.setdefault(place.session, (place, []))[1].append(_item(record, peers))
            else:
                place = self._place(record, peers)
                facts.setdefault(place.user, (place, []))[1].append(record)
        for place, items in turns.values():
            new = self._writer.store(place, items)
            tally.imported += new
            tally.duplicates += len(items) - new
        for place, some in facts.values():
            self._conclude(place, some, tally)

    def _conclude(self, place: Place, records: list[MemoryRecord], tally: _Tally) -> None:
        keys = [_key(record) for record in records]
        doubtful = self._ledger.known(keys)
        there: set[str] = set()
        if doubtful:
            listed = self._server.conclusions(place.observer, place.user, 10_000)
            there = {one.content for one in listed}
        self._server.ensure(place)
        for record in records:
            key = _key(record)
            pieces = texts.parts(texts.clean(record.content).strip(), CONCLUSION_CHARS)
            pieces = [one for one in pieces if one.strip()]
            if key in doubtful:
                pieces = [one for one in pieces if one not in there]
            self._ledger.sending({key: (key, 0)}, 0.0)
            if pieces:
                self._server.conclude(place.observer, place.user, pieces, None)
            self._ledger.done([key])
            tally.imported += 1

    def _place(self, record: MemoryRecord, peers: tuple[str, str]) -> Place:
        user, ai = peers
        named = record.metadata.get("session")
        name = safe_name(str(named)) if named else IMPORTED
        if record.scope.kind != "profile":
            name = f"{name[:80]}-{record.scope.digest[:8]}"
        flags = self._directory.resolved.settings.flags
        return Place(name, user, ai, *flags, scope_key=record.scope.key, owner=True)

    # ------------------------------------------------------------ forgetting

    def forget(
        self, name: str, scope: Scope | None, query: str, dry_run: bool
    ) -> list[ForgetReceipt]:
        """Delete conclusions and card lines that contain the text; say which messages contain it."""
        folded = texts.clean(query).strip().casefold()
        if not folded:
            return []
        receipts = []
        held = self._ledger.drop_held(folded, dry_run) if scope in (None, PROFILE_SCOPE) else 0
        if held:
            receipts.append(
                ForgetReceipt(f"{name}: turns not yet sent", held, 0 if dry_run else held)
            )
        if not self._server.workspace_exists():
            return receipts
        found = [one for one in self._conclusions(scope) if folded in one.content.casefold()]
        pairs = {
            (one.metadata["observer"], one.metadata["observed"]) for one in self._conclusions(scope)
        }
        removed = 0 if dry_run else sum(map(self._delete, found))
        if found:
            receipts.append(
                ForgetReceipt(f"{name}: conclusions", len(found), removed, _previews(found))
            )
        receipts += self._forget_cards(name, pairs, folded, dry_run)
        said = [one for one in self._messages(scope) if folded in one.content.casefold()]
        if said:
            previews = tuple(texts.one_line(one.content, 60) for one in said[:5])
            receipts.append(ForgetReceipt(f"{name}: messages", len(said), 0, previews, NOT_DELETED))
        return receipts

    def _forget_cards(
        self, name: str, pairs: set[tuple[str, str]], folded: str, dry_run: bool
    ) -> list[ForgetReceipt]:
        receipts = []
        for observer, observed in sorted(pairs):
            card = self._server.card(observer, observed)
            kept = [line for line in card if folded not in line.casefold()]
            if len(kept) == len(card):
                continue
            if not dry_run:
                self._server.set_card(observer, observed, kept)
            count = len(card) - len(kept)
            receipts.append(
                ForgetReceipt(f"{name}: card of {observed}", count, 0 if dry_run else count)
            )
        return receipts

    def _delete(self, one: Stored) -> bool:
        return self._server.delete_conclusion(
            one.metadata["observer"], one.metadata["observed"], one.id
        )


@dataclass
class _Tally:
    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def leave(self, reason: str) -> None:
        self.skipped += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def counts(self) -> ImportCounts:
        return ImportCounts(self.imported, self.duplicates, self.skipped, 0, self.reasons)


def _key(record: MemoryRecord) -> str:
    return f"record:{record.id}"


def _item(record: MemoryRecord, peers: tuple[str, str]) -> Item:
    """One message; whose it is stands in the record where it came from here."""
    user, ai = peers
    said_by = str(record.metadata.get("peer") or record.metadata.get("role") or "user")
    speaker = ai if said_by in ("assistant", "ai", ai) else user
    facts: Mapping[str, Any] = {
        "source": "import",
        "record": record.id[:200],
        "scope": record.scope.key,
    }
    # whatever its time is, nobody but an import has sent this key
    return Item(
        _key(record),
        (speaker,),
        (record.content,),
        record.created_at or 0.0,
        {**facts, "fresh": True},
    )


def _facts(one: Stored) -> dict[str, Any]:
    return {**one.metadata, "session": one.session, "peer": one.peer}


def _scope_of(one: Stored, wanted: Scope | None) -> Scope:
    if wanted is not None:
        return wanted
    kind, value = one.metadata.get("scope_kind"), one.metadata.get("scope_id")
    if kind in ("user", "chat") and isinstance(value, str):
        return Scope(kind, value)
    return PROFILE_SCOPE


def _previews(found: list[Stored]) -> tuple[str, ...]:
    return tuple(texts.one_line(one.content, 60) for one in found[:5])
