"""Locks after a fork: whoever held one in the parent does not exist in the child, so the child gets new ones.

Connections and files look after themselves (``runtime``, the sessions provider); here are the locks in memory.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile


def renew_lock(owner: Any) -> None:
    """Give the object a new ``_lock``; one that the forking thread itself holds is let go by its own block."""
    owner.__dict__["_lock"] = threading.RLock()


def renew(profile: OpenProfile) -> None:
    """In a child: new locks for everything an open profile shares, new threads when they are needed."""
    for owner in (
        profile,
        profile.notices,
        profile.crowd,
        profile.gatherer,
        profile.roster,
        *([profile.redactor] if "redactor" in profile.__dict__ else []),
    ):
        renew_lock(owner)
    for provider in profile.roster.loaded:
        renew_lock(provider)
        pool = provider._pool  # noqa: SLF001 - no thread and no job of the parent exists here
        if pool is not None:
            pool._reset()  # noqa: SLF001
        if provider.breaker is not None:
            renew_lock(provider.breaker)
    delivery = profile.__dict__.get("delivery")
    if delivery is not None:
        delivery.after_fork()
