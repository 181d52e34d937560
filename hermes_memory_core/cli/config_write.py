"""``hermes config set | unset | secret | unset-secret | edit``: changing settings and secrets of a profile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.config_read import value_text
from hermes_memory_core.cli.editor import in_editor
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import ConfigError, StoreLockedError, UsageError


@click.command("set", cls=Command)
@click.argument("key")
@click.argument("value")
@click.pass_obj
def set_(state: State, key: str, value: str) -> None:
    """Set KEY to VALUE in the profile's config.yaml. Comments and all else in the file stay as they are.

    hermes config set memory.memory_char_limit 4000
    hermes config set memory.write_approval on
    """
    from hermes_memory_core.config.edit import set_value

    change = set_value(state.profile_dir(), key, value)
    _report(state, key, change)


@click.command("unset", cls=Command)
@click.argument("key")
@click.pass_obj
def unset(state: State, key: str) -> None:
    """Take KEY out of config.yaml, so that its default holds again."""
    from hermes_memory_core.config.edit import unset_value

    _report(state, key, unset_value(state.profile_dir(), key))


def _report(state: State, key: str, change: Any) -> None:
    from hermes_memory_core.config.explain import mask

    loaded = state.settings()
    now = mask(key, loaded.get(key))
    source = loaded.source(key)
    data = {
        "key": key,
        "before": mask(key, change.before),
        "after": mask(key, change.after),
        "changed": change.changed,
        "effective": now,
        "source": source,
        "path": str(change.path),
    }

    def human() -> str:
        text = value_text(now) or '""'
        if not change.changed:
            return f"{key} is {text} already; nothing was changed."
        return f"{key} is {text} now."

    state.result("config-set", data, human)
    if source not in ("default", str(change.path)):
        state.say(f"! {key} is decided by {source}, which stands above the file.")


@click.command("secret", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def secret(state: State, name: str | None) -> None:
    """Keep the secret NAME (for example HONCHO_API_KEY) in the profile's .env, asked for without showing it.

    In scripts the value is read from standard input, so it never stands in the shell's history. Without NAME it
    lists which secrets are set; none is ever printed.
    """
    from hermes_memory_core.config import Secrets
    from hermes_memory_core.config.explain import secret_rows
    from hermes_memory_core.config.secrets import set_secret

    directory = state.profile_dir()
    if name is None:
        found = secret_rows(Secrets.load(directory))
        data = {
            "secrets": [
                {"name": row.key, "value": row.value, "source": row.source} for row in found
            ]
        }
        state.result(
            "config-secrets",
            data,
            lambda: "\n".join(f"{row.key}  {row.value}" for row in found) or "No secret is set.",
        )
        return
    place = set_secret(directory, name, _secret_value(state, name))
    state.result(
        "config-secret", {"name": name, "path": str(place)}, lambda: f"{name} is kept in {place}"
    )


def _secret_value(state: State, name: str) -> str:
    if sys.stdin is not None and not sys.stdin.isatty():
        return sys.stdin.read().strip()
    if state.no_input or state.json:
        raise UsageError(
            f"`{name}` was not given; nothing was changed.",
            hint=f"pipe it in: … | hermes config secret {name}",
        )
    value: str = click.prompt(name, hide_input=True, err=True)
    return value.strip()


@click.command("unset-secret", cls=Command)
@click.argument("name")
@click.pass_obj
def unset_secret(state: State, name: str) -> None:
    """Take the secret NAME out of the profile's .env."""
    from hermes_memory_core.config.secrets import unset_secret as take_out

    gone = take_out(state.profile_dir(), name)
    state.result(
        "config-secret",
        {"name": name, "changed": gone},
        lambda: f"{name} was taken out." if gone else f"{name} was not set; nothing was changed.",
    )


@click.command("edit", cls=Command)
@click.pass_obj
def edit(state: State) -> None:
    """Open the profile's config.yaml in $VISUAL or $EDITOR. It is saved only when it can be used.

    When there is a mistake you can go on editing; what you typed is never thrown away.
    """
    from hermes_memory_core.config.yamlfile import FILE_NAME, ConfigText, read_config
    from hermes_memory_core.storage.atomic import read_bytes, refuse_symlink

    if state.no_input or state.json:
        raise UsageError(
            "An editor needs a person; nothing was changed.", hint="hermes config set KEY VALUE"
        )
    place = state.profile_dir() / FILE_NAME
    refuse_symlink(place)
    original = read_bytes(place)
    file = read_config(place) or ConfigText(place, "")
    text: str = file.text
    while True:
        edited = in_editor(text, ".yaml")
        if edited is None or edited == file.text:
            state.result("config-edit", {"changed": False}, lambda: "Nothing was changed.")
            return
        text = edited
        try:
            _check(edited, place)
            break
        except ConfigError as error:
            state.failure(error)
            if not state.confirm("Go on editing?", yes=False):
                draft = _keep_draft(place, edited)
                raise ConfigError(
                    f"config.yaml was not changed. What you typed is kept in {draft}",
                    details={"draft": str(draft)},
                ) from None
    _save(place, original, file.encode(edited))
    state.result("config-edit", {"changed": True, "path": str(place)}, lambda: f"Saved {place}")


def _check(text: str, place: Path) -> None:
    from hermes_memory_core.config.load import check_mapping, config_error
    from hermes_memory_core.config.yamlfile import parse_mapping

    problems = check_mapping(parse_mapping(text, place), place)[1]
    if problems:
        raise config_error(problems, place)


def _save(place: Path, original: bytes | None, data: bytes) -> None:
    """Write unless somebody else wrote meanwhile."""
    from hermes_memory_core.storage.atomic import make_private_dir, read_bytes, write_atomic
    from hermes_memory_core.storage.locks import file_lock

    make_private_dir(place.parent)
    with file_lock(place.with_name(f"{place.name}.lock")):
        if read_bytes(place) != original:
            draft = _keep_draft(place, data.decode("utf-8"))
            raise StoreLockedError(
                f"`{place}` changed while the editor was open and was not overwritten. "
                f"What you typed is kept in {draft}",
                hint="hermes config edit",
                details={"draft": str(draft)},
                retryable=False,
            )
        write_atomic(place, data)


def _keep_draft(place: Path, text: str) -> Path:
    import time

    from hermes_memory_core.storage.atomic import make_private_dir, write_atomic

    make_private_dir(place.parent)
    draft = place.with_name(f"{place.name}.draft-{time.strftime('%Y%m%d-%H%M%S')}")
    write_atomic(draft, text.encode("utf-8"))
    return draft
