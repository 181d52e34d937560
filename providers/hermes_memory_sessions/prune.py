"""Which old sessions may go, how much that frees, and doing it. Deleting itself stands in ``trash``."""

# Statements are put together from constants of this package; every value is a parameter.
# ruff: noqa: S608

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import ForgetReceipt, Notice, SessionRecord

from .mend import MendMixin
from .rows import SESSION_COLUMNS, session_record
from .times import epoch
from .trash import TrashMixin

DAY_S: Final = 86_400.0
DEFAULT_DAYS: Final = 90
HOUR_S: Final = 3_600.0
_STAMP: Final = "last_auto_prune"

_CONDITIONS: Final[Mapping[str, str]] = {
    "source": "s.source = ?",
    "title": "instr(lower(s.title), lower(?))",
    "end_reason": "s.end_reason = ?",
    "cwd": "(s.cwd || '/') LIKE ? ESCAPE '\\'",
    "model": "instr(lower(s.model), lower(?))",
    "user_id": "s.user_id = ?",
    "chat_id": "s.chat_id = ?",
    "min_messages": "s.message_count >= ?",
    "max_messages": "s.message_count <= ?",
    "min_tokens": "s.input_tokens + s.output_tokens >= ?",
    "max_tokens": "s.input_tokens + s.output_tokens <= ?",
}


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What a prune would take away."""

    sessions: Sequence[SessionRecord]
    messages: int
    transcript_bytes: int
    total_bytes: int
    """Database and transcripts now."""
    kept_pinned: int
    """Sessions that matched and stay because they are pinned."""


class PruneMixin(TrashMixin, MendMixin):
    """Prune of the history store."""

    def plan_prune(
        self,
        *,
        before: str | float | None = None,
        after: str | float | None = None,
        include_archived: bool = False,
        include_open: bool = False,
        **filters: Any,
    ) -> PrunePlan:
        """Sessions whose conversation was last active before ``before``, ended, neither pinned nor archived; changes nothing.

        Without ``before`` and without any filter, 90 days ago is meant. Filters: source, title (part),
        end_reason, cwd (prefix), model (part), user_id, chat_id, min_messages, max_messages, min_tokens,
        max_tokens.

        Raises:
            UsageError: An unknown filter, or a time that cannot be understood.
        """
        unknown = set(filters) - set(_CONDITIONS)
        if unknown:
            raise UsageError(
                f"Sessions cannot be pruned by {', '.join(sorted(unknown))}; nothing was deleted.",
                hint="hermes sessions prune --help",
            )
        given = {key: value for key, value in filters.items() if value is not None}
        if before is None and after is None and not given:
            before = self.clock() - DEFAULT_DAYS * DAY_S
        where, values = ["1"], list[Any]()
        for name, value in given.items():
            where.append(_CONDITIONS[name])
            values.append(_prefix(value) if name == "cwd" else value)
        # a conversation is as young as its youngest part: a compressed one's beginnings are never old alone
        active = "(SELECT max(n.last_active) FROM sessions n WHERE n.lineage = s.lineage)"
        for condition, value in ((f"{active} < ?", before), (f"{active} >= ?", after)):
            moment = epoch(value, now=self.clock())
            if moment is not None:
                where.append(condition)
                values.append(moment)
        if not include_archived:
            where.append("s.archived = 0")
        if not include_open:
            where.append("s.ended_at IS NOT NULL")
        statement = (
            f"SELECT {SESSION_COLUMNS} FROM sessions s WHERE {' AND '.join(where)} "
            "ORDER BY s.last_active"
        )
        found = [
            session_record(row)
            for row in self.query(lambda db: db.execute(statement, values).fetchall())
        ]
        doomed = [record for record in found if not record.pinned]
        paths = [self.transcripts.path(record.id) for record in doomed]
        return PrunePlan(
            doomed,
            sum(record.message_count for record in doomed),
            sum(path.stat().st_size for path in paths if path is not None),
            self.database.size() + self.transcripts.total_bytes(),
            len(found) - len(doomed),
        )

    def prune(self, plan: PrunePlan, *, permanently: bool = False) -> ForgetReceipt:
        """Delete what the plan names, to the trash unless ``permanently``."""
        return self.delete_sessions(
            [record.id for record in plan.sessions], permanently=permanently
        )

    def auto_prune(self, *, stopped: Callable[[], bool] = lambda: False) -> ForgetReceipt | None:
        """Prune as ``sessions.auto_prune`` says; None when it is off, or not due in any process.

        Conversations nobody has used for ``retention_days`` go to the trash, whole or not at all: one stays while
        any part of it, or of its sub-agents', is open, pinned, archived or younger. The trash is emptied of what
        has lain there as long. What went is told to the person.

        Args:
            stopped: Asked before each session; True ends the run with what has gone by then.
        """
        settings = self.context.settings.get("sessions") or {}
        if not settings.get("auto_prune"):
            return None
        if not self._claim_prune(float(settings.get("min_interval_hours", 24)) * HOUR_S):
            return None
        days = settings.get("retention_days", DEFAULT_DAYS)
        before = self.clock() - days * DAY_S
        size = self.database.size()
        kept = self.query(lambda db: _in_use(db, before))
        gone: set[str] = set()
        messages = removed = 0
        doomed = [item for item in self.plan_prune(before=before).sessions if item.id not in kept]
        for record in doomed:
            if stopped():
                break
            if not self._is_old(record.id, before):  # gone on with, or pinned, since it was listed
                continue
            removed += self.delete_sessions([record.id]).removed
            messages += record.message_count
            if record.agent_context != "subagent":
                gone.add(record.lineage)
        self.empty_trash(older_than_s=days * DAY_S)
        if removed and settings.get("vacuum_after_prune", True) and not stopped():
            self.optimise()
        if removed:
            self._tell_pruned(len(gone), messages, days, size - self.database.size())
        return ForgetReceipt("history", len(doomed), removed)

    def _claim_prune(self, interval_s: float) -> bool:
        """True for the one process whose turn it is; the stamp is read and set in one transaction."""
        with self.database.write() as db:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (_STAMP,)).fetchone()
            now = self.clock()
            passed = now - float(row[0]) if row else interval_s
            if (
                -interval_s <= passed < interval_s
            ):  # a stamp far ahead is of a clock that was put back
                return False
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_STAMP, now))
        return True

    def _is_old(self, session_id: str, before: float) -> bool:
        """Whether the session is there, and its conversation still unused."""
        parts, used = self.query(
            lambda db: db.execute(
                "SELECT count(*), total(n.ended_at IS NULL OR n.pinned OR n.archived "
                "OR n.last_active >= ?) FROM sessions s JOIN sessions n ON n.lineage = s.lineage "
                "WHERE s.id = ?",
                (before, session_id),
            ).fetchone()
        )
        return parts > 0 and not used

    def _tell_pruned(self, conversations: int, messages: int, days: float, freed: int) -> None:
        some = "1 conversation" if conversations == 1 else f"{conversations:,} conversations"
        space = f"; the database is {freed / 1e6:,.1f} MB smaller" if freed > 100_000 else ""
        self.context.notify(
            Notice(
                "history_pruned",
                f"{some} with {messages:,} messages, not used for {days:g} days, went to the trash{space}. "
                f"They can come back for another {days:g} days.",
                hint="hermes sessions trash",
                level="info",
                key=f"history_pruned:{self.clock():.0f}",
            )
        )


def _in_use(db: sqlite3.Connection, before: float) -> set[str]:
    """Sessions of every conversation that is open, pinned, archived or younger in any part, sub-agents' included."""
    rows = db.execute(
        "WITH RECURSIVE delegated(one, other) AS ("
        "SELECT parent.lineage, child.lineage FROM sessions child "
        "JOIN sessions parent ON parent.id = child.parent_id "
        "WHERE child.agent_context = 'subagent' AND parent.lineage != child.lineage), "
        "linked(one, other) AS (SELECT one, other FROM delegated UNION SELECT other, one FROM delegated), "
        "used(lineage) AS (SELECT lineage FROM sessions WHERE ended_at IS NULL OR pinned OR archived "
        "OR last_active >= ? UNION SELECT linked.other FROM used JOIN linked ON linked.one = used.lineage) "
        "SELECT s.id FROM used JOIN sessions s ON s.lineage = used.lineage",
        (before,),
    )
    return {row[0] for row in rows}


def _prefix(path: str) -> str:
    escaped = path.rstrip("/").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{escaped}/%"
