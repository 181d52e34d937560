"""Notes and changes of notes; what the scan and a person say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hermes_memory_core.types.scope import PERSON, PROFILE_SCOPE, Origin, Scope, Severity, Target


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of MEMORY.md or USER.md."""

    id: str
    """First 8 hex digits of the SHA-256 of the text: changes when the text does."""
    target: Target
    text: str
    blocked: tuple[str, ...] = ()
    """Ids of the findings that keep this entry out of the prompt; the file keeps it."""


@dataclass(frozen=True, slots=True)
class NoteUsage:
    """How full one target is; counted as in spec/builtin.md section 1.3."""

    target: Target
    chars: int
    limit: int
    entries: int

    @property
    def percent(self) -> int:
        """0 to 100, rounded down; 0 when there is no limit."""
        return min(100, self.chars * 100 // self.limit) if self.limit > 0 else 0


NoteAction = Literal["add", "patch", "replace", "remove", "rewrite", "reset", "undo", "external"]


@dataclass(frozen=True, slots=True)
class NoteOperation:
    """One step of a change. ``old_text`` names the entry (or, for patch, the fragment)."""

    action: Literal["add", "patch", "replace", "remove"]
    content: str | None = None
    old_text: str | None = None


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """One committed (or proposed) change of one target: a line of ``memories/history.jsonl``."""

    id: str
    at: float
    target: Target
    action: NoteAction
    before: tuple[str, ...]
    """Entries that the change took away or altered, as they were."""
    after: tuple[str, ...]
    """The entries that stand in their place."""
    origin: Origin = PERSON
    scope: Scope = PROFILE_SCOPE
    sha_before: str = ""
    """SHA-256 of the whole file before; "" when there was none."""
    sha_after: str = ""
    status: Literal["proposed", "committed", "aborted"] = "committed"
    operations: tuple[NoteOperation, ...] = ()
    undoes: str | None = None
    """Id of the change this one takes back."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a proposed write: written now, kept for a person, or refused."""

    outcome: Literal["allow", "stage", "deny"]
    pending_id: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the safety scan saw. ``start`` and ``end`` are offsets into the text that was given."""

    id: str
    severity: Severity
    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know now. Shown once per ``key`` and session."""

    code: str
    message: str
    hint: str = ""
    level: Literal["info", "warning", "error"] = "warning"
    key: str = ""
    """Notices with the same key are the same news; "" means the code is the key."""
