"""The hooks: what the provider is asked, and what it answers. How entries are kept stands in ``notebook``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hermes_memory_core import hookimpl
from hermes_memory_core.types import (
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    ProviderContext,
    Recall,
    Scope,
    SessionInfo,
    ToolResult,
    ToolSpec,
    Turn,
)
from pydantic import BaseModel, ConfigDict, Field

from .notebook import Notebook

REMEMBER = "example_remember"
FIND = "example_find"


class ExampleProvider:
    """Keeps turns and facts in one file of the profile, and finds them again by their words."""

    name = "example"

    class Config(BaseModel):
        """``providers.example`` in config.yaml; checked before the provider is constructed."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        max_results: int = Field(5, ge=1, le=50, description="Entries recalled before a turn.")
        max_chars: int = Field(2000, ge=100, description="Characters recalled before a turn.")

    def __init__(self, context: ProviderContext) -> None:
        # Nothing is opened here: constructing must be quick and must not fail.
        self.context = context
        self.config: ExampleProvider.Config = context.config
        self.notebook = Notebook(context.data_dir / "notebook.db", context.clock)

    # ------------------------------------------------------------ before and after a turn

    @hookimpl
    def prefetch(self, session: SessionInfo, query: str, deadline: float) -> Recall | None:
        """What earlier turns and facts say about this one."""
        found = self.notebook.find(query, session.scope, self.config.max_results, deadline)
        text = "\n".join(f"- {' '.join(record.content.split())[:500]}" for record in found)
        return Recall(text[: self.config.max_chars], f"{len(found)} entries") if text else None

    @hookimpl
    def sync_turn(self, session: SessionInfo, turn: Turn) -> None:
        """Keep a turn. It may come twice, from another process, or days late: its id makes it one."""
        content = f"{turn.user}\n{turn.assistant}"
        facts = {"session": session.id, "number": turn.number}
        record = MemoryRecord(turn.id, "turn", content, turn.at, session.scope, facts)
        self.notebook.add([record])

    # ------------------------------------------------------------ tools

    @hookimpl
    def tools(self) -> Sequence[ToolSpec]:
        """Two tools; their names begin with the provider's so that they clash with nobody's."""
        return [
            ToolSpec(
                REMEMBER,
                "Write one fact into the notebook, so that it is there in later conversations.",
                one_text("fact", "The fact, as one sentence that can be understood later."),
            ),
            ToolSpec(
                FIND,
                "Look into the notebook for facts and earlier turns that share words with a text.",
                one_text("text", "What to look for; every word that is shared counts."),
            ),
        ]

    @hookimpl
    def call_tool(
        self, session: SessionInfo, name: str, arguments: Mapping[str, Any]
    ) -> ToolResult:
        """Run one of them. Models send wrong arguments; say what is missing instead of raising."""
        wanted = "fact" if name == REMEMBER else "text"
        value = arguments.get(wanted)
        if name not in (REMEMBER, FIND):
            return ToolResult({"success": False, "error": f"There is no tool `{name}`."}, ok=False)
        if not isinstance(value, str) or not value.strip():
            error = f"`{wanted}` must be a text that is not empty."
            return ToolResult({"success": False, "error": error}, ok=False)
        if name == REMEMBER:
            record = self.notebook.fact(value.strip(), session.scope)
            added = self.notebook.add([record]) == 1
            return ToolResult({"success": True, "id": record.id, "new": added})
        found = self.notebook.find(value, session.scope, self.config.max_results)
        entries = [{"id": one.id, "kind": one.kind, "content": one.content} for one in found]
        return ToolResult({"success": True, "entries": entries})

    # ------------------------------------------------------------ care

    @hookimpl
    def health(self) -> Health:
        """A real round trip: the file is opened, written and read."""
        count = self.notebook.check()
        return Health(ok=True, message=f"{count} entries", details={"entries": count})

    @hookimpl
    def export_memories(self, scope: Scope | None) -> Iterator[MemoryRecord]:
        """Everything, oldest first."""
        return self.notebook.records(scope)

    @hookimpl
    def import_memories(self, records: Iterable[MemoryRecord]) -> ImportCounts:
        """Take records in; one that is there already (by its id) is a duplicate."""
        batch = list(records)
        empty = [record for record in batch if not record.content.strip()]
        added = self.notebook.add([record for record in batch if record.content.strip()])
        return ImportCounts(
            imported=added,
            duplicates=len(batch) - len(empty) - added,
            skipped=len(empty),
            reasons={"empty": len(empty)} if empty else {},
        )

    @hookimpl
    def forget(self, scope: Scope | None, query: str, dry_run: bool) -> Sequence[ForgetReceipt]:
        """Find, and unless it is a dry run remove, every entry that contains the text."""
        found = self.notebook.containing(query, scope)
        removed = 0 if dry_run else self.notebook.remove([record.id for record in found])
        previews = tuple(" ".join(record.content.split())[:60] for record in found[:5])
        return [ForgetReceipt(self.context.name, len(found), removed, previews)]

    @hookimpl
    def close(self) -> None:
        """Nothing stays open between two calls, so there is nothing to let go of."""


def one_text(name: str, description: str) -> Mapping[str, Any]:
    """JSON Schema of an object with one text in it."""
    text = {"type": "string", "minLength": 1, "description": description}
    return {"type": "object", "properties": {name: text}, "required": [name]}
