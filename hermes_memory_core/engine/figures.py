"""Counts, latencies and breaker of a provider, carried into ``runtime.db`` so that any process can show them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hermes_memory_core.engine.breaker import BreakerState
from hermes_memory_core.engine.calls import HookFigures, Provider
from hermes_memory_core.engine.runtime import Runtime
from hermes_memory_core.plugins.load import PluginStatus
from hermes_memory_core.types import Health

SAVE_EVERY_S = 5.0


class Figures:
    """Writes what the guard counted; adds to what other processes wrote."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._saved: dict[tuple[str, str], tuple[int, int]] = {}
        self._saved_at = 0.0

    def register(self, provider: Provider | PluginStatus) -> None:
        """Note that a provider was loaded, or why it was not."""
        state, why, hint = "on", "", ""
        if isinstance(provider, PluginStatus):
            state, why, hint = "failed", f"{provider.phase}: {provider.error}", provider.hint
        with self._runtime.write() as db:
            db.execute(
                "INSERT INTO providers(name, distribution, version, state, why, hint, updated_at)"
                " VALUES(?,?,?,?,?,?,?) ON CONFLICT(name) DO UPDATE SET"
                " distribution=excluded.distribution, version=excluded.version, state=excluded.state,"
                " why=excluded.why, hint=excluded.hint, updated_at=excluded.updated_at",
                (
                    provider.name,
                    provider.distribution,
                    provider.version,
                    state,
                    why,
                    hint,
                    self._runtime.clock(),
                ),
            )

    def breaker_of(self, name: str) -> BreakerState:
        """Where an earlier process left the breaker."""
        with self._runtime.read() as db:
            row = db.execute("SELECT breaker FROM providers WHERE name=?", (name,)).fetchone()
        return (
            BreakerState(**json.loads(row["breaker"])) if row and row["breaker"] else BreakerState()
        )

    def save_breaker(self, provider: Provider) -> None:
        """Keep the breaker's state."""
        if provider.breaker is None:
            return
        with self._runtime.write() as db:
            db.execute(
                "UPDATE providers SET breaker=?, updated_at=? WHERE name=?",
                (
                    json.dumps(asdict(provider.breaker.state)),
                    self._runtime.clock(),
                    provider.name,
                ),
            )

    def save_health(self, name: str, health: Health) -> None:
        """Keep the answer of a health check."""
        with self._runtime.write() as db:
            db.execute(
                "UPDATE providers SET health=?, health_at=? WHERE name=?",
                (
                    json.dumps(asdict(health), ensure_ascii=False, default=str),
                    self._runtime.clock(),
                    name,
                ),
            )

    def save(self, providers: list[Provider], *, force: bool = False) -> None:
        """Write what was counted since the last time, at most every five seconds unless forced."""
        now = self._runtime.clock()
        if not force and now - self._saved_at < SAVE_EVERY_S:
            return
        self._saved_at = now
        for provider in providers:
            provider.count_overdue()
        rows = [
            self._row(provider.name, hook, figures)
            for provider in providers
            for hook, figures in list(provider.figures.items())
        ]
        rows = [row for row in rows if row["calls"]]
        if not rows:
            return
        with self._runtime.write() as db:
            db.executemany(
                "INSERT INTO figures VALUES(:provider,:hook,:calls,:failures,:p50,:p95,"
                ":success_at,:error_at,:error,:hint) ON CONFLICT(provider, hook) DO UPDATE SET"
                " calls=calls+excluded.calls, failures=failures+excluded.failures,"
                " p50_ms=excluded.p50_ms, p95_ms=excluded.p95_ms,"
                " last_success_at=coalesce(excluded.last_success_at, last_success_at),"
                " last_error_at=coalesce(excluded.last_error_at, last_error_at),"
                " last_error=coalesce(excluded.last_error, last_error),"
                " last_hint=coalesce(excluded.last_hint, last_hint)",
                rows,
            )

    def _row(self, provider: str, hook: str, figures: HookFigures) -> dict[str, Any]:
        calls, failures = self._saved.get((provider, hook), (0, 0))
        self._saved[provider, hook] = (figures.calls, figures.failures)
        latencies = sorted(figures.latencies_ms)
        return {
            "provider": provider,
            "hook": hook,
            "calls": figures.calls - calls,
            "failures": figures.failures - failures,
            "p50": _at(latencies, 0.50),
            "p95": _at(latencies, 0.95),
            "success_at": figures.last_success_at,
            "error_at": figures.last_error_at,
            "error": figures.last_error or None,
            "hint": figures.last_hint or None,
        }


def _at(values: list[float], share: float) -> float | None:
    return round(values[min(len(values) - 1, int(len(values) * share))], 3) if values else None
