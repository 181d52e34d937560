"""Making, choosing, renaming and deleting profiles.

A profile's directory may hold a Hermes Agent's data too: what would go is told beforehand (``profile_contents``), and
nothing is touched while its gateway runs. A deletion goes to the trash unless asked to be final.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.config.secrets import FILE_NAME as SECRETS_FILE
from hermes_memory_core.config.yamlfile import FILE_NAME as CONFIG_FILE
from hermes_memory_core.errors import ProfileError
from hermes_memory_core.profiles.resolve import (
    ACTIVE_FILE,
    DEFAULT,
    PROFILES_DIR,
    Profile,
    active_profile,
    checked_name,
    missing_profile,
    profile_at,
)
from hermes_memory_core.storage.atomic import (
    make_private_dir,
    open_private,
    refuse_symlink,
    sync_dir,
    translate_os_errors,
    write_atomic,
)
from hermes_memory_core.storage.locks import file_lock

TRASH_DIR = ".trash"
_SYSTEM_NAMES = ("hermes", "default", "test", "tmp", "root", "sudo")
_COMMAND_NAMES = (
    *("memory", "sessions", "session", "profile", "profiles", "config", "plugins", "plugin"),
    *("skills", "skill", "mcp", "demo", "doctor", "status", "search", "help", "version"),
)
RESERVED = frozenset((*_SYSTEM_NAMES, *_COMMAND_NAMES))
"""Names that are commands or mean something to a system; no new profile gets one."""
OURS = frozenset(
    (
        *(CONFIG_FILE, SECRETS_FILE, "memories", "sessions", "history.db", "runtime.db"),
        *("pending", "skills", "hook_outputs", "logs", "plugins", "providers", "backups"),
    )
)
"""What Hermes Memory keeps in a profile (design.md section 7); all else belongs to another program."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a profile's directory holds, for a person to see before it goes."""

    profile: Profile
    files: int
    size_bytes: int
    ours: tuple[str, ...]
    """Names in the directory that Hermes Memory owns."""
    foreign: tuple[str, ...]
    """Names another program put there, e.g. a Hermes Agent's ``state.db``."""
    running_pid: int | None
    """Process id of a Hermes Agent gateway that uses it right now."""


def create_profile(
    root: Path,
    name: str,
    *,
    clone_from: str | None = None,
    with_memories: bool = False,
    with_secrets: bool = False,
) -> Profile:
    """Make a profile; it appears whole or not at all.

    Args:
        root: The root home.
        name: Its name.
        clone_from: A profile whose config.yaml, SOUL.md and skills are copied.
        with_memories: Copy its notes too.
        with_secrets: Copy its ``.env`` too.

    Raises:
        ProfileError: The name is reserved or taken, or there is nothing to clone.
    """
    profile = profile_at(root, new_name(name))
    source = existing(root, clone_from) if clone_from is not None else None
    with staged(root, profile) as directory:
        if source is not None:
            parts = [CONFIG_FILE, "SOUL.md", "skills"]
            parts += ["memories"] if with_memories else []
            parts += [SECRETS_FILE] if with_secrets else []
            for part in parts:
                _copy(source.path / part, directory / part)
    return profile


def use_profile(root: Path, name: str) -> Profile:
    """Make a profile the active one of this home.

    Raises:
        ProfileError: There is no such profile; the active one stays.
    """
    profile = existing(root, name)
    write_atomic(root / ACTIVE_FILE, f"{profile.name}\n".encode())
    return profile


def rename_profile(root: Path, old: str, new: str) -> Profile:
    """Give a profile another name; the active one stays active.

    Raises:
        ProfileError: It is the default one, in use, or the new name is reserved or taken.
    """
    with profiles_lock(root):
        profile = _changeable(root, old, "renamed")
        target = profile_at(root, new_name(new))
        _refuse_taken(target)
        was_active = _is_active(root, profile.name)
        with translate_os_errors(profile.path):
            profile.path.rename(target.path)
            sync_dir(target.path.parent)
        if was_active:
            use_profile(root, target.name)
    return target


def profile_contents(root: Path, name: str) -> Contents:
    """What deleting or renaming a profile would touch. Changes nothing."""
    profile = existing(root, name)
    files, size = 0, 0
    for directory, names, leaves in os.walk(profile.path):
        if profile.is_default and Path(directory) == profile.path and PROFILES_DIR in names:
            names.remove(PROFILES_DIR)
        for leaf in leaves:
            with suppress(FileNotFoundError):  # another program may tidy up meanwhile
                size += (Path(directory) / leaf).lstat().st_size
                files += 1
    top = sorted(child.name for child in profile.path.iterdir()) if profile.path.is_dir() else []
    ours = tuple(entry for entry in top if _is_ours(entry))
    return Contents(
        profile,
        files,
        size,
        ours,
        tuple(entry for entry in top if entry not in ours),
        running_gateway(profile.path),
    )


