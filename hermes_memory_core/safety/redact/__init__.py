"""Secrets masked in text: one redactor for transcripts, logs, exports, outbox, errors, egress.

Public names only. How a text is searched: ``engine`` (quick look, masks), ``search`` (finders).
The kinds are data in ``rules_*``.
"""

from __future__ import annotations

from hermes_memory_core.safety.redact.logs import RedactingFilter
from hermes_memory_core.safety.redact.masks import MASK_PREFIX, contains_mask, mask
from hermes_memory_core.safety.redact.redactor import Redactor, redact

__all__ = ["MASK_PREFIX", "RedactingFilter", "Redactor", "contains_mask", "mask", "redact"]
