"""What passes through hooks: frozen, slotted values and the Protocols of the stores.

No behaviour beyond small derivations, no I/O, no pydantic: a provider can build and compare every value here
by hand. Times are epoch seconds (UTC, float). Sizes are Unicode code points unless a name says bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import logging

Target = Literal["memory", "user"]
"""``memory`` is MEMORY.md (the agent's notes), ``user`` is USER.md (who the user is)."""

ScopeKind = Literal["profile", "user", "chat", "project"]
StartReason = Literal["new", "reset", "resume", "branch", "compression", "rewind"]
EndReason = Literal[
    "exit", "new", "reset", "resume", "branch", "compression", "rewind", "idle", "crash"
]
AgentContext = Literal["primary", "subagent", "cron", "flush", "review"]
Severity = Literal["block", "review", "warn"]
Isolation = Literal["profile", "user", "chat"]


# ---------------------------------------------------------------- whose memory


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: the whole profile, one user, or one chat (``project`` is reserved)."""

    kind: ScopeKind = "profile"
    id: str | None = None
    """The user's or chat's id as the host knows it; None is the anonymous scope of that kind."""

    @property
    def digest(self) -> str:
        """First 16 hex digits of the id's SHA-256: safe in a path, the same on every machine."""
        return hashlib.sha256((self.id or "").encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def key(self) -> str:
        """``profile``, ``user/<digest>``, ``chat/<digest>`` or ``user/anonymous``: one string per scope."""
        if self.kind == "profile":
            return "profile"
        return f"{self.kind}/{self.digest if self.id else 'anonymous'}"


PROFILE_SCOPE = Scope()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks for a change, and why: kept with every change of a note."""

    who: str = "person"
    """``person`` (CLI, slash command), ``model`` (a tool call), ``review``, ``import``, ``provider``, ``host``."""
    attended: bool = True
    """False when nobody watches (review, cron, sub-agent): replace and remove then become proposals."""
    session_id: str | None = None
    turn_id: str | None = None
    why: str = ""


# ---------------------------------------------------------------- conversation


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One conversation as providers see it: a value, rebuilt from stored data wherever it is needed."""

    id: str
    lineage: str
    """Id of the first session of the chain of compressions; one outbox lane per lineage."""
    profile: str = "default"
    source: str = "cli"
    title: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    parent_id: str | None = None
    agent_context: AgentContext = "primary"
    scope: Scope = PROFILE_SCOPE
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a turn. ``content`` is plain text: images and files are shown as ``[1 image]``."""

    role: str
    """``user``, ``assistant``, ``tool`` or ``system``."""
    content: str
    name: str | None = None
    """Who speaks, where more than one person can."""
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """OpenAI tool calls of an assistant message, as given."""
    timestamp: float | None = None
    id: int | None = None
    """The history store's message id, once stored."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message, the assistant's reply, and the tool calls between them.

    Recall fences are already stripped and credentials masked: what a provider gets is what every store holds.
    """

    id: str
    """Idempotency key: the same turn delivered twice carries the same id."""
    session_id: str
    number: int
    """1 for the first turn of the session."""
    user: str
    assistant: str
    messages: tuple[Message, ...] = ()
    """Everything in order, the user message first and the final reply last."""
    at: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class TurnRef:
    """Where a committed turn stands: the outbox keeps this instead of a second copy of the text."""

    session_id: str
    turn_id: str
    offset: int
    """Byte offset of the turn's line in ``sessions/<id>.jsonl``; a hint, the turn id decides."""
    message_ids: tuple[int, ...] = ()
    """Ids of ``Turn.messages``, in order."""
    end: int = 0
    """Byte offset just past the line."""


# ---------------------------------------------------------------- recall and tools


@dataclass(frozen=True, slots=True)
class Recall:
    """What ``prefetch`` found. A plain string is the same as ``Recall(text)``."""

    text: str
    source: str = ""
    """A few words for the person: "profile", "3 past turns" …"""
    found_at: float | None = None
    """When it was found, if not just now (queued or late recall)."""


RecallState = Literal["fresh", "late", "empty", "timeout", "failed", "busy", "skipped"]


@dataclass(frozen=True, slots=True)
class RecallReport:
    """What became of one provider's recall for one turn: ``turn.recalls`` is a list of these."""

    provider: str
    state: RecallState
    text: str = ""
    source: str = ""
    chars: int = 0
    """Code points the provider returned, before de-duplication and spilling."""
    elapsed_ms: float = 0.0
    age_s: float = 0.0
    """How old the recall is; 0 when it was found for this turn."""
    spilled_to: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    """JSON Schema of an object; no ``oneOf``/``anyOf`` at the top, some backends refuse them."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers: one JSON object. A plain dict is the same as ``ToolResult(dict)``."""

    data: Mapping[str, Any]
    ok: bool = True


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Circumstances of one tool call."""

    deadline: float
    """``time.monotonic()`` value after which the answer is thrown away."""
    turn_id: str | None = None
    call_id: str | None = None
    origin: Origin = Origin(who="model")


# ---------------------------------------------------------------- notes


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
    origin: Origin = Origin()
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


# ---------------------------------------------------------------- health and moving


@dataclass(frozen=True, slots=True)
class Health:
    """Answer of ``health()``: a real round trip, not a guess."""

    ok: bool
    message: str = ""
    """What is wrong, or what was reached, in one sentence."""
    hint: str = ""
    """The next command to type."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts such as ``accepted``, ``derived``, ``pending``, ``degraded`` capabilities."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory on its way out of or into a provider: a line of the open export format."""

    id: str
    kind: str
    """``note``, ``turn``, ``fact``, ``conclusion``, ``profile``, ``skill`` …"""
    content: str
    created_at: float | None = None
    scope: Scope = PROFILE_SCOPE
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What ``import_memories`` did, by number of records."""

    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    failed: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why records were skipped or failed: reason → how many."""


@dataclass(frozen=True, slots=True)
class ForgetReceipt:
    """What ``forget`` found and removed in one place."""

    place: str
    """``notes``, ``history``, ``outbox``, ``spills``, a provider's name …"""
    matched: int
    removed: int = 0
    previews: tuple[str, ...] = ()
    reason: str = ""
    """Why something could not be removed; "" when everything was."""


# ---------------------------------------------------------------- history


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One stored session with its counts."""

    id: str
    source: str = "cli"
    title: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    parent_id: str | None = None
    lineage: str = ""
    agent_context: str = "primary"
    scope_key: str = "profile"
    started_at: float = 0.0
    last_active: float = 0.0
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int = 0
    turn_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    archived: bool = False
    pinned: bool = False
    preview: str = ""
    """First user message, one line, at most 60 code points."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message as history keeps it."""

    id: int
    session_id: str
    role: str
    content: str
    timestamp: float
    name: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    turn: int = 0
    """Number of the turn it belongs to; 0 for messages appended outside a turn."""
    state: Literal["live", "undone", "compacted"] = "live"


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that history search found."""

    message_id: int
    session_id: str
    role: str
    name: str | None
    timestamp: float
    content: str
    snippet: str
    """Part of the content around the evidence, terms marked ``>>>`` … ``<<<``."""
    score: float
    why: str
    """Why it was found, in one short field: terms, neighbour, speaker, date."""


SessionSort = Literal["relevance", "newest", "oldest"]


@runtime_checkable
class NotesStore(Protocol):
    """The notes of one profile: ``memory.notes``. Scope None means the profile; see ``ScopeRequired``.

    Every method raises a ``NoteError`` (nothing written) or a ``StoreError`` (file unusable, nothing lost).
    A change is durable on disk, and in ``history.jsonl``, before the call answers.
    """

    def list(self, target: Target | None = None, *, scope: Scope | None = None) -> list[Note]:
        """Live entries in file order, both targets when None."""
        ...

    def usage(self, target: Target, *, scope: Scope | None = None) -> NoteUsage:
        """Characters, limit and entries of the live file."""
        ...

    def snapshot(self, *, scope: Scope | None = None) -> str:
        """The block for the system prompt, from the files as they are now; "" when there is nothing."""
        ...

    def add(
        self, target: Target, text: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Append one entry."""
        ...

    def patch(
        self,
        target: Target,
        fragment: str,
        replacement: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Change only ``fragment`` inside the one entry that holds it."""
        ...

    def replace(
        self,
        target: Target,
        old_text: str,
        text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Put ``text`` in place of the whole entry that ``old_text`` names."""
        ...

    def remove(
        self,
        target: Target,
        old_text: str,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Take one entry away."""
        ...

    def apply(
        self,
        target: Target,
        operations: Sequence[NoteOperation],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
        dry_run: bool = False,
    ) -> NoteWrite:
        """All operations in order on one target, or none; the limit counts on the final state only."""
        ...

    def rewrite(
        self,
        target: Target,
        texts: Sequence[str],
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> NoteWrite:
        """Replace all entries (an editor session, an import)."""
        ...

    def reset(
        self,
        target: Target | None = None,
        *,
        scope: Scope | None = None,
        origin: Origin | None = None,
    ) -> Sequence[Path]:
        """Empty the target after a backup; the backups' paths."""
        ...

    def log(
        self,
        *,
        target: Target | None = None,
        limit: int = 50,
        scope: Scope | None = None,
        include_aborted: bool = False,
    ) -> Sequence[NoteWrite]:
        """Changes, newest first."""
        ...

    def undo(
        self, change_id: str, *, scope: Scope | None = None, origin: Origin | None = None
    ) -> NoteWrite:
        """Take one change back; itself a change."""
        ...

    def path(self, target: Target, *, scope: Scope | None = None) -> Path:
        """The real file."""
        ...


@runtime_checkable
class HistoryStore(Protocol):
    """All conversations of one profile: ``memory.history``.

    The JSONL transcript is the commit point: what a writing call returned for is synced to disk. The database is
    derived. Read calls see everything this process has written. ``scope_key`` filters where isolation is on.
    """

    # -- writing -------------------------------------------------------------
    def open_session(self, session: SessionInfo, *, reason: StartReason = "new") -> None:
        """Make the session known (durably with its first line); known sessions are only refreshed."""
        ...

    def commit_turn(self, session: SessionInfo, turn: Turn) -> TurnRef:
        """Append the turn to the transcript and sync it; indexing may follow."""
        ...

    def read_turn(self, ref: TurnRef) -> Turn | None:
        """The turn as committed; None when it was forgotten or undone since."""
        ...

    def transcript_end(self, session_id: str) -> int:
        """Byte offset just past the session's last committed line; 0 for unknown sessions."""
        ...

    def turns_after(self, session_id: str, offset: int) -> Iterator[tuple[TurnRef, Turn]]:
        """Committed turns whose line starts at or after ``offset``: what a cursor has not seen."""
        ...

    def end_session(self, session_id: str, reason: str, *, at: float | None = None) -> bool:
        """Mark the end; False when it had ended already (the first reason stands)."""
        ...

    def undo_turns(self, session_id: str, turns: int) -> int:
        """Hide the last ``turns`` turns from prompt and search; how many messages were hidden."""
        ...

    def mark_compacted(self, session_id: str) -> int:
        """The live messages leave the context (still searchable); how many."""
        ...

    def append(
        self,
        session_id: str,
        role: str,
        content: str,
        *,
        name: str | None = None,
        timestamp: float | None = None,
        tool_name: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Store one message outside a turn; its id, stable over rebuild. Creates unknown sessions."""
        ...

    def append_many(self, session_id: str, messages: Iterable[Message]) -> list[int]:
        """Like ``append`` for many messages, one sync for all."""
        ...

    # -- reading -------------------------------------------------------------
    def search(
        self,
        query: str,
        limit: int = 20,
        *,
        offset: int = 0,
        sort: SessionSort = "relevance",
        source: str | Sequence[str] | None = None,
        role: str | Sequence[str] | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        cwd: str | None = None,
        session_id: str | None = None,
        exclude_sessions: Sequence[str] = (),
        since: str | float | None = None,
        until: str | float | None = None,
        title: str | None = None,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """Messages of all sessions, best first, ungrouped. Never raises because of the query's syntax."""
        ...

    def session(self, session_id: str) -> SessionRecord | None:
        """One session by its exact id."""
        ...

    def resolve(self, text: str, *, scope: Scope | None = None) -> SessionRecord:
        """By id, unique prefix or title, to the newest of its lineage. Raises SessionNotFoundError."""
        ...

    def sessions(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        source: str | None = None,
        title: str | None = None,
        cwd: str | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        since: str | float | None = None,
        until: str | float | None = None,
        include_archived: bool = False,
        include_subagents: bool = False,
        scope: Scope | None = None,
    ) -> list[SessionRecord]:
        """Most recently active first; a lineage is one row, its newest."""
        ...

    def messages(
        self,
        session_id: str,
        *,
        around: int | None = None,
        window: int = 5,
        limit: int | None = None,
        offset: int = 0,
        include_undone: bool = False,
    ) -> list[StoredMessage]:
        """In order; with ``around`` (a message id) the ``window`` before and after it."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Counts of sessions and messages, per source, bytes on disk, schema and tokeniser version."""
        ...

    # -- care ----------------------------------------------------------------
    def set_title(self, session_id: str, title: str | None, *, dedupe: bool = False) -> str | None:
        """Clean and set; with ``dedupe`` a taken title gets ``#N``, else TitleConflictError."""
        ...

    def update_session(self, session_id: str, **fields: Any) -> None:
        """Change archived, pinned, model, or add input_tokens/output_tokens."""
        ...

    def delete_sessions(self, session_ids: Sequence[str]) -> ForgetReceipt:
        """Remove sessions with transcripts, rows and index entries."""
        ...

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Derive the database again from the transcripts; messages indexed."""
        ...

    def check(self) -> list[str]:
        """Problems found by a real probe of tables and index; empty when healthy."""
        ...

    def backup(self, path: Path) -> Path:
        """A consistent copy of the database while others write."""
        ...


class SkillsStore(Protocol):
    """The skills of one profile (wave 2)."""

    def list(self) -> Sequence[Mapping[str, Any]]:
        """Name, description and category of every skill."""
        ...


class LLM(Protocol):
    """The auxiliary model a host may lend: titles, reviews, summaries."""

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, task: str, max_tokens: int = 500
    ) -> str:
        """One completion as plain text. ``task`` names what it is for, e.g. ``title``."""
        ...


# ---------------------------------------------------------------- construction


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider is constructed with: ``Class(context)``."""

    name: str
    """The provider's own name: its entry point's, the key of ``providers.NAME``."""
    home: Path
    """The profile's directory (not the root home, unless the profile is ``default``)."""
    data_dir: Path
    """A directory of this provider's own below the profile; made on first use by the provider."""
    profile: str
    config: Any
    """An instance of the provider's ``Config``, or a plain mapping when it declares none."""
    settings: Mapping[str, Any]
    """The validated core settings as plain data, e.g. ``settings["memory"]["memory_char_limit"]``."""
    secrets: Mapping[str, str]
    """This provider's secrets from ``.env`` by field name; never the process environment."""
    logger: logging.Logger
    llm: LLM | None = None
    clock: Callable[[], float] = field(default=lambda: 0.0)
    """Epoch seconds; use this instead of ``time.time()``."""
    redact: Callable[[str], str] = field(default=lambda text: text)
    """Masks credentials, remembering those seen before in this profile."""
    notify: Callable[[Notice], None] = field(default=lambda _notice: None)
    """Tells the person, once per key."""
    notes_changed: Callable[[NoteWrite], None] = field(default=lambda _write: None)
    """To be called after a committed note write; the core passes it on as ``notes_written``."""
    approve: Callable[[NoteWrite], Decision] = field(default=lambda _write: Decision("allow"))
    """To be asked before a note write; the answer is what happens."""
