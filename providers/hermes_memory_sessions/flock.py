"""An advisory lock on an open descriptor, with a timeout: between processes, and between descriptors.

The lock sits on the transcript itself, so there are no lock files to clean up, and the system drops it when
the process dies. Cheap enough to take for every line (two system calls).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from hermes_memory_core.errors import StoreLockedError

TIMEOUT_S = 10.0

if os.name == "nt":  # pragma: no cover - the transcript is locked by a byte far behind its end
    import msvcrt

    _FAR = 2**40

    def _try_lock(descriptor: int, *, shared: bool) -> bool:  # noqa: ARG001 - no shared locks there
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Let the lock go."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Let the lock go."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def lock(
    descriptor: int, path: Path, *, timeout_s: float = TIMEOUT_S, shared: bool = False
) -> None:
    """Take the lock, waiting up to ``timeout_s`` seconds.

    Raises:
        StoreLockedError: Somebody else held it all that time; nothing was written.
    """
    if _try_lock(descriptor, shared=shared):
        return
    deadline = time.monotonic() + timeout_s
    pause = 0.0005
    while time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 2, 0.01)
        if _try_lock(descriptor, shared=shared):
            return
    raise StoreLockedError(
        f"`{path.name}` was held by another process for {timeout_s:.0f} s; nothing was written.",
        hint="try again, or close the other program that uses this home",
        details={"path": str(path), "timeout_s": timeout_s},
    )


def try_lock(descriptor: int) -> bool:
    """Take the lock only if it is free."""
    return _try_lock(descriptor, shared=False)


def sync(descriptor: int) -> None:
    """Push a file's bytes to the disk itself, past the drive's cache where the system can."""
    full = getattr(fcntl, "F_FULLFSYNC", None) if os.name != "nt" else None
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)
