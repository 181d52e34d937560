"""Which sessions are open, who holds them, and the prompt each was frozen with (rows of ``runtime.db``)."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from hermes_memory_core.engine.runtime import Runtime, dump_session, is_alive, load_session
from hermes_memory_core.types import SessionInfo


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One row."""

    info: SessionInfo
    holder: str
    detached: bool
    turn_number: int
    last_seen: float
    snapshot: str | None
    snapshot_at: float | None
    cursor: int
    """Transcript offset up to which turns were handed to the outbox."""


class OpenSessions:
    """The register of open sessions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def put(
        self,
        info: SessionInfo,
        *,
        turn_number: int = 0,
        cursor: int = 0,
        db: sqlite3.Connection | None = None,
    ) -> None:
        """Register (or take over) a session for this process; with ``db`` inside the caller's transaction."""
        if db is None:
            with self._runtime.write() as own:
                return self.put(info, turn_number=turn_number, cursor=cursor, db=own)
        db.execute(
            "INSERT INTO open_sessions(id, info, holder, turn_number, last_seen, cursor)"
            " VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET info=excluded.info,"
            " holder=excluded.holder, detached=0, last_seen=excluded.last_seen",
            (
                info.id,
                dump_session(info),
                self._runtime.holder,
                turn_number,
                self._runtime.clock(),
                cursor,
            ),
        )
        return None

    def cursor(self, session_id: str, *, db: sqlite3.Connection | None = None) -> int | None:
        """Transcript offset up to which turns are queued; None when the session is not open anywhere."""
        if db is None:
            with self._runtime.read() as own:
                return self.cursor(session_id, db=own)
        row = db.execute("SELECT cursor FROM open_sessions WHERE id=?", (session_id,)).fetchone()
        return int(row[0]) if row else None

    def get(self, session_id: str) -> OpenSession | None:
        """The row, or None when the session is not open anywhere."""
        with self._runtime.read() as db:
            row = db.execute("SELECT * FROM open_sessions WHERE id=?", (session_id,)).fetchone()
        return _row(row) if row else None

    def all(self) -> list[OpenSession]:
        """Every open session."""
        with self._runtime.read() as db:
            return [
                _row(row) for row in db.execute("SELECT * FROM open_sessions ORDER BY last_seen")
            ]

    def advance(
        self, session_id: str, turn_number: int, cursor: int, *, db: sqlite3.Connection
    ) -> bool:
        """A turn was completed; inside the caller's transaction. False when the session is not open."""
        done = db.execute(
            "UPDATE open_sessions SET turn_number=max(turn_number, ?), last_seen=?, cursor=?"
            " WHERE id=?",
            (turn_number, self._runtime.clock(), cursor, session_id),
        )
        return done.rowcount == 1

    def rename(self, info: SessionInfo) -> None:
        """The session's own data changed (its title)."""
        with self._runtime.write() as db:
            db.execute("UPDATE open_sessions SET info=? WHERE id=?", (dump_session(info), info.id))

    def freeze(self, session_id: str, snapshot: str) -> None:
        """Keep the system prompt for replay."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE open_sessions SET snapshot=?, snapshot_at=? WHERE id=?",
                (snapshot, self._runtime.clock(), session_id),
            )

    def thaw(self, session_id: str) -> None:
        """Forget the kept prompt: it is too old to be replayed."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE open_sessions SET snapshot=NULL, snapshot_at=NULL WHERE id=?", (session_id,)
            )

    def detach(self, session_id: str) -> None:
        """Leave it open for another request or process."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE open_sessions SET detached=1, last_seen=? WHERE id=?",
                (self._runtime.clock(), session_id),
            )

    def take_ended(self, session_id: str, *, db: sqlite3.Connection) -> bool:
        """Remove the row, inside the caller's transaction; True for exactly one caller, who delivers the end."""
        return db.execute("DELETE FROM open_sessions WHERE id=?", (session_id,)).rowcount == 1

    def crashed(self, limit: int) -> list[OpenSession]:
        """Sessions whose process is gone without having ended or detached them, oldest first."""
        with self._runtime.read() as db:
            holders = db.execute("SELECT DISTINCT holder FROM open_sessions WHERE detached=0")
            gone = [row["holder"] for row in holders if not is_alive(row["holder"])]
            rows = db.execute(
                "SELECT o.* FROM open_sessions o JOIN json_each(?) j ON j.value=o.holder"
                " WHERE o.detached=0 ORDER BY o.last_seen LIMIT ?",
                (json.dumps(gone), limit),
            )
            return [_row(row) for row in rows]

    def idle(self, older_than_s: float, limit: int) -> list[OpenSession]:
        """Detached sessions nobody has used for that long, oldest first."""
        with self._runtime.read() as db:
            rows = db.execute(
                "SELECT * FROM open_sessions WHERE detached=1 AND last_seen<?"
                " ORDER BY last_seen LIMIT ?",
                (self._runtime.clock() - older_than_s, limit),
            )
            return [_row(row) for row in rows]


def _row(row: object) -> OpenSession:
    data = dict(row)  # type: ignore[call-overload] # sqlite3.Row
    return OpenSession(
        info=load_session(data["info"]),
        holder=data["holder"],
        detached=bool(data["detached"]),
        turn_number=data["turn_number"],
        last_seen=data["last_seen"],
        snapshot=data["snapshot"],
        snapshot_at=data["snapshot_at"],
        cursor=data["cursor"],
    )
