"""The outbox: a durable, ordered queue of what the external provider has not yet taken (rows of ``runtime.db``).

One lane per lineage keeps the order of everything a provider observes; lanes are independent of each other and
leased to one process at a time. Rows name a turn by its place in the transcript; the text is not copied. This
file only keeps the queue; ``delivery`` empties it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hermes_memory_core.engine.runtime import Runtime, dump_session, is_alive, load_session
from hermes_memory_core.types import (
    NoteOperation,
    NoteWrite,
    Origin,
    Scope,
    SessionInfo,
    Turn,
    TurnRef,
)

LEASE_S = 60.0
"""How long a process owns a lane without renewing (design.md section 6)."""
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a stored row raises when it is damaged or written by another version."""
LONGEST_WAIT_S = 900.0
"""A lane never waits longer for its next attempt; ``delivery`` keeps to it."""
ROW_OVERHEAD_BYTES = 200
"""What a row costs beyond its texts, for ``max_bytes``."""


@dataclass(frozen=True, slots=True)
class OutboxLimits:
    """When the oldest items have to go, visibly."""

    max_items: int = 100_000
    max_age_s: float = 30 * 86_400
    max_bytes: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to deliver: a hook with its arguments."""

    seq: int
    provider: str
    lane: str
    hook: str
    session: SessionInfo | None
    ref: TurnRef | None
    payload: Mapping[str, Any]
    created_at: float
    attempts: int
    last_error: str | None
    dead_at: float | None
    broken: str = ""
    """Why the row cannot be read (damaged, or another version's); "" when it can."""


class Outbox:
    """The queue of one profile, for whichever provider is named in the rows."""

    def __init__(self, runtime: Runtime, limits: OutboxLimits) -> None:
        self._runtime = runtime
        self._limits = limits

    # ------------------------------------------------------------ filling

    def put(
        self,
        provider: str,
        lane: str,
        hook: str,
        *,
        session: SessionInfo | None = None,
        ref: TurnRef | None = None,
        payload: Mapping[str, Any] | None = None,
        db: sqlite3.Connection | None = None,
    ) -> None:
        """Queue one item; with ``db`` inside the caller's transaction."""
        if db is None:
            with self._runtime.write() as own:
                return self.put(
                    provider, lane, hook, session=session, ref=ref, payload=payload, db=own
                )
        info = dump_session(session) if session else None
        place = json.dumps(asdict(ref)) if ref else None
        text = json.dumps(payload, ensure_ascii=False) if payload is not None else None
        size = sum(len(part.encode("utf-8", "replace")) for part in (info, place, text) if part)
        db.execute(
            "INSERT INTO outbox(provider, lane, hook, session, ref, payload, bytes, created_at)"
            " VALUES(?,?,?,?,?,?,?,?)",
            (
                provider,
                lane,
                hook,
                info,
                place,
                text,
                size + ROW_OVERHEAD_BYTES,
                self._runtime.clock(),
            ),
        )
        db.execute("INSERT OR IGNORE INTO lanes(provider, lane) VALUES(?,?)", (provider, lane))
        return None

    # ------------------------------------------------------------ emptying

    def lease(self, provider: str) -> str | None:
        """Take a lane that has something and may be tried now, the longest untouched first; None when there is none."""
        now = self._runtime.clock()
        with self._runtime.read() as db:
            if not _anything(db, provider):
                return None
        with self._runtime.write() as db:
            row = db.execute(
                "SELECT l.lane FROM lanes l WHERE l.provider=? AND EXISTS (SELECT 1 FROM outbox o"
                " WHERE o.provider=l.provider AND o.dead_at IS NULL AND o.lane=l.lane)"
                # a time further off than any pause was set before the clock was put back
                " AND (l.not_before<=? OR l.not_before>?)"
                " AND (l.holder IS NULL OR l.holder=? OR l.leased_until<?)"
                " ORDER BY l.leased_until LIMIT 1",
                (provider, now, now + LONGEST_WAIT_S, self._runtime.holder, now),
            ).fetchone()
            if row is None:
                return None
            db.execute(
                "UPDATE lanes SET holder=?, leased_until=? WHERE provider=? AND lane=?",
                (self._runtime.holder, now + LEASE_S, provider, row["lane"]),
            )
            return str(row["lane"])

    def first(self, provider: str, lane: str) -> Item | None:
        """The lane's next item, while this process holds the lane."""
        with self._runtime.read() as db:
            row = db.execute(
                "SELECT o.* FROM outbox o JOIN lanes l ON l.provider=o.provider AND l.lane=o.lane"
                " WHERE o.provider=? AND o.lane=? AND o.dead_at IS NULL AND l.holder=?"
                " ORDER BY o.seq LIMIT 1",
                (provider, lane, self._runtime.holder),
            ).fetchone()
        return _item(row) if row else None

    def delivered(self, item: Item) -> bool:
        """The provider took it; True when the lane has more, else the lane is given back by the way."""
        with self._runtime.write() as db:
            db.execute("DELETE FROM outbox WHERE seq=?", (item.seq,))
            db.execute("UPDATE providers SET delivered=delivered+1 WHERE name=?", (item.provider,))
            return self._go_on(db, item)

    def vanished(self, item: Item) -> bool:
        """What the item names is gone (forgotten or undone): nothing to deliver. As ``delivered``."""
        with self._runtime.write() as db:
            db.execute("DELETE FROM outbox WHERE seq=?", (item.seq,))
            return self._go_on(db, item)

    def failed(self, item: Item, error: str, retry_at: float) -> None:
        """Keep it and let the whole lane wait, so that the order stands."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE outbox SET attempts=attempts+1, last_error=? WHERE seq=?", (error, item.seq)
            )
            db.execute(
                "UPDATE lanes SET not_before=?, holder=NULL, leased_until=0"
                " WHERE provider=? AND lane=?",
                (retry_at, item.provider, item.lane),
            )

    def bury(self, item: Item, reason: str) -> bool:
        """A dead letter: kept for a person to see, the lane goes on. As ``delivered``."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE outbox SET attempts=attempts+1, last_error=?, dead_at=? WHERE seq=?",
                (reason, self._runtime.clock(), item.seq),
            )
            return self._go_on(db, item)

    def release(self, provider: str, lane: str, *, not_before: float | None = None) -> None:
        """Give a lane back that is not empty."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE lanes SET holder=NULL, leased_until=?, not_before=coalesce(?, not_before)"
                " WHERE provider=? AND lane=? AND holder=?",
                (self._runtime.clock(), not_before, provider, lane, self._runtime.holder),
            )

    def free_dead_leases(self) -> None:
        """Lanes held by processes that are gone are free at once, not after their lease."""
        with self._runtime.read() as db:
            holders = [
                row["holder"]
                for row in db.execute("SELECT DISTINCT holder FROM lanes WHERE holder IS NOT NULL")
            ]
        gone = [holder for holder in holders if not is_alive(holder)]
        if gone:
            with self._runtime.write() as db:
                db.executemany(
                    "UPDATE lanes SET holder=NULL, leased_until=0 WHERE holder=?",
                    [(holder,) for holder in gone],
                )

    def _go_on(self, db: sqlite3.Connection, item: Item) -> bool:
        """Renew the lease where more waits in the lane; else drop the lane's row, and answer False."""
        place = (item.provider, item.lane)
        more = db.execute(
            "SELECT 1 FROM outbox WHERE provider=? AND dead_at IS NULL AND lane=? LIMIT 1", place
        ).fetchone()
        if more is None:
            db.execute("DELETE FROM lanes WHERE provider=? AND lane=?", place)
            return False
        db.execute(
            "UPDATE lanes SET leased_until=?, not_before=0 WHERE provider=? AND lane=?",
            (self._runtime.clock() + LEASE_S, *place),
        )
        return True

    # ------------------------------------------------------------ seeing and steering

    def counts(self, provider: str | None = None) -> dict[str, Any]:
        """``pending``, ``dead``, ``lanes``, ``bytes`` and ``oldest_at`` (None when empty)."""
        with self._runtime.read() as db:
            row = db.execute(
                "SELECT count(*) FILTER (WHERE dead_at IS NULL) AS pending,"
                " count(*) FILTER (WHERE dead_at IS NOT NULL) AS dead,"
                " count(DISTINCT CASE WHEN dead_at IS NULL THEN provider||'/'||lane END) AS lanes,"
                " coalesce(sum(bytes), 0) AS bytes,"
                " min(CASE WHEN dead_at IS NULL THEN created_at END) AS oldest_at"
                " FROM outbox WHERE ? IS NULL OR provider=?",
                (provider, provider),
            ).fetchone()
        return dict(row)

    def items(
        self, *, provider: str | None = None, dead: bool | None = None, limit: int = 50
    ) -> list[Item]:
        """Items in order; ``dead`` True or False narrows."""
        with self._runtime.read() as db:
            rows = db.execute(
                "SELECT * FROM outbox WHERE (?1 IS NULL OR provider=?1)"
                " AND (?2 IS NULL OR (dead_at IS NOT NULL)=?2) ORDER BY seq LIMIT ?3",
                (provider, dead, limit),
            ).fetchall()
        return [_item(row) for row in rows]

    def retry(self, seqs: list[int] | None = None) -> int:
        """Bring dead letters back to life (all, or the named) and let every lane try at once; how many."""
        with self._runtime.write() as db:
            chosen = _among(seqs)
            count = db.execute(
                f"UPDATE outbox SET dead_at=NULL, attempts=0 WHERE dead_at IS NOT NULL{chosen}",  # noqa: S608 - integers only
            ).rowcount
            db.execute(
                "INSERT OR IGNORE INTO lanes(provider, lane) SELECT DISTINCT provider, lane FROM outbox"
            )
            db.execute("UPDATE lanes SET not_before=0")
        return count

    def hurry(self, provider: str) -> None:
        """Every lane of the provider may be tried now."""
        with self._runtime.write() as db:
            db.execute("UPDATE lanes SET not_before=0 WHERE provider=?", (provider,))

    def drop(self, seqs: list[int] | None = None, *, dead_only: bool = True) -> int:
        """Throw items away because a person said so; how many."""
        with self._runtime.write() as db:
            dead = " AND dead_at IS NOT NULL" if dead_only else ""
            return db.execute(f"DELETE FROM outbox WHERE 1{dead}{_among(seqs)}").rowcount  # noqa: S608 - integers only

    def trim(self) -> int:
        """Enforce age, number and size, oldest first out; how many items were lost."""
        limits = self._limits
        with self._runtime.read() as db:
            row = db.execute(
                "SELECT count(*), coalesce(sum(bytes), 0), min(created_at) FROM outbox"
            ).fetchone()
        too_old = self._runtime.clock() - limits.max_age_s
        if (
            row[0] <= limits.max_items
            and row[1] <= limits.max_bytes
            and (row[2] or too_old) >= too_old
        ):
            return 0
        with self._runtime.write() as db:
            doomed = [
                found["seq"]
                for found in db.execute("SELECT seq FROM outbox WHERE created_at<?", (too_old,))
            ]
            keep_from = db.execute(
                "SELECT seq FROM outbox ORDER BY seq DESC LIMIT 1 OFFSET ?", (limits.max_items - 1,)
            ).fetchone()
            if keep_from:
                doomed += [
                    found["seq"]
                    for found in db.execute("SELECT seq FROM outbox WHERE seq<?", (keep_from[0],))
                ]
            total = row[1]
            if total > limits.max_bytes:
                for found in db.execute("SELECT seq, bytes FROM outbox ORDER BY seq"):
                    if total <= limits.max_bytes:
                        break
                    doomed.append(found["seq"])
                    total -= found["bytes"]
            gone = set(doomed)
            db.executemany(
                "UPDATE providers SET dropped=dropped+1 WHERE name="
                "(SELECT provider FROM outbox WHERE seq=?)",
                [(seq,) for seq in gone],
            )
            db.executemany("DELETE FROM outbox WHERE seq=?", [(seq,) for seq in gone])
        return len(gone)


