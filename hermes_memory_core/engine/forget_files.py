"""Forgetting in files that the core itself keeps: spills, drafts, logs, temporary files; and what else holds a text.

Knows which file is whose, so that what cannot be removed comes with a reason and a way out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from hermes_memory_core.engine.bytecheck import Left, files_below
from hermes_memory_core.engine.spill import Spill, safe_name
from hermes_memory_core.storage.atomic import TEMP_SUFFIX, open_private, translate_os_errors
from hermes_memory_core.types import ForgetReceipt, Scope

STALE_AFTER_S = 3_600.0
"""A temporary file this old belongs to no writer that is still alive."""
BLANK = b"[forgotten]"
_PREVIEWS = 5
_PACKED = (".gz", ".xz", ".bz2", ".zst", ".zip")


class Files:
    """Files of one profile that hold a text.

    Args:
        home: The profile's directory.
        spill: Its spills.
        holds: Does a text hold what is to be forgotten?
    """

    def __init__(self, home: Path, spill: Spill, holds: Callable[[str], bool]) -> None:
        self._home = home
        self._spill = spill
        self._holds = holds

    # ------------------------------------------------------------ places

    def spills(self, sessions: Collection[str] | None, *, dry_run: bool) -> ForgetReceipt:
        """Recall that went into files; ``sessions`` None means of all sessions."""
        names = None if sessions is None else {safe_name(one) for one in sessions}
        paths = [path for path in self._spill.files() if names is None or path.parent.name in names]
        return self._unlinked("spills", paths, dry_run)

    def drafts(self, scope: Scope | None, *, dry_run: bool) -> ForgetReceipt:
        """What a person typed in an editor and could not save."""
        folder = self._notes_of(scope)
        pattern = "**/edit-*.draft.md" if scope is None else "edit-*.draft.md"
        return self._unlinked("drafts", folder.glob(pattern) if folder.is_dir() else (), dry_run)

    def temporaries(self, *, dry_run: bool) -> ForgetReceipt:
        """Halves of files that a crash left behind."""
        oldest_alive = time.time() - STALE_AFTER_S
        paths = [
            path
            for path in files_below(self._home, self._elsewhere)
            if path.name.endswith(TEMP_SUFFIX) and path.stat().st_mtime < oldest_alive
        ]
        return self._unlinked("temporary files", paths, dry_run)

    def logs(self, *, dry_run: bool) -> list[ForgetReceipt]:
        """Lines of log files are overwritten where they stand: a program may be writing to the same file."""
        matched = removed = 0
        packed = []
        for path in files_below(self._home / "logs"):
            if path.suffix in _PACKED:
                packed.append(path.name)
                continue
            found = self._blank_lines(path, dry_run=dry_run)
            matched += found
            removed += 0 if dry_run else found
        reason = f"packed, not looked into: {', '.join(packed[:_PREVIEWS])}" if packed else ""
        return [ForgetReceipt("logs", matched, removed, (), reason)]

    # ------------------------------------------------------------ what is left

    def to_check(self, scope: Scope | None, sessions: Collection[str] | None) -> Iterator[Path]:
        """Files to search for bytes: the whole profile, or only what belongs to one scope."""
        if scope is None:
            yield from files_below(self._home, self._elsewhere)
            if self._home not in self._spill.directory.parents:
                yield from self._spill.files()
            return
        yield from files_below(self._notes_of(scope))
        names = {safe_name(one) for one in sessions or ()}
        yield from (path for path in self._spill.files() if path.parent.name in names)

    def leftover(self, left: Left) -> ForgetReceipt:
        """A file that still holds the text, and why it does."""
        try:
            name = left.path.relative_to(self._home).as_posix()
        except ValueError:
            name = str(left.path)
        if left.count < 0:
            return ForgetReceipt(
                f"file {name}", 0, reason=f"cannot be read ({left.problem}), so it was not checked"
            )
        reason = "its name holds the text" if left.count == 0 else _why(name)
        return ForgetReceipt(f"file {name}", max(1, left.count), 0, (), reason)

    # ------------------------------------------------------------ inside

    def _notes_of(self, scope: Scope | None) -> Path:
        folder = self._home / "memories"
        return folder if scope is None else folder.joinpath(*scope.key.split("/"))

    def _elsewhere(self, path: Path) -> bool:
        """Other profiles lie in a directory of the default one and are not its business."""
        return path == self._home / "profiles"

    def _unlinked(self, place: str, paths: Iterable[Path], dry_run: bool) -> ForgetReceipt:
        hits = [path for path in paths if not path.is_symlink() and self._in_file(path)]
        stuck = []
        for path in () if dry_run else hits:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                stuck.append(f"{path.name}: {error.strerror or error}")
        return ForgetReceipt(
            place,
            len(hits),
            0 if dry_run else len(hits) - len(stuck),
            tuple(path.name for path in hits[:_PREVIEWS]),
            "; ".join(stuck),
        )

    def _in_file(self, path: Path) -> bool:
        return self._holds(path.read_bytes().decode("utf-8", "replace"))

    def _blank_lines(self, path: Path, *, dry_run: bool) -> int:
        if not self._in_file(path):
            return 0
        found = offset = 0
        with translate_os_errors(path):
            descriptor = open_private(path, os.O_RDONLY if dry_run else os.O_RDWR)
            with os.fdopen(descriptor, "rb" if dry_run else "r+b") as file:
                for line in file.read().splitlines(keepends=True):
                    text = line.rstrip(b"\r\n")
                    if self._holds(text.decode("utf-8", "replace")):
                        found += 1
                        if not dry_run:
                            file.seek(offset)
                            file.write((BLANK + b" " * len(text))[: len(text)])
                    offset += len(line)
                file.flush()
                os.fsync(file.fileno())
        return found


def _why(name: str) -> str:
    """Why a file below the profile still holds the text, by what the file is."""
    top, _, rest = name.partition("/")
    if name in ("config.yaml", ".env"):
        return "it is a setting: hermes config edit"
    if top.startswith("state.db"):
        return "it belongs to Hermes Agent, whose files are never written"
    if top.startswith(("history.db.", "runtime.db.")):
        return "a database set aside as damaged; delete it when nothing in it is needed any more"
    if top.startswith(("history.db", "runtime.db")):
        return "in its free pages or log, and another program has it open: close that and run forget again"
    if top == "backups":
        return (
            "a backup you made; a backup is never changed, delete it when it is not needed any more"
        )
    if top == "providers" and rest:
        return f"kept by the provider `{rest.partition('/')[0]}`"
    if top in ("memories", "sessions", "pending", "hook_outputs", "skills"):
        return "not taken out, because its layer was not chosen, it was written meanwhile, or it is no file of ours"
    return "it is no file of Hermes Memory; remove it by hand"
