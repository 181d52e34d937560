"""``hermes doctor``: every check there is, each with what to do. Checks live in ``CHECKS``; add one there.

A check never stops the others: when it cannot run, that is its finding.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError, StoreCorruptError

if TYPE_CHECKING:
    from pathlib import Path

Level = Literal["ok", "warning", "failed"]
_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    level: Level
    message: str
    hint: str = ""
    fix: Callable[[], None] | None = None
    """What ``--fix`` does about it; never anything that could lose data."""


FIX = "hermes doctor --fix"
Check = Callable[[State], Iterator[Finding]]


@click.command("doctor", cls=Command)
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@click.pass_obj
def doctor(state: State, fix: bool) -> None:
    """Check the home, the settings, the stores and every provider that is on, with a real round trip each.

    The exit code is 1 when something does not work; warnings alone leave it at 0. With --fix permissions are
    tightened and a damaged runtime.db is set aside; then everything is checked again.
    """
    findings = _run(state)
    mended = [finding for finding in findings if finding.fix is not None] if fix else []
    for finding in mended:
        assert finding.fix is not None  # noqa: S101 - chosen above
        finding.fix()
        state.say(f"mended: {output.clean(finding.message)}")
    if mended:
        findings = _run(state)
    data = {
        "ok": all(finding.level != "failed" for finding in findings),
        "mended": [finding.message for finding in mended],
        "findings": [
            {
                "check": finding.check,
                "level": finding.level,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in findings
        ],
    }
    state.result("doctor", data, lambda: "\n".join(_line(state, finding) for finding in findings))
    if not data["ok"]:
        raise click.exceptions.Exit(exits.FAILED)


def _run(state: State) -> list[Finding]:
    return [finding for check in CHECKS for finding in guarded(check, state)]


def _line(state: State, finding: Finding) -> str:
    mark, colour = _MARKS[finding.level]
    text = f"{click.style(mark, fg=colour)} {finding.check}: {output.clean(finding.message)}"
    return text + (f"\n  → {state.naming.text(finding.hint)}" if finding.hint else "")


def guarded(check: Check, state: State) -> Iterator[Finding]:
    """The findings of one check; its own failure is one of them."""
    name = check.__name__.strip("_").replace("_", " ")
    try:
        yield from check(state)
    except HermesMemoryError as error:
        yield Finding(name, "failed", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a check that breaks is a finding, and the next one still runs
        yield Finding(name, "failed", f"the check itself broke: {type(error).__name__}: {error}")


def home(state: State) -> Iterator[Finding]:
    """The profile's directory: there, writable, and nobody else's business."""
    directory = state.profile_dir()
    if not directory.exists():
        yield Finding("home", "ok", f"{directory} does not exist yet; the first write makes it")
        return
    if not os.access(directory, os.W_OK | os.X_OK):
        yield Finding(
            "home", "failed", f"{directory} cannot be written", f"chmod u+rwx '{directory}'"
        )
        return
    loose = sorted(_readable_by_others(directory))
    if loose:
        shown = ", ".join(str(path) for path in loose[:3])
        more = f" and {len(loose) - 3:,} more" if len(loose) > 3 else ""
        yield Finding(
            "home", "warning", f"others may read {shown}{more}", FIX, lambda: _make_private(loose)
        )
    else:
        yield Finding("home", "ok", str(directory))


def _make_private(paths: list[Path]) -> None:
    for path in paths:
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


_PRIVATE = (
    *("memories", "sessions", "pending", "hook_outputs", "providers", "skills", ".env"),
    *(f"{name}{end}" for name in ("history.db", "runtime.db") for end in ("", "-wal", "-shm")),
)
"""What must be readable by its owner alone (design.md section 6)."""


def _readable_by_others(directory: Path) -> Iterator[Path]:
    for name in _PRIVATE:
        top = directory / name
        for path in [top, *(top.rglob("*") if top.is_dir() and not top.is_symlink() else ())]:
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if not stat.S_ISLNK(mode) and mode & 0o077:
                yield path


def runtime(state: State) -> Iterator[Finding]:
    """runtime.db is whole. Damaged, it is set aside: what waits in its outbox is then kept in that file."""
    import sqlite3

    from hermes_memory_core.storage.sqlite import translate_sqlite_errors

    path = state.profile_dir() / "runtime.db"
    if not path.exists():
        return
    try:
        with translate_sqlite_errors(path), closing(sqlite3.connect(path, timeout=5)) as db:
            said = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
        if said != ["ok"]:
            raise StoreCorruptError(f"`{path.name}` is damaged: {'; '.join(map(str, said))}")
    except StoreCorruptError as error:
        yield Finding("runtime", "failed", error.message, FIX, lambda: _set_aside(path))
    else:
        yield Finding("runtime", "ok", str(path))


def _set_aside(path: Path) -> None:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(f"{path.name}.damaged-{stamp}{suffix}"))


def settings(state: State) -> Iterator[Finding]:
    """config.yaml and .env can be used."""
    from hermes_memory_core.cli.config_read import problems_of

    problems, warnings, where = problems_of(state)
    for item in problems:
        hint = item.get("hint") or "hermes config edit"
        yield Finding("settings", "failed", f"`{item['key']}` {item['message']}", hint)
    for item in warnings:
        yield Finding("settings", "warning", item["message"], item["hint"])
    if not problems and not warnings:
        yield Finding("settings", "ok", where)


def layers(state: State) -> Iterator[Finding]:
    """Every layer that is on answers; those that are off are named with the reason."""
    with state.open() as memory:
        report = memory.status(check=True)
    for layer in report["layers"]:
        health = layer.get("health") or {}
        error = layer.get("last_error") or {}
        why = str(layer.get("why") or "")
        working = layer["state"] in ("on", "off") and health.get("ok") is not False
        said = health.get("message") or (why if working else error.get("message") or why)
        yield Finding(
            str(layer["name"]),
            "ok" if working else "failed",
            ": ".join(part for part in (str(layer["state"]), str(said)) if part),
            ""
            if working
            else str(health.get("hint") or error.get("hint") or "hermes memory status"),
        )
    dead = (report.get("outbox") or {}).get("dead")
    if dead:
        yield Finding(
            "outbox",
            "warning",
            f"{output.count(dead, 'item')} refused for good by the external provider",
            "hermes memory outbox",
        )


def tree(state: State) -> Iterator[Finding]:
    """Links, leftovers, names and waiting writes below the profile; see ``doctor_files``."""
    from hermes_memory_core.cli import doctor_files

    yield from doctor_files.findings(state.profile_dir(), state.root(), FIX)


def people(state: State) -> Iterator[Finding]:
    """Several people who share one memory."""
    from hermes_memory_core.cli.identity import accounts_seen

    with state.open() as memory:
        if memory.settings.get("memory.isolation") != "profile":
            return
        linked = memory.settings.get("memory.identity.links") or {}
        person = {account: name for name, accounts in linked.items() for account in accounts}
        seen = {person.get(account, account) for account in accounts_seen(memory.history)}
    if len(seen) > 1:
        yield Finding(
            "people",
            "warning",
            f"{len(seen)} people speak in this profile and share one memory",
            "hermes config set memory.isolation user",
        )


CHECKS: list[Check] = [home, tree, settings, runtime, layers, people]
"""Run in this order."""
