"""The safety scan of everything that enters a prompt or a store; nothing here writes, asks or logs.

Public: `scan`, `scan_entries`, `verdict`, `RuleSet`. The rules are data, see ``tables/``.
"""

from __future__ import annotations

from hermes_memory_core.safety.threats.entries import scan_entries
from hermes_memory_core.safety.threats.rules import RuleSet
from hermes_memory_core.safety.threats.scanner import scan, verdict
from hermes_memory_core.types import Finding

__all__ = ["Finding", "RuleSet", "scan", "scan_entries", "verdict"]
