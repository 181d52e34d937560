"""``hermes config show | get | explain | path | check | schema``. Changes nothing, never shows a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import ConfigError

if TYPE_CHECKING:
    from hermes_memory_core.config import LoadedConfig
    from hermes_memory_core.config.explain import Row


@click.command("show", cls=Command)
@click.argument("key", required=False)
@click.option(
    "--effective", is_flag=True, help="All settings, defaults too, each with who decided it."
)
@click.pass_obj
def show(state: State, key: str | None, effective: bool) -> None:
    """Show the settings that differ from the defaults, and who decided each. KEY limits it to a section."""
    from hermes_memory_core.config.explain import rows

    loaded = state.settings()
    found = rows(loaded, key)
    if not effective and key is None:
        found = [row for row in found if row.source != "default" and row.value != {}]
    data = {
        "path": str(loaded.path),
        "effective": effective,
        "settings": [_row_data(row) for row in found],
        "warnings": [_notice_data(notice) for notice in loaded.warnings],
    }
    state.result(
        "config", data, lambda: _table(found) if found else "Everything is at its default."
    )
    _warn(state, loaded)
    if not found:
        state.hint("all settings: hermes config show --effective")


@click.command("get", cls=Command)
@click.argument("key")
@click.pass_obj
def get(state: State, key: str) -> None:
    """Print the value of KEY as it is in effect, wherever it comes from."""
    from hermes_memory_core.config.defaults import is_section
    from hermes_memory_core.config.explain import mask

    loaded = state.settings()
    missing = object()
    value = loaded.get(key, missing)
    if value is missing:
        from hermes_memory_core.config.explain import rows

        rows(loaded, key)  # raises for a key that is none, with what was probably meant
        value = None
    shown = mask(key, value)
    source = None if is_section(key) else loaded.source(key)
    data = {"key": key, "value": shown, "source": source}
    state.result("config-value", data, lambda: value_text(shown))


@click.command("explain", cls=Command)
@click.argument("key", required=False)
@click.pass_obj
def explain(state: State, key: str | None) -> None:
    """Say what KEY is for, what it may be, what it is and who decided it; all settings without KEY."""
    from hermes_memory_core.config.explain import rows

    try:
        loaded = state.settings()
    except ConfigError:  # explaining must work above all when the file cannot be used
        loaded = _defaults(state)
        state.say("! config.yaml cannot be used (hermes config check), so these are the defaults.")
    found = rows(loaded, key)
    data = {"settings": [_row_data(row) for row in found]}
    state.result("config-explain", data, lambda: "\n\n".join(_explained(row) for row in found))


@click.command("path", cls=Command)
@click.option("--secrets", is_flag=True, help="Where .env is instead.")
@click.pass_obj
def path(state: State, secrets: bool) -> None:
    """Print where config.yaml is (or would be)."""
    from hermes_memory_core.config.secrets import FILE_NAME as SECRETS_FILE
    from hermes_memory_core.config.yamlfile import FILE_NAME

    place = state.profile_dir() / (SECRETS_FILE if secrets else FILE_NAME)
    state.result("config-path", {"path": str(place), "exists": place.exists()}, lambda: str(place))


@click.command("check", cls=Command)
@click.pass_obj
def check(state: State) -> None:
    """Check config.yaml and .env; every mistake at once, with exit code 3 when there is one."""
    problems, warnings, where = problems_of(state)
    data = {"ok": not problems, "path": where, "problems": problems, "warnings": warnings}

    def human() -> str:
        lines = [f"✗ `{item['key']}` {item['message']}" for item in problems]
        lines += [f"! {item['message']}" for item in warnings]
        return "\n".join(output.clean(line) for line in lines) or f"{where} can be used."

    state.result("config-check", data, human)
    for item in [*problems, *warnings]:
        state.hint(item.get("hint", ""))
    if problems:
        raise click.exceptions.Exit(exits.CONFIG)


@click.command("schema", cls=Command)
@click.pass_obj
def schema(state: State) -> None:
    """Print the JSON Schema of config.yaml, for editors that check and complete."""
    from hermes_memory_core.config.explain import json_schema

    found = json_schema()
    state.result("config-schema", found, lambda: json.dumps(found, indent=2, ensure_ascii=False))


def problems_of(state: State) -> tuple[list[dict[str, str]], list[dict[str, str]], str]:
    """(mistakes, warnings, path of config.yaml) of the chosen profile's settings and secrets."""
    from hermes_memory_core.config import Secrets
    from hermes_memory_core.config.yamlfile import FILE_NAME
    from hermes_memory_core.errors import HermesMemoryError

    directory = state.profile_dir()
    problems: list[dict[str, str]] = []
    warnings: list[Any] = []
    try:
        warnings += state.settings().warnings
    except HermesMemoryError as error:
        listed = error.details.get("problems") or [{"key": FILE_NAME, "message": error.message}]
        problems += [
            {"key": item["key"], "message": item["message"], "source": item.get("source", "")}
            for item in listed
        ]
        problems[0]["hint"] = error.hint
    try:
        warnings += Secrets.load(directory).warnings
    except HermesMemoryError as error:
        problems.append({"key": ".env", "message": error.message, "hint": error.hint})
    return problems, [_notice_data(notice) for notice in warnings], str(directory / FILE_NAME)


def value_text(value: Any) -> str:
    """A setting's value on one line, the way YAML writes it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _table(found: list[Row]) -> str:
    rows = [[row.key, value_text(row.value) or '""', row.source] for row in found]
    return output.table(("Setting", "Value", "Decided by"), rows, flexible=1)


def _explained(row: Row) -> str:
    pairs = [
        ("What", row.description),
        ("May be", row.kind),
        ("Value", value_text(row.value) or '""'),
    ]
    if row.source != "default":
        pairs.append(("Default", value_text(row.default) or '""'))
    pairs.append(("Decided by", row.source))
    lines = output.fields([pair for pair in pairs if pair[1]])
    return row.key + "\n" + "\n".join("  " + line for line in lines.splitlines())


def _row_data(row: Row) -> dict[str, Any]:
    return {
        "key": row.key,
        "value": row.value,
        "default": row.default,
        "source": row.source,
        "description": row.description,
        "kind": row.kind,
    }


def _notice_data(notice: Any) -> dict[str, str]:
    return {"code": notice.code, "message": notice.message, "hint": notice.hint}


def _warn(state: State, loaded: LoadedConfig) -> None:
    for notice in loaded.warnings:
        state.say("! " + output.clean(notice.message))
        state.hint(notice.hint)


def _defaults(state: State) -> LoadedConfig:
    from hermes_memory_core.config import LoadedConfig
    from hermes_memory_core.config.defaults import default_values
    from hermes_memory_core.config.yamlfile import FILE_NAME

    directory = state.profile_dir()
    return LoadedConfig(directory, directory / FILE_NAME, default_values())
