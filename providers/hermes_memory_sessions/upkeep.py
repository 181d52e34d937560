"""Upkeep without being asked: the automatic prune, on a thread of its own, at most once in the interval set.

What may go, and deleting it, stands in ``prune`` and ``trash``.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import Notice

from .store import History

LOOK_EVERY_S: Final = 60.0
"""How often a busy process looks whether the time has come."""
STOP_WITHIN_S: Final = 2.0
"""How long closing waits for the session that is being deleted at that moment."""


class Upkeep:
    """Runs ``History.auto_prune`` beside the conversations of one process."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._stopped = threading.Event()
        self._looked_at = float("-inf")
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look in the background whether a prune is due. Costs nothing where it is off."""
        settings = self._history.context.settings.get("sessions") or {}
        now = time.monotonic()
        if not settings.get("auto_prune") or now - self._looked_at < LOOK_EVERY_S:
            return
        if self._thread is not None and self._thread.is_alive():
            return
        self._looked_at = now
        self._thread = threading.Thread(target=self._run, name="hermes-auto-prune", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No further session goes; what has gone lies in the trash."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_WITHIN_S)

    def wait(self, timeout_s: float) -> bool:
        """True when nothing is running any more."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        context = self._history.context
        try:
            self._history.auto_prune(stopped=self._stopped.is_set)
        except (HermesMemoryError, OSError) as error:  # a thread has nobody to raise to
            message = error.message if isinstance(error, HermesMemoryError) else str(error)
            context.logger.warning("auto-prune: %s", message)
            context.notify(
                Notice(
                    "auto_prune_failed",
                    f"Old conversations could not be pruned: {message} What went before that is in the trash.",
                    hint=(error.hint if isinstance(error, HermesMemoryError) else "")
                    or "hermes sessions prune --dry-run",
                )
            )