def _anything(db: sqlite3.Connection, provider: str) -> bool:
    return (
        db.execute(
            "SELECT 1 FROM outbox WHERE provider=? AND dead_at IS NULL LIMIT 1", (provider,)
        ).fetchone()
        is not None
    )


def _among(seqs: list[int] | None) -> str:
    return "" if seqs is None else f" AND seq IN ({','.join(str(int(seq)) for seq in seqs)})"


def _item(row: sqlite3.Row) -> Item:
    session, ref, broken = None, None, ""
    payload: Any = {}
    try:
        session = load_session(row["session"]) if row["session"] else None
        fields = json.loads(row["ref"]) if row["ref"] else None
        if fields is not None:
            ref = TurnRef(**{**fields, "message_ids": tuple(fields["message_ids"])})
        payload = json.loads(row["payload"]) if row["payload"] else {}
        if not isinstance(payload, dict):
            broken = "its payload is no object"
    except UNREADABLE as error:
        broken = f"{type(error).__name__}: {error}"
    return Item(
        seq=row["seq"],
        provider=row["provider"],
        lane=row["lane"],
        hook=row["hook"],
        session=session,
        ref=ref,
        payload=payload if not broken else {},
        created_at=row["created_at"],
        attempts=row["attempts"],
        last_error=row["last_error"],
        dead_at=row["dead_at"],
        broken=broken,
    )


# ---------------------------------------------------------------- payloads


def dump_turn(turn: Turn) -> dict[str, Any]:
    """A turn as a payload, where no transcript holds it."""
    return asdict(turn)


def load_turn(data: Mapping[str, Any]) -> Turn:
    """The way back."""
    from hermes_memory_core.types import Message

    fields = dict(data)
    fields["messages"] = tuple(
        Message(**{**message, "tool_calls": tuple(message["tool_calls"])})
        for message in fields["messages"]
    )
    return Turn(**fields)


def dump_write(write: NoteWrite) -> dict[str, Any]:
    """A note write as a payload."""
    return asdict(write)


def load_write(data: Mapping[str, Any]) -> NoteWrite:
    """The way back."""
    fields = dict(data)
    fields["before"] = tuple(fields["before"])
    fields["after"] = tuple(fields["after"])
    fields["origin"] = Origin(**fields["origin"])
    fields["scope"] = Scope(**fields["scope"])
    fields["operations"] = tuple(NoteOperation(**one) for one in fields["operations"])
    return NoteWrite(**fields)
