"""What ``hermes doctor`` looks for among the files of a profile: links, leftovers, odd names, waiting writes.

Looks only; the mending it offers never takes anything that could be somebody's data.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_core.storage.atomic import TEMP_SUFFIX

if TYPE_CHECKING:
    from hermes_memory_core.cli.doctor import Finding

STALE_AFTER_S = 3_600.0
_OURS = ("memories", "sessions", "pending", "hook_outputs", "config.yaml", ".env")
_OUR_FILES = tuple(
    f"{name}{end}" for name in ("history.db", "runtime.db") for end in ("", "-wal", "-shm")
)
_SCOPE = re.compile(r"[0-9a-f]{16}|anonymous")


def findings(profile: Path, root: Path, fix: str) -> Iterator[Finding]:
    """All findings about the files of one profile.

    Args:
        profile: The profile's directory.
        root: The home it belongs to.
        fix: The command that mends what can be mended.
    """
    from hermes_memory_core.cli.doctor import Finding

    if not profile.is_dir():
        return
    found = False
    for finding in (
        *_links(profile),
        *_leftovers(profile, fix),
        *_names(profile, root),
        *_pending(profile),
    ):
        found = True
        yield finding
    if not found:
        yield Finding("tree", "ok", "no links, leftovers or odd names")


def _links(profile: Path) -> Iterator[Finding]:
    """A link where we write: nothing is written through it, so the layer behind it does not work."""
    from hermes_memory_core.cli.doctor import Finding

    for path in _below(profile):
        if path.is_symlink():
            yield Finding(
                "links",
                "failed",
                f"{path} is a symbolic link; nothing is written through it",
                f"put the real {'directory' if path.is_dir() else 'file'} in its place",
            )


def _leftovers(profile: Path, fix: str) -> Iterator[Finding]:
    """Halves of files that a crash left: whatever they belonged to was never acknowledged."""
    from hermes_memory_core.cli.doctor import Finding

    oldest_alive = time.time() - STALE_AFTER_S
    stale = [
        path
        for path in _below(profile)
        if path.name.endswith(TEMP_SUFFIX)
        and not path.is_symlink()
        and path.lstat().st_mtime < oldest_alive
    ]
    if stale:
        count = f"{len(stale)} temporary file{'s' if len(stale) > 1 else ''}"
        yield Finding(
            "leftovers",
            "warning",
            f"{count} left by a crash: {_shown(stale)}",
            fix,
            lambda: _remove(stale),
        )


def _names(profile: Path, root: Path) -> Iterator[Finding]:
    """Names that none of our writers gives, and that could lead a careless reader elsewhere."""
    from hermes_memory_core.cli.doctor import Finding
    from hermes_memory_core.profiles.resolve import NAME

    odd: list[Path] = []
    for kind in ("user", "chat"):
        odd += [
            path for path in _inside(profile / "memories" / kind) if not _SCOPE.fullmatch(path.name)
        ]
    odd += [
        path
        for path in _inside(root / "profiles")
        if not path.name.startswith(".") and (path.is_symlink() or not NAME.fullmatch(path.name))
    ]
    if odd:
        yield Finding(
            "names",
            "warning",
            f"names that Hermes Memory does not give: {_shown(odd)}; they are not used",
            "look at them, and move them away",
        )


def _pending(profile: Path) -> Iterator[Finding]:
    """Waiting writes that nobody can decide on."""
    from hermes_memory_core.cli.doctor import Finding

    if not (profile / "pending").is_dir():
        return
    from hermes_memory_core.safety.approvals import PendingWrites

    waiting = PendingWrites(profile, time.time)
    for one in waiting.unreadable():
        if not one.foreign:
            yield Finding(
                "pending",
                "warning",
                f"{one.path} is no pending write: {one.reason}",
                f"look at it, then remove it: rm '{one.path}'",
            )


def _below(profile: Path) -> Iterator[Path]:
    """Everything in the places we write to; links are named, not followed."""
    for name in (*_OURS, *_OUR_FILES):
        top = profile / name
        if top.is_symlink() or top.exists():
            yield top
            if top.is_dir() and not top.is_symlink():
                yield from sorted(top.rglob("*"))


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _shown(paths: Sequence[Path]) -> str:
    names = ", ".join(str(path) for path in paths[:3])
    return names + (f" and {len(paths) - 3:,} more" if len(paths) > 3 else "")
