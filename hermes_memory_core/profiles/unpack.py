"""Reading a profile's archive nobody has to trust: bounded, no links, no way outside, whole or not at all.

Only what ``pack.allowed`` names is taken, whoever made the archive.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Self

from hermes_memory_core.config.yamlfile import FILE_NAME as CONFIG_FILE
from hermes_memory_core.errors import ConfigError, ProfileError
from hermes_memory_core.profiles.manage import new_name, staged
from hermes_memory_core.profiles.pack import MANIFEST, allowed
from hermes_memory_core.profiles.resolve import Profile, profile_at
from hermes_memory_core.storage.atomic import make_private_dir, open_private, translate_os_errors

MAX_MEMBERS = 200_000
MAX_TOTAL_BYTES = 4 * 1024**3
"""Unpacked size an archive may claim; reading stops at the first file beyond it."""
_CHUNK = 1024 * 1024
_MAX_HEADER_BYTES = 64 * 1024
_MAX_PADDING_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import brought."""

    profile: Profile
    files: int
    size_bytes: int
    skipped: tuple[str, ...] = ()
    """Members of the archive that are not on the allow-list; the first 100."""
    warnings: tuple[str, ...] = field(default=())


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
            if not parts or member.isdir() or parts == (MANIFEST,):
                continue
            if source is not None and allowed(parts):
                if _write(_chunks(archive, source), directory.joinpath(*parts)) != member.size:
                    raise _refused(archive, f"is damaged: {member.name!r} is cut short")
                count.files += 1
                count.kept += member.size
            elif len(count.skipped) < 100:
                count.skipped.append("/".join(parts))
        if not count.files:
            raise _refused(archive, "holds nothing a profile is made of")
        warnings = _config_warnings(directory / CONFIG_FILE)
    return ImportReport(profile, count.files, count.kept, tuple(count.skipped), warnings)


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


def _members(archive: Path, count: _Counter) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Each member after it was found harmless, with its data; reading stops at the first that is not."""
    seen: set[str] = set()
    tops: set[str] = set()
    # gzip by its own module: tarfile's neither sees a cut file nor checks the sum
    with (
        _damage_told(archive),
        gzip.open(archive, "rb") as plain,
        tarfile.open(fileobj=plain, mode="r|", tarinfo=_BoundedInfo) as tar,
    ):
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
            yield member, tar.extractfile(member) if member.isreg() else None
        if len(plain.read(_MAX_PADDING_BYTES)) == _MAX_PADDING_BYTES:
            raise _refused(archive, "goes on behind its end")


@contextmanager
def _damage_told(archive: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ProfileError(f"There is no `{archive}`; nothing was imported.") from error
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise _refused(archive, f"is damaged or no .tar.gz ({error})") from error


def _chunks(archive: Path, source: IO[bytes]) -> Iterator[bytes]:
    while True:
        with _damage_told(archive):
            chunk = source.read(_CHUNK)
        if not chunk:
            return
        yield chunk


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


def _write(chunks: Iterator[bytes], target: Path) -> int:
    """Write a new 0600 file; its size."""
    make_private_dir(target.parent)
    with translate_os_errors(target):
        descriptor = open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as new:
        for chunk in chunks:
            with translate_os_errors(target):
                new.write(chunk)
        with translate_os_errors(target):
            new.flush()
            os.fsync(descriptor)
        return new.tell()


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
