"""News for the person: logged once, shown once per key, kept for ``status``.

Silence is the worst bug; so is the same line every turn.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import asdict

from hermes_memory_core.engine.runtime import Runtime
from hermes_memory_core.errors import StoreError
from hermes_memory_core.types import Notice

logger = logging.getLogger(__name__)

KEPT = 20
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Notices:
    """Passes notices on to the host's ``notify``, each key once until it is ``settled``."""

    def __init__(self, runtime: Runtime, notify: Callable[[Notice], None] | None) -> None:
        self._runtime = runtime
        self._notify = notify
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def tell(self, notice: Notice) -> None:
        """Show it, unless this news was told already. Never raises."""
        key = _bound(notice.key or notice.code)
        with self._lock:
            if key in self._told:
                return
            self._told.add(key)
        logger.log(_LEVELS[notice.level], "%s%s", notice.message, _arrow(notice.hint))
        try:
            with self._runtime.write() as db:
                db.execute(
                    "INSERT INTO notices VALUES(?,?,?) ON CONFLICT(key) DO UPDATE SET"
                    " at=excluded.at, notice=excluded.notice",
                    (key, self._runtime.clock(), json.dumps(asdict(notice))),
                )
                db.execute(
                    "DELETE FROM notices WHERE key NOT IN"
                    " (SELECT key FROM notices ORDER BY at DESC LIMIT ?)",
                    (KEPT,),
                )
        except StoreError as error:  # the log line above has told it already
            logger.warning("the notice could not be kept for status: %s", error.message)
        if self._notify is not None:
            try:
                self._notify(notice)
            except Exception:
                logger.exception("the host's notify callback failed")

    def settle(self, key: str) -> None:
        """The matter is over: the same news may be told again, and ``status`` forgets it. Never raises."""
        key = _bound(key)
        with self._lock:
            self._told.discard(key)
        try:
            with self._runtime.write() as db:
                db.execute("DELETE FROM notices WHERE key=?", (key,))
        except StoreError as error:
            logger.warning("an old notice stays in status: %s", error.message)


def _bound(key: str) -> str:
    """The key as a row can hold it: file names may carry bytes that are no text."""
    return key.encode("utf-8", "backslashreplace").decode()


def _arrow(hint: str) -> str:
    return f" → {hint}" if hint else ""
