"""The scan: fold, look, decode, look again. Orders the steps and turns what they find into `Finding` values.

What counts as evidence is data (``tables/``); how disguises are undone lives in ``fold.py``, ``disguise.py`` and
``decode.py``. No I/O happens here beyond the one lazy load of the tables.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from hermes_memory_core.safety.threats import decode, disguise, invisible
from hermes_memory_core.safety.threats.evidence import weigh
from hermes_memory_core.safety.threats.fold import View, disguised_words, fold
from hermes_memory_core.safety.threats.hearing import WARN, Hearing, ruled, shown
from hermes_memory_core.safety.threats.lexicon import Hit
from hermes_memory_core.safety.threats.passages import passages
from hermes_memory_core.safety.threats.rules import RuleSet
from hermes_memory_core.types import Finding, Severity

TONE_ID = "suspicious_wording"
_HAN = re.compile("[\u4e00-\u9fff]")
WINDOW, OVERLAP = 65_536, 2_048
_DEPTH = 3
_RANK: dict[Severity, int] = {"warn": 0, "review": 1, "block": 2}


class _Raw(NamedTuple):
    """A finding before its reason is worded: offsets in the text that was scanned."""

    id: str
    severity: Severity
    start: int
    end: int
    lang: str
    how: str = ""


def scan(text: str, *, lang: str | None = None, rules: RuleSet | None = None) -> list[Finding]:
    """Look for prompt injection, concealment, exfiltration, back doors and disguises.

    Args:
        text: A note, a recalled passage, a search result; any length (windows of 65,536 characters).
        lang: The person's language for the reasons; None takes the language of what was found.
        rules: Defaults to `RuleSet.default()`; use its ``extend`` to add tables.

    Returns:
        All findings in order of their place, empty when the text is clean. ``start`` and ``end`` are
        offsets in ``text`` as given.
    """
    used = rules or RuleSet.default()
    raw: list[_Raw] = []
    for offset in range(0, max(len(text), 1), WINDOW - OVERLAP):
        part = text[offset : offset + WINDOW]
        raw.extend(_moved(item, offset) for item in _scan_part(part, used, 0))
        if offset + WINDOW >= len(text):
            break
    return [_finding(item, used, lang) for item in _merged(raw) if item.id not in used.off]


def verdict(findings: Iterable[Finding]) -> str:
    """The gravest outcome: ``"clean"``, ``"warn"``, ``"review"`` or ``"block"``."""
    worst = max((_RANK[finding.severity] for finding in findings), default=-1)
    return ("clean", "warn", "review", "block")[worst + 1]


def _scan_part(text: str, rules: RuleSet, depth: int) -> list[_Raw]:
    found: list[_Raw] = []
    unseen = invisible.find_unseen(text)
    found += [_Raw(item.id, item.severity, item.start, item.end, "en") for item in unseen]
    spelled = [item for item in unseen if item.message]
    if spelled and depth < _DEPTH:
        # Read as one message: its letters may be spread over the text one by one.
        message = "".join(item.message for item in spelled)
        found += _within(message, spelled[0].start, spelled[-1].end, rules, depth)
    for start, end in disguised_words(text):
        found.append(_Raw("lookalike_letters", "warn", start, end, "en"))
    folded = fold(text)
    view = View(disguise.unleet(folded.text, rules.lexicon), folded.starts, folded.length)
    found += _scan_view(view, rules)
    found += _undisguised(view, rules, depth)
    if depth < _DEPTH:
        for blob in decode.find_blobs(text):
            found += _within(blob.text, blob.start, blob.end, rules, depth)
        expanded = decode.expand_inline(text)
        if expanded is not None:
            found += _expanded(expanded, rules, depth)
    return found


def _undisguised(view: View, rules: RuleSet, depth: int) -> list[_Raw]:
    found: list[_Raw] = []
    spaced = disguise.despace(view, rules.lexicon)
    if spaced is not None:
        found += [item._replace(how="spaced") for item in _scan_view(spaced, rules)]
    latin = disguise.latin_words(view)
    for start, end in disguise.run_together(view, latin, rules.lexicon):
        found.append(_Raw("override_rules", "block", start, end, "en", "spaced"))
    if depth < _DEPTH:
        for turned in disguise.mirrored(view, latin):
            found += _within(turned, 0, view.length, rules, _DEPTH)
    return found


def _within(inner: str, start: int, end: int, rules: RuleSet, depth: int) -> list[_Raw]:
    """Findings of a decoded text, all placed on the stretch it was decoded from. Hiding it makes it graver."""
    found = []
    for item in _scan_part(inner, rules, depth + 1):
        severity: Severity = "review" if item.severity == "warn" else item.severity
        found.append(_Raw(item.id, severity, start, end, item.lang, "encoded"))
    return found


def _expanded(view: View, rules: RuleSet, depth: int) -> list[_Raw]:
    found = []
    for item in _scan_part(view.text, rules, depth + 1):
        start, end = view.span(item.start, item.end)
        found.append(item._replace(start=start, end=end, how=item.how or "encoded"))
    return found


def _scan_view(view: View, rules: RuleSet) -> list[_Raw]:
    text = view.text
    found: list[_Raw] = []
    held: list[int] = []
    opened = rules.gates.open(text)
    hits = _hits(text, rules, opened)
    weighed = weigh(text, hits, rules.evidence, rules.less)
    hearing = Hearing(passages(text, weighed), rules.tone.read(text), rules.tone)
    for shape in rules.shapes:
        if shape.gate and opened.isdisjoint(shape.gate):
            continue
        for match in shape.pattern.finditer(text):
            if shape.inside is not None and shape.inside.search(match[0]) is None:
                continue
            severity = shown(shape.severity, hearing.around(*match.span()))
            found.append(_Raw(shape.id, severity, *view.span(*match.span()), "en"))
    for judged in weighed.verdicts:
        if judged.score < WARN:
            continue
        severity = ruled(judged.score, hearing.around(judged.start, judged.end))
        if severity != "warn" and judged.rule.id not in rules.off:
            held.append(judged.start)
        start, end = view.span(judged.start, judged.end)
        found.append(_Raw(judged.rule.id, severity, start, end, judged.lang))
    held.sort()
    for part, severity in hearing.loud():
        if severity == "review" and bisect_left(held, part.start) < bisect_left(held, part.end):
            continue  # a rule says better why
        lang = _language(text, part.start, part.end)
        found.append(_Raw(TONE_ID, severity, *view.span(part.start, part.end), lang))
    return found


def _language(text: str, start: int, end: int) -> str:
    return "zh" if _HAN.search(text, start, end) else "en"


def _hits(text: str, rules: RuleSet, opened: set[str] | None = None) -> list[Hit]:
    """Words and names, in order; a word inside an address (``evil.example``) says nothing."""
    hits = rules.lexicon.find(text)
    named = _named(text, rules, rules.gates.open(text) if opened is None else opened)
    if named:
        addresses = [hit for hit in named if hit.concept == "dest"]
        if addresses:
            inside: set[int] = set()
            for address in addresses:
                inside.update(range(address.start, address.end))
            hits = [hit for hit in hits if hit.start not in inside]
        hits += named
        hits.sort()
    return hits


def _named(text: str, rules: RuleSet, opened: set[str]) -> list[Hit]:
    """Names with punctuation (URLs, file names) as evidence; looked for only around their gate strings."""
    hits: dict[tuple[int, str], Hit] = {}
    for named in rules.patterns:
        if not named.gate:
            for found in named.pattern.finditer(text):
                hits[found.start(), named.concept] = Hit(*found.span(), named.concept, "en")
        if opened.isdisjoint(named.gate):
            continue
        for gate in filter(opened.__contains__, named.gate):
            place = text.find(gate)
            while place >= 0:
                match = named.pattern.search(text, max(0, place - 16), place + 120)
                if match is not None:
                    hit = Hit(match.start(), match.end(), named.concept, "en")
                    hits[hit.start, hit.concept] = hit
                place = text.find(gate, max(place + 1, match.end() if match is not None else 0))
    return list(hits.values())


def _moved(item: _Raw, offset: int) -> _Raw:
    return item._replace(start=item.start + offset, end=item.end + offset) if offset else item


def _merged(raw: list[_Raw]) -> list[_Raw]:
    """One finding per id and place: overlapping ones of the same id become the gravest of them."""
    raw.sort(key=lambda item: (item.id, item.start, -item.end))
    merged: list[_Raw] = []
    for item in raw:
        last = merged[-1] if merged else None
        if last is not None and last.id == item.id and item.start < last.end:
            worse = item if _RANK[item.severity] > _RANK[last.severity] else last
            merged[-1] = worse._replace(start=last.start, end=max(last.end, item.end))
        else:
            merged.append(item)
    return sorted(merged, key=lambda item: (item.start, item.end, item.id))


def _finding(item: _Raw, rules: RuleSet, lang: str | None) -> Finding:
    shown = lang or item.lang
    reason = rules.reason(item.id, shown)
    if item.how:
        reason = f"{reason} ({rules.reason(item.how, shown)})"
    return Finding(item.id, item.severity, item.start, item.end, reason)
