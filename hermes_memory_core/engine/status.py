"""What ``memory status`` shows: every layer with on or off, why, how it fares, and the next command.

Read from ``runtime.db`` and distribution metadata; the external provider is not imported. With ``check`` it is, and
makes a real round trip.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from hermes_memory_core.engine.calls import Provider, describe
from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, CORE_DISTRIBUTION, discover
from hermes_memory_core.types import Health, HistoryStore, NotesStore, Target
from hermes_memory_core.version import VERSION

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile

TARGETS: tuple[Target, ...] = ("memory", "user")


def collect(profile: OpenProfile, *, check: bool = False) -> dict[str, Any]:
    """The whole status as plain data (``hermes memory status --json``)."""
    problems: list[str] = []
    health = _check(profile) if check else {}
    # what this process counted and has not written yet belongs to the picture
    _guarded(problems, lambda: profile.figures.save(profile.roster.loaded, force=True))
    layers = [_layer(profile, name, health) for name in BUILT_IN_NAMES if name != "skills"]
    external = _external(profile, health)
    if external is not None:
        layers.append(external)
    status = {
        "profile": {"name": profile.place.name, "path": str(profile.place.path)},
        "version": VERSION,
        "layers": layers,
        "notes": _guarded(problems, lambda: _notes(profile)),
        "history": _guarded(problems, lambda: _history(profile)),
        "outbox": _outbox(profile),
        "pending": _guarded(problems, lambda: _pending(profile)),
        "spills": _spills(profile),
        "sessions_open": len(profile.open_sessions.all()),
        "isolation": profile.settings["memory"]["isolation"],
        "write_approval": _write_approval(profile),
        "notices": _notices(profile),
        "problems": problems,
    }
    status["next"] = _next(status)
    return status


def ask(profile: OpenProfile, provider: Provider) -> Health:
    """One provider's health, by a real round trip; kept in ``runtime.db``."""
    outcome = provider.call("health", profile.deadlines["health_s"], probe=True)
    if outcome.ok and isinstance(outcome.value, Health):
        answer = outcome.value
    elif outcome.state == "absent":
        answer = Health(True, "it loads; it has no health check of its own")
    elif outcome.ok:
        answer = Health(
            False, "its health check gave no answer", f"hermes plugins check {provider.name}"
        )
    else:
        answer = Health(False, describe(outcome.error), getattr(outcome.error, "hint", ""))
    profile.figures.save_health(provider.name, answer)
    return answer


def _check(profile: OpenProfile) -> dict[str, Health]:
    """A round trip with everybody; loads the external provider."""
    answers = {provider.name: ask(profile, provider) for provider in profile.roster.everyone}
    for failure in profile.roster.failures:
        answers.setdefault(
            failure.name, Health(False, f"{failure.phase}: {failure.error}", failure.hint)
        )
    profile.figures.save(profile.roster.loaded, force=True)
    return answers


def _layer(profile: OpenProfile, name: str, health: dict[str, Health]) -> dict[str, Any]:
    memory = profile.settings["memory"]
    if name == "files":
        on = [
            target
            for target, key in zip(TARGETS, ("memory_enabled", "user_profile_enabled"), strict=True)
            if memory[key]
        ]
        state = "on" if on else "off"
        why = (
            ""
            if len(on) == 2
            else f"only `{on[0]}` is on"
            if on
            else "memory.memory_enabled and memory.user_profile_enabled are off"
        )
    else:
        state = "on" if memory["history_enabled"] else "off"
        why = "" if memory["history_enabled"] else "memory.history_enabled is off"
    if name in profile.settings["plugins"]["disabled"]:
        state, why = "off", "named in plugins.disabled"
    failure = next((one for one in profile.roster.failures if one.name == name), None)
    if failure is not None:
        state, why = "failed", f"{failure.phase}: {failure.error}"
    layer = _figures(profile, name, health)
    return {
        "name": name,
        "kind": "built-in",
        "state": state,
        "why": why,
        "hint": failure.hint if failure else "",
        "distribution": CORE_DISTRIBUTION,
        "version": VERSION,
        **layer,
    }


def _external(profile: OpenProfile, health: dict[str, Health]) -> dict[str, Any] | None:
    name = profile.settings["memory"]["provider"]
    if not name and profile.roster.in_process:
        chosen = profile.roster.chosen
        name = chosen[0].name if chosen else ""
    if not name:
        return None
    found = next((plugin for plugin in discover() if plugin.name == name), None)
    figures = _figures(profile, name, health)
    with profile.runtime.read() as db:
        row = db.execute("SELECT * FROM providers WHERE name=?", (name,)).fetchone()
    state, why, hint = "on", "", ""
    if profile.roster.no_plugins:
        state, why = "off", "safe mode (--no-plugins)"
    elif name in profile.settings["plugins"]["disabled"]:
        state, why = "off", "named in plugins.disabled"
    elif (
        found is None
        and not any(one.name == name for one in profile.roster.loaded)
        and not profile.roster.in_process
    ):
        state, why, hint = (
            "not installed",
            "what it holds is untouched",
            f"hermes plugins install {name}",
        )
    elif row is not None and row["state"] == "failed":
        state, why, hint = "failed", row["why"], row["hint"]
    elif figures["breaker"]["state"] != "closed":
        state, why, hint = "degraded", figures["breaker"]["reason"], "hermes memory status --check"
    elif figures["health"] is not None and not figures["health"]["ok"]:
        state, why, hint = "degraded", figures["health"]["message"], figures["health"]["hint"]
    return {
        "name": name,
        "kind": "external",
        "state": state,
        "why": why,
        "hint": hint,
        "distribution": found.distribution if found else (row["distribution"] if row else ""),
        "version": found.version if found else (row["version"] if row else ""),
        **figures,
        "delivered": row["delivered"] if row else 0,
        "dropped": row["dropped"] if row else 0,
    }


