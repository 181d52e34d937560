"""What a provider does to its process, seen from outside: files written, programs started, settings changed.

Written files come from Python's audit events; the hook cannot be taken out again, so it is put in once, on
first use, and does nothing while nobody watches.
"""

from __future__ import annotations

import locale
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_watchers: list[set[str]] = []
_lock = threading.Lock()
_installed = False


@contextmanager
def files_written() -> Iterator[set[str]]:
    """Absolute paths that this process opens for writing, creates, renames or removes inside the block."""
    global _installed
    seen: set[str] = set()
    with _lock:
        if not _installed:
            sys.addaudithook(_audit)
            _installed = True
        _watchers.append(seen)
    try:
        yield seen
    finally:
        with _lock:
            # by identity: two empty sets are equal
            _watchers[:] = [one for one in _watchers if one is not seen]


def outside(paths: set[str], allowed: Path) -> list[str]:
    """Those that lie neither below ``allowed`` nor where every program may write (devices, caches, temp files)."""
    root = os.path.realpath(allowed)
    temp = os.path.realpath(tempfile.gettempdir())
    wrong = []
    for path in sorted(paths):
        real = os.path.realpath(path)
        # making the directories above one's own is fine
        if (
            _below(real, root)
            or _below(root, real)
            or real.startswith(("/dev/", "/proc/"))
            or "__pycache__" in real
        ):
            continue
        direct_temp = _below(real, temp) and not _below(root, temp)
        own_temp = Path(real).parent == Path(temp)
        if direct_temp or own_temp:
            continue
        wrong.append(path)
    return wrong


def process_state() -> Mapping[str, Any]:
    """Settings of the whole process that a provider has no business with."""
    root = logging.getLogger()
    return {
        "working directory": str(Path.cwd()),
        "signal handlers": tuple(_handlers()),
        "logging root": (
            root.level,
            tuple(map(id, root.handlers)),
            root.disabled,
            logging.root.manager.disable,
        ),
        "sys.path": tuple(sys.path),
        "warning filters": tuple(map(repr, warnings.filters)),
        "locale": locale.setlocale(locale.LC_ALL),
        "umask": _umask(),
        "standard streams": (id(sys.stdin), id(sys.stdout), id(sys.stderr)),
        "default socket timeout": socket.getdefaulttimeout(),
        "recursion limit": sys.getrecursionlimit(),
        "excepthook": (id(sys.excepthook), id(threading.excepthook)),
        "environment": dict(os.environ),
    }


class EnvironmentWatch:
    """Stands in for ``os.environ`` and writes down which names are read."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self._real = os.environ

    def __enter__(self) -> Self:
        os.environ = cast("Any", _Spy(self._real, self.read))  # noqa: B003 - the whole mapping is watched
        return self

    def __exit__(self, *_: object) -> None:
        os.environ = self._real  # noqa: B003


class _Spy(MutableMapping[str, str]):
    def __init__(self, real: MutableMapping[str, str], read: set[str]) -> None:
        self._real = real
        self._read = read

    def __getitem__(self, key: str) -> str:
        self._read.add(key)
        return self._real[key]

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return key in self._real

    def __setitem__(self, key: str, value: str) -> None:
        self._real[key] = value

    def __delitem__(self, key: str) -> None:
        del self._real[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def copy(self) -> dict[str, str]:
        """As ``os.environ.copy``: handing the environment to a child reads no single name."""
        return dict(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watchers:
        return
    if event == "open":
        path, _, flags = (*arguments, 0, 0)[:3]
        found = [path] if isinstance(flags, int) and flags & _WRITES else []
    elif event == "sqlite3.connect":
        found = [_database(arguments[0])]
    elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate"):
        found = [arguments[0]]
    elif event in ("os.rename", "os.link", "os.symlink"):
        found = list(arguments[:2])
    else:
        return
    for path in found:
        if isinstance(path, str | bytes | os.PathLike):
            name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - must not resolve links here
            for seen in (*_watchers,):
                seen.add(name)


def _database(name: Any) -> Any:
    """A file's path from what sqlite3 was given; None for one in memory."""
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
    if text.startswith("file:"):
        text = text[5:].partition("?")[0]
    return None if text in ("", ":memory:") else text


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + os.sep)


def _handlers() -> Iterator[Any]:
    for number in signal.valid_signals():
        try:
            yield signal.getsignal(number)
        except ValueError:  # not in the main interpreter
            yield None


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
