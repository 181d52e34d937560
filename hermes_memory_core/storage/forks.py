"""What a process that forks must let go of first: open databases and files, in one registry.

A child that inherits a connection believes it holds locks which only its parent has; either of them can then take the
write-ahead log away under the other.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Sequence
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
_ASKED: Final[list[Any]] = []
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


def _all(action: str, holders: Sequence[Any]) -> None:
    """Call ``action`` of each. A fork goes on whatever one of them says."""
    for holder in holders:
        try:
            getattr(holder, action)()
        except Exception:
            logger.exception("%s of %r failed", action, holder)


def _before() -> None:
    _ASKED[:] = list(_HOLDERS)
    _all("before_fork", _ASKED)


def _in_parent() -> None:
    _all("after_fork_in_parent", _ASKED)
    _ASKED.clear()


def _in_child() -> None:
    _all("after_fork_in_child", _ASKED)
    _ASKED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
