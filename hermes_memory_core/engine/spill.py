"""Recall too large for the prompt: the whole text goes to a file, a preview with its path goes in.

Thresholds are design.md section 6; the layout of the preview is spec/builtin.md section 7.4. Files are the
owner's only and are swept after seven days.
"""

from __future__ import annotations

import logging
import os
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import StoreError
from hermes_memory_core.storage.atomic import make_private_dir, open_private, translate_os_errors

logger = logging.getLogger(__name__)

KEEP_S = 7 * 86_400
"""Age after which a spill is swept."""
CEILING_FACTOR = 10
CEILING_MIN_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class SpillSettings:
    """Captured when the provider is registered, so a session never changes its rules half-way."""

    enabled: bool = True
    prefetch_enabled: bool = False
    max_chars: int = 10_000
    preview_head: int = 500
    preview_tail: int = 500

    @property
    def limit(self) -> int | None:
        """Characters above which recall is spilled; None when nothing ever is."""
        if not self.enabled:
            return None
        if self.prefetch_enabled:
            return self.max_chars
        return max(CEILING_FACTOR * self.max_chars, CEILING_MIN_CHARS)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> SpillSettings:
        """From the core's plain settings."""
        spill = settings["hooks"]["output_spill"]
        return cls(
            enabled=spill["enabled"],
            prefetch_enabled=settings["memory"]["prefetch_spill_enabled"],
            max_chars=spill["max_chars"],
            preview_head=spill["preview_head"],
            preview_tail=spill["preview_tail"],
        )


@dataclass(frozen=True, slots=True)
class Spilled:
    """What goes into the prompt, and where the whole text is (None when it was not spilled, or could not be)."""

    text: str
    path: Path | None = None


class Spill:
    """Writes and sweeps the spills of one profile.

    Args:
        directory: ``hook_outputs`` of the profile, or ``hooks.output_spill.directory``.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def apply(self, text: str, *, source: str, session_id: str, settings: SpillSettings) -> Spilled:
        """The text itself when it fits, else a preview. Never raises: a full disk costs the file, not the turn."""
        limit = settings.limit
        if limit is None or len(text) <= limit:
            return Spilled(text)
        try:
            path: Path | None = self._write(text, session_id)
            where = f"full content saved to {path}"
        except StoreError as error:
            logger.warning("recall of %s could not be spilled: %s", source, error.message)
            path, where = None, "full content unavailable, the spill could not be written"
        head = _cut(text, settings.preview_head)
        tail = _cut(text[::-1], settings.preview_tail)[::-1] if settings.preview_tail else ""
        parts = [
            f"[{source} output truncated — {len(text):,} chars; {where}]",
            "--- head ---",
            head,
        ]
        if tail and len(text) > settings.preview_head:
            parts += ["--- tail ---", tail]
        return Spilled("\n".join(parts), path)

    def sweep(self, *, now: float | None = None) -> int:
        """Remove spills older than seven days; how many."""
        limit = (time.time() if now is None else now) - KEEP_S
        removed = 0
        for path in self.files():
            try:
                if path.stat().st_mtime < limit:
                    path.unlink()
                    removed += 1
            except OSError as error:
                logger.warning("old spill %s could not be removed: %s", path.name, error)
        return removed

    def files(self) -> list[Path]:
        """All spill files."""
        if not self.directory.is_dir():
            return []
        return [path for path in self.directory.glob("*/*.txt") if path.is_file()]

    def _write(self, text: str, session_id: str) -> Path:
        folder = make_private_dir(self.directory / safe_name(session_id))
        path = folder / f"{uuid.uuid4().hex}.txt"
        with translate_os_errors(path):
            descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(text if text.endswith("\n") else text + "\n")
        return path


def safe_name(session_id: str) -> str:
    """A session id as a directory name that cannot leave its parent."""
    name = re.sub(r"[\x00-\x1f]|\.\.|[/\\]", "_", session_id)[:120]
    return name if name.strip(". ") else "no-session"


def _cut(text: str, length: int) -> str:
    """At most ``length`` characters, at a line break where one is near, never inside an emoji sequence."""
    if len(text) <= length:
        return text
    part = text[:length]
    newline = part.rfind("\n")
    if newline >= length * 3 // 5:
        return part[:newline]
    while part and (text[len(part)] in "\u200d\ufe0f" or part[-1] == "\u200d"):
        part = part[:-1]
    return part
