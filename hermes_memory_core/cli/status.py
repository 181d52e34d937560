"""``hermes memory status``: what ``Memory.status()`` says, laid out for a person. Decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State

_COLOURS = {
    "on": "green",
    "off": "bright_black",
    "failed": "red",
    "degraded": "yellow",
    "needs setup": "yellow",
    "not installed": "red",
}


@click.command("status", cls=Command)
@click.option(
    "--check", is_flag=True, help="Ask every provider now instead of showing what is known."
)
@click.pass_obj
def status(state: State, check: bool) -> None:
    """Show what is on, how full the notes are, what failed and what to do next.

    Without --check no provider is asked or even imported: failures and health are the last known ones, with
    their age. With --check the exit code is 1 when something that is on does not work.
    """
    with state.open() as memory:
        report = memory.status(check=check)
    state.result("memory-status", report, lambda: state.naming.text(render(report)))
    if not state.json:
        state.hint(str(report.get("next") or ""))
    if check and broken(report):
        raise click.exceptions.Exit(exits.FAILED)


def broken(report: Mapping[str, Any]) -> list[str]:
    """Names of the layers that should work and do not."""
    return [
        str(layer["name"])
        for layer in report.get("layers", ())
        if layer.get("state") in ("failed", "degraded", "not installed", "needs setup")
        or (layer.get("state") == "on" and (layer.get("health") or {}).get("ok") is False)
    ]


def render(report: Mapping[str, Any]) -> str:
    """The whole report as text."""
    profile = report["profile"]
    parts = [
        output.fields(
            [
                ("Profile", f"{profile['name']}  {profile['path']}"),
                *_notes_fields(report),
                *_history_fields(report),
                *_waiting_fields(report),
            ]
        )
    ]
    layers = report.get("layers") or ()
    if layers:
        parts.append(_layers(layers))
    lines = ["✗ " + output.clean(str(problem)) for problem in report.get("problems") or ()]
    lines += [_notice(notice) for notice in report.get("notices") or ()]
    if lines:
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _absent(report: Mapping[str, Any], name: str) -> str:
    """Why a store shows no figures: switched off, or on and not readable."""
    layer = next((one for one in report.get("layers", ()) if one["name"] == name), None)
    if layer is None or layer["state"] == "off":
        return "off"
    return "see below" if layer["state"] == "on" else str(layer["state"])


def _notes_fields(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    notes = report.get("notes")
    if notes is None:
        apart = report.get("isolation", "profile")
        if apart != "profile" and _absent(report, "files") == "see below":
            return [("Notes", f"kept apart for each {apart} (memory.isolation)")]
        return [("Notes", _absent(report, "files"))]
    rows = []
    for target, title in (("memory", "MEMORY.md"), ("user", "USER.md")):
        usage = notes.get(target)
        if usage is None:
            rows.append((title, "off"))
            continue
        full = f"{usage['chars']:,} of {usage['limit']:,} characters"
        gauge = f"{bar(usage['percent'])} {usage['percent']}%"
        notes_there = output.count(usage["entries"], "note")
        rows.append((title, f"{gauge}  {full}, {notes_there}\n{usage['path']}"))
    if not any((notes.get(target) or {}).get("entries") for target in ("memory", "user")):
        rows.append(("", "Nothing remembered yet."))
    return rows


def bar(percent: int, width: int = 10) -> str:
    """A small gauge, e.g. ``[######----]``."""
    filled = min(width, max(0, round(percent * width / 100)))
    return "[" + "#" * filled + "-" * (width - filled) + "]"


def _history_fields(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    history = report.get("history")
    if history is None:
        return [("History", _absent(report, "sessions"))]
    text = (
        f"{output.count(history.get('sessions', 0), 'session')}, "
        f"{output.count(history.get('messages', 0), 'message')}, "
        f"{output.size(history.get('bytes', 0))}"
    )
    return [("History", text)]


def _waiting_fields(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    pending = report.get("pending") or {}
    if pending.get("count"):
        why = "\n".join(f"{one['count']:,}: {one['why']}" for one in pending.get("reasons") or ())
        waits = f"{output.count(pending['count'], 'change')} of notes for your approval"
        rows.append(("Pending", f"{waits}\n{why}"))
    if pending.get("unreadable"):
        rows.append(
            ("", f"{output.count(pending['unreadable'], 'record')} cannot be read: hermes doctor")
        )
    outbox = report.get("outbox") or {}
    if outbox.get("pending") or outbox.get("dead"):
        text = f"{output.count(outbox.get('pending', 0), 'item')} waiting"
        if outbox.get("oldest_age_s"):
            text += f", the oldest for {output.age(outbox['oldest_age_s'])}"
        if outbox.get("dead"):
            text += f"; {outbox['dead']:,} refused for good"
        rows.append(("Outbox", text))
    spills = report.get("spills") or {}
    if spills.get("files"):
        rows.append(
            ("Spills", f"{output.count(spills['files'], 'file')}, {output.size(spills['bytes'])}")
        )
    if report.get("sessions_open"):
        rows.append(("Open", output.count(_number(report["sessions_open"]), "session")))
    return rows


def _number(value: Any) -> int:
    """A count given as such, or as the list of what is counted."""
    return len(value) if isinstance(value, Sequence) and not isinstance(value, str) else int(value)


def _layers(layers: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            str(layer["name"]),
            str(layer["kind"]),
            str(layer["state"]),
            _why(layer),
        ]
        for layer in layers
    ]
    lines = output.table(("Layer", "Kind", "State", "Why"), rows, flexible=3).splitlines()
    coloured = [lines[0]]
    for line, layer in zip(lines[1:], layers, strict=True):
        colour = _COLOURS.get(str(layer["state"]))
        name = str(layer["state"])
        coloured.append(line.replace(name, click.style(name, fg=colour), 1) if colour else line)
        coloured += _details(layer)
    return "\n".join(coloured)


def _why(layer: Mapping[str, Any]) -> str:
    version = f"{layer['distribution']} {layer['version']}" if layer.get("version") else ""
    known = [str(layer.get("why") or ""), "" if layer.get("kind") == "built-in" else version]
    return ", ".join(part for part in known if part)


def _details(layer: Mapping[str, Any]) -> list[str]:
    """What is worth a line of its own below a layer."""
    lines = []
    error = layer.get("last_error")
    if error:
        when = output.moment(error.get("at"))
        lines.append(f"last error {when} in {error.get('hook', '?')}: {error.get('message', '')}")
        if error.get("hint"):
            lines.append(f"→ {error['hint']}")
    health = layer.get("health")
    if health is not None:
        old = f" ({output.age(health['age_s'])} ago)" if health.get("age_s") else ""
        word = "works" if health.get("ok") else "does not work"
        lines.append(f"{word}{old}: {health.get('message', '')}".rstrip(": "))
        if not health.get("ok") and health.get("hint"):
            lines.append(f"→ {health['hint']}")
    breaker = layer.get("breaker") or {}
    if breaker.get("state") not in (None, "closed"):
        lines.append(f"paused after repeated failures (breaker {breaker['state']})")
    if layer.get("failures"):
        lines.append(f"{layer['failures']:,} of {layer.get('calls', 0):,} calls failed")
    return ["    " + output.clean(line, one_line=True) for line in lines]


def _notice(notice: Any) -> str:
    """Notices come as dictionaries or as ``Notice`` values."""
    read = (
        notice.get if isinstance(notice, Mapping) else lambda key, _=None: getattr(notice, key, "")
    )
    text = "! " + output.clean(str(read("message", "")))
    hint = read("hint", "")
    return f"{text}\n  → {hint}" if hint else text
