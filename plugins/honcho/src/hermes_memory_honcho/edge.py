"""The edge to the SDK: every exception it can raise becomes one of our ``ProviderError``s, here and nowhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hermes_memory_core.errors import (
    HermesMemoryError,
    ProviderAuthError,
    ProviderBadResponseError,
    ProviderError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)

MAX_RETRY_AFTER_S = 3600.0
"""Longer waits asked for by a server are not believed; nothing here sleeps on them in any case."""
DEFAULT_RETRY_AFTER_S = 30.0
T = TypeVar("T")
SETUP = "hermes memory setup honcho"
STATUS = "hermes honcho status"


class NotThereError(ProviderRejectedError):
    """The server does not know this peer, session or conclusion (404)."""

    code = "provider_not_there"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Let nothing of the SDK through.

    Args:
        doing: What was tried, for the message: "store 2 messages".

    Raises:
        ProviderError: What it means; see ``error_from``.
    """
    try:
        yield
    except HermesMemoryError:
        raise
    except Exception as error:
        # the SDK raises its own classes, httpx's from uploads, and pydantic's, TypeError or KeyError for answers
        # of a strange shape: all of them are an answer we cannot use
        raise error_from(error, doing) from error


def error_from(error: BaseException, doing: str) -> ProviderError:
    """Our error for one of the SDK's."""
    from honcho.http import exceptions as sdk

    if isinstance(error, sdk.APIError):
        return _of_status(error, doing)
    timeouts: tuple[type[BaseException], ...] = (sdk.TimeoutError,)
    connections: tuple[type[BaseException], ...] = (sdk.ConnectionError,)
    with contextlib.suppress(ImportError):
        import httpx

        timeouts = (*timeouts, httpx.TimeoutException)
        connections = (*connections, httpx.TransportError)
    if isinstance(error, timeouts):
        return ProviderTimeoutError(
            f"Honcho did not answer in time (tried to {doing}).", hint=STATUS, details=_asked(doing)
        )
    if isinstance(error, sdk.ConnectionError) and isinstance(error.__cause__, ValueError):
        return _strange(doing)
    if isinstance(error, connections):
        return ProviderUnavailableError(
            f"Honcho cannot be reached (tried to {doing}).",
            hint=STATUS,
            details={**_asked(doing), "reason": _reason(error)},
        )
    if isinstance(error, sdk.HonchoError):
        return ProviderUnavailableError(
            f"Honcho failed (tried to {doing}): {_text(error.message)}",
            hint=STATUS,
            details=_asked(doing),
        )
    return _strange(doing)


def _of_status(error: Any, doing: str) -> ProviderError:
    status, detail = int(error.status), _text(error.message)
    details = {**_asked(doing), "status": status}
    if status in (401, 403):
        return ProviderAuthError(
            f"Honcho refuses the key (tried to {doing}): {detail}. Memory pauses until it is mended; "
            "nothing queued is lost.",
            hint=SETUP,
            details=details,
        )
    if status == 404:
        return NotThereError(
            f"Honcho does not know it (tried to {doing}): {detail}", details=details
        )
    if status == 429:
        wait = _seconds(getattr(error, "retry_after", None))
        return ProviderRateLimitError(
            f"Honcho asks to slow down (tried to {doing}); waiting {wait:.0f} s.",
            hint=STATUS,
            details={**details, "retry_after_s": wait},
        )
    if status in (408, 409, 425) or status >= 500:
        kind = ProviderTimeoutError if status in (408, 504) else ProviderUnavailableError
        return kind(
            f"Honcho failed with status {status} (tried to {doing}): {detail}",
            hint=STATUS,
            details=details,
        )
    if status < 400:
        return _strange(doing)
    return ProviderRejectedError(
        f"Honcho will not take it, status {status} (tried to {doing}): {detail}",
        hint=STATUS,
        details=details,
    )


def _strange(doing: str) -> ProviderBadResponseError:
    return ProviderBadResponseError(
        f"The answer makes no sense (tried to {doing}): is it Honcho that answers at this address?",
        hint=SETUP,
        details=_asked(doing),
    )


def retried_once(call: Callable[[], T]) -> T:
    """A read again when the connection broke: a restarted server leaves dead connections in the pool."""
    try:
        return call()
    except ProviderUnavailableError as error:
        if "reason" not in error.details or error.details["reason"] == "refused":
            raise
        return call()


def _asked(doing: str) -> dict[str, Any]:
    return {"doing": doing}


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    name = type(cause).__name__
    return "refused" if name in ("ConnectError", "UnsupportedProtocol", "ProxyError") else name


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return DEFAULT_RETRY_AFTER_S
    return (
        min(max(0.0, seconds), MAX_RETRY_AFTER_S) if seconds == seconds else DEFAULT_RETRY_AFTER_S
    )


def _text(detail: Any) -> str:
    """What a server said, for a person: FastAPI answers a list of objects with ``loc`` and ``msg``."""
    if isinstance(detail, list):
        lines = []
        for item in detail[:3]:
            if isinstance(item, dict):
                where = ".".join(str(one) for one in item.get("loc", ()) if one != "body")
                lines.append(f"{where}: {item.get('msg', '')}".strip(": "))
            else:
                lines.append(str(item))
        return "; ".join(lines)[:300]
    return " ".join(str(detail).split())[:300]
