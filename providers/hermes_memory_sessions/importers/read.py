"""One way in: a file or directory of any known format becomes a stream of records."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hermes_memory_core.errors import UsageError

from . import chatgpt, claude_code, codex, hermes_db, hermes_jsonl, openai
from .detect import detect, sniff
from .records import Format, Record, SkippedItem, Tally
from .textfile import Meter, Source

Reader = Callable[[Source], Iterator[Record]]

READERS: Final[dict[Format, Reader]] = {
    Format.HERMES_JSONL: hermes_jsonl.read_export,
    Format.HERMES_TRANSCRIPT: hermes_jsonl.read_transcript,
    Format.HERMES_STATE_DB: hermes_db.read,
    Format.OPENAI: openai.read,
    Format.CLAUDE_CODE: claude_code.read,
    Format.CODEX: codex.read,
    Format.CHATGPT: chatgpt.read,
}

MAX_FILES: Final = 200_000
"""More files than this below one directory is a mistake (a whole disk), not an export."""
_NEVER = {".git", "node_modules", "__pycache__", ".venv"}


def read_conversations(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word people type: --format
    meter: Meter | None = None,
) -> Iterator[Record]:
    """Conversations and what was left out, as they are found; nothing of a file is kept once it is past.

    Args:
        path: A file, or a directory that is searched for files of any format.
        format: A ``Format`` value, to skip the detection of files; None looks at each file's content.
        meter: Told how many bytes there are and how many were read.

    Raises:
        UsageError: Before the first record: an unknown format, no such path, or not a conversation file.
        StoreUnreadableError: Before the first record: the path cannot be opened.
    """
    wanted = _format(format)
    meter = meter or Meter()
    found = detect(path) if wanted is None else _given(path, wanted)
    if found is Format.DIRECTORY:
        return _directory(path, wanted, meter)
    source = _source(path, path.name, meter)
    meter.total += path.stat().st_size
    return _guarded(found, source)


def _format(name: str | None) -> Format | None:
    if name is None:
        return None
    try:
        found = Format(name)
    except ValueError:
        accepted = [kind.value for kind in Format if kind is not Format.DIRECTORY]
        raise UsageError(
            f"`{name}` is no import format; nothing was imported.",
            hint=f"use one of: {', '.join(accepted)}",
            details={"formats": accepted},
        ) from None
    return None if found is Format.DIRECTORY else found


def _given(path: Path, wanted: Format) -> Format:
    if path.is_dir():
        return Format.DIRECTORY
    if not path.is_file():
        return detect(path)  # raises what fits
    return wanted


def _source(path: Path, name: str, meter: Meter) -> Source:
    return Source(path, name, mtime=path.stat().st_mtime, now=time.time(), meter=meter)


def _guarded(kind: Format, source: Source) -> Iterator[Record]:
    """The records of one file; whatever its reader trips over ends that file, not the import."""
    try:
        yield from READERS[kind](source)
    except OSError as error:
        yield SkippedItem(source.name, f"file cannot be read ({error.strerror or error})")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        # input of strangers: a shape nobody thought of must not end the other files
        yield SkippedItem(source.name, f"file has an unexpected shape ({type(error).__name__})")


def _directory(root: Path, wanted: Format | None, meter: Meter) -> Iterator[Record]:
    tally = Tally(root.name)
    files = _files(root, tally)
    sizes = {}
    for path in files:
        try:
            sizes[path] = path.stat().st_size
        except OSError:
            sizes[path] = 0
    meter.total += sum(sizes.values())
    for path in files:
        before = meter.done
        name = str(path.relative_to(root))
        kind = wanted or _kind(path, name, tally)
        if kind is not None:
            yield from _guarded(kind, _source(path, name, meter))
        meter.done = before + sizes[path]
    yield from tally.drain()


def _kind(path: Path, name: str, tally: Tally) -> Format | None:
    try:
        kind = sniff(path)
    except (OSError, sqlite3.Error) as error:
        tally.add(f"file cannot be read ({error})", name)
        return None
    if kind is None:
        tally.add("not a conversation file", name)
    return kind


def _files(root: Path, tally: Tally) -> list[Path]:
    """Regular files below ``root``, databases first, then by path (parents' files before their sub-agents')."""
    found: list[Path] = []
    for folder, names, files in os.walk(root, onerror=lambda error: _unreadable(error, tally)):
        links = [name for name in names if Path(folder, name).is_symlink()]
        for name in links:
            tally.add("symbolic link, not followed", str(Path(folder, name).relative_to(root)))
        names[:] = sorted(name for name in names if name not in links and name not in _NEVER)
        for name in files:
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file():
                tally.add("symbolic link, not followed", str(path.relative_to(root)))
            elif len(found) < MAX_FILES:
                found.append(path)
            else:
                tally.add(f"more than {MAX_FILES} files", str(path.relative_to(root)))
    return sorted(found, key=lambda path: (path.suffix != ".db", str(path)))


def _unreadable(error: OSError, tally: Tally) -> None:
    tally.add(f"directory cannot be read ({error.strerror or error})", Path(error.filename).name)
