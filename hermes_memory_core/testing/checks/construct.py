# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks: the class, its configuration, and what it takes to bring an instance to life."""

from __future__ import annotations

import time

from hermes_memory_core.errors import ConfigError, PluginLoadError
from hermes_memory_core.plugins.load import GUARDED
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness

CONSTRUCT_S = 2.0


@check("constructs from its configuration, quickly")
def constructs(h: Harness) -> str | None:
    began = time.monotonic()
    h.start()
    elapsed = time.monotonic() - began
    if elapsed > CONSTRUCT_S:
        raise CheckFailed(
            f"Constructing it took {elapsed:.1f} s; it happens while the host waits.",
            "connect on the first call, not in `__init__`; import the SDK late",
        )
    return f"{elapsed * 1000:.0f} ms"


@check("every hook is one the core can call")
def hooks_are_valid(h: Harness) -> str | None:
    try:
        subject = h.start()
    except CheckFailed as failed:
        if isinstance(failed.__cause__, PluginLoadError):
            cause = failed.__cause__
            raise CheckFailed(cause.message, cause.hint) from cause
        raise
    if not subject.hooks:
        raise CheckFailed("It implements no hook.", "mark its methods with `@hookimpl`")
    return ", ".join(sorted(subject.hooks))


@check("without configuration it constructs, or says which setting is missing")
def an_empty_config_is_answered(h: Harness) -> str | None:
    try:
        h.construct("blank", config={}, secrets={})
    except ConfigError as error:
        named = [field for field in h.config_fields if field in error.message]
        if h.config_fields and not named:
            raise CheckFailed(
                f"The error names no setting: {error.message}",
                "name the key, for example `providers.NAME.api_key`",
            ) from error
        return f"it asks for: {', '.join(named) or error.message}"
    except GUARDED as error:
        raise CheckFailed(
            f"Without configuration it raises {type(error).__name__}: {error}",
            "declare required settings in `Config`, or raise `ConfigError` that names the key",
        ) from error
    return "it needs none"


@check("a setting that is misspelt is refused by name")
def an_unknown_setting_is_refused(h: Harness) -> str | None:
    if not h.config_fields:
        raise Skip("the provider declares no `Config`")
    wrong = "colour_of_the_moon"
    try:
        h.context(config={**h.config, wrong: 1})
    except ConfigError as error:
        if wrong in error.message:
            return None
        if not (h.config or h.secrets):
            raise Skip(f"it needs configuration: {error.message}", wanting=True) from error
        raise CheckFailed(f"The error does not name it: {error.message}") from error
    raise CheckFailed(
        f"`providers.{h.name}.{wrong}` was taken without a word; so would be a typing error.",
        'give `Config` the line `model_config = ConfigDict(extra="forbid")`',
    )


@check("every setting says what it is for")
def settings_are_described(h: Harness) -> str | None:
    if not h.config_fields:
        raise Skip("the provider declares no `Config`")
    bare = [name for name, field in h.config_fields.items() if not field.description]
    if bare:
        raise CheckFailed(
            f"No description: {', '.join(bare)}. `hermes memory setup {h.name}` asks with it.",
            'write `Field(description="…")`',
        )
    return ", ".join(h.config_fields)


@check("its own commands are click commands")
def commands_are_click_commands(h: Harness) -> str | None:
    commands = getattr(h.provider, "commands", None)
    if commands is None:
        raise Skip("the provider has no `commands`")
    import click

    found = (
        commands() if callable(commands) and not isinstance(commands, click.Command) else commands
    )
    members = [found] if isinstance(found, click.Command) else list(found)
    wrong = [member for member in members if not isinstance(member, click.Command)]
    if wrong:
        raise CheckFailed(
            f"`commands` holds {wrong[0]!r}, which is no click command.",
            "make `commands` a list of functions marked with `@click.command()`",
        )
    silent = [member.name for member in members if not member.help]
    if silent:
        raise CheckFailed(f"No help text: {', '.join(map(str, silent))}.", "give it a docstring")
    return ", ".join(str(member.name) for member in members)


@check("two instances stand side by side in one profile")
def two_instances_at_once(h: Harness) -> str | None:
    first, second = h.start(), h.start()
    for subject in (first, second):
        if "health" in subject.hooks:
            subject.call("health")
    return None
