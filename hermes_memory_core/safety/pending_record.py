"""One waiting write as a value, and how it stands in its file and in the log. No file is touched here.

A record is checked field by field when it is read: somebody may have edited it, and what is shown to the person
who decides is always made from the change itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hermes_memory_core.safety.lines import one_line
from hermes_memory_core.types import NoteOperation, NoteWrite, Origin, Scope

SUBSYSTEM = "memory"
VERSION = 1
SUMMARY_CHARS = 120
FORGOTTEN = "[forgotten]"

Event = Literal["staged", "approved", "rejected", "expired", "forgotten"]


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """One write that waits."""

    id: str
    """Eight hex digits."""
    write: NoteWrite
    created_at: float
    expires_at: float
    why: str
    """Why it was not written at once, in words for a person."""
    summary: str
    """One line, nothing unprintable in it, at most 160 characters."""

    @property
    def unattended(self) -> bool:
        """True when nobody was watching when it was proposed."""
        return not self.write.origin.attended


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file among the records that cannot be decided on here."""

    path: Path
    reason: str
    foreign: bool = False
    """True for a record of Hermes Agent: nothing is wrong with it."""


def summary_of(write: NoteWrite) -> str:
    """What a write would do, on one line that cannot pretend to be two."""
    target = "memory" if write.target == "memory" else "user profile"
    steps = len(write.operations)
    if steps > 1:
        head = f"{write.action} {target}, {steps} operations"
    else:
        head = f"{write.action} {target}"
    texts = [*write.before, *(["→"] if write.before and write.after else []), *write.after]
    return f"{head}: {one_line(' '.join(texts), SUMMARY_CHARS)}"[:160]


def same_change(one: NoteWrite, other: NoteWrite) -> bool:
    """True when both would do the same to the same notes, whoever asks."""
    return (one.scope, one.target, one.action, one.before, one.after) == (
        other.scope,
        other.target,
        other.action,
        other.before,
        other.after,
    )


def mentions(item: PendingWrite, holds: Callable[[str], bool]) -> bool:
    """True when a text that ``holds`` looks for stands anywhere in the record."""
    write = item.write
    texts = [*write.before, *write.after, item.why, item.summary, write.origin.why]
    for step in write.operations:
        texts += [step.content or "", step.old_text or ""]
    return any(holds(text) for text in texts) or holds(dump(item).decode("utf-8", "replace"))


def dump(item: PendingWrite) -> bytes:
    """The record as the bytes of its file."""
    data = {
        "v": VERSION,
        "id": item.id,
        "subsystem": SUBSYSTEM,
        "summary": item.summary,
        "why": item.why,
        "created_at": item.created_at,
        "expires_at": item.expires_at,
        "write": asdict(item.write),
    }
    return json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "replace")


def load(data: Any, stem: str) -> PendingWrite:
    """A record from its file's JSON; raises KeyError, TypeError or ValueError for anything else."""
    version = data["v"]
    if version != VERSION:
        raise ValueError(f"version {version}, this program knows {VERSION}")
    if data["id"] != stem:
        raise ValueError("its id is not its name")
    write = _load_write(data["write"])
    return PendingWrite(
        id=stem,
        write=write,
        created_at=float(data["created_at"]),
        expires_at=float(data["expires_at"]),
        why=one_line(str(data.get("why", "")), 300),
        # made anew: a file somebody edited must not show one thing and do another
        summary=summary_of(write),
    )


def _load_write(data: Mapping[str, Any]) -> NoteWrite:
    if data["target"] not in ("memory", "user"):
        raise ValueError(f"target {data['target']!r}")
    origin, scope = data["origin"], data["scope"]
    if scope["kind"] not in ("profile", "user", "chat"):
        raise ValueError(f"scope {scope['kind']!r}")
    steps = []
    for step in data.get("operations", ()):
        if step["action"] not in ("add", "patch", "replace", "remove"):
            raise ValueError(f"action {step['action']!r}")
        steps.append(NoteOperation(step["action"], _text(step, "content"), _text(step, "old_text")))
    return NoteWrite(
        id=str(data["id"]),
        at=float(data["at"]),
        target=data["target"],
        action=data["action"],
        before=_texts(data["before"]),
        after=_texts(data["after"]),
        origin=Origin(
            who=str(origin["who"]),
            attended=origin["attended"] is True,
            session_id=_text(origin, "session_id"),
            turn_id=_text(origin, "turn_id"),
            why=str(origin.get("why", "")),
        ),
        scope=Scope(scope["kind"], _text(scope, "id")),
        sha_before=str(data.get("sha_before", "")),
        sha_after=str(data.get("sha_after", "")),
        status="proposed",
        operations=tuple(steps),
        undoes=_text(data, "undoes"),
    )


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("before and after are lists of texts")
    return tuple(values)


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value


def log_line(
    event: Event, at: float, item: PendingWrite, who: str, why: str, *, bare: bool = False
) -> dict[str, Any]:
    """One line of the decisions log; with ``bare`` without a word of the change."""
    write = item.write
    return {
        "v": VERSION,
        "at": at,
        "event": event,
        "id": item.id,
        "who": who,
        "why": why,
        "target": write.target,
        "action": write.action,
        "scope": write.scope.key,
        "proposed_by": write.origin.who,
        "session_id": write.origin.session_id,
        "summary": FORGOTTEN if bare else item.summary,
    }


def parsed(raw: bytes) -> dict[str, Any] | None:
    """A line of the log; None when it is none."""
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
