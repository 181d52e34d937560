# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks that secrets come from the context only, and are told to nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hermes_memory_core.config.secrets import secret_name
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.manners import use
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import MARK, Harness, files_below
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.testing.watch import EnvironmentWatch
from hermes_memory_core.types import Health, ToolResult

MIN_LENGTH = 8
_KEY = re.compile(r"[A-Z0-9_]*(API_KEY|_TOKEN|_SECRET|PASSWORD)")


@check("a secret is never logged")
def secrets_are_not_logged(h: Harness) -> str | None:
    with _wrong_and_right(h) as secrets:
        use(h)
        for subject in _misused(h):
            subject.close()
    return _not_in(
        secrets, "\n".join(h.witness.records), "the log", "log the field's name, not its value"
    )


@check("a secret is not part of any text it shows")
def secrets_are_not_shown(h: Harness) -> str | None:
    with _wrong_and_right(h) as secrets:
        subject = h.start()
        texts = [repr(subject.instance), str(subject.instance), repr(vars_of(subject.instance))]
        for hook in ("health", "system_block", "prefetch"):
            if hook in subject.hooks:
                answer = subject.attempt(
                    hook, session=inputs.session_info(), query="which key do you use?"
                )
                texts.append(_text_of(answer.value) + _text_of(answer.error))
        if {"tools", "call_tool"} <= subject.hooks:
            for tool in subject.call("tools") or ():
                answer = subject.attempt("call_tool", name=tool.name, arguments={})
                texts.append(_text_of(answer.value) + _text_of(answer.error))
        texts.extend(f"{one.message} {one.hint}" for one in h.witness.notices)
    return _not_in(secrets, "\n".join(texts), "what it shows", "keep it as `pydantic.SecretStr`")


@check("a secret is not part of an error when the service is down")
def secrets_are_not_in_errors(h: Harness) -> str | None:
    backend = h.backend
    if backend is None:
        raise Skip("the test gives no backend that can fail", wanting=True)
    texts = []
    with _wrong_and_right(h) as secrets:
        subject, session = h.start(), inputs.session_info()
        for outage in (
            backend.drop,
            lambda: backend.fail(401),
            lambda: backend.fail(500, "<html>"),
        ):
            with outage():
                for hook in ("prefetch", "sync_turn", "health"):
                    if hook in subject.hooks:
                        answer = subject.attempt(
                            hook, session=session, query="mast?", turn=inputs.turn(session, "mast")
                        )
                        texts.append(_text_of(answer.value) + _text_of(answer.error))
    return _not_in(secrets, "\n".join(texts), "an error", "leave headers and URLs with keys out")


@check("a secret is not written into any file")
def secrets_are_not_stored(h: Harness) -> str | None:
    with _wrong_and_right(h) as secrets:
        use(h)
    for name, data in files_below(h.root).items():
        if name.endswith(".env"):
            continue
        for secret in secrets:
            if secret.encode() in data:
                raise CheckFailed(f"{name} holds a secret.", "secrets live in `.env` only")
    return None


@check("a secret is not part of an export", hooks=("export_memories",))
def secrets_are_not_exported(h: Harness) -> str | None:
    with _wrong_and_right(h) as secrets:
        subject, session = h.start(), inputs.session_info()
        if "sync_turn" in subject.hooks:
            subject.call(
                "sync_turn", session=session, turn=inputs.turn(session, "The mast is new.")
            )
        text = "".join(map(repr, subject.call("export_memories", scope=None) or ()))
    return _not_in(secrets, text, "the export", "export what was remembered, not how")


@check("secrets come from the context, not from the environment")
def secrets_do_not_come_from_the_environment(h: Harness) -> str | None:
    prefix = re.sub(r"[^A-Z0-9]+", "_", h.name.upper()) + "_"
    fields = {
        secret_name(h.name, field) for field in (*h.config_fields, *h.secrets, "api_key", "token")
    }
    poison = {name: f"{MARK}from-environment" for name in fields if name not in os.environ}
    os.environ.update(poison)
    try:
        with EnvironmentWatch() as watch:
            subject = h.start()
            for hook in ("health", "prefetch"):
                if hook in subject.hooks:
                    subject.attempt(hook, query="what about the mast?")
            subject.close()
    finally:
        for name in poison:
            os.environ.pop(name, None)
    read = sorted(
        name
        for name in watch.read
        if name in fields or name.startswith(prefix) or _KEY.fullmatch(name)
    )
    if read:
        raise CheckFailed(
            f"It read {', '.join(read[:3])} from the environment; another profile's key could be used.",
            "take it from `context.secrets` or `context.config`, and pass it to the SDK explicitly",
        )
    return None


@contextmanager
def _wrong_and_right(h: Harness) -> Iterator[list[str]]:
    """The secrets to look for: those given, else made-up ones for every secret field of the ``Config``."""
    made_up = {
        name: f"{MARK}{name.replace('_', '-')}-7f3k"
        for name, field in h.config_fields.items()
        if "Secret" in repr(field.annotation) and name not in h.secrets and name not in h.config
    }
    given = dict(h.secrets)
    h.secrets = {**made_up, **given}
    found = [value for value in h.secrets.values() if len(value) >= MIN_LENGTH]
    if not found:
        raise Skip(
            f"there is no secret of {MIN_LENGTH} characters or more to look for (give one in "
            "`provider_secrets`)",
            wanting=bool(h.config_fields),
        )
    try:
        yield found
    finally:
        h.secrets = given


def _misused(h: Harness) -> Iterator[Subject]:
    """An instance whose hooks were called with nonsense, so that its error paths log something."""
    subject = h.start()
    if "call_tool" in subject.hooks:
        subject.attempt("call_tool", name="no_such_tool", arguments={"query": None})
    if "prefetch" in subject.hooks:
        subject.attempt("prefetch", query=inputs.BROKEN_TEXTS["lone surrogate"])
    yield subject


def vars_of(instance: Any) -> dict[str, Any]:
    """The instance's public and private attributes that are plain values a traceback tool would print."""
    found = getattr(instance, "__dict__", {})
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, int | float | bool | type(None))
    }


def _text_of(value: Any) -> str:
    if isinstance(value, Health):
        return f"{value.message} {value.hint} {dict(value.details)!r}"
    if isinstance(value, ToolResult):
        return repr(dict(value.data))
    if isinstance(value, BaseException):
        chain = [value, value.__cause__, value.__context__]
        return " ".join(
            f"{one!r} {getattr(one, 'hint', '')} {getattr(one, 'details', '')}" for one in chain
        )
    return repr(value)


def _not_in(secrets: list[str], text: str, where: str, mend: str) -> str:
    for secret in secrets:
        if secret in text:
            raise CheckFailed(f"A secret ({secret[:3]}…) is part of {where}.", mend)
    return f"{len(secrets)} secrets looked for"
