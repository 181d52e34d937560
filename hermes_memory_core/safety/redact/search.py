"""Runs every finder that a text gives cause for.

Loaded on the first text that is not clean at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.assignments import find_assigned, find_names
from hermes_memory_core.safety.redact.blocks import find_blocks, find_lone_lines
from hermes_memory_core.safety.redact.commands import (
    find_cookies,
    find_in_commands,
    find_pgpass,
)
from hermes_memory_core.safety.redact.prose import (
    find_in_prose,
    find_logins,
    find_near,
    find_paired,
)
from hermes_memory_core.safety.redact.tables import (
    find_in_csv,
    find_in_manifests,
    find_in_tables,
)
from hermes_memory_core.safety.redact.urls import find_in_urls
from hermes_memory_core.safety.redact.vendors import find_vendor_keys

if TYPE_CHECKING:
    from hermes_memory_core.safety.redact.masks import Span


_SPOKEN = 5_000
"""A text with more names than this is a dump and not speech: only what is tied counts there."""


def search_text(text: str) -> list[Span]:
    """Find secrets by every rule; spans may overlap and come in no order."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    spans = list(find_vendor_keys(text))
    names = list(find_names(text, low))
    done = 0
    for name in names:
        if name.start < done:
            continue
        found = find_paired(text, name)
        if not found:
            tied, found = find_assigned(text, name)
            # An empty span counts as found: it ends the search in an unbroken run.
            if not found and not tied and len(names) <= _SPOKEN:
                found = find_in_prose(text, name)
        spans += found
        done = max([done, *(span.end for span in found)])
    spans += find_near(text, names)
    spans += find_in_commands(text, low)
    if " / " in text or ":" in text:
        spans += find_logins(text)
    if "://" in text:
        spans += find_in_urls(text)
    if "cookie" in low:
        spans += find_cookies(text)
    if "|" in text:
        spans += find_in_tables(text)
    if names and "\n" in text:
        spans += find_in_csv(text)
        spans += find_in_manifests(text)
    if "-----" in text or "---- BEGIN" in text or "Private-Lines" in text:
        spans += find_blocks(text)
    if text.count(":") >= 4:
        spans += find_pgpass(text)
    spans += find_lone_lines(text)
    return spans
