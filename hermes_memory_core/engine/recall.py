"""Recall for one turn: everybody asked at once, one deadline, one block.

Order (design.md section 4): scan → de-dupe → spill → fence. A late answer waits for the next turn of the same
session and is then labelled with its age; it never reaches another session.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hermes_memory_core.engine.calls import Outcome, Provider, describe
from hermes_memory_core.engine.dedupe import LineFilter
from hermes_memory_core.engine.fence import fence, remove_tags, strip_fences
from hermes_memory_core.engine.pool import Job
from hermes_memory_core.engine.spill import Spill, SpillSettings
from hermes_memory_core.storage import memos
from hermes_memory_core.types import Recall, RecallReport, RecallState, SessionInfo

logger = logging.getLogger(__name__)

LATE_SESSIONS = 256
"""Sessions for which a late recall is kept, oldest out first."""
REMOVED = "[a line was left out here: it looked like an instruction to the assistant]"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The result of one round."""

    text: str
    reports: tuple[RecallReport, ...]
    elapsed_ms: float

    @property
    def late(self) -> tuple[str, ...]:
        """Providers that did not answer in time."""
        return tuple(report.provider for report in self.reports if report.state == "timeout")


NOTHING = Gathered("", (), 0.0)


@dataclass(frozen=True, slots=True)
class _Found:
    provider: str
    state: RecallState
    recall: Recall | None
    elapsed_ms: float
    error: str | None = None


