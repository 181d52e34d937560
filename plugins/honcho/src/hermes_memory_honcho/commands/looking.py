"""Commands that look: status, peers, sessions. They make nothing on the server, and an error is not "OK"."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import HermesMemoryError, ProviderUnavailableError
from hermes_memory_honcho import texts
from hermes_memory_honcho.checkup import look
from hermes_memory_honcho.commands.common import make, masked, parts_of
from hermes_memory_honcho.parts import Parts

if TYPE_CHECKING:
    from hermes_memory_core.cli.state import State

CARD_LINES = 10
REPRESENTATION_CHARS = 200


def settings_shown(parts: Parts) -> dict[str, Any]:
    """What counts, for people and programs."""
    resolved, settings = parts.resolved, parts.settings
    user_flags, ai_flags = settings.flags
    return {
        "enabled": settings.enabled,
        "url": resolved.url,
        "key": masked(resolved.key),
        "key_from": resolved.origins.get("api_key"),
        "honcho_json": str(resolved.path) if resolved.path else None,
        "host": resolved.host,
        "workspace": resolved.workspace,
        "user_peer": parts.looking.owner_peer,
        "ai_peer": parts.looking.ai_peer,
        "session_strategy": settings.session_strategy,
        "recall_mode": settings.recall_mode,
        "save_messages": settings.save_messages,
        "write_frequency": settings.write_frequency,
        "context_tokens": settings.context_tokens,
        "context_cadence": settings.context_cadence,
        "dialectic_cadence": settings.dialectic_cadence,
        "dialectic_depth": settings.dialectic_depth,
        "dialectic_reasoning_level": settings.dialectic_reasoning_level,
        "injection_frequency": settings.injection_frequency,
        "observation": {
            "user": {"observe_me": user_flags[0], "observe_others": user_flags[1]},
            "ai": {"observe_me": ai_flags[0], "observe_others": ai_flags[1]},
        },
        "origins": dict(resolved.origins),
        "warnings": list(resolved.warnings),
    }


def status(state: State) -> None:
    """Print settings and the result of a real look; ends with an error when the look failed.

    Raises:
        ProviderUnavailableError: The server does not answer, refuses the key, or derives nothing.
    """
    with parts_of(state) as parts:
        shown = settings_shown(parts)
        health = look(parts)
        known = _known(parts) if health.ok and health.details.get("exists") else {}
    answer = {"ok": health.ok, "message": health.message, **health.details}
    data = {"settings": shown, "server": {**answer, **known}}
    if health.ok:
        state.result("honcho-status", data, lambda: _page(shown, data["server"]))
        return
    if not state.json:
        state.result("honcho-status", data, lambda: _page(shown, data["server"]))
    raise ProviderUnavailableError(health.message, hint=health.hint, details=data, retryable=False)


def _known(parts: Parts) -> dict[str, Any]:
    user, ai = parts.looking.owner_peer, parts.looking.ai_peer
    observer = ai if parts.settings.flags[1][1] else user
    return {
        "user_card": parts.server.card(observer, user)[:CARD_LINES],
        "ai_representation": texts.one_line(
            parts.server.view(ai, ai).representation, REPRESENTATION_CHARS
        ),
    }


def _page(shown: dict[str, Any], server: dict[str, Any]) -> str:
    from hermes_memory_core.cli import output

    origins = shown["origins"]

    def value(name: str) -> str:
        text = "unlimited" if shown[name] is None else str(shown[name])
        return f"{text}  ({origins[name]})" if name in origins else text

    names = [
        name for name in shown if name not in ("origins", "warnings", "observation", "key_from")
    ]
    rows = [(name.replace("_", " "), value(name)) for name in names]
    for who, flags in shown["observation"].items():
        about, others = flags["observe_me"], flags["observe_others"]
        rows.append((f"{who} observed", f"itself {_yes(about)}, others {_yes(others)}"))
    rows.append(("server", ("OK: " if server["ok"] else "NOT OK: ") + server["message"]))
    rows += [("your card", line) for line in server.get("user_card", [])]
    if server.get("ai_representation"):
        rows.append(("assistant", server["ai_representation"]))
    rows += [("warning", line) for line in shown["warnings"]]
    return output.fields([(name, output.clean(text, one_line=True)) for name, text in rows])


def status_of_all(state: State) -> None:
    """One line a profile; no server is asked."""
    from hermes_memory_core.profiles import list_profiles

    rows: list[dict[str, Any]] = []
    for profile in list_profiles(state.root()):
        try:
            parts = make(profile.path, profile.name)
            shown = settings_shown(parts)
            keys = ("enabled", "url", "key", "workspace", "user_peer", "ai_peer", "recall_mode")
            rows.append(
                {"profile": profile.name, **{key: shown[key] for key in keys}, "error": None}
            )
        except HermesMemoryError as error:
            rows.append({"profile": profile.name, "error": error.message})
    state.result("honcho-status-all", {"profiles": rows}, lambda: _table(rows, "profile"))


def peers(state: State) -> None:
    """Print the peers."""
    with parts_of(state) as parts:
        names = parts.server.peer_names() if _there(state, parts) else []
        roles = {parts.looking.owner_peer: "you", parts.looking.ai_peer: "assistant"}
    rows = [{"peer": name, "role": roles.get(name, "")} for name in sorted(names)]
    state.result("honcho-peers", {"peers": rows}, lambda: _table(rows, "peer"))


def sessions(state: State) -> None:
    """Print the sessions, and how many turns wait for each."""
    with parts_of(state) as parts:
        names = parts.server.session_names() if _there(state, parts) else []
        mapped: dict[str, list[str]] = {}
        for directory, name in parts.settings.sessions.items():
            mapped.setdefault(name, []).append(directory)
        ledger = parts.data_dir / "ledger.db"
        waiting = parts.ledger.waiting() if ledger.exists() else {}
    here = str(Path.cwd())
    rows = [
        {
            "session": name,
            "waiting": waiting.get(name, 0),
            "directories": mapped.get(name, []),
            "here": here in mapped.get(name, []),
        }
        for name in sorted({*names, *waiting, *mapped})
    ]
    state.result("honcho-sessions", {"sessions": rows}, lambda: _table(rows, "session"))


def _there(state: State, parts: Parts) -> bool:
    """Whether the workspace exists: the SDK would make it for any other question."""
    parts.require_access()
    if parts.server.workspace_exists():
        return True
    state.say(f"The workspace {parts.resolved.workspace} is not there yet.")
    return False


def _table(rows: list[dict[str, Any]], first: str) -> str:
    from hermes_memory_core.cli import output

    if not rows:
        return "none"
    headers = [first, *(key for key in rows[0] if key != first)]
    cells = [[_cell(row.get(key)) for key in headers] for row in rows]
    return output.table(headers, cells)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return _yes(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
