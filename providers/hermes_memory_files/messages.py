"""Sentences for the model and for people, and how usage is written. No decisions here.

The two usage forms stand in spec/builtin.md section 1.5: with percent and the word chars in answers that
succeed, bare numbers in errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_core.types import NoteUsage, Target
from hermes_memory_files.document import FILE_NAMES

EXAMPLES: dict[str, str] = {
    "add": '{"action": "add", "target": "memory", "content": "…"}',
    "patch": '{"action": "patch", "target": "memory", "old_text": "…", "content": "…"}',
    "replace": '{"action": "replace", "target": "memory", "old_text": "…", "content": "…"}',
    "remove": '{"action": "remove", "target": "memory", "old_text": "…"}',
    "batch": '{"target": "memory", "operations": [{"action": "remove", "old_text": "…"}, '
    '{"action": "add", "content": "…"}]}',
}
"""One valid call per action, shown with every argument error."""

SAVED_NOTE = (
    "Saved for good and finished; do not repeat this call. It enters the prompt next session."
)
NOTHING_NOTE = "Nothing needed to change; do not repeat this call."


def usage_long(usage: NoteUsage) -> str:
    """``67% — 1,474/2,200 chars``."""
    return f"{usage.percent}% — {usage.chars:,}/{usage.limit:,} chars"


def usage_short(chars: int, limit: int) -> str:
    """``13/2,200``."""
    return f"{chars:,}/{limit:,}"


def over_limit(target: Target, would_be: int, limit: int, over_by: int) -> str:
    """The answer to a change that does not fit, with the way out."""
    return (
        f"{FILE_NAMES[target]} would hold {would_be:,} characters; the limit is {limit:,}, so it is "
        f"{over_by:,} over. Nothing was changed. Free at least {over_by:,} characters in the same step: "
        "make one call with `operations` that removes or shortens (patch) stale entries and adds the new "
        "one. The limit is checked once, on the final result."
    )


def no_match(target: Target, close: bool) -> str:
    """The answer when the text names no entry."""
    rest = (
        "the nearest entries are in `closest_entries`; take a fragment from one of them"
        if close
        else "no entry is similar"
    )
    return f"No entry of {FILE_NAMES[target]} contains that old_text; nothing was changed; {rest}."


def several_match(target: Target, how_many: int) -> str:
    """The answer when the text names more than one entry."""
    return (
        f"That old_text fits {how_many} entries of {FILE_NAMES[target]}; nothing was changed. "
        "Give a longer fragment, the whole entry, or an id from `match_ids`."
    )


def several_inside(how_often: int) -> str:
    """The answer when a fragment stands more than once inside its entry."""
    return (
        f"That fragment stands {how_often} times inside the entry; nothing was changed. "
        "Take in neighbouring words so that it is unique."
    )


def too_short() -> str:
    """The answer when a fragment is too short to choose an entry that would be lost."""
    return (
        "That old_text is too short to choose an entry by; nothing was changed. "
        "Give a few words of the entry, the whole entry, or its id from `match_ids`."
    )


def delimiter_line() -> str:
    """Why text with a § line is refused."""
    return (
        "A line holding only § separates entries in the file, so text with such a line would come back "
        "as several entries. Nothing was changed. Write the line differently, or add separate entries."
    )


def blocked(reasons: Sequence[str], seen: str) -> str:
    """Why the safety scan refused a text; ``seen`` is the scan's own short reason."""
    return (
        f"The text was not saved: it looks like an attempt to steer the agent ({', '.join(reasons)}: "
        f"{seen}). Notes are read as trusted text in every session."
    )


GUIDANCE = (
    "# Notes that last\n"
    "The entries below were saved with the `memory` tool and come back in every session, so keep them few and "
    "dense. Save unasked what spares the user from repeating themselves: preferences and corrections first, "
    "then stable facts about their setup. Leave out task progress, results, ticket numbers, commit ids and "
    "whatever is stale within a week. Write statements, not orders to yourself: a later session "
    "would read an order as the user's. What you save shows here from the next session on; claim that "
    "something is saved only after the tool said so."
)
"""Goes into the system prompt whenever the tool is offered (meaning: spec/builtin.md section 1.8)."""

TOOL_DESCRIPTION = (
    "Change the notes that are put into every session's prompt. {targets} "
    "Put all changes to one target into a single call with `operations`: they apply together or not at all, and "
    "the size limit is tested on the final result only; so when a target is full, remove or shorten old entries and "
    "add the new one in the same call. One successful call is enough. Save when the user states a preference, "
    "a correction or something personal, or when a lasting fact about the environment turns up. Not for trivia, "
    "things easily looked up, dumps, to-dos or logs of work done (past sessions stay searchable); how-to belongs in a skill."
)
TARGET_MEANING: dict[Target, str] = {
    "memory": "`memory` holds your own notes: environment, conventions, lessons.",
    "user": "`user` holds who the user is: preferences, style, expectations.",
}
