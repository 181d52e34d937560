"""One line a turn: what was put before it, and why. For the owner only; kept small."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.storage.atomic import (
    make_private_dir,
    open_private,
    read_bytes,
    write_atomic,
)
from hermes_memory_honcho.base_layer import Base
from hermes_memory_honcho.dialectic import Finding

MAX_BYTES = 5 * 1024 * 1024
"""Then the file moves aside once; the one before it goes."""


class InjectionLog:
    """Appends to ``injection.jsonl``.

    Args:
        path: The file.
        clock: Epoch seconds.
        logger: Told once when it cannot be written.
    """

    def __init__(self, path: Path, clock: Callable[[], float], logger: logging.Logger) -> None:
        self.path = path
        self._clock = clock
        self._logger = logger
        self._told = False

    def forget(self, folded: str, dry_run: bool) -> int:
        """Records whose text contains it (casefolded); they are removed unless it is a trial."""
        found = 0
        for path in (self.path, self.path.with_suffix(".old.jsonl")):
            lines = (read_bytes(path) or b"").decode("utf-8", "replace").splitlines(keepends=True)
            kept = [line for line in lines if folded not in _text_of(line).casefold()]
            found += len(lines) - len(kept)
            if len(kept) < len(lines) and not dry_run:
                write_atomic(path, "".join(kept).encode())
        return found

    def write(
        self,
        session: str,
        turn: int,
        base: Base | None,
        answer: Finding | None,
        text: str,
        why: Mapping[str, Any],
    ) -> None:
        """One record. A disk that is full costs the record, not the turn."""
        record = {
            "at": self._clock(),
            "session": session,
            "turn": turn,
            "chars": len(text),
            "base": [name for name, part in base.parts.items() if part] if base else [],
            "base_missing": list(base.missing) if base else [],
            "dialectic": (
                {"passes": answer.passes, "levels": list(answer.levels), "cold": answer.cold}
                if answer
                else None
            ),
            "why": dict(why),
            "text": text,
        }
        line = json.dumps(record, ensure_ascii=False) + "\n"
        try:
            make_private_dir(self.path.parent)
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_size > MAX_BYTES:
                    self.path.replace(self.path.with_suffix(".old.jsonl"))
            descriptor = open_private(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(descriptor, line.encode("utf-8", "replace"))
            finally:
                os.close(descriptor)
        except (OSError, HermesMemoryError) as error:
            if not self._told:
                self._told = True
                self._logger.warning("Honcho: the injection log cannot be written: %s", error)


def _text_of(line: str) -> str:
    """The text of one record; a line that cannot be read is judged as it stands."""
    try:
        return str(json.loads(line)["text"])
    except (ValueError, KeyError, TypeError):
        return line
