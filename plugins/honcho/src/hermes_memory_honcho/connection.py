"""The SDK's client of one profile: made late, with our timeouts and no retries of its own, closed and made again.

The key is always passed explicitly: left out, the SDK would take one from the environment and send it anywhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from hermes_memory_core.errors import ConfigError
from hermes_memory_honcho.address import is_private
from hermes_memory_honcho.edge import retried_once, translated
from hermes_memory_honcho.legacy import Resolved

if TYPE_CHECKING:
    from honcho import Honcho

T = TypeVar("T")
READ_S = 12.0


class Connection:
    """Nothing connects before the first call.

    Args:
        resolved: The settings that count.
        version: Sent as ``X-Honcho-Host`` so that an operator can tell who calls.
    """

    def __init__(self, resolved: Resolved, version: str = "") -> None:
        self.resolved = resolved
        self._version = version
        self._lock = threading.RLock()
        self._honcho: Honcho | None = None
        self._http: Any = None
        self._pid = 0

    @property
    def sdk(self) -> Honcho:
        """The SDK's client; made on first use, and again after a fork.

        Raises:
            ConfigError: The cloud is meant and there is no key.
        """
        with self._lock:
            if self._honcho is None or self._pid != os.getpid():
                self._honcho = self._make()
                self._pid = os.getpid()
                self._renewed()
            return self._honcho

    def _make(self) -> Honcho:
        resolved = self.resolved
        private = is_private(resolved.url)
        if resolved.key is None and not private and resolved.settings.base_url is None:
            raise ConfigError(
                "Honcho needs `api_key` (its cloud) or `base_url` (a server of your own); nothing was sent.",
                hint="hermes memory setup honcho",
            )
        from honcho import Honcho

        from hermes_memory_honcho.transport import LimitedClient

        self._http = LimitedClient(send_key=resolved.key is not None, trust_env=not private)
        return Honcho(
            # a text even where no key is sent: for None the SDK looks into the environment
            api_key=resolved.key or "none",
            base_url=resolved.url,
            workspace_id=resolved.workspace,
            timeout=resolved.settings.timeout,
            max_retries=0,
            default_headers={"X-Honcho-Host": f"hermes-memory-honcho/{self._version}"},
            http_client=self._http,
        )

    def close(self) -> None:
        """Let connections go; a request under way fails."""
        with self._lock:
            if self._http is not None and self._pid == os.getpid():
                self._http.close()
            self._honcho = self._http = None

    def _renewed(self) -> None:
        """A new client: what was known of the old one's sessions is not."""

    @contextmanager
    def call(self, doing: str, seconds: float) -> Iterator[Honcho]:
        """The client for one call: time-limited, its exceptions translated, never repeated."""
        with translated(doing):
            sdk = self.sdk
            from hermes_memory_honcho.transport import within

            with within(min(seconds, self.resolved.settings.timeout)):
                yield sdk

    def read(self, doing: str, ask: Callable[[Honcho], T], seconds: float = READ_S) -> T:
        """A call that changes nothing: once more when its pooled connection was dead."""

        def once() -> T:
            with self.call(doing, seconds) as sdk:
                return ask(sdk)

        return retried_once(once)