def _figures(profile: OpenProfile, name: str, health: dict[str, Health]) -> dict[str, Any]:
    now = profile.clock()
    with profile.runtime.read() as db:
        rows = db.execute("SELECT * FROM figures WHERE provider=?", (name,)).fetchall()
        stored = db.execute(
            "SELECT health, health_at FROM providers WHERE name=?", (name,)
        ).fetchone()
    failed = [row for row in rows if row["last_error_at"]]
    last = max(failed, key=lambda row: row["last_error_at"], default=None)
    breaker = profile.figures.breaker_of(name)
    answer: dict[str, Any] | None = None
    if name in health:
        one = health[name]
        answer = {
            "ok": one.ok,
            "message": one.message,
            "hint": one.hint,
            "details": dict(one.details),
            "age_s": 0.0,
        }
    elif stored and stored["health"]:
        answer = {**json.loads(stored["health"]), "age_s": max(0.0, now - stored["health_at"])}
    return {
        "last_success_at": max(
            (row["last_success_at"] for row in rows if row["last_success_at"]), default=None
        ),
        "last_error": {
            "at": last["last_error_at"],
            "hook": last["hook"],
            "message": last["last_error"],
            "hint": last["last_hint"] or "",
        }
        if last
        else None,
        "calls": sum(row["calls"] for row in rows),
        "failures": sum(row["failures"] for row in rows),
        "latency_ms": {
            row["hook"]: {"p50": row["p50_ms"], "p95": row["p95_ms"], "n": row["calls"]}
            for row in rows
        },
        "breaker": {
            "state": breaker.state,
            "until": breaker.until or None,
            "since": breaker.opened_at,
            "failures": breaker.failures,
            "reason": breaker.reason,
        },
        "health": answer,
    }


def _notes(profile: OpenProfile) -> dict[str, Any] | None:
    notes: NotesStore | None = profile.notes
    if notes is None or profile.settings["memory"]["isolation"] != "profile":
        return None
    result: dict[str, Any] = {}
    for target in TARGETS:
        usage = notes.usage(target)
        result[target] = {
            "chars": usage.chars,
            "limit": usage.limit,
            "percent": usage.percent,
            "entries": usage.entries,
            "path": str(notes.path(target)),
        }
    return result


def _history(profile: OpenProfile) -> dict[str, Any] | None:
    history: HistoryStore | None = profile.history
    return dict(history.stats()) if history is not None else None


def _outbox(profile: OpenProfile) -> dict[str, Any]:
    counts = profile.outbox.counts()
    oldest = counts.pop("oldest_at")
    return {**counts, "oldest_age_s": max(0.0, profile.clock() - oldest) if oldest else None}


def _pending(profile: OpenProfile) -> dict[str, Any]:
    """How many note writes wait for a person, and why: also where write_approval is off, some do."""
    if not (profile.place.path / "pending").is_dir():  # spares an import
        return {"count": 0, "oldest_age_s": None, "reasons": [], "unreadable": 0}
    items = profile.waiting.waiting()
    reasons = Counter(item.why for item in items)
    return {
        "count": len(items),
        "oldest_age_s": max(0.0, profile.clock() - items[0].created_at) if items else None,
        "reasons": [{"why": why, "count": count} for why, count in reasons.most_common()],
        "unreadable": sum(not one.foreign for one in profile.waiting.unreadable()),
    }


def _write_approval(profile: OpenProfile) -> bool:
    """As it is in effect: a slash command may have set it since the settings were read."""
    gate = profile.__dict__.get("gate")  # made on first use only
    setting = profile.settings["memory"]["write_approval"]
    return bool(gate.write_approval if gate is not None else setting)


def _spills(profile: OpenProfile) -> dict[str, int]:
    files = profile.spill.files()
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files)}


def _notices(profile: OpenProfile) -> list[dict[str, Any]]:
    with profile.runtime.read() as db:
        rows = db.execute("SELECT at, notice FROM notices ORDER BY at DESC").fetchall()
    return [{"at": row["at"], **json.loads(row["notice"])} for row in rows]


def _guarded(problems: list[str], read: Any) -> Any:
    """One broken store must not hide the rest of the status."""
    try:
        return read()
    except HermesMemoryError as error:
        problems.append(f"{error.message} → {error.hint}" if error.hint else error.message)
        return None


def _next(status: dict[str, Any]) -> str:
    """The one command that helps most now; "" when all is well."""
    for layer in status["layers"]:
        if layer["state"] in ("failed", "not installed", "degraded") and layer["hint"]:
            return str(layer["hint"])
    if status["outbox"]["dead"]:
        return "hermes memory outbox list --dead"
    if status["problems"]:
        return "hermes doctor"
    for usage in (status["notes"] or {}).values():
        if usage["limit"] and usage["chars"] > usage["limit"]:
            return "hermes memory edit"
    if (status["pending"] or {}).get("count"):
        return "hermes memory pending"
    return ""
