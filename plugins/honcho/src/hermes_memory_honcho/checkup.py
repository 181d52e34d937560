"""The real round trip: is the server there, is the key good, and does what was sent become memory?"""

from __future__ import annotations

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import Health
from hermes_memory_honcho.parts import Parts

CALL_S = 4.0
LATE_S = 3600.0
"""A server may collect for half an hour before it derives; after an hour something is wrong."""
MANY = 20
"""Fewer messages may not be worth deriving yet."""


def look(parts: Parts) -> Health:
    """Ask the server; makes nothing there."""
    resolved = parts.resolved
    if not resolved.settings.enabled:
        return Health(False, "Honcho is switched off", "hermes honcho enable")
    try:
        if not parts.server.workspace_exists(CALL_S):
            return Health(
                True,
                f"reached {resolved.url}; workspace {resolved.workspace} comes with the first write",
                details={"url": resolved.url, "workspace": resolved.workspace, "exists": False},
            )
        queue = parts.server.queue(CALL_S)
    except HermesMemoryError as error:
        return Health(False, error.message, error.hint, {"url": resolved.url, "code": error.code})
    accepted, since = parts.ledger.accepted()
    held = sum(parts.ledger.waiting().values())
    derived, pending = queue["completed"], queue["pending"] + queue["in_progress"]
    details = {
        "url": resolved.url,
        "workspace": resolved.workspace,
        "exists": True,
        "accepted": accepted,
        "derived": derived,
        "pending": pending,
        "held": held,
    }
    counts = f"accepted {accepted}, derived {derived}, pending {pending}"
    waited = parts.clock() - since if since is not None else 0.0
    if accepted >= MANY and not derived and waited > LATE_S:
        return Health(
            False,
            f"reached {resolved.url}, but nothing becomes memory: {counts} after {waited / 3600:.0f} h",
            "start the background worker of the Honcho server and look at its log",
            {**details, "degraded": ["derivation"]},
        )
    return Health(True, f"reached {resolved.url}: {counts}", details=details)
