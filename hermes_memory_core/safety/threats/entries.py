"""Scanning several notes at once, so that a payload cut in two is seen whole.

Neighbouring notes are read together; only what neither note shows alone is reported, on both of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_core.safety.threats.rules import RuleSet
from hermes_memory_core.safety.threats.scanner import TONE_ID, scan
from hermes_memory_core.types import Finding

_EDGE = 400
_JOINT = " "


def scan_entries(
    entries: Sequence[str], *, lang: str | None = None, rules: RuleSet | None = None
) -> list[list[Finding]]:
    """Scan each entry, and each pair and triple of neighbours across their borders.

    Args:
        entries: Notes in the order in which they stand in the prompt.
        lang: Language of the reasons, see `scan`.
        rules: The rule set, see `scan`.

    Returns:
        One list of findings per entry, spans in that entry. A payload split over entries is reported on every
        entry it touches, with a reason that says so.
    """
    used = rules or RuleSet.default()
    results = [scan(entry, lang=lang, rules=used) for entry in entries]
    for index in range(len(entries) - 1):
        for reach in (2, 3):
            group = range(index, min(index + reach, len(entries)))
            if len(group) == reach:
                _add_split(entries, list(group), results, lang, used)
    return results


def _add_split(
    entries: Sequence[str],
    group: list[int],
    results: list[list[Finding]],
    lang: str | None,
    rules: RuleSet,
) -> None:
    if len(group) == 3 and len(entries[group[1]]) > _EDGE:
        return
    for joint in (_JOINT, ""):
        text, parts = _glued(entries, group, joint)
        for finding in scan(text, lang=lang, rules=rules):
            # Two honest notes read as one can sound odd; only what a rule says counts across a border.
            if finding.severity == "warn" or finding.id == TONE_ID:
                continue
            touched = [
                (number, start, length, shift)
                for number, start, length, shift in parts
                if finding.start < start + length and finding.end > start
            ]
            if len(touched) < 2 or _known(results, touched, finding):
                continue
            _place(finding, touched, results, rules, lang)


def _glued(
    entries: Sequence[str], group: list[int], joint: str
) -> tuple[str, list[tuple[int, int, int, int]]]:
    """Join the facing edges; each part is (entry, start in the glued text, length, start in the entry)."""
    text = ""
    parts = []
    for place, number in enumerate(group):
        entry = entries[number]
        first, last = place == 0, place == len(group) - 1
        shift = max(0, len(entry) - _EDGE) if first else 0
        piece = entry[shift:] if first else entry[:_EDGE] if last else entry
        if text:
            text += joint
        parts.append((number, len(text), len(piece), shift))
        text += piece
    return text, parts


def _known(
    results: list[list[Finding]], touched: list[tuple[int, int, int, int]], finding: Finding
) -> bool:
    """True when one of the entries alone already gives this finding."""
    return any(
        old.id == finding.id and old.severity != "warn"
        for number, *_ in touched
        for old in results[number]
    )


def _place(
    finding: Finding,
    touched: list[tuple[int, int, int, int]],
    results: list[list[Finding]],
    rules: RuleSet,
    lang: str | None,
) -> None:
    reason = f"{finding.reason} ({rules.reason('split_entries', lang or 'en')})"
    for number, start, length, shift in touched:
        begin = max(finding.start - start, 0) + shift
        end = min(finding.end - start, length) + shift
        results[number].append(Finding(finding.id, finding.severity, begin, end, reason))
