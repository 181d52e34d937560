"""``memories/history.jsonl``: every change of the notes, one line each. Writes no notes file.

A line is on the disk before the notes file is replaced. Besides the ``NoteWrite`` it keeps the ids of all
entries after the change and where the changed ones stood, which is what finding external edits and undoing
need. Reading goes from the end, so the newest changes of a long history cost nothing more.
A line that cannot be parsed is skipped, counted and logged once; the others still count.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import StoreUnreadableError
from hermes_memory_core.storage.atomic import (
    append_synced,
    make_private_dir,
    open_private,
    refuse_symlink,
    sync_dir,
    translate_os_errors,
    write_atomic,
)
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import NoteOperation, NoteWrite, Origin, Scope, Target

FILE_NAME = "history.jsonl"
VERSION = 1
_BLOCK = 65_536

Hunk = tuple[int, int, int, int]
"""Index and number of entries before, index and number after."""


@dataclass(frozen=True, slots=True)
class Change:
    """One line: the write, the ids of all entries after it, and where it changed them."""

    write: NoteWrite
    ids: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    forgotten: bool = False
    """True when ``forget`` took text out of this line: it cannot be undone any more."""


def diff(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Hunk, ...]]:
    """Entries taken away or altered, entries in their place, and where both stand."""
    gone: list[str] = []
    come: list[str] = []
    hunks: list[Hunk] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            gone.extend(before[i:i_end])
            come.extend(after[j:j_end])
            hunks.append((i, i_end - i, j, j_end - j))
    return tuple(gone), tuple(come), tuple(hunks)


class ChangeLog:
    """The history of one scope's notes."""

    def __init__(self, folder: Path, scope: Scope, logger: logging.Logger) -> None:
        self.path = folder / FILE_NAME
        self.bad_lines = 0
        """Unreadable lines met by the last full look at the end of the file."""
        self._scope = scope
        self._logger = logger
        self._complained = False

    # -- writing -------------------------------------------------------------
    def append(self, change: Change) -> None:
        """Add one change and sync it."""
        self._append(_to_json(change))

    def mark_aborted(self, change_id: str, at: float) -> None:
        """Say that a change was announced and never reached the notes file."""
        self._append({"v": VERSION, "aborts": change_id, "at": at})

    def _append(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
        make_private_dir(self.path.parent)
        refuse_symlink(self.path)
        with self._lock(), translate_os_errors(self.path):
            new = not self.path.exists()
            descriptor = open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = os.fstat(descriptor).st_size
                if size and _last_byte(descriptor, size) != b"\n":
                    self._logger.warning("%s ended in half a line, left by a crash", self.path)
                    data = b"\n" + data
                try:
                    append_synced(descriptor, data + b"\n")
                except OSError:
                    os.ftruncate(descriptor, size)  # a full disk must not leave half a line
                    raise
            finally:
                os.close(descriptor)
            if new:
                sync_dir(self.path.parent)

    def _lock(self) -> Any:
        return file_lock(self.path.with_name(FILE_NAME + ".lock"))

    def purge(self, wanted: Callable[[str], bool], stand_in: str, *, dry_run: bool) -> list[str]:
        """Take every text that ``wanted`` names out of all lines; the texts found, each once.

        The lines stay, with ``stand_in`` for the text, so hashes and times remain; unreadable lines that
        contain such a text go whole.
        """
        if not self.path.exists():
            return []
        refuse_symlink(self.path)
        found: dict[str, None] = {}
        with self._lock():
            kept: list[bytes] = []
            for raw in self._read_all():
                line = _parse(raw)
                if line is None:
                    text = raw.decode("utf-8", "replace")
                    if wanted(text):
                        found[text] = None
                        continue
                elif hits := _purge_line(line, wanted, stand_in):
                    found.update(dict.fromkeys(hits))
                    raw = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
                kept.append(raw)
            if found and not dry_run:
                write_atomic(self.path, b"".join(line + b"\n" for line in kept))
        return list(found)

    def _read_all(self) -> list[bytes]:
        with translate_os_errors(self.path):
            return [line for line in self.path.read_bytes().split(b"\n") if line.strip()]

    # -- reading -------------------------------------------------------------
    def changes(
        self, target: Target | None = None, *, include_aborted: bool = False
    ) -> Generator[Change, None, None]:
        """Changes, newest first."""
        aborted: set[str] = set()
        for line in self._lines():
            if "aborts" in line:
                aborted.add(str(line["aborts"]))
                continue
            change = self._from_json(line)
            if change is None or (target is not None and change.write.target != target):
                continue
            if change.write.id in aborted:
                if not include_aborted:
                    continue
                change = replace(change, write=replace(change.write, status="aborted"))
            yield change

    def last(self, target: Target) -> Change | None:
        """The newest change of the target that was not aborted."""
        with closing(self.changes(target)) as changes:
            return next(changes, None)

    def texts(self, target: Target, ids: set[str], name: Callable[[str], str]) -> dict[str, str]:
        """The texts behind entry ids, as far as the history knows them."""
        found: dict[str, str] = {}
        if not ids:
            return found
        for change in self.changes(target, include_aborted=True):
            for text in (*change.write.after, *change.write.before):
                if name(text) in ids:
                    found.setdefault(name(text), text)
            if len(found) == len(ids):
                break
        return found

    def _lines(self) -> Iterator[dict[str, Any]]:
        bad = 0
        try:
            for raw in _reversed_lines(self.path):
                line = _parse(raw)
                if line is not None:
                    yield line
                elif raw.strip():
                    bad += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreUnreadableError(
                f"`{self.path}` cannot be read ({error.strerror or error}); nothing was changed.",
                hint=f"check the permissions of `{self.path}`",
                details={"path": str(self.path)},
            ) from error
        finally:
            self.bad_lines = bad
            if bad and not self._complained:
                self._complained = True
                self._logger.warning("%s: %d unreadable lines were skipped", self.path, bad)

    def _from_json(self, line: dict[str, Any]) -> Change | None:
        try:
            return _from_json(line, self._scope)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._logger.debug("%s: a line of another shape was skipped", self.path)
            return None


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _reversed_lines(path: Path) -> Iterator[bytes]:
    """Whole lines from the end; what follows the last newline is still being written and left out."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        tail = b""
        at_end = True
        while position > 0:
            step = min(_BLOCK, position)
            position -= step
            file.seek(position)
            first, *lines = (file.read(step) + tail).split(b"\n")
            if lines and at_end:
                lines.pop()
                at_end = False
            yield from reversed(lines)
            tail = first
        if not at_end:
            yield tail


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _to_json(change: Change) -> dict[str, Any]:
    write = change.write
    line: dict[str, Any] = {
        "v": VERSION,
        "id": write.id,
        "at": write.at,
        "target": write.target,
        "action": write.action,
        "before": list(write.before),
        "after": list(write.after),
        "origin": {
            key: value for key, value in asdict(write.origin).items() if value not in (None, "")
        },
        "sha_before": write.sha_before,
        "sha_after": write.sha_after,
        "entries": list(change.ids),
        "hunks": [list(hunk) for hunk in change.hunks],
    }
    if write.scope.kind != "profile":
        line["scope"] = {"kind": write.scope.kind, "id": write.scope.id}
    if write.operations:
        line["operations"] = [
            {key: value for key, value in asdict(step).items() if value is not None}
            for step in write.operations
        ]
    if write.undoes:
        line["undoes"] = write.undoes
    if change.forgotten:
        line["forgotten"] = True
    return line


def _from_json(line: dict[str, Any], scope: Scope) -> Change:
    origin = {key: line.get("origin", {}).get(key) for key in ("session_id", "turn_id")}
    stored = line.get("scope") or {}
    write = NoteWrite(
        id=str(line["id"]),
        at=float(line["at"]),
        target=line["target"],
        action=line["action"],
        before=tuple(map(str, line["before"])),
        after=tuple(map(str, line["after"])),
        origin=Origin(
            who=str(line.get("origin", {}).get("who", "person")),
            attended=bool(line.get("origin", {}).get("attended", True)),
            why=str(line.get("origin", {}).get("why", "")),
            **origin,
        ),
        scope=Scope(stored.get("kind", scope.kind), stored.get("id", scope.id)),
        sha_before=str(line.get("sha_before", "")),
        sha_after=str(line.get("sha_after", "")),
        operations=tuple(
            NoteOperation(step["action"], step.get("content"), step.get("old_text"))
            for step in line.get("operations", ())
        ),
        undoes=line.get("undoes"),
    )
    hunks = tuple((int(a), int(b), int(c), int(d)) for a, b, c, d in line.get("hunks", ()))
    ids = tuple(map(str, line.get("entries", ())))
    return Change(write, ids, hunks, bool(line.get("forgotten", False)))


def _purge_line(line: dict[str, Any], wanted: Callable[[str], bool], stand_in: str) -> list[str]:
    hits: list[str] = []

    def cleaned(text: Any) -> Any:
        if isinstance(text, str) and wanted(text):
            hits.append(text)
            return stand_in
        return text

    for key in ("before", "after"):
        if isinstance(line.get(key), list):
            line[key] = [cleaned(text) for text in line[key]]
    for step in line.get("operations") or ():
        for key in ("content", "old_text"):
            if key in step:
                step[key] = cleaned(step[key])
    if isinstance(line.get("origin"), dict) and "why" in line["origin"]:
        line["origin"]["why"] = cleaned(line["origin"]["why"])
    if hits:
        line["forgotten"] = True
    return hits