class Gatherer:
    """Asks the providers of one open Memory.

    Args:
        spill: Where oversize recall goes.
        spill_settings: Captured at open.
        clock: Epoch seconds.
    """

    def __init__(
        self, spill: Spill, spill_settings: SpillSettings, clock: Callable[[], float]
    ) -> None:
        self._spill = spill
        self._settings = spill_settings
        self._clock = clock
        self._lock = threading.Lock()
        self._late: dict[str, dict[str, Recall]] = {}

    def gather(
        self,
        providers: Sequence[Provider],
        session: SessionInfo,
        query: str,
        turn_number: int,
        timeout_s: float,
        *,
        known: str = "",
    ) -> Gathered:
        """One round of ``prefetch``.

        Args:
            providers: Those to ask, in the order their text stands in the block.
            session: The session.
            query: The user's words.
            turn_number: Of the turn that begins.
            timeout_s: For all together.
            known: The frozen prompt; what stands there is not repeated.
        """
        asked = [provider for provider in providers if provider.implements("prefetch")]
        if not asked:
            return NOTHING
        began = time.perf_counter()
        deadline = time.monotonic() + timeout_s
        found = self._ask(asked, session, query, turn_number, deadline)
        lines = LineFilter(known)
        parts, reports = [], []
        for item in found:
            try:
                text, report = self._prepare(item, session, lines)
            except Exception as error:
                # a text that our own scan or filter stumbles over costs that recall, not the turn
                logger.exception("recall of %s could not be prepared", item.provider)
                text, report = "", RecallReport(item.provider, "failed", error=describe(error))
            reports.append(report)
            if text:
                parts.append(text)
        block = fence("\n\n".join(parts))
        return Gathered(block, tuple(reports), (time.perf_counter() - began) * 1000)

    def drop(self, session_id: str) -> None:
        """Forget what came late for a session that is over."""
        with self._lock:
            self._late.pop(session_id, None)

    def forget(self, holds: Callable[[str], bool]) -> int:
        """Drop what came late and holds a text; how many."""
        with self._lock:
            doomed = [
                (session_id, name)
                for session_id, found in self._late.items()
                for name, recall in found.items()
                if holds(recall.text) or holds(recall.source)
            ]
            for session_id, name in doomed:
                del self._late[session_id][name]
        return len(doomed)

    # ------------------------------------------------------------ asking

    def _ask(
        self,
        providers: list[Provider],
        session: SessionInfo,
        query: str,
        turn_number: int,
        deadline: float,
    ) -> list[_Found]:
        started: dict[str, Job | Outcome] = {}
        # external providers first, so that they work while the built-ins run on this thread
        for provider in sorted(providers, key=lambda one: one.built_in):
            keep = self._keeper(provider.name, session.id)
            started[provider.name] = provider.start(
                "prefetch",
                late=keep,
                session=session,
                query=query,
                turn_number=turn_number,
                deadline=deadline,
            )
        found = []
        for provider in providers:
            begun = started[provider.name]
            outcome = (
                begun
                if isinstance(begun, Outcome)
                else provider.finish("prefetch", begun, deadline - time.monotonic())
            )
            found.append(self._settle(provider.name, session.id, outcome))
        return found

    def _keeper(self, name: str, session_id: str) -> Callable[[Job], None]:
        def keep(job: Job) -> None:
            recall = _as_recall(job.value) if job.error is None else None
            if recall is None:
                return
            with self._lock:
                per_session = self._late.setdefault(session_id, {})
                per_session[name] = Recall(
                    recall.text, recall.source, recall.found_at or self._clock()
                )
                while len(self._late) > LATE_SESSIONS:
                    del self._late[next(iter(self._late))]

        return keep

    def _settle(self, name: str, session_id: str, outcome: Outcome) -> _Found:
        with self._lock:
            late = self._late.get(session_id, {}).pop(name, None)
        if outcome.ok:
            recall = _as_recall(outcome.value)
            if recall is not None:
                return _Found(name, "fresh", recall, outcome.elapsed_ms)
            if late is None:
                return _Found(name, "empty", None, outcome.elapsed_ms)
        states: dict[str, RecallState] = {
            "ok": "empty",
            "timeout": "timeout",
            "busy": "busy",
            "open": "skipped",
        }
        state = states.get(outcome.state, "failed")
        error = describe(outcome.error) or None
        if late is not None:
            return _Found(name, "late", late, outcome.elapsed_ms, error)
        return _Found(name, state, None, outcome.elapsed_ms, error)

    # ------------------------------------------------------------ what goes in

    def _prepare(
        self, found: _Found, session: SessionInfo, lines: LineFilter
    ) -> tuple[str, RecallReport]:
        recall = found.recall
        if recall is None:
            return "", RecallReport(
                found.provider, found.state, elapsed_ms=found.elapsed_ms, error=found.error
            )
        age = max(0.0, self._clock() - recall.found_at) if recall.found_at else 0.0
        text = remove_tags(strip_fences(recall.text))
        limit = self._settings.limit
        oversize = limit is not None and len(text) > limit
        if not oversize:
            text = lines.apply(without_orders(text))
        spilled = self._spill.apply(
            text,
            source=f"{found.provider} memory prefetch",
            session_id=session.id,
            settings=self._settings,
        )
        text = lines.apply(without_orders(spilled.text)) if oversize else spilled.text
        report = RecallReport(
            provider=found.provider,
            state=found.state,
            text=text,
            source=recall.source,
            chars=len(recall.text),
            elapsed_ms=found.elapsed_ms,
            age_s=age,
            spilled_to=str(spilled.path) if spilled.path else None,
            error=found.error,
        )
        if not text:
            return "", report
        return f"{_title(found, age)}\n{text}", report


@lru_cache(maxsize=128)
def without_orders(text: str) -> str:
    """The text with lines that try to command the assistant replaced by a remark.

    Kept for texts seen lately: a provider's base context is the same turn after turn.

    Only findings of severity ``block`` count: recall is fenced as untrusted already, and honest text about
    attacks must come through.
    """
    from hermes_memory_core.safety import scan  # its tables cost; sessions without recall need none

    findings = [finding for finding in scan(text) if finding.severity == "block"]
    if not findings:
        return text
    lines = text.split("\n")
    position = 0
    for number, line in enumerate(lines):
        end = position + len(line)
        if any(finding.start <= end and finding.end > position for finding in findings):
            lines[number] = REMOVED
        position = end + 1
    return "\n".join(line for i, line in enumerate(lines) if i == 0 or line != lines[i - 1])


memos.register(without_orders.cache_clear)


def _title(found: _Found, age_s: float) -> str:
    source = f" ({found.recall.source})" if found.recall and found.recall.source else ""
    label = f", found {_age(age_s)} ago for an earlier message" if age_s >= 1 else ""
    return f"From {found.provider}{source}{label}:"


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _as_recall(value: Recall | str | None) -> Recall | None:
    """The recall, or None when there is no text in it."""
    recall = Recall(value) if isinstance(value, str) else value
    return recall if recall is not None and recall.text.strip() else None
