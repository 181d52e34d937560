"""What an importer hands over: one value per conversation, one per thing left out. No reading, no writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hermes_memory_core.types import AgentContext, Message


class Format(StrEnum):
    """The kinds of conversation files that can be read; the values are what ``--format`` takes."""

    HERMES_JSONL = "hermes-jsonl"
    HERMES_TRANSCRIPT = "hermes-transcript"
    HERMES_STATE_DB = "hermes-state-db"
    OPENAI = "openai"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CHATGPT = "chatgpt"
    DIRECTORY = "directory"


DESCRIPTIONS: dict[Format, str] = {
    Format.HERMES_JSONL: "`hermes sessions export` (one session per line)",
    Format.HERMES_TRANSCRIPT: "a transcript of this program (`sessions/<id>.jsonl`)",
    Format.HERMES_STATE_DB: "a Hermes Agent `state.db`",
    Format.OPENAI: "OpenAI-style messages (JSON list, `messages` object, or JSONL)",
    Format.CLAUDE_CODE: "a Claude Code session (`~/.claude/projects/*/*.jsonl`)",
    Format.CODEX: "a Codex session (`~/.codex/sessions/**/rollout-*.jsonl`)",
    Format.CHATGPT: "a ChatGPT export (`conversations.json`, or the zip that holds it)",
    Format.DIRECTORY: "a directory holding any of these",
}


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation, ready for the store; every text in it is valid Unicode without NUL."""

    origin_key: str
    """Format and the source's own id: the same conversation exported again carries the same key."""
    source: str
    title: str | None = None
    started_at: float | None = None
    """Epoch seconds; never None once ``timeline.with_times`` made the record."""
    ended_at: float | None = None
    model: str | None = None
    cwd: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    parent_origin_key: str | None = None
    agent_context: AgentContext = "primary"
    messages: tuple[Message, ...] = ()
    session_id: str | None = None
    """The id the source gave it, where that is an id of our own kind; None: the store's caller makes one."""
    end_reason: str | None = None
    continues_parent: bool = False
    """True when it carries its parent on after a compression: same lineage."""
    input_tokens: int = 0
    output_tokens: int = 0
    archived: bool = False
    notes: tuple[str, ...] = ()
    """What had to be guessed or mended, in words, e.g. times taken from the file's date."""


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something that was not imported: where it stands, and why."""

    where: str
    """File name with a line number or an item's id; the first place when ``count`` is more than 1."""
    reason: str
    count: int = 1


Record = ImportedConversation | SkippedItem

MAX_REASONS = 64


class Tally:
    """Counts what one file left out, by reason: thousands of like lines become one SkippedItem."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._first: dict[str, str] = {}
        self._count: Counter[str] = Counter()

    def add(self, reason: str, at: int | str | None = None, count: int = 1) -> None:
        """Count ``reason``; ``at`` is the line number or item id of this one."""
        if count < 1:
            return
        if reason not in self._first:
            # reasons quote words of the input, so their number must have an end
            if len(self._first) >= MAX_REASONS:
                reason = "other reasons"
            self._first.setdefault(reason, self.where if at is None else f"{self.where}:{at}")
        self._count[reason] += count

    def drain(self) -> Iterator[SkippedItem]:
        """The counts so far as items; afterwards the tally is empty."""
        first, count = self._first, self._count
        self._first, self._count = {}, Counter()
        for reason, where in first.items():
            yield SkippedItem(where, reason, count[reason])


@dataclass(slots=True)
class ImportReport:
    """What an import did, in numbers; grows while it runs."""

    imported: int = 0
    """Conversations that were new."""
    unchanged: int = 0
    """Conversations that were already there, message for message."""
    extended: int = 0
    """Conversations that were there and gained messages."""
    messages: int = 0
    """Messages in all conversations read."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Reason → how many lines, messages or conversations."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason → the first place it happened."""
    notes: Counter[str] = field(default_factory=Counter)
    """What was guessed or mended → in how many conversations."""

    @property
    def conversations(self) -> int:
        """Conversations that reached the store."""
        return self.imported + self.unchanged + self.extended

    def skip(self, item: SkippedItem) -> None:
        """Count one skipped item."""
        self.skipped[item.reason] += item.count
        self.examples.setdefault(item.reason, item.where)

    def to_dict(self) -> dict[str, Any]:
        """JSON-serialisable, for ``--json``."""
        return {
            "imported": self.imported,
            "unchanged": self.unchanged,
            "extended": self.extended,
            "messages": self.messages,
            "skipped": [
                {"reason": reason, "count": count, "first": self.examples.get(reason, "")}
                for reason, count in self.skipped.most_common()
            ],
            "notes": dict(self.notes.most_common()),
        }
