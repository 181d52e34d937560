"""What the safety scan thinks of entries, remembered by text, and how blocked text is shown: never raw.

The scan itself is the core's (``hermes_memory_core.safety``) and is imported on first use. A verdict is never
stored on disk: a marker in the file could be written by anybody (spec/builtin.md section 14.1, M7).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from hermes_memory_core.safety.lines import shorten
from hermes_memory_core.storage import memos
from hermes_memory_core.types import Finding, Target
from hermes_memory_files.document import FILE_NAMES, note_id

PREVIEW_CHARS = 200
_REMEMBERED = 4_096
_SECRET = "live_secret"  # noqa: S105 - a finding's id
_HAN = re.compile("[\u4e00-\u9fff]")
_REMARK = re.compile(r"\s*\[[^\]\n]{0,300}\]\s*")
_INSIDE_CHARS = 100
"""A payload can run through a whole entry, into both neighbours, only when that entry is short."""


# What the scan thinks of a text depends on the text alone, so all open memories of a process share it. Plain dicts
# and no lock: a lock held by another thread would stay held in a forked child.
_VERDICTS: dict[str, tuple[Finding, ...]] = {}
_TOGETHER: dict[tuple[str, ...], tuple[tuple[Finding, ...], ...]] = {}

memos.register(_VERDICTS.clear)
memos.register(_TOGETHER.clear)


class Screen:
    """Verdicts on texts, each text scanned once per process."""

    def findings(self, text: str) -> tuple[Finding, ...]:
        """Everything the scan says about one text."""
        found = _VERDICTS.get(text)
        if found is None:
            found = _scanned(text)
            if len(_VERDICTS) >= _REMEMBERED:
                _VERDICTS.clear()
            _VERDICTS[text] = found
        return found

    def blocked(self, text: str) -> tuple[str, ...]:
        """Ids of the findings that keep the text out of the prompt; () when it may be shown."""
        return ids_of(self.findings(text), "block")

    def across(
        self, entries: Sequence[str], wanted: Collection[str] | None = None
    ) -> dict[int, list[Finding]]:
        """Findings that only show when neighbours are read together, by index of each entry involved.

        Args:
            entries: All entries in order.
            wanted: Look only at groups with one of these texts in them; None looks at all.
        """
        spread: dict[int, list[Finding]] = {}
        for start, end in _groups(entries):
            group = tuple(entries[start:end])
            if wanted is not None and not any(text in wanted for text in group):
                continue
            for index, found in enumerate(self._together(group), start):
                spread.setdefault(index, []).extend(found)
        return spread

    def _together(self, group: tuple[str, ...]) -> tuple[tuple[Finding, ...], ...]:
        known = _TOGETHER.get(group)
        if known is None:
            from hermes_memory_core.safety.threats import scan_entries

            known = tuple(map(tuple, scan_entries(group)))
            if len(_TOGETHER) >= _REMEMBERED:
                _TOGETHER.clear()
            _TOGETHER[group] = known
        return known

    def blocked_of(self, entries: Sequence[str]) -> list[tuple[str, ...]]:
        """For each entry the ids that keep it out of the prompt, alone or together with a neighbour."""
        spread = self.across(entries)
        return [
            ids_of((*self.findings(entry), *spread.get(index, ())), "block")
            for index, entry in enumerate(entries)
        ]

    def all_shown(self, target: Target, entries: Sequence[str]) -> list[str]:
        """The entries, with placeholders for those that may not be shown."""
        return [
            placeholder(target, entry, reasons) if reasons else entry
            for entry, reasons in zip(entries, self.blocked_of(entries), strict=True)
        ]

    def shown(self, target: Target, text: str) -> str:
        """The text, or the placeholder that stands for it."""
        reasons = self.blocked(text)
        return placeholder(target, text, reasons) if reasons else text

    def preview(self, target: Target, text: str, max_chars: int = PREVIEW_CHARS) -> str:
        """At most ``max_chars`` of what may be shown, cut with an ellipsis."""
        return shorten(self.shown(target, text), max_chars)


def _secrets(text: str) -> list[Finding]:
    """A live credential: in the prompt of every session to come it would be a standing leak."""
    from hermes_memory_core.safety.redact import redact
    from hermes_memory_core.safety.threats import RuleSet

    masked = redact(text)
    if masked == text:
        return []
    pairs = enumerate(zip(text, masked, strict=False))
    start = next((place for place, (a, b) in pairs if a != b), 0)
    reason = RuleSet.default().reason(_SECRET, "zh" if _HAN.search(text) else "en")
    return [Finding(_SECRET, "review", start, len(text), reason)]


def _scanned(text: str) -> tuple[Finding, ...]:
    """The scan of a text and, behind a bracketed remark at its start, of the rest alone.

    A remark such as ``[BLOCKED: …]`` reads like talk about an attack and would soften what follows it.
    """
    from hermes_memory_core.safety import scan

    found = [*scan(text), *_secrets(text)]
    remark = _REMARK.match(text)
    if remark is None:
        return tuple(found)
    shift = remark.end()
    rest = [
        replace(one, start=one.start + shift, end=one.end + shift) for one in scan(text[shift:])
    ]
    return (*found, *rest)


def _groups(entries: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Neighbours worth reading together: all pairs, and threes around a short one."""
    for start in range(len(entries) - 1):
        yield start, start + 2
        if start + 2 < len(entries) and len(entries[start + 1]) <= _INSIDE_CHARS:
            yield start, start + 3


def ids_of(findings: Sequence[Finding], severity: str) -> tuple[str, ...]:
    """Ids of the findings of one severity, each once, in the order found."""
    return tuple(dict.fromkeys(item.id for item in findings if item.severity == severity))


def placeholder(target: Target, text: str, reasons: Sequence[str]) -> str:
    """What the model sees instead of a blocked entry; the id lets it be removed without being read."""
    return (
        f"[BLOCKED: entry {note_id(text)} of {FILE_NAMES[target]} is withheld ({', '.join(reasons)}); "
        f'tell the user, or remove it with old_text "{note_id(text)}"]'
    )
