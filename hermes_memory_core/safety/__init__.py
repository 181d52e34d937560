"""What keeps memory trustworthy: the threat scan (``threats``), secret masking (``redact``), approvals.

Only re-exports live here. ``redact`` is bound at import, because the package of the same name would otherwise
shadow the function as soon as somebody imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_memory_core.safety.redact import redact

if TYPE_CHECKING:
    from hermes_memory_core.safety.threats import scan
    from hermes_memory_core.types import Finding

__all__ = ["Finding", "redact", "scan"]


def __getattr__(name: str) -> Any:
    if name == "scan":
        from hermes_memory_core.safety.threats import scan

        return scan
    if name == "Finding":
        from hermes_memory_core.types import Finding

        return Finding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
