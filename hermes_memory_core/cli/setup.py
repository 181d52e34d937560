"""``hermes memory setup [NAME]``: ask a provider's settings, keep them, make a real round trip, then make it active.

What is asked comes from the provider's own ``Config`` model; nothing here knows a provider. What was entered is kept
when the round trip fails; the provider that was active stays active then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import (
    ConfigError,
    PluginLoadError,
    ProviderUnavailableError,
    UsageError,
)

if TYPE_CHECKING:
    from hermes_memory_core.cli.setup_fields import Question
    from hermes_memory_core.types import Health


@click.command("setup", cls=Command)
@click.argument("name", required=False)
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    help="Answer without being asked; may be repeated.",
)
@click.option(
    "--no-check", is_flag=True, help="Skip the round trip (for machines without the service)."
)
@click.option(
    "--no-activate", is_flag=True, help="Keep the settings, leave the active provider as it is."
)
@click.pass_obj
def setup(
    state: State, name: str | None, given: tuple[str, ...], no_check: bool, no_activate: bool
) -> None:
    """Set up an external provider: settings, a real round trip, then it is active.

    Secrets go to `.env` (0600), the rest to `config.yaml`. Without a terminal every answer comes from `--set`,
    from what is set already, or from the default.

    hermes memory setup
    hermes memory setup honcho --set base_url=http://localhost:8000
    """
    name = name or _pick(state)
    kind = _load_class(name)
    answers = _ask(state, name, kind, _parsed(given))
    saved = _save(state, name, answers)
    health = None if no_check else _round_trip(state, name, saved)
    if not no_activate:
        from hermes_memory_core.config.edit import set_value

        set_value(state.profile_dir(), "memory.provider", name)
    data = {
        "provider": name,
        "saved": saved,
        "active": not no_activate,
        "health": {"ok": health.ok, "message": health.message} if health else None,
    }
    state.result("memory-setup", data, lambda: _sentence(name, health, no_activate))
    state.hint("hermes memory status")


def _pick(state: State) -> str:
    from hermes_memory_core.plugins.discover import discover

    installed = [found for found in discover() if not found.built_in]
    if not installed:
        raise UsageError(
            "No external provider is installed.",
            hint="hermes plugins search, then hermes plugins install NAME",
        )
    if not state.interactive:
        names = ", ".join(found.name for found in installed)
        raise UsageError(f"Say which provider: {names}.", hint="hermes memory setup NAME")
    for number, found in enumerate(installed, 1):
        state.say(f"{number}  {found.name}  ({found.distribution} {found.version})")
    answer: int = click.prompt("Which one", type=click.IntRange(1, len(installed)), err=True)
    return installed[answer - 1].name


def _load_class(name: str) -> Any:
    from hermes_memory_core.cli.provider_choice import _require_installed
    from hermes_memory_core.plugins.discover import find
    from hermes_memory_core.plugins.load import GUARDED, check_version, default_hint, import_class

    _require_installed(name)
    found = find(name)
    assert found is not None  # noqa: S101 - _require_installed has just seen it
    check_version(found)
    try:
        return import_class(found)
    except GUARDED as error:
        raise PluginLoadError(
            f"`{name}` cannot be imported: {type(error).__name__}: {error}. Nothing was changed.",
            hint=default_hint(found, "import"),
            details={"phase": "import"},
        ) from error


def _parsed(given: tuple[str, ...]) -> dict[str, str]:
    answers = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(
                f"`--set {item}` lacks `=`; nothing was changed.", hint="--set KEY=VALUE"
            )
        answers[key.strip()] = value
    return answers


def _ask(
    state: State, name: str, kind: Any, given: Mapping[str, str]
) -> list[tuple[Question, Any]]:
    from hermes_memory_core.cli.setup_fields import questions
    from hermes_memory_core.config.secrets import Secrets

    settings = state.settings().provider_config(name)
    asked = questions(name, kind, settings, Secrets.load(state.profile_dir()))
    unknown = set(given) - {question.key for question in asked}
    if unknown:
        keys = ", ".join(question.key for question in asked) or "none"
        raise UsageError(
            f"`{name}` has no setting {', '.join(sorted(unknown))}; nothing was changed.",
            hint=f"its settings: {keys}",
        )
    answers: list[tuple[Question, Any]] = []
    missing = []
    for question in asked:
        if question.key in given:
            answers.append((question, question.check(given[question.key])))
        elif state.interactive:
            answers.append((question, _prompt(state, question)))
        elif question.required and question.current is None:
            missing.append(question)
    if missing:
        keys = ", ".join(question.key for question in missing)
        raise ConfigError(
            f"`{name}` needs {keys}; nothing was changed.",
            hint=f"hermes memory setup {name} --set {missing[0].key}=VALUE",
        )
    return answers


def _prompt(state: State, question: Question) -> Any:
    """Ask until the answer is one the model takes; an empty answer keeps what is set, or the default."""
    state.say(f"\n{question.label}")
    while True:
        text: str = click.prompt(
            question.key, default="", show_default=False, hide_input=question.secret, err=True
        )
        if not text:
            if question.current is not None or not question.required:
                return None
            state.say("It is needed.")
            continue
        try:
            return question.check(text)
        except ConfigError as error:
            state.say(error.message)


def _save(state: State, name: str, answers: list[tuple[Question, Any]]) -> list[str]:
    """Keep the answers; which keys were written."""
    from hermes_memory_core.config.edit import set_value
    from hermes_memory_core.config.secrets import secret_name, set_secret

    saved = []
    folder = state.profile_dir()
    for question, value in answers:
        if value is None:
            continue
        if question.secret:
            set_secret(folder, secret_name(name, question.key), str(value))
            saved.append(secret_name(name, question.key))
        else:
            set_value(folder, f"providers.{name}.{question.key}", value)
            saved.append(f"providers.{name}.{question.key}")
    return saved


def _round_trip(state: State, name: str, saved: list[str]) -> Health:
    """Ask the provider itself, over the wire."""
    with state.open() as memory:
        health = memory.check_provider(name)
    if not health.ok:
        kept = f" {output.count(len(saved), 'setting')} kept." if saved else ""
        raise ProviderUnavailableError(
            f"`{name}` is set up but does not answer: {health.message}.{kept} "
            "The active provider was not changed.",
            hint=health.hint or f"hermes memory setup {name}",
            retryable=False,
        )
    return health


def _sentence(name: str, health: Health | None, no_activate: bool) -> str:
    answered = f"`{name}` answers" + (f": {health.message}." if health and health.message else ".")
    first = answered if health else f"`{name}` was not asked."
    return first if no_activate else f"{first}\nIt is the external provider of this profile now."
