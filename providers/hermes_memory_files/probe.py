"""The health of the notes: a real read of every file and a real write beside them. Changes no note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_core.errors import HermesMemoryError, StoreError
from hermes_memory_core.storage.atomic import read_bytes, write_atomic
from hermes_memory_core.types import Health, ProviderContext
from hermes_memory_files.document import TARGETS, count
from hermes_memory_files.places import known_places
from hermes_memory_files.store import FilesStore

PROBE = ".probe"


def health(store: FilesStore, context: ProviderContext) -> Health:
    """Whether notes can be read and written now; per file its size, entries and oddities.

    Raises:
        StoreError: The folder cannot be written.
    """
    problems: list[HermesMemoryError] = []
    files: dict[str, Any] = {}
    bad_lines = 0
    for place in known_places(context.home, context.logger):
        for target in TARGETS:
            path = place.file(target)
            try:
                document = store.document(place, target)
            except HermesMemoryError as error:
                problems.append(error)
                continue
            files[str(path)] = {
                "target": target,
                "scope": place.scope.key,
                "exists": document.raw is not None,
                "entries": len(document.entries),
                "chars": count(document.entries),
                "limit": store.settings.limits[target],
                "blocked": sum(map(bool, store.screen.blocked_of(document.entries))),
                "odd": list(store.oddities(target, document)),
                "symlink": path.is_symlink(),
            }
        for _change in place.log.changes():
            pass  # counts unreadable lines on the way
        bad_lines += place.log.bad_lines
        if place.folder.is_dir():
            _write_probe(place.folder / PROBE)
    details = {"files": files, "unreadable_history_lines": bad_lines}
    if problems:
        return Health(ok=False, message=problems[0].message, hint=problems[0].hint, details=details)
    entries = sum(file["entries"] for file in files.values())
    found = sum(file["exists"] for file in files.values())
    message = f"{entries} notes in {found} files, readable and writable"
    if bad_lines:
        message += f"; {bad_lines} unreadable lines of history were skipped"
    return Health(ok=True, message=f"{message}.", details=details)


def _write_probe(path: Path) -> None:
    write_atomic(path, b"probe")
    try:
        if read_bytes(path) != b"probe":
            raise StoreError(
                f"`{path}` does not read back as it was written.",
                hint=f"check the disk of `{path.parent}`",
                details={"path": str(path)},
            )
    finally:
        path.unlink(missing_ok=True)
