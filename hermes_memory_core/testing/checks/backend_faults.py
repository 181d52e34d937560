# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of what a provider makes of an outage of its service: the right error, never an empty answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRateLimitError,
)
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.backend import Backend
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness

HOOKS = ("sync_turn",)
Outage = Callable[[Backend], AbstractContextManager[None]]


@check("a dropped connection is told as one that can be tried again", hooks=HOOKS)
def a_dropped_connection_is_told(h: Harness) -> str | None:
    error = _outage(h, lambda backend: backend.drop(), "dropped the connection")
    return _retryable(error)


@check("a failing service (500) is told as one that can be tried again", hooks=HOOKS)
def a_failing_service_is_told(h: Harness) -> str | None:
    error = _outage(h, lambda backend: backend.fail(500, "<html>oops</html>"), "answered 500")
    return _retryable(error)


@check("a refused key (401) is told as one", hooks=HOOKS)
def a_refused_key_is_told(h: Harness) -> str | None:
    error = _outage(h, lambda backend: backend.fail(401, '{"error": "bad key"}'), "answered 401")
    if not isinstance(error, ProviderAuthError):
        raise CheckFailed(
            f"After 401 it raised {type(error).__name__}.",
            "raise `ProviderAuthError`; the items then wait until the key is mended",
        )
    if not error.hint:
        raise CheckFailed("The error has no hint.", f'hint="hermes memory setup {h.name}"')
    return None


@check("a rate limit (429) is told with the time to wait", hooks=HOOKS)
def a_rate_limit_is_told(h: Harness) -> str | None:
    error = _outage(
        h, lambda backend: backend.fail(429, "{}", {"Retry-After": "3600"}), "answered 429"
    )
    if not isinstance(error, ProviderRateLimitError):
        raise CheckFailed(
            f"After 429 it raised {type(error).__name__}.", "raise `ProviderRateLimitError`"
        )
    if float(error.details.get("retry_after_s") or 0) != 3600.0:
        raise CheckFailed(
            "The service asked to wait 3600 s; the error does not say so.",
            'details={"retry_after_s": float(response.headers["Retry-After"])}',
        )
    return None


@check("an answer that makes no sense is told", hooks=HOOKS)
def nonsense_is_told(h: Harness) -> str | None:
    backend = _backend(h)
    subject, session = h.start(), inputs.session_info()
    hooks = [hook for hook in ("prefetch", "health") if hook in subject.hooks]
    for body in ("<html>A portal wants you to log in.</html>", '{"error": "quota"}', "[1, 2", ""):
        with backend.fail(200, body):
            for hook in hooks:
                answer = subject.attempt(hook, session=session, query="what about the mast?")
                if answer.error is not None and not isinstance(answer.error, ProviderError):
                    raise CheckFailed(
                        f"When the service answered {body!r}, `{hook}` raised "
                        f"{type(answer.error).__name__}: {answer.error}",
                        "raise `ProviderBadResponseError`",
                    )
    return None


@check(
    "`prefetch` that failed is not the same as `prefetch` that found nothing", hooks=("prefetch",)
)
def a_failed_recall_is_not_empty(h: Harness) -> str | None:
    backend = _backend(h)
    subject = h.start()
    outages: tuple[tuple[str, Outage], ...] = (
        ("dropped the connection", lambda one: one.drop()),
        ("answered 500", lambda one: one.fail(500)),
        ("answered 401", lambda one: one.fail(401)),
    )
    for name, outage in outages:
        # a question of its own each time, so that no cache answers
        with outage(backend):
            answer = subject.attempt(
                "prefetch", session=inputs.session_info(), query=f"where is {inputs.marker()}?"
            )
        if answer.error is None:
            raise CheckFailed(
                f"The service {name} and `prefetch` answered {answer.value!r}.",
                "raise a `ProviderError`; None means nothing was found",
            )
        if not isinstance(answer.error, ProviderError):
            raise CheckFailed(
                f"The service {name} and `prefetch` raised {type(answer.error).__name__}.",
                "translate the SDK's exceptions into `ProviderError`s",
            )
    return None


@check("it works again as soon as the service does", hooks=HOOKS)
def it_recovers(h: Harness) -> str | None:
    backend = _backend(h)
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    turn = inputs.turn(session, f"Kept through the outage: {word}")
    with backend.drop():
        subject.attempt("sync_turn", session=session, turn=turn)
    subject.call("sync_turn", session=session, turn=turn)
    if h.stored(subject, word) == 0:
        raise CheckFailed(
            "After an outage a turn was taken again and is not kept.",
            "note an id as known only after the service has taken it",
        )
    return None


def _backend(h: Harness) -> Backend:
    if h.backend is None:
        raise Skip("the test gives no backend that can fail", wanting=True)
    return h.backend


def _outage(h: Harness, outage: Outage, name: str) -> ProviderError:
    """The error that ``sync_turn`` raises while the service is out."""
    backend = _backend(h)
    subject, session = h.start(), inputs.session_info()
    with outage(backend):
        answer = subject.attempt(
            "sync_turn", session=session, turn=inputs.turn(session, "The mast is new.")
        )
    if answer.error is None:
        raise CheckFailed(
            f"The service {name} and `sync_turn` returned as if the turn were taken; it is lost.",
            "raise a `ProviderError`; the outbox tries again",
        )
    if not isinstance(answer.error, ProviderError):
        raise CheckFailed(
            f"The service {name} and `sync_turn` raised {type(answer.error).__name__}: {answer.error}",
            "translate the SDK's exceptions into `ProviderError`s",
        ) from answer.error
    return answer.error


def _retryable(error: ProviderError) -> str | None:
    if not error.retryable:
        raise CheckFailed(
            f"{type(error).__name__} says that trying again is of no use; the turn would be given up.",
            "raise `ProviderUnavailableError`",
        )
    return type(error).__name__
