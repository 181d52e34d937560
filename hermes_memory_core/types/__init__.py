"""What passes through hooks: frozen, slotted values and the Protocols of the stores.

No behaviour beyond small derivations, no I/O, no pydantic: a provider can build and compare every value here
by hand. Times are epoch seconds (UTC, float). Sizes are Unicode code points unless a name says bytes.

All names are imported from here; the modules below sort them for the reader.
"""

from __future__ import annotations

from hermes_memory_core.types.context import (
    LLM,
    ProviderContext,
)
from hermes_memory_core.types.conversation import (
    CallInfo,
    Message,
    Recall,
    RecallReport,
    RecallState,
    SessionInfo,
    ToolResult,
    ToolSpec,
    Turn,
    TurnRef,
)
from hermes_memory_core.types.history import (
    Hit,
    SessionRecord,
    SessionSort,
    StoredMessage,
)
from hermes_memory_core.types.moving import (
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
)
from hermes_memory_core.types.notes import (
    Decision,
    Finding,
    Note,
    NoteAction,
    NoteOperation,
    NoteUsage,
    NoteWrite,
    Notice,
)
from hermes_memory_core.types.scope import (
    MODEL,
    PERSON,
    PROFILE_SCOPE,
    AgentContext,
    EndReason,
    Isolation,
    Origin,
    Scope,
    ScopeKind,
    Severity,
    StartReason,
    Target,
)
from hermes_memory_core.types.stores import (
    HistoryStore,
    NotesStore,
    SkillsStore,
)

__all__ = [
    "LLM",
    "MODEL",
    "PERSON",
    "PROFILE_SCOPE",
    "AgentContext",
    "CallInfo",
    "Decision",
    "EndReason",
    "Finding",
    "ForgetReceipt",
    "Health",
    "HistoryStore",
    "Hit",
    "ImportCounts",
    "Isolation",
    "MemoryRecord",
    "Message",
    "Note",
    "NoteAction",
    "NoteOperation",
    "NoteUsage",
    "NoteWrite",
    "NotesStore",
    "Notice",
    "Origin",
    "ProviderContext",
    "Recall",
    "RecallReport",
    "RecallState",
    "Scope",
    "ScopeKind",
    "SessionInfo",
    "SessionRecord",
    "SessionSort",
    "Severity",
    "SkillsStore",
    "StartReason",
    "StoredMessage",
    "Target",
    "ToolResult",
    "ToolSpec",
    "Turn",
    "TurnRef",
]
