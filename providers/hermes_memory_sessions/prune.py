"""Which old sessions may go, how much that frees, and doing it. Deleting itself stands in ``trash``."""

# Statements are put together from constants of this package; every value is a parameter.
# ruff: noqa: S608

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import ForgetReceipt, SessionRecord

from .mend import MendMixin
from .rows import SESSION_COLUMNS, session_record
from .times import epoch
from .trash import TrashMixin

DAY_S: Final = 86_400.0
DEFAULT_DAYS: Final = 90
AUTO_EVERY_S: Final = DAY_S
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
        """Sessions last active before ``before``, ended, neither pinned nor archived; changes nothing.

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
        for condition, value in (("s.last_active < ?", before), ("s.last_active >= ?", after)):
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

    def auto_prune(self) -> ForgetReceipt | None:
        """Prune as ``sessions.auto_prune`` says, at most once a day; None when it is off or not due."""
        settings = self.context.settings.get("sessions") or {}
        if not settings.get("auto_prune"):
            return None
        now = self.clock()
        if now - self.query(_last_auto) < AUTO_EVERY_S:
            return None
        with self.database.write() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_STAMP, now))
        days = settings.get("retention_days", DEFAULT_DAYS)
        receipt = self.prune(self.plan_prune(before=now - days * DAY_S))
        self.empty_trash(older_than_s=days * DAY_S)
        if receipt.removed and settings.get("vacuum_after_prune", True):
            self.optimise()
        return receipt


def _last_auto(db: sqlite3.Connection) -> float:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_STAMP,)).fetchone()
    return float(row[0]) if row else 0.0


def _prefix(path: str) -> str:
    escaped = path.rstrip("/").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{escaped}/%"
