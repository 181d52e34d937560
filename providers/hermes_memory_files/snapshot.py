"""The block of notes for the system prompt: the exact header, blocked entries replaced, oversize cut visibly.

Pure rendering; when it is taken and frozen is the core's business. Byte format: spec/builtin.md section 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_core.types import NoteUsage, Target
from hermes_memory_files import messages
from hermes_memory_files.document import FILE_NAMES, count, serialise

RULE = "═" * 46
TITLES: dict[Target, str] = {
    "memory": "MEMORY (your personal notes)",
    "user": "USER PROFILE (who the user is)",
}
MIN_RENDER_CHARS = 4_000
UNLIMITED_RENDER_CHARS = 100_000
HEAD_SHARE, TAIL_SHARE = 0.7, 0.2


def render(target: Target, shown: Sequence[str], limit: int) -> str:
    """The block of one target; "" when it has no entries.

    Args:
        target: Which notes.
        shown: Entries as they may be shown (placeholders already in place); the counts are of these.
        limit: Characters; 0 or less means none.
    """
    if not shown:
        return ""
    usage = NoteUsage(target, count(shown), limit, len(shown))
    note = messages.usage_long(usage)
    if 0 < limit < usage.chars:
        note += f" ⚠ {usage.chars - limit:,} over the limit"
    return f"{RULE}\n{TITLES[target]} [{note}]\n{RULE}\n{cut(target, serialise(shown), limit)}"


def unreadable(target: Target) -> str:
    """Stands where the notes would: a file that cannot be read is not an empty one."""
    return (
        f"{RULE}\n{TITLES[target]} [unreadable]\n{RULE}\n"
        f"{FILE_NAMES[target]} exists and cannot be read right now; its notes are kept. Tell the user."
    )


def cut(target: Target, body: str, limit: int) -> str:
    """The body, or its first 70 % and last 20 % of the room with a notice between them.

    The room is twice the limit, at least 4,000 characters.
    """
    room = max(2 * limit, MIN_RENDER_CHARS) if limit > 0 else UNLIMITED_RENDER_CHARS
    if len(body) <= room:
        return body
    head, tail = body[: int(room * HEAD_SHARE)], body[-int(room * TAIL_SHARE) :]
    left_out = len(body) - len(head) - len(tail)
    return (
        f"{head}\n[… {left_out:,} characters of {FILE_NAMES[target]} are left out here: it is far over "
        f"its limit. Remove or shorten entries. …]\n{tail}"
    )
