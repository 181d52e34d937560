"""Whose notes lie where: settings, scopes, folders, and the files beside the notes. Reads and writes no note.

Profile notes lie in ``memories/``; notes of one user or chat in ``memories/<user|chat>/<sha256[:16]>/``
(design.md section 6). A scope without an id is anonymous: always empty, never written.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.errors import ScopeRequired, StoreError
from hermes_memory_core.storage.atomic import TEMP_SUFFIX, read_bytes, write_atomic
from hermes_memory_core.types import PROFILE_SCOPE, ProviderContext, Scope, SessionInfo, Target
from hermes_memory_files.document import FILE_NAMES, TARGETS, sha_of
from hermes_memory_files.history import ChangeLog

DEFAULT_LIMITS: dict[Target, int] = {"memory": 2_200, "user": 1_375}
FOLDER = "memories"
ANONYMOUS = "anonymous"
BACKUPS_KEPT = 10
STALE_AFTER_S = 3_600.0
"""A temporary file this old belongs to no writer that is still alive."""

_TEMPORARY = re.compile(
    rf"^(?:\.(?:MEMORY|USER)\.md\.[0-9a-f]+{re.escape(TEMP_SUFFIX)}|\.mem_.*\.tmp|(?:MEMORY|USER)\.md\.tmp)$"
)
"""Ours, Hermes Agent's, and what a copying tool may leave."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of ``memory`` that concern notes."""

    limits: Mapping[Target, int]
    enabled: tuple[Target, ...]
    """Targets that are in the prompt and the tool; the store itself serves both."""
    isolation: str

    @classmethod
    def of(cls, context: ProviderContext) -> Settings:
        """From the validated core settings; spec defaults where a key is missing."""
        memory: Mapping[str, object] = context.settings.get("memory") or {}
        limits = {
            target: int(str(memory.get(f"{target}_char_limit", DEFAULT_LIMITS[target])))
            for target in TARGETS
        }
        switches: dict[Target, str] = {"memory": "memory_enabled", "user": "user_profile_enabled"}
        enabled = tuple(target for target in TARGETS if memory.get(switches[target], True))
        return cls(limits, enabled, str(memory.get("isolation", "profile")))

    def scope_of(self, session: SessionInfo) -> Scope:
        """The scope a session may touch: never the profile's when users or chats are kept apart."""
        if self.isolation == "profile":
            return PROFILE_SCOPE
        if session.scope.kind == self.isolation:
            return session.scope
        if self.isolation == "user":
            return Scope("user", session.user_id)
        return Scope("chat", session.chat_id)


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one scope and its history."""

    scope: Scope
    folder: Path
    log: ChangeLog

    @property
    def anonymous(self) -> bool:
        """True for a user or chat scope without an id: nothing is kept there."""
        return self.folder.name == ANONYMOUS

    def file(self, target: Target) -> Path:
        """The notes file of a target."""
        return self.folder / FILE_NAMES[target]

    def lock(self, target: Target) -> Path:
        """The lock file of a target, the same as Hermes Agent's."""
        return self.folder / f"{FILE_NAMES[target]}.lock"

    def notice_key(self, code: str, target: Target) -> str:
        """One key per kind of news, target and scope."""
        suffix = "" if self.scope.kind == "profile" else f":{self.scope.key}"
        return f"{code}:{target}{suffix}"


def place_of(home: Path, scope: Scope | None, isolation: str, logger: logging.Logger) -> Place:
    """The place of a scope; None means the profile.

    Raises:
        ScopeRequired: Users or chats are kept apart and no scope was named.
    """
    if scope is None:
        if isolation != "profile":
            raise ScopeRequired(
                f"Notes are kept per {isolation} in this profile, so a {isolation} must be named; "
                "nothing was read or changed.",
                hint=f"name the {isolation}, or run: hermes config set memory.isolation profile",
            )
        scope = PROFILE_SCOPE
    folder = home / FOLDER
    if scope.kind != "profile":
        folder = folder / scope.kind / (scope.digest if scope.id else ANONYMOUS)
    return Place(scope, folder, ChangeLog(folder, scope, logger))


def known_places(home: Path, logger: logging.Logger) -> Iterator[Place]:
    """Every scope that has a folder, the profile first.

    The id of a user or chat is known only from its own history; without one the scope carries none, and
    its folder still tells it from the others.
    """
    yield place_of(home, PROFILE_SCOPE, "profile", logger)
    for kind in ("user", "chat"):
        base = home / FOLDER / kind
        if not base.is_dir() or base.is_symlink():
            continue
        for folder in sorted(path for path in base.iterdir() if path.is_dir()):
            if folder.name == ANONYMOUS:
                continue
            log = ChangeLog(folder, Scope(kind), logger)
            newest = next(log.changes(include_aborted=True), None)
            scope = newest.write.scope if newest else Scope(kind)
            yield Place(scope, folder, ChangeLog(folder, scope, logger))


def keep_backup(path: Path, raw: bytes, at: float) -> Path:
    """Keep the bytes beside the file, once per content; the oldest beyond ten go.

    Returns:
        The backup, read back and equal to ``raw``.

    Raises:
        StoreError: It could not be written, or does not read back the same. Nothing else was changed.
    """
    digest = sha_of(raw)[:12]
    for known in path.parent.glob(f"{path.name}.bak.*.{digest}"):
        if not known.is_symlink() and read_bytes(known) == raw:
            return known
    backup = path.with_name(f"{path.name}.bak.{int(at)}.{digest}")
    write_atomic(backup, raw)
    if read_bytes(backup) != raw:
        raise StoreError(
            f"The backup `{backup}` does not read back as it was written; nothing was changed.",
            hint=f"check the disk of `{backup.parent}`",
            details={"path": str(backup)},
        )
    for old in backups(path)[BACKUPS_KEPT:]:
        if old != backup:
            with suppress(FileNotFoundError):
                old.unlink()
    return backup


def backups(path: Path) -> list[Path]:
    """The backups made here of one notes file, newest first; Hermes Agent's own are not among them."""
    ours = re.compile(rf"^{re.escape(path.name)}\.bak\.(\d+)\.[0-9a-f]{{12}}$")
    if not path.parent.is_dir():
        return []
    found = [
        (int(match[1]), child.stat().st_mtime_ns, child)
        for child in path.parent.iterdir()
        if (match := ours.match(child.name)) and child.is_file() and not child.is_symlink()
    ]
    return [child for _at, _mtime, child in sorted(found, reverse=True)]


def sweep_temporaries(folder: Path, logger: logging.Logger) -> list[Path]:
    """Remove temporary files that a crash left more than an hour ago; those removed."""
    if not folder.is_dir():
        return []
    oldest_alive = time.time() - STALE_AFTER_S  # compared with the file system's clock, not ours
    swept: list[Path] = []
    for child in folder.iterdir():
        if not _TEMPORARY.match(child.name):
            continue
        try:
            if child.lstat().st_mtime < oldest_alive:
                child.unlink()
                swept.append(child)
        except FileNotFoundError:
            continue  # another process swept it first
        except OSError as error:
            logger.warning("%s could not be removed: %s", child, error)
    return swept
