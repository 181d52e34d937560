"""What add, patch, replace and remove do to a tuple of entries. Pure: no file, no lock, no scan, no limit config.

A batch is applied in order on a copy, each step seeing the ones before it; the first step that cannot be done
raises and names itself, and nothing has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hermes_memory_core.errors import (
    NoteAmbiguousError,
    NoteError,
    NoteLimitError,
    NoteNotFoundError,
)
from hermes_memory_core.safety.lines import shorten
from hermes_memory_core.types import NoteOperation, Target
from hermes_memory_files import match, messages
from hermes_memory_files.document import MARK, count, holds_mark_line, note_id, tidy

Result = Literal["added", "duplicate", "patched", "replaced", "removed", "unchanged"]
Echo = Callable[[str], str]
"""Turns an entry into what may be shown of it; blocked text never comes out raw."""

MAX_ENTRY_CHARS = 65_536
MATCH_CHARS = 80
SHORT_LIST = 20


@dataclass(frozen=True, slots=True)
class Step:
    """What one operation did."""

    action: str
    result: Result
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The entries after all operations, and what each did."""

    entries: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    operations: tuple[NoteOperation, ...] = ()
    """The operations with entries named by their whole text, so they cannot come to mean another entry."""


def apply(
    entries: tuple[str, ...], operations: Sequence[NoteOperation], target: Target, echo: Echo
) -> Applied:
    """Apply all operations, or raise for the first that cannot be done.

    Raises:
        NoteNotFoundError: No entry matches; ``details`` has ``closest_entries``.
        NoteAmbiguousError: Several match; ``details`` has ``matches`` and ``match_ids``.
        NoteError: The content or the fragment cannot be used.
    """
    current = list(entries)
    steps: list[Step] = []
    pinned: list[NoteOperation] = []
    for number, operation in enumerate(operations, 1):
        try:
            step, exact = _DO[operation.action](current, operation, target, echo)
        except NoteError as error:
            if len(operations) == 1:
                raise
            if "current_entries" in error.details:  # not the half-changed list
                error.details["current_entries"] = short_list(entries, echo)
            raise in_batch(error, number, operation.action, len(operations)) from error
        steps.append(step)
        pinned.append(exact)
    return Applied(tuple(current), tuple(steps), tuple(pinned))


def in_batch(error: NoteError, number: int, action: str, how_many: int) -> NoteError:
    """The same error, naming the operation and saying that none was applied."""
    return type(error)(
        f"Operation {number} ({action or 'no action'}): {error.message} "
        f"None of the {how_many} operations was applied.",
        hint=error.hint,
        details={**error.details, "failed_operation": number},
    )


def usable(content: str | None, action: str) -> str:
    """The content as it will stand in the file; raises NoteError for blank, delimiter or endless text."""
    if not isinstance(content, str | None):
        kind = type(content).__name__
        raise NoteError(f"The content of {action} is no text ({kind}); nothing was changed.")
    text = _bounded(tidy(content or "").strip())  # before anything that looks at every character
    if not match.key_of(text):
        way = " To take an entry away use action remove." if action == "replace" else ""
        raise NoteError(f"The content of {action} is empty; nothing was changed.{way}")
    if any(line.strip() == MARK for line in text.split("\n")):
        raise NoteError(messages.delimiter_line())
    return text


def _bounded(text: str) -> str:
    if len(text) > MAX_ENTRY_CHARS:
        raise NoteError(
            f"An entry of {len(text):,} characters is no note (at most {MAX_ENTRY_CHARS:,}); "
            "nothing was changed."
        )
    return text


def same_entry(entries: Sequence[str], text: str) -> str | None:
    """The entry that says the same, up to white space, case and invisible characters."""
    if text in entries:
        return text
    wanted = match.key_of(text)
    return next((entry for entry in entries if match.key_of(entry) == wanted), None)


def _add(
    current: list[str], operation: NoteOperation, _target: Target, _echo: Echo
) -> tuple[Step, NoteOperation]:
    text = usable(operation.content, "add")
    exact = NoteOperation("add", text)
    twin = same_entry(current, text)
    if twin is not None:
        return Step("add", "duplicate", twin, twin), exact
    current.append(text)
    return Step("add", "added", None, text), exact


def _replace(
    current: list[str], operation: NoteOperation, target: Target, echo: Echo
) -> tuple[Step, NoteOperation]:
    text = usable(operation.content, "replace")
    index = _named(current, operation, target, echo)
    return _put(current, index, text, "replace", "replaced")


def _remove(
    current: list[str], operation: NoteOperation, target: Target, echo: Echo
) -> tuple[Step, NoteOperation]:
    entry = current.pop(_named(current, operation, target, echo))
    return Step("remove", "removed", entry), NoteOperation("remove", None, entry)


