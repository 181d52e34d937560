"""Whole-file writes that survive a power cut, and reads that tell missing from unreadable.

Write = temporary file beside the target, fsync, replace, fsync of the directory (design.md section 7).
Nothing here merges or locks; see ``locks``.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hermes_memory_core.errors import StoreError, StoreFullError, StoreUnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700
TEMP_SUFFIX = ".hmtmp"
"""Ending of the temporary files made here: what a crash leaves behind is told by it."""

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def make_private_dir(path: Path) -> Path:
    """Make the directory and its missing parents, each 0700; existing ones are left as they are.

    Raises:
        StoreError: Something that is not a directory stands there.
    """
    with translate_os_errors(path):
        missing = []
        current = path
        while not current.exists():
            missing.append(current)
            current = current.parent
        for directory in reversed(missing):
            with suppress(FileExistsError):
                directory.mkdir(mode=PRIVATE_DIR)
        if not path.is_dir():
            raise StoreError(
                f"`{path}` is not a directory, so nothing can be kept below it.",
                hint=f"move `{path}` out of the way and run the command again",
                details={"path": str(path)},
            )
    return path


def write_atomic(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace the file as a whole; after the return it is on the disk, after an error it is as before.

    Args:
        path: The target. A symbolic link is refused, never followed.
        data: The new content.
        mode: Permissions of a file that did not exist. An existing file keeps its own bits, without
            those for group and others.

    Raises:
        StoreFullError: No room; the old file stands.
        StoreError: Any other reason the system gave; the old file stands.
    """
    make_private_dir(path.parent)
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, mode: int = PRIVATE_FILE) -> Iterator[BinaryIO]:
    """A new file to write that takes the place of ``path`` when the block ends; on an error ``path`` is as before.

    For what is made piece by piece; ``write_atomic`` does the same with bytes at hand. The directory must exist;
    links, ``mode`` and errors are as there.
    """
    refuse_symlink(path)
    # a part of the name is enough to tell whose it is; a whole long one would leave no room for the rest
    temporary = path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}{TEMP_SUFFIX}")
    with translate_os_errors(path):
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.stat().st_mode) & 0o700 or mode
        try:
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC, mode
            )
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_dir(path.parent)


def read_bytes(path: Path) -> bytes | None:
    """The content, or None when there is no such file. Anything else raises, so empty is never guessed.

    Raises:
        StoreUnreadableError: It is there and cannot be read (permissions, a directory in its place, I/O).
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnreadableError(
            f"`{path}` is there but cannot be read ({error.strerror or error}); it was left untouched.",
            hint=f"check the permissions of `{path}`",
            details={"path": str(path), "errno": error.errno},
        ) from error


def append_synced(descriptor: int, data: bytes) -> None:
    """Write all of ``data`` at the end of an O_APPEND descriptor and sync it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def open_private(path: Path, flags: int) -> int:
    """``os.open`` creating 0600, never following a link in the last place."""
    return os.open(path, flags | _NOFOLLOW | _CLOEXEC, PRIVATE_FILE)


def create_private(path: Path) -> None:
    """Make an empty 0600 file if there is none: SQLite then keeps that mode for it and its sidecars."""
    make_private_dir(path.parent)
    refuse_symlink(path)
    with translate_os_errors(path), suppress(FileExistsError):
        os.close(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def sync_dir(path: Path) -> None:
    """Sync a directory so that names made or replaced in it survive a power cut."""
    if os.name == "nt":  # directories cannot be opened there; the file system journals names
        return
    descriptor = os.open(path, os.O_RDONLY | _CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network file systems have no directory sync
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def refuse_symlink(path: Path) -> None:
    """Raise StoreError when the path is a symbolic link: writing through one can hit any file."""
    if path.is_symlink():
        raise StoreError(
            f"`{path}` is a symbolic link; it is not written through and nothing was changed.",
            hint=f"replace the link `{path}` with a real file",
            details={"path": str(path)},
        )


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors into ours, with the path and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"No room on the disk for `{path}`; what was saved before is unchanged.",
                hint="free some space, then run the command again",
                details={"path": str(path)},
            ) from error
        raise StoreError(
            f"`{path}` cannot be used: {error.strerror or error}. What was saved before is unchanged.",
            hint=f"check the permissions and the disk of `{path.parent}`",
            details={"path": str(path), "errno": error.errno},
        ) from error
