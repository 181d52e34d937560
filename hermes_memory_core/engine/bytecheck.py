"""Is a text still in any file? Looks at raw bytes: free pages, write-ahead logs and leftovers included.

Changes nothing. SQLite's locks belong to the process and fall when any descriptor of the file is closed, so
databases are read through descriptors that are kept for the life of the process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.safety.spellings import spellings

CHUNK = 1 << 20

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_held: dict[tuple[int, int], int] = {}


@dataclass(frozen=True, slots=True)
class Left:
    """A file that still holds the text."""

    path: Path
    count: int
    """Occurrences of any of its spellings; 0 when only the file's name holds it, -1 when it cannot be read."""
    problem: str = ""


def needles(query: str) -> tuple[bytes, ...]:
    """The spellings of a text that are looked for, letters of ASCII in lower case.

    In UTF-8 every spelling there is, in UTF-16 the plain ones.
    """
    found: dict[bytes, None] = {}
    for form in spellings(query):
        found[form.encode("utf-8", "replace").lower()] = None
    for form in (query, query.lower(), query.upper()):
        for codec in ("utf-16-le", "utf-16-be"):
            found[form.encode(codec, "replace").lower()] = None
    # one that holds another is found with it
    return tuple(one for one in found if not any(two != one and two in one for two in found))


def files_below(root: Path, skip: Callable[[Path], bool] = lambda _path: False) -> Iterator[Path]:
    """Every regular file below a directory; links are not followed."""
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if skip(path):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(path, skip)
        elif entry.is_file(follow_symlinks=False):
            yield path


def count_in(path: Path, wanted: tuple[bytes, ...]) -> int:
    """How often any of the spellings stands in the file. Raises OSError."""
    keep = max(map(len, wanted)) - 1
    total, tail, offset = 0, b"", 0
    descriptor, held = _open(path)
    try:
        while True:
            chunk = os.pread(descriptor, CHUNK, offset)
            if not chunk:
                return total
            offset += len(chunk)
            data = tail + chunk.lower()
            # what lies whole in the kept tail was counted with the chunk before
            total += sum(_count(data, one, len(tail)) for one in wanted)
            tail = data[-keep:] if keep else b""
    finally:
        if not held:
            os.close(descriptor)


def search(
    paths: Iterator[Path], query: str, progress: Callable[[Path], None] = lambda _path: None
) -> list[Left]:
    """The files whose bytes or name hold the text."""
    wanted = needles(query)
    folded = query.casefold()
    found = []
    for path in paths:
        progress(path)
        try:
            count = count_in(path, wanted)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append(Left(path, -1, error.strerror or str(error)))
            continue
        if count or folded in path.name.casefold():
            found.append(Left(path, count))
    return found


def _count(data: bytes, needle: bytes, seen: int) -> int:
    total, start = 0, 0
    while (at := data.find(needle, start)) >= 0:
        if at + len(needle) > seen:
            total += 1
        start = at + 1
    return total


def _open(path: Path) -> tuple[int, bool]:
    """A descriptor, and whether it must stay open."""
    if ".db" not in path.name:
        return os.open(path, os.O_RDONLY | _NOFOLLOW), False
    status = path.lstat()
    key = (status.st_dev, status.st_ino)
    if key not in _held:
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        _held[key] = os.open(path, os.O_RDONLY | _NOFOLLOW)
    return _held[key], True
