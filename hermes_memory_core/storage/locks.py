"""Locks between processes (and threads), with a timeout and an error a person can act on.

filelock does the work on every platform; it is imported on first use.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_core.errors import StoreLockedError
from hermes_memory_core.storage.atomic import (
    PRIVATE_FILE,
    make_private_dir,
    refuse_symlink,
    translate_os_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_TIMEOUT_S = 10.0


@contextmanager
def file_lock(path: Path, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (a lock file of its own, never the data file).

    Not re-entrant: one ``with`` per critical section. Released by the system when the process dies, so a
    lock file left behind by a crash blocks nobody.

    Raises:
        StoreLockedError: Somebody else held it for ``timeout_s`` seconds.
    """
    from filelock import FileLock, Timeout

    make_private_dir(path.parent)
    refuse_symlink(path)
    lock = FileLock(
        path, timeout=timeout_s, mode=PRIVATE_FILE, thread_local=False, is_singleton=False
    )
    started = time.monotonic()
    with translate_os_errors(path):
        try:
            lock.acquire(poll_interval=0.005)
        except Timeout as error:  # an OSError too, so it is caught before the translation sees it
            raise StoreLockedError(
                f"`{path.name.removesuffix('.lock')}` was in use by another process for "
                f"{time.monotonic() - started:.0f} s; nothing was changed.",
                hint="try again, or close the other program that uses this home",
                details={"path": str(path), "timeout_s": timeout_s},
            ) from error
    try:
        yield
    finally:
        lock.release()
