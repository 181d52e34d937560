"""``hermes plugins list | search | info``: what is installed, what could be. Imports no plugin."""

from __future__ import annotations

from typing import Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.plugins_common import catalog_of, listed
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.plugins.listing import Entry

_COLOURS = {
    "active": "green",
    "disabled": "bright_black",
    "failed": "red",
    "incompatible": "red",
    "conflict": "red",
    "not installed": "red",
}


@click.command("list", cls=Command)
@click.option("--all", "everything", is_flag=True, help="List the built-ins too.")
@click.option(
    "--against",
    metavar="VERSION",
    help="Judge by this version of hermes-memory-core: which plugins would an upgrade lose?",
)
@click.pass_obj
def list_plugins(state: State, everything: bool, against: str | None) -> None:
    """List the installed plugins, broken ones too, with state, version and why.

    active: this profile uses it. installed: it could. disabled: named in `plugins.disabled`. failed: it did not
    load last time. incompatible: written for another core. conflict: two distributions offer the name. None is
    imported for this. With --against the exit code is 1 when a plugin would be lost.

    hermes plugins list --against 0.2.0
    """
    if against is not None:
        _require_version(against)
    rows, _ = listed(state, built_ins=everything, core=against)
    state.result("plugins-list", [_data(row) for row in rows], lambda: _table(state, rows))
    if not rows:
        state.hint("see what there is: hermes plugins search")
    if against is not None:
        _judged(state, rows, against)


def _judged(state: State, rows: list[Entry], against: str) -> None:
    lost = [row for row in rows if row.state == "incompatible"]
    if not lost:
        state.say(f"No installed plugin would be lost with hermes-memory-core {against}.")
        return
    names = ", ".join(f"`{row.name}`" for row in lost)
    active = " Among them the active one." if any(row.active for row in lost) else ""
    state.say(f"! hermes-memory-core {against} would lose {names}.{active}")
    raise click.exceptions.Exit(exits.FAILED)


@click.command("search", cls=Command)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.pass_obj
def search(state: State, words: tuple[str, ...]) -> None:
    """List the plugins of the catalog, or those that match every WORD.

    hermes plugins search
    hermes plugins search self-hosted
    """
    catalog = catalog_of(state)
    rows, _ = listed(state)
    states = {row.name: row.state for row in rows}
    found = catalog.search(" ".join(words))
    data = [
        {
            "name": entry.name,
            "distribution": entry.distribution,
            "summary": entry.summary,
            "tier": entry.tier,
            "needs": entry.needs,
            "docs": entry.docs,
            "state": states.get(entry.name),
        }
        for entry in found
    ]
    table = output.table(
        ("Name", "Tier", "State", "What it is"),
        [[entry.name, entry.tier, states.get(entry.name, ""), entry.summary] for entry in found],
        flexible=3,
    )
    state.result("plugins-search", data, lambda: table if data else "")
    if not data:
        state.say(f"No plugin of the catalog matches `{' '.join(words)}`.")
        raise click.exceptions.Exit(exits.FAILED)
    state.hint("hermes plugins install NAME")


@click.command("info", cls=Command)
@click.argument("name")
@click.pass_obj
def info(state: State, name: str) -> None:
    """Show what is known about the plugin NAME, installed or not.

    hermes plugins info honcho
    """
    catalog = catalog_of(state)
    rows, _ = listed(state, built_ins=True)
    row = next((row for row in rows if name in (row.name, row.distribution)), None)
    entry = catalog.find(row.name if row else name)
    if row is None and entry is None:
        near = catalog.near(name, 1)
        raise UsageError(
            f"There is no plugin `{name}`, neither installed nor in the catalog."
            + (f" Did you mean `{near[0]}`?" if near else ""),
            hint=f"hermes plugins info {near[0]}" if near else "hermes plugins search",
        )
    data: dict[str, Any] = {
        "name": row.name if row else entry.name if entry else name,
        "installed": _data(row) | _where(row) if row and row.state != "not installed" else None,
        "catalog": entry and {"requirement": entry.requirement, **_catalog_data(entry)},
    }
    state.result("plugins-info", data, lambda: _info_text(data, row))
    if row is not None:
        state.hint(row.hint)
    elif entry is not None:
        state.hint(f"hermes plugins install {entry.name}")


def _catalog_data(entry: Any) -> dict[str, str]:
    return {key: getattr(entry, key) for key in ("tier", "summary", "needs", "docs")}


def _where(row: Entry) -> dict[str, Any]:
    """Facts of the installed distribution, read from its metadata."""
    from importlib import metadata

    from hermes_memory_core.plugins.discover import distribution_path, find

    found = find(row.name)
    if found is None:
        return {}
    path = distribution_path(found)
    facts: dict[str, Any] = {"location": str(path or ""), "entry_point": found.value}
    try:
        distribution = metadata.distribution(found.distribution)
        facts["summary"] = distribution.metadata["Summary"] or ""
        facts["requires"] = list(distribution.requires or ())
    except (metadata.PackageNotFoundError, OSError, UnicodeDecodeError) as error:
        facts["problem"] = f"its metadata cannot be read: {type(error).__name__}: {error}"
    return facts


def _info_text(data: dict[str, Any], row: Entry | None) -> str:
    pairs = [("Name", str(data["name"]))]
    installed, known = data["installed"], data["catalog"]
    if installed:
        pairs += [
            ("State", installed["state"] + (f": {installed['why']}" if installed["why"] else "")),
            ("Distribution", f"{installed['distribution']} {installed['version']}"),
            ("For core", installed["requires_core"] or "any version (it names none)"),
            ("Provider", installed.get("entry_point", "")),
            ("Location", installed.get("location", "")),
            ("Requires", "\n".join(installed.get("requires", ())) or "nothing"),
        ]
        if installed.get("problem"):
            pairs.append(("Problem", installed["problem"]))
    else:
        pairs.append(("State", f"not installed{f': {row.why}' if row else ''}"))
    if known:
        pairs += [
            ("About", known["summary"]),
            ("Needs", known["needs"] or "nothing"),
            ("Catalog", f"{known['tier']}: {known['requirement']}"),
            ("Docs", known["docs"]),
        ]
    return output.fields([(key, value) for key, value in pairs if value])


def _data(row: Entry) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state,
        "active": row.active,
        "distribution": row.distribution,
        "version": row.version,
        "requires_core": row.requires_core,
        "why": row.why,
        "hint": row.hint,
        "built_in": row.built_in,
    }


def _table(state: State, rows: list[Entry]) -> str:
    if not rows:
        return "No plugin is installed."
    text = output.table(
        ("Name", "State", "Distribution", "Version", "Why"),
        [[row.name, row.state, row.distribution, row.version, row.why] for row in rows],
        flexible=4,
    )
    lines = text.splitlines()
    shown = [lines[0]]
    for line, row in zip(lines[1:], rows, strict=True):
        colour = _COLOURS.get(row.state)
        styled = click.style(row.state, fg=colour) if colour else row.state
        head, found, tail = line.partition(f"  {row.state}")
        shown.append(f"{head}  {styled}{tail}" if found else line)
        if row.hint and row.state != "disabled":
            shown.append("    → " + state.naming.text(output.clean(row.hint, one_line=True)))
    return "\n".join(shown)


def _require_version(text: str) -> None:
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        raise UsageError(
            f"`{text}` is no version.", hint="hermes plugins list --against 0.2.0"
        ) from None
