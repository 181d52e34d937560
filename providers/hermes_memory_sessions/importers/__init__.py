"""Import of conversations from other programs: formats, readers, and the way into the history store.

``records`` says what a reader gives; ``read`` finds the reader for a path; ``run`` brings records into a store.
One module per format; nothing here writes a file.
"""

from __future__ import annotations

from .detect import detect
from .read import read_conversations
from .records import DESCRIPTIONS, Format, ImportedConversation, ImportReport, SkippedItem
from .run import ImportProgress, ImportTarget, import_path, session_id_for

__all__ = [
    "DESCRIPTIONS",
    "Format",
    "ImportProgress",
    "ImportReport",
    "ImportTarget",
    "ImportedConversation",
    "SkippedItem",
    "detect",
    "import_path",
    "read_conversations",
    "session_id_for",
]
