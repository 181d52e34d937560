"""Writing transcripts: append and sync under a lock, replace or remove the whole file. Knows no database.

What ``append`` returned for is on the disk. A line is written whole or not at all: after a failed write the
file is cut back to where it was. A last line torn by a crash is set aside, never a reason to stop.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from hermes_memory_core.errors import StoreError, StoreFullError, StoreUnreadableError
from hermes_memory_core.storage.atomic import (
    make_private_dir,
    open_private,
    sync_dir,
    translate_os_errors,
    write_atomic,
)

from . import flock
from .transcript import (
    SUFFIX,
    Event,
    Line,
    decode,
    encode,
    file_names,
    is_regular,
    read_lines,
    session_of,
)

OPEN_FILES: Final = 64
"""Descriptors of recent transcripts kept open."""
DAMAGED: Final = "damaged"
"""Folder below ``sessions/`` for what a crash tore off."""


@dataclass(frozen=True, slots=True)
class Written:
    """One line as it stands on the disk."""

    name: str
    inode: int
    offset: int
    end: int
    event: Event
    session_id: str


@dataclass(slots=True)
class _Handle:
    session_id: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    path: Path = field(default_factory=Path)
    name: str = ""
    descriptor: int = -1
    inode: int = 0
    end: int = -1

    def close(self) -> None:
        if self.descriptor >= 0:
            with suppress(OSError):
                os.close(self.descriptor)
        self.descriptor, self.end = -1, -1


class Transcripts:
    """All transcripts of one profile, for writing. Usable from any thread.

    Args:
        folder: ``sessions/`` of the profile; made on first write.
        on_damage: Told (file name, number of bytes) when a torn last line was set aside.
    """

    def __init__(self, folder: Path, on_damage: Callable[[str, int], None]) -> None:
        self.folder = folder
        self._on_damage = on_damage
        self._handles: OrderedDict[str, _Handle] = OrderedDict()
        self._guard = threading.Lock()

    # ------------------------------------------------------------ finding

    def path(self, session_id: str) -> Path | None:
        """The session's file, or None when it has none."""
        for name in file_names(session_id):
            path = self.folder / name
            if path.exists() and session_of(path) == session_id:
                return path
        return None

    def lines(self, session_id: str, start: int = 0) -> Iterator[Line]:
        """Complete lines of one session's file from ``start`` on; nothing when it has none."""
        path = self.path(session_id)
        if path is None:
            return
        with translate_os_errors(path), path.open("rb") as file:
            yield from read_lines(file, start)

    def end(self, session_id: str) -> int:
        """Byte offset just past the last whole line; 0 when there is no file."""
        path = self.path(session_id)
        if path is None:
            return 0
        with translate_os_errors(path), path.open("rb") as file:
            return _split_tail(file.fileno(), os.fstat(file.fileno()).st_size)[0]

    def total_bytes(self) -> int:
        """Size of all transcripts."""
        try:
            entries = list(os.scandir(self.folder))
        except OSError:  # a figure for people; reading the folder says what is wrong with it
            return 0
        return sum(
            entry.stat(follow_symlinks=False).st_size
            for entry in entries
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
        )

    # ------------------------------------------------------------ writing

    def append(
        self, session_id: str, items: Sequence[Event], opening: Callable[[], Event]
    ) -> list[Written]:
        """Add lines at the end and sync them once.

        Args:
            session_id: Whose file.
            items: Events, in order.
            opening: Gives the session line, asked only when the file is new.

        Returns:
            What stands on the disk now, the session line included when it was written.

        Raises:
            StoreFullError: No room; the file is as it was.
            StoreLockedError: Another process held the file too long; nothing was written.
            StoreError: The system refused otherwise; the file is as it was.
        """
        with self._locked(session_id, create=True) as handle:
            start = handle.end
            fresh = start == 0
            lines = [encode(item) for item in ([opening(), *items] if fresh else items)]
            try:
                self._write(handle, b"".join([raw for raw, _ in lines]))
                if fresh:
                    sync_dir(self.folder)
            except OSError:
                with _translate(handle.path):
                    raise
            written, offset = [], start
            name, inode = handle.name, handle.inode
            for raw, item in lines:
                end = offset + len(raw)
                written.append(Written(name, inode, offset, end, item, session_id))
                offset = end
            return written

    def rewrite(self, session_id: str, change: Callable[[Line, bytes], bytes]) -> str | None:
        """Replace the file as a whole by what ``change`` makes of each line; its name, None without one.

        A line that cannot be read is given to ``change`` too, with no event.
        """
        with self._locked(session_id, create=False) as handle:
            if handle.descriptor < 0:
                return None
            with _translate(handle.path):
                old = handle.path.read_bytes()
                new = [
                    change(line, old[line.offset : line.end]) for line in read_lines(BytesIO(old))
                ]
                write_atomic(handle.path, b"".join(new))
            handle.close()
            return handle.path.name

    def remove(self, session_id: str, save: Callable[[Path, bytes], None] | None = None) -> bool:
        """Delete the file, after ``save`` has taken its bytes; False when there is none."""
        with self._locked(session_id, create=False) as handle:
            if handle.descriptor < 0:
                return False
            with _translate(handle.path):
                if save is not None:
                    save(handle.path, handle.path.read_bytes())
                handle.path.unlink()
                sync_dir(self.folder)
            handle.close()
            return True

    def mend_tail(self, session_id: str) -> None:
        """Set a torn last line aside now, unless another process is writing the file."""
        path = self.path(session_id)
        if path is None:
            return
        try:
            descriptor = open_private(path, os.O_RDWR)
        except OSError:  # not ours to write: whoever reads or writes it says so
            return
        try:
            if flock.try_lock(descriptor):
                self._settle(path, descriptor)
                flock.unlock(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close every descriptor; later writes open them again."""
        with self._guard:
            handles, self._handles = list(self._handles.values()), OrderedDict()
        for handle in handles:
            with handle.lock:
                handle.close()

    def after_fork(self) -> None:
        """In a child: forget the parent's descriptors and locks without unlocking anything of the parent."""
        for handle in self._handles.values():
            handle.close()
        self._handles = OrderedDict()
        self._guard = threading.Lock()

    # ------------------------------------------------------------ inside

    @contextmanager
    def _locked(self, session_id: str, *, create: bool) -> Iterator[_Handle]:
        handle = self._take(session_id)
        with handle.lock:
            try:
                self._attach(handle, create=create)
                yield handle
            finally:
                if handle.descriptor >= 0:
                    flock.unlock(handle.descriptor)
        self._trim()

    def _take(self, session_id: str) -> _Handle:
        with self._guard:
            handle = self._handles.get(session_id)
            if handle is None:
                handle = self._handles[session_id] = _Handle(session_id)
            else:
                self._handles.move_to_end(session_id)
            return handle

    def _trim(self) -> None:
        with self._guard:
            while len(self._handles) > OPEN_FILES:
                _, handle = self._handles.popitem(last=False)
                if handle.lock.acquire(blocking=False):
                    handle.close()
                    handle.lock.release()
                else:  # in use: it goes when it is next the oldest
                    self._handles[handle.session_id] = handle
                    return

    def _attach(self, handle: _Handle, *, create: bool) -> None:
        """Leave with the lock held on the file that stands under the name now, its tail whole.

        A forget replaces the file and a delete takes it away, so the inode is looked at after locking.
        """
        for _ in range(100):
            if handle.descriptor < 0:
                self._open(handle, create=create)
                if handle.descriptor < 0:
                    return
            flock.lock(handle.descriptor, handle.path)
            try:
                status = os.stat(handle.path)  # noqa: PTH116 - a third of what Path.stat takes
            except FileNotFoundError:
                status = None
            if status is not None and status.st_ino == handle.inode:
                if status.st_size != handle.end:
                    with _translate(handle.path):
                        handle.end = self._settle(handle.path, handle.descriptor)
                return
            handle.close()
        raise StoreError(f"The transcript of `{handle.session_id}` is being replaced all the time.")

    def _open(self, handle: _Handle, *, create: bool) -> None:
        names = file_names(handle.session_id)
        for name in names:
            path = self.folder / name
            owner = session_of(path) if path.exists() else handle.session_id if create else None
            empty = path.exists() and path.stat().st_size == 0
            if owner is None and not empty and is_regular(path):
                _refuse_unreadable(path)  # it may be this session's: never begun anew beside it
            if owner == handle.session_id or (create and (empty or name == names[-1])):
                make_private_dir(self.folder)
                with _translate(path):
                    flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
                    handle.descriptor = open_private(path, flags)
                handle.path, handle.name = path, name
                handle.inode = os.fstat(handle.descriptor).st_ino
                handle.end = -1
                return

    def _write(self, handle: _Handle, data: bytes) -> None:
        start = handle.end
        try:
            done = os.write(handle.descriptor, data)
            while done < len(data):
                done += os.write(handle.descriptor, memoryview(data)[done:])
            flock.sync(handle.descriptor)
        except BaseException:
            with suppress(
                OSError
            ):  # what stays behind is a torn tail, and the next writer mends that
                os.ftruncate(handle.descriptor, start)
            handle.end = -1
            raise
        handle.end = start + len(data)

    def _settle(self, path: Path, descriptor: int) -> int:
        """Make the file end with a whole line; its size. The lock is held."""
        size = os.fstat(descriptor).st_size
        whole, tail = _split_tail(descriptor, size)
        if not tail:
            return size
        if decode(tail) is not None:  # only the newline is missing
            os.lseek(descriptor, 0, os.SEEK_END)
            os.write(descriptor, b"\n")
            flock.sync(descriptor)
            return size + 1
        write_atomic(self.folder / DAMAGED / f"{path.name}.{whole}", tail)
        os.ftruncate(descriptor, whole)
        flock.sync(descriptor)
        self._on_damage(path.name, len(tail))
        return whole


def _split_tail(descriptor: int, size: int) -> tuple[int, bytes]:
    """Where the last whole line ends, and the bytes behind it."""
    position, tail = size, b""
    while position > 0:
        step = min(1 << 16, position)
        position -= step
        chunk = os.pread(descriptor, step, position)
        cut = chunk.rfind(b"\n")
        if cut >= 0:
            return position + cut + 1, chunk[cut + 1 :] + tail
        tail = chunk + tail
    return 0, tail


def _refuse_unreadable(path: Path) -> None:
    """Raise StoreUnreadableError for a file that is there and cannot be opened."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise StoreUnreadableError(
            f"`{path}` is there but cannot be read ({error.strerror or error}); nothing was written.",
            hint=f"check the permissions of `{path}`",
            details={"path": str(path), "errno": error.errno},
        ) from error


@contextmanager
def _translate(path: Path) -> Iterator[None]:
    """As ``translate_os_errors``; a file size limit is a full disk too."""
    try:
        with translate_os_errors(path):
            yield
    except StoreError as error:
        if error.details.get("errno") == errno.EFBIG:
            raise StoreFullError(
                f"`{path.name}` may not grow any further; what was saved before is unchanged.",
                hint="free some space or raise the file size limit, then run the command again",
                details={"path": str(path)},
            ) from error
        raise
