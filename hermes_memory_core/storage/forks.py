"""What a process that forks must let go of first: open databases and files, in one registry.

A child that inherits a connection believes it holds locks which only its parent has; either of them can then take the
write-ahead log away under the other.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeVar

logger = logging.getLogger(__name__)


class Holder(Protocol):
    """Something that holds connections, files or locks."""

    def before_fork(self) -> None:
        """In the parent: let go, and let no thread open anything."""

    def after_fork_in_parent(self) -> None:
        """Go on; what was closed opens again on use."""

    def after_fork_in_child(self) -> None:
        """Begin as a process of its own."""


_HOLDERS: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_ABANDONED: Final[list[Any]] = []
_Kind = TypeVar("_Kind")


def watch(holder: Holder) -> None:
    """Call the methods of ``holder`` around every fork, as long as it lives."""
    _HOLDERS.add(holder)


def living(kind: type[_Kind]) -> list[_Kind]:
    """The watched objects of one class."""
    return [holder for holder in list(_HOLDERS) if isinstance(holder, kind)]


def abandon(connection: Any) -> None:
    """Keep a connection that the parent was using while it forked: a child must neither use nor close it."""
    _ABANDONED.append(connection)


def opening() -> AbstractContextManager[object]:
    """Around opening a database: a fork then would leave a lock of SQLite held in the child for ever."""
    return _turn.opening


def importing() -> AbstractContextManager[object]:
    """Around importing a plugin: a child would wait for ever for the import of a thread it does not have."""
    return _turn.importing


class _Turn:
    """One fork at a time; none while somebody opens a database or imports a provider, unless that takes long."""

    def __init__(self) -> None:
        self.opening = threading.RLock()
        self.importing = threading.RLock()
        self.forking = threading.Lock()
        self.asked: list[Any] = []
        self.held: list[threading.RLock] = []


_turn = _Turn()
WAIT_S: Final = 2.0
"""How long a fork waits for what must not be cut in two."""


def _all(action: str, holders: Sequence[Any]) -> None:
    """Call ``action`` of each. A fork goes on whatever one of them says."""
    for holder in holders:
        try:
            getattr(holder, action)()
        except Exception:
            logger.exception("%s of %r failed", action, holder)


def _before() -> None:
    _turn.forking.acquire()
    _turn.asked = list(_HOLDERS)
    _all("before_fork", _turn.asked)
    # last: whoever opens a database for a holder has that holder's lock first
    locks = (_turn.importing, _turn.opening)
    _turn.held = [lock for lock in locks if lock.acquire(timeout=WAIT_S)]
    # and those that came meanwhile; from now on none can open anything
    late = [holder for holder in list(_HOLDERS) if holder not in _turn.asked]
    _all("before_fork", late)
    _turn.asked += late


def _in_parent() -> None:
    asked, held = _turn.asked, _turn.held
    _turn.asked, _turn.held = [], []
    _all("after_fork_in_parent", asked)
    for lock in held:
        lock.release()
    _turn.forking.release()


def _in_child() -> None:
    global _turn
    asked = _turn.asked
    _turn = _Turn()
    # also those that came too late to be asked: what they hold is the parent's
    _all("after_fork_in_child", [*asked, *(one for one in list(_HOLDERS) if one not in asked)])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
