"""Carrying a profile elsewhere: a .tar.gz of what is worth keeping. Reading one is ``unpack.py``.

One allow-list decides both ways: settings, notes, transcripts, skills. Never secrets, logs, databases (history.db is
made again from the transcripts) or another program's code.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hermes_memory_core.config.load import is_secret_key
from hermes_memory_core.config.yamlfile import FILE_NAME as CONFIG_FILE
from hermes_memory_core.config.yamlfile import parse_mapping, read_config
from hermes_memory_core.errors import ConfigError, ProfileError
from hermes_memory_core.profiles.manage import existing
from hermes_memory_core.profiles.resolve import Profile
from hermes_memory_core.storage.atomic import (
    TEMP_SUFFIX,
    make_private_dir,
    open_private,
    refuse_symlink,
    replacing,
)

_CHUNK = 1024 * 1024
_TOP_FILES = frozenset({CONFIG_FILE, "SOUL.md"})
_TREES = frozenset({"memories", "sessions", "skills"})
_NEVER = (".env", ".lock", ".pem", ".key", TEMP_SUFFIX)
_NEVER_NAMES = frozenset({"auth.json", "credentials.json", ".netrc", "__pycache__"})


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export took along."""

    path: Path
    files: int
    size_bytes: int
    """Of the files, unpacked."""
    left_out: tuple[str, ...]
    """Top-level names and settings that stayed behind, with the reason where it is not the allow-list."""


def export_profile(root: Path, name: str, target: Path, *, overwrite: bool = False) -> ExportReport:
    """Write a profile into a .tar.gz with one root directory named like the profile.

    Args:
        root: The root home.
        name: The profile.
        target: The archive; made 0600, and there only when it is complete.
        overwrite: Replace an archive of that name.

    Raises:
        ProfileError: There is no such profile, or the archive exists.
        StoreError: The disk said no.
    """
    profile = existing(root, name)
    refuse_symlink(target)
    if target.exists() and not overwrite:
        raise ProfileError(
            f"`{target}` exists already; it was left as it is.", hint="choose another name"
        )
    make_private_dir(target.parent)
    with replacing(target) as out:
        files, size, left_out = _pack(profile, out)
    return ExportReport(target, files, size, left_out)


# ---------------------------------------------------------------- packing

MANIFEST = "profile.json"


def _pack(profile: Profile, out: BinaryIO) -> tuple[int, int, tuple[str, ...]]:
    left_out = _left_out(profile.path)
    files = size = 0
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, f"{profile.name}/{MANIFEST}", _manifest(profile))
        for path, parts in _exported(profile.path):
            if parts == (CONFIG_FILE,):
                data, removed = _config_without_secrets(path)
                left_out += removed
                if data is not None:
                    _add(tar, f"{profile.name}/{CONFIG_FILE}", data)
                    files, size = files + 1, size + len(data)
                continue
            added = _add_file(tar, path, "/".join((profile.name, *parts)))
            if added is not None:
                files, size = files + 1, size + added
    return files, size, tuple(left_out)


def _manifest(profile: Profile) -> bytes:
    facts = {"format": 1, "profile": profile.name, "created_at": round(time.time(), 3)}
    return (json.dumps(facts) + "\n").encode()


def _exported(base: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Regular files on the allow-list, in order, without following links."""
    for top in sorted(_TOP_FILES | _TREES):
        path = base / top
        if path.is_symlink():
            continue
        if top in _TOP_FILES:
            if path.is_file():
                yield path, (top,)
            continue
        for directory, names, leaves in os.walk(path):
            names.sort()
            for leaf in sorted(leaves):
                found = Path(directory) / leaf
                parts = found.relative_to(base).parts
                if not found.is_symlink() and allowed(parts):
                    yield found, parts


def allowed(parts: tuple[str, ...]) -> bool:
    """Whether a file of a profile, by its path below it, is carried along."""
    if len(parts) == 1:
        return parts[0] in _TOP_FILES
    if parts[0] not in _TREES:
        return False
    if any(part in _NEVER_NAMES or part.startswith(".") for part in parts):
        return False
    if parts[-1].lower().endswith(_NEVER):
        return False
    return parts[0] != "sessions" or parts[-1].endswith(".jsonl")


def _left_out(base: Path) -> list[str]:
    if not base.is_dir():
        return []
    return sorted(child.name for child in base.iterdir() if child.name not in _TOP_FILES | _TREES)


def _config_without_secrets(path: Path) -> tuple[bytes | None, list[str]]:
    """config.yaml without the values of keys that name secrets (Hermes Agent allows them there)."""
    from hermes_memory_core.config.edit import text_without

    file = read_config(path)
    if file is None:
        return None, []
    try:
        text = file.text
        secret = list(_secret_paths(parse_mapping(text, path)))
        for parts in secret:
            text = text_without(text, parts, path)
    except ConfigError:
        return None, [
            f"{CONFIG_FILE} (it cannot be understood, so its secrets cannot be taken out)"
        ]
    return file.encode(text), [f"{CONFIG_FILE}: {'.'.join(parts)} (a secret)" for parts in secret]


def _secret_paths(
    tree: Mapping[Any, Any], prefix: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    for key, value in tree.items():
        path = (*prefix, str(key))
        if isinstance(value, Mapping):
            yield from _secret_paths(value, path)
        elif value and (is_secret_key(str(key)) or _list_with_secret(value)):
            yield path


def _list_with_secret(value: Any) -> bool:
    """Whether a list holds a secret anywhere; it then stays behind as a whole."""
    if isinstance(value, Mapping):
        return any(_secret_paths(value))
    return isinstance(value, list) and any(_list_with_secret(child) for child in value)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    tar.addfile(_info(name, len(data), time.time()), io.BytesIO(data))


def _add_file(tar: tarfile.TarFile, path: Path, name: str) -> int | None:
    """Add a file as long as it was when opened; a transcript only up to its last whole line."""
    try:
        descriptor = open_private(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:  # gone since it was listed
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        size = _whole_lines(file, status.st_size) if path.suffix == ".jsonl" else status.st_size
        file.seek(0)
        tar.addfile(_info(name, size, status.st_mtime), file)
        return size


def _whole_lines(file: BinaryIO, size: int) -> int:
    """The size up to the last newline: another process may be writing a line right now."""
    end = size
    while end > 0:
        start = max(0, end - _CHUNK)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0


def _info(name: str, size: int, mtime: float) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, int(mtime), 0o600
    return info