def _patch(
    current: list[str], operation: NoteOperation, target: Target, echo: Echo
) -> tuple[Step, NoteOperation]:
    if operation.content is None:
        raise NoteError("patch needs content: what the fragment becomes. Nothing was changed.")
    found = _only(current, operation, target, echo)
    if len(found.spans) > 1:
        raise NoteAmbiguousError(
            messages.several_inside(len(found.spans)),
            details={"matches": [echo(current[found.index])], "match_ids": [_id(current, found)]},
        )
    entry, (start, end) = current[found.index], found.spans[0]
    text = (entry[:start] + tidy(operation.content) + entry[end:]).strip()
    if not match.key_of(text):
        raise NoteError(
            "The patch would leave an empty entry; nothing was changed. Use action remove instead."
        )
    inserted = tidy(operation.content).split("\n")
    if holds_mark_line(text) or any(line.strip() == MARK for line in inserted[1:-1]):
        raise NoteError(messages.delimiter_line())
    return _put(current, found.index, _bounded(text), "patch", "patched")


_DO = {"add": _add, "patch": _patch, "replace": _replace, "remove": _remove}


def _put(
    current: list[str], index: int, text: str, action: Literal["patch", "replace"], result: Result
) -> tuple[Step, NoteOperation]:
    entry = current[index]
    exact = NoteOperation("replace", text, entry)
    if text == entry:
        return Step(action, "unchanged", entry, entry), exact
    if text in current:
        del current[index]  # the file would drop the repeat anyway
    else:
        current[index] = text
    return Step(action, result, entry, text), exact


def _named(current: list[str], operation: NoteOperation, target: Target, echo: Echo) -> int:
    """The index of the one entry that is to be lost; a fragment must say enough to choose it."""
    found = _only(current, operation, target, echo)
    entry = current[found.index]
    needle = operation.old_text or ""
    if found.how in ("text", "loose") and match.too_short(needle, entry):
        raise NoteAmbiguousError(
            messages.too_short(),
            details={"matches": [_short(echo(entry))], "match_ids": [note_id(entry)]},
        )
    return found.index


def _only(current: list[str], operation: NoteOperation, target: Target, echo: Echo) -> match.Match:
    needle = tidy(operation.old_text or "")
    if not needle.strip():
        raise NoteError(
            f"{operation.action} needs old_text: a fragment of the entry meant. Nothing was changed.",
            details={"current_entries": short_list(current, echo)},
        )
    found = match.find(current, needle)
    if not found:
        close = [shorten(echo(entry), 200) for entry in match.closest(current, needle)]
        details: dict[str, Any] = {"closest_entries": close}
        if not close:
            details["current_entries"] = short_list(current, echo)
        raise NoteNotFoundError(messages.no_match(target, bool(close)), details=details)
    if len(found) > 1:
        raise NoteAmbiguousError(
            messages.several_match(target, len(found)),
            details={
                "matches": [_short(echo(current[item.index])) for item in found[:SHORT_LIST]],
                "match_ids": [_id(current, item) for item in found[:SHORT_LIST]],
            },
        )
    return found[0]


def _id(current: Sequence[str], found: match.Match) -> str:
    return note_id(current[found.index])


def short_list(entries: Sequence[str], echo: Echo) -> list[str]:
    """The beginnings of the first entries: enough to choose one, too little to flood the context."""
    return [_short(echo(entry)) for entry in entries[:SHORT_LIST]]


def _short(text: str) -> str:
    return text if len(text) <= MATCH_CHARS else text[:MATCH_CHARS] + "..."


def check_limit(
    before: Sequence[str], after: Sequence[str], target: Target, limit: int, echo: Echo
) -> None:
    """Raise NoteLimitError when the final state is over the limit; only taking away is always allowed.

    Args:
        before: The entries as they are.
        after: The entries as they would be.
        target: Whose limit.
        limit: Characters; 0 or less means none.
        echo: What may be shown of an entry.
    """
    would_be = count(after)
    if limit <= 0 or would_be <= limit or set(after) <= set(before):
        return
    current, over_by = count(before), would_be - limit
    shown = capped([echo(entry) for entry in before], max(2 * limit, 4_000))
    left_out = len(before) - len(shown)
    raise NoteLimitError(
        messages.over_limit(target, would_be, limit, over_by),
        hint=f"hermes memory list --target {target}",
        details={
            "over_by": over_by,
            "current": current,
            "would_be": would_be,
            "limit": limit,
            "usage": messages.usage_short(current, limit),
            "current_entries": shown,
            **({"left_out": left_out} if left_out else {}),
        },
    )


def capped(texts: Sequence[str], max_chars: int) -> list[str]:
    """As many of the texts as fit, from the first: an oversize file must not flood the context."""
    kept: list[str] = []
    room = max_chars
    for text in texts:
        shown = shorten(text, 2_000)
        room -= len(shown)
        if room < 0:
            break
        kept.append(shown)
    return kept
