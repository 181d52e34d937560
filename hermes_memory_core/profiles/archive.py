"""Carrying a profile elsewhere: a .tar.gz of what is worth keeping, and reading one nobody has to trust.

Both ways one allow-list decides: settings, notes, transcripts, skills. Never secrets, logs, databases (history.db is
made again from the transcripts) or anything executable of another program.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Self

from hermes_memory_core.config.load import is_secret_key
from hermes_memory_core.config.yamlfile import FILE_NAME as CONFIG_FILE
from hermes_memory_core.config.yamlfile import parse_mapping, read_config
from hermes_memory_core.errors import ConfigError, ProfileError
from hermes_memory_core.profiles.manage import existing, new_name, staged
from hermes_memory_core.profiles.resolve import Profile, profile_at
from hermes_memory_core.storage.atomic import (
    TEMP_SUFFIX,
    make_private_dir,
    open_private,
    refuse_symlink,
    sync_dir,
    translate_os_errors,
)

MAX_MEMBERS = 200_000
MAX_TOTAL_BYTES = 4 * 1024**3
"""Unpacked size an archive may claim; reading stops at the first file beyond it."""
_CHUNK = 1024 * 1024
_MAX_HEADER_BYTES = 64 * 1024
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


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import brought."""

    profile: Profile
    files: int
    size_bytes: int
    skipped: tuple[str, ...] = ()
    """Members of the archive that are not on the allow-list; the first 100."""
    warnings: tuple[str, ...] = field(default=())


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
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}{TEMP_SUFFIX}")
    with translate_os_errors(target):
        try:
            descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(descriptor, "wb") as out:
                files, size, left_out = _pack(profile, out)
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_dir(target.parent)
    return ExportReport(target, files, size, left_out)


def import_profile(
    root: Path,
    archive: Path,
    name: str | None = None,
    *,
    max_bytes: int = MAX_TOTAL_BYTES,
    max_members: int = MAX_MEMBERS,
) -> ImportReport:
    """Make a new profile from an archive; it appears whole or not at all.

    Args:
        root: The root home.
        archive: A .tar.gz by ``export_profile`` or by Hermes Agent.
        name: The new profile's name; None for the archive's root directory.
        max_bytes: Unpacked size allowed.
        max_members: Members allowed.

    Raises:
        ProfileError: No such archive, damaged, too large, with links or paths that lead outside, with more than
            one root directory, or the name is reserved or taken. Nothing was imported.
    """
    chosen = new_name(_root_name(archive) if name is None else name)
    profile = profile_at(root, chosen)
    count = _Counter(max_bytes, max_members)
    with staged(root, profile) as directory:
        for member, source in _members(archive, count):
            parts = PurePosixPath(member.name).parts[1:]
            if not parts or member.isdir() or parts == (_MANIFEST,):
                continue
            if _allowed(parts):
                _unpack(source, directory.joinpath(*parts), member.name)
                count.files += 1
                count.kept += member.size
            elif len(count.skipped) < 100:
                count.skipped.append("/".join(parts))
        if not count.files:
            raise _refused(archive, "holds nothing a profile is made of")
        warnings = _config_warnings(directory / CONFIG_FILE)
    return ImportReport(profile, count.files, count.kept, tuple(count.skipped), warnings)


# ---------------------------------------------------------------- packing

_MANIFEST = "profile.json"


def _pack(profile: Profile, out: BinaryIO) -> tuple[int, int, tuple[str, ...]]:
    left_out = _left_out(profile.path)
    files = size = 0
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, f"{profile.name}/{_MANIFEST}", _manifest(profile))
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
                if not found.is_symlink() and _allowed(parts):
                    yield found, parts


def _allowed(parts: tuple[str, ...]) -> bool:
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


# ---------------------------------------------------------------- unpacking

_EXTENDED = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)


class _BoundedInfo(tarfile.TarInfo):
    """Refuses headers so long that reading them would fill the memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.type in _EXTENDED and info.size > _MAX_HEADER_BYTES:
            raise tarfile.ReadError("a header is too long")
        return info


@dataclass(slots=True)
class _Counter:
    max_bytes: int
    max_members: int
    members: int = 0
    bytes: int = 0
    files: int = 0
    kept: int = 0
    skipped: list[str] = field(default_factory=list)


def _members(archive: Path, count: _Counter) -> Iterator[tuple[tarfile.TarInfo, BinaryIO | None]]:
    """Each member after it was found harmless, with its data; reading stops at the first that is not."""
    seen: set[str] = set()
    tops: set[str] = set()
    try:
        with tarfile.open(archive, "r|gz", tarinfo=_BoundedInfo) as tar:
            for member in tar:
                count.members += 1
                count.bytes += member.size
                if count.members > count.max_members or count.bytes > count.max_bytes:
                    raise _refused(
                        archive,
                        f"unpacks to more than {count.max_members:,} files or {count.max_bytes:,} bytes",
                    )
                _require_harmless(archive, member, seen)
                tops.add(PurePosixPath(member.name).parts[0])
                if len(tops) > 1:
                    raise _refused(archive, "has more than one root directory")
                yield member, tar.extractfile(member) if member.isreg() else None  # type: ignore[misc]
    except FileNotFoundError as error:
        raise ProfileError(f"There is no `{archive}`; nothing was imported.") from error
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise _refused(archive, f"is damaged or no .tar.gz ({error})") from error


def _require_harmless(archive: Path, member: tarfile.TarInfo, seen: set[str]) -> None:
    name = member.name
    path = PurePosixPath(name)
    if not (member.isreg() or member.isdir()):
        raise _refused(archive, f"holds a link or a device, {name!r}")
    if (
        not path.parts
        or path.is_absolute()
        or ".." in path.parts
        or any(mark in name for mark in ("\\", "\0", ":"))
    ):
        raise _refused(archive, f"holds a path that leads outside, {name!r}")
    key = str(path).casefold()
    if not member.isdir() and key in seen:
        raise _refused(archive, f"holds {name!r} twice")
    seen.add(key)


def _root_name(archive: Path) -> str:
    for member, _ in _members(archive, _Counter(MAX_TOTAL_BYTES, MAX_MEMBERS)):
        return PurePosixPath(member.name).parts[0]
    raise _refused(archive, "is empty")


def _unpack(source: BinaryIO | None, target: Path, name: str) -> None:
    if source is None:
        raise ProfileError(f"{name!r} in the archive has no content; nothing was imported.")
    make_private_dir(target.parent)
    with (
        translate_os_errors(target),
        os.fdopen(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as new,
    ):
        while chunk := source.read(_CHUNK):
            new.write(chunk)
        new.flush()
        os.fsync(new.fileno())


def _config_warnings(path: Path) -> tuple[str, ...]:
    from hermes_memory_core.config.load import load_settings

    try:
        return tuple(notice.message for notice in load_settings(path.parent, environ={}).warnings)
    except ConfigError as error:  # notes and transcripts are worth having anyway
        return (error.message,)


def _refused(archive: Path, why: str) -> ProfileError:
    return ProfileError(
        f"`{archive}` {why}; nothing was imported.",
        hint="`hermes profile export NAME` makes an archive that can be imported",
        details={"path": str(archive)},
    )
