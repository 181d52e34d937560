"""The HTTP client under the SDK: a time limit per call, no key where there is none. Imported late, with httpx.

The SDK has one timeout for a whole client; a turn has a deadline of its own. ``within`` sets it for the calls
of this thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from hermes_memory_core.errors import ProviderTimeoutError

CONNECT_S = 5.0
_LEAST_S = 0.001
_limits = threading.local()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the requests made here, on this thread, at most so long all together."""
    before = getattr(_limits, "until", None)
    until = time.monotonic() + seconds
    _limits.until = until if before is None else min(before, until)
    try:
        yield
    finally:
        _limits.until = before


class LimitedClient(httpx.Client):
    """An ``httpx.Client`` that keeps the limit of ``within`` and can leave the key out.

    Args:
        send_key: False removes the Authorization header: the SDK would otherwise look for a key of its own in
            the environment and send it to whatever server this is.
        trust_env: Whether proxies of the environment are used.
    """

    def __init__(self, *, send_key: bool, trust_env: bool) -> None:
        hooks = {} if send_key else {"request": [_without_key]}
        super().__init__(
            event_hooks=hooks,
            trust_env=trust_env,
            limits=httpx.Limits(
                max_connections=16, max_keepalive_connections=8, keepalive_expiry=30.0
            ),
        )

    def request(self, method: str, url: Any, **options: Any) -> httpx.Response:
        """One request, its timeout cut to what is left of the limit."""
        options["timeout"] = _timeout(options.get("timeout"))
        return super().request(method, url, **options)


def _timeout(given: Any) -> httpx.Timeout:
    seconds = float(given) if isinstance(given, int | float) else 30.0
    until = getattr(_limits, "until", None)
    if until is not None:
        left = until - time.monotonic()
        if left <= 0:
            raise ProviderTimeoutError("The time for this call is over; it was not made.")
        seconds = max(_LEAST_S, min(seconds, left))
    return httpx.Timeout(seconds, connect=min(seconds, CONNECT_S))


def _without_key(request: httpx.Request) -> None:
    request.headers.pop("Authorization", None)
