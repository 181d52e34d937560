"""Daemon threads: one job of a kind at a time, waited for with a deadline. Nothing here knows Honcho."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Job:
    """Work on a daemon thread; its error is kept, not raised."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.began = time.monotonic()
        self._done = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 - whoever waits for the job looks at it
            self.error = error
        finally:
            self._done.set()

    @property
    def running(self) -> bool:
        """Not over yet."""
        return not self._done.is_set()

    @property
    def age_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def wait(self, seconds: float) -> bool:
        """True when it is over."""
        return self._done.wait(max(0.0, seconds))


def together(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """All calls at once; each one's answer or error, in order. The last runs here."""
    results: list[Any] = [None] * len(calls)

    def run(at: int) -> None:
        try:
            results[at] = calls[at]()
        except Exception as error:  # noqa: BLE001 - handed back as a result
            results[at] = error

    threads = []
    for at in range(len(calls) - 1):
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(run, at), name=f"honcho-read-{at}", daemon=True
        )
        thread.start()
        threads.append(thread)
    if calls:
        run(len(calls) - 1)
    for thread in threads:
        thread.join()
    return results