def delete_profile(root: Path, name: str, *, final: bool = False) -> Path | None:
    """Delete a profile with all it holds; see ``profile_contents`` first.

    Args:
        root: The root home.
        name: Any but the default one.
        final: Remove it for good instead of moving it to ``profiles/.trash/``.

    Returns:
        Where in the trash it is now, or None when it is gone. If it was active, ``default`` is active now.

    Raises:
        ProfileError: It is the default one, missing, a link, or a Hermes Agent uses it.
    """
    with profiles_lock(root):
        profile = _changeable(root, name, "deleted")
        was_active = _is_active(root, profile.name)
        trash = make_private_dir(root / PROFILES_DIR / TRASH_DIR)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        grave = trash / f"{profile.name}-{stamp}-{uuid.uuid4().hex[:6]}"
        with translate_os_errors(profile.path):
            profile.path.rename(grave)  # at once: nobody ever sees half a profile
            sync_dir(profile.path.parent)
            if was_active:
                use_profile(root, DEFAULT)
            if final:
                shutil.rmtree(grave)
    return None if final else grave


# ---------------------------------------------------------------- shared with archive.py


def existing(root: Path, name: str) -> Profile:
    """The profile, which is there.

    Raises:
        ProfileError: It is not.
    """
    profile = profile_at(root, checked_name(name))
    if not profile.is_default and not profile.path.is_dir():
        raise missing_profile(root, profile.name)
    return profile


def new_name(name: str) -> str:
    """The name in lower case, fit for a new profile."""
    lowered = checked_name(name)
    if lowered in RESERVED:
        raise ProfileError(
            f"`{lowered}` is reserved; no profile was made.",
            hint="choose another name (`--name NAME` when importing)",
        )
    return lowered


@contextmanager
def profiles_lock(root: Path) -> Iterator[None]:
    """Hold the list of profiles still."""
    make_private_dir(root / PROFILES_DIR)
    with file_lock(root / PROFILES_DIR / ".profiles.lock"):
        yield


@contextmanager
def staged(root: Path, profile: Profile) -> Iterator[Path]:
    """A hidden directory that becomes the profile at the end of the block, or is gone after an error."""
    with profiles_lock(root):
        _refuse_taken(profile)
        directory = profile.path.with_name(f".new-{profile.name}-{uuid.uuid4().hex[:8]}")
        try:
            directory.mkdir(mode=0o700)
            yield directory
            with translate_os_errors(profile.path):
                directory.rename(profile.path)
                sync_dir(profile.path.parent)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise


def running_gateway(path: Path) -> int | None:
    """Process id of the Hermes Agent gateway that uses this directory, when it is alive."""
    try:
        text = (path / "gateway.pid").read_text(encoding="utf-8").strip()
        pid = int(json.loads(text)["pid"] if text.startswith("{") else text)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no such file, or not one of its making
    if pid <= 0:
        return None
    if os.name == "nt":  # signal 0 would end the process there; being careful is cheaper
        return pid
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return pid
    return pid


def _changeable(root: Path, name: str, done: str) -> Profile:
    profile = existing(root, name)
    if profile.is_default:
        raise ProfileError(
            f"The default profile is the home itself and cannot be {done}; nothing was changed.",
            hint="`hermes memory reset` empties its notes",
        )
    refuse_symlink(profile.path)
    pid = running_gateway(profile.path)
    if pid is not None:
        raise ProfileError(
            f"A Hermes Agent gateway (process {pid}) uses the profile `{profile.name}`; nothing was changed.",
            hint="stop it first, then run the command again",
            details={"pid": pid},
        )
    return profile


def _refuse_taken(profile: Profile) -> None:
    if profile.path.exists() or profile.path.is_symlink():
        raise ProfileError(
            f"There is a profile `{profile.name}` already; it was left as it is.",
            hint=f"`hermes -p {profile.name} …` uses it; or choose another name",
            details={"path": str(profile.path)},
        )


def _is_active(root: Path, name: str) -> bool:
    try:
        return active_profile(root) == name
    except ProfileError:  # a broken marker names nobody
        return False


def _is_ours(entry: str) -> bool:
    base = entry.removesuffix(".lock")
    return base in OURS or any(base == f"{db}{end}" for db in OURS for end in ("-wal", "-shm"))


def _copy(source: Path, target: Path) -> None:
    """Copy a file or tree: regular files 0600, directories 0700; links and sockets stay behind."""
    if source.is_symlink() or not source.exists():
        return
    if source.is_dir():
        target.mkdir(mode=0o700)
        for child in sorted(source.iterdir()):
            _copy(child, target / child.name)
        return
    with translate_os_errors(source):
        reader = os.open(
            source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
        with os.fdopen(reader, "rb") as old:
            if not stat.S_ISREG(os.fstat(reader).st_mode) or source.name.endswith(".lock"):
                return
            with os.fdopen(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as new:
                shutil.copyfileobj(old, new)
                new.flush()
                os.fsync(new.fileno())
