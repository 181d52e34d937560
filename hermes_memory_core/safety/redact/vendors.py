"""Finds keys that their own form gives away: a vendor's prefix, a JWT, a telling structure.

The prefixes are data in the ``rules_*`` tables. A look-up by the first three characters at every
word start replaces a search with hundreds of patterns; a pattern is compiled when first needed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact import rules_cloud, rules_code, rules_models, rules_saas
from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.rules import ALNUM, HEX, Rule
from hermes_memory_core.safety.redact.shapes import is_hex, is_placeholder, is_random, word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRUCTURED = (
    Rule(
        "jwt",
        "JSON Web Token, also without its signature",
        ("eyJ",),
        r"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}",
        certain=True,
    ),
    Rule(
        "jwt",
        "header of a JSON Web Token",
        ("eyJhbGci", "eyJ0eXAi", "eyJraWQi"),
        r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]*){0,4}",
        certain=True,
    ),
    Rule("discord-token", "Discord user token", ("mfa.",), r"[\w-]{60,}", certain=True),
    Rule(
        "openssh-key",
        "body of an OpenSSH private key",
        ("b3BlbnNzaC1rZXktdjE",),
        r"[\w+/=]{8,}",
        certain=True,
    ),
)
RULES: tuple[Rule, ...] = (
    *rules_models.RULES,
    *rules_code.RULES,
    *rules_cloud.RULES,
    *rules_saas.RULES,
    *_STRUCTURED,
)
"""Every prefix rule; ``SHAPES`` holds the few kinds without one."""

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
SHAPES: tuple[tuple[str, str, str], ...] = (
    ("telegram-token", ":", r"(?<!\d)\d{8,10}:[A-Za-z0-9_-]{34,36}(?![A-Za-z0-9_-])"),
    ("discord-token", ".", r"(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    ("mailchimp-key", "-us", r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    ("mailgun-key", "-", r"(?<![0-9a-f-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])"),
    ("fal-key", ":", rf"(?<![0-9a-f-]){_UUID}:[0-9a-f]{{32}}(?![0-9a-f])"),
    ("azure-secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}"),
    ("azure-key", "+A", r"[A-Za-z0-9+/]{76}\+A(?:St|SB|Eh|Rm)[A-Za-z0-9+/]{6}=="),
    (
        "azure-key",
        "A",
        r"(?<![A-Za-z0-9])[A-Za-z0-9]{44}(?:Az[A-Z][a-z]|ACDb)[A-Za-z0-9+/]{4,38}={0,2}",
    ),
    ("azure-key", "JQQJ9", r"(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ9[9D][A-Za-z0-9]{26}"),
    ("firebase-key", "AAAA", r"(?<![\w-])AAAA[\w-]{7}:[\w-]{100,}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    ("bitwarden-token", ":", rf"0\.{_UUID}\.[A-Za-z0-9]{{24,}}:[A-Za-z0-9+/]{{20,}}={{0,2}}"),
    ("zhipu-key", ".", r"(?<![0-9a-f])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    ("twilio-key", "SK", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![0-9a-f])"),
)
"""Kinds without a prefix: (id, substring that must be present, pattern)."""

_RUN = re.compile(r"\S{12,}")
_CHUNK = re.compile(r"[A-Za-z0-9]+")
_TAIL = re.compile(r"[A-Za-z0-9_-]*")
_WORD = re.compile(r"[A-Za-z0-9_-]{20,}")
_CAPITALS = re.compile(r"[A-Z0-9]{16,}")
_JUDGED = 300
_DIGIT = re.compile(r"[0-9]")
_CREDENTIAL = word_set(
    "live test prod sk key apikey token tok secret pat api access auth oauth bearer svc sa cred "
    "refresh session pw pwd password restricted priv private admin"
)
_PUBLIC = word_set("pk pub public publishable id anon client call toolu req msg run")


@cache
def _index() -> dict[str, tuple[tuple[str, Rule], ...]]:
    """Group the rules by the first three characters, longest prefix first."""
    table: dict[str, list[tuple[str, Rule]]] = {}
    for rule in RULES:
        for prefix in rule.prefixes:
            table.setdefault(prefix[:3], []).append((prefix, rule))
    return {head: tuple(sorted(rows, key=lambda row: -len(row[0]))) for head, rows in table.items()}


@cache
def _pattern(body: str) -> re.Pattern[str]:
    return re.compile(body)


@cache
def _shape_patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple((kind, anchor, re.compile(pattern)) for kind, anchor, pattern in SHAPES)


def find_vendor_keys(text: str) -> Iterator[Span]:
    """Find keys by prefix or structure, in any surrounding.

    Args:
        text: any text; the cost is linear in its length.

    Yields:
        One span per key, sure; overlaps are possible and left to the caller.
    """
    index = _index()
    for run in _RUN.finditer(text):
        start, end = run.span()
        done = start
        for chunk in _CHUNK.finditer(text, start, end):
            at = chunk.start()
            if at < done:
                continue
            rows = index.get(text[at : at + 3])
            span = None if rows is None else _match(text, at, rows)
            if span is None and at and text[at - 1] in "\\%":
                # What an escape hides: \\n or %3D glued to the key.
                at += 1 if text[at - 1] == "\\" else 2
                rows = index.get(text[at : at + 3])
                span = None if rows is None else _match(text, at, rows)
            if span is not None:
                done = span.end
                yield span
        if end - start >= 20:
            yield from _find_unlisted(text, start, end)


def _match(text: str, at: int, rows: tuple[tuple[str, Rule], ...]) -> Span | None:
    for prefix, rule in rows:
        if not text.startswith(prefix, at):
            continue
        body_at = at + len(prefix)
        pattern = _pattern(rule.body)
        # Judged by its beginning, so that many starts in one long run stay cheap together.
        match = pattern.match(text, body_at, body_at + _JUDGED)
        if match is None or not _is_key(match.group(), rule):
            continue
        if match.end() == body_at + _JUDGED:
            match = pattern.match(text, body_at) or match
        tail = _TAIL.match(text, match.end())
        end = match.end() if tail is None else tail.end()
        while text[end - 1] in ".,;:!?" and end > body_at + 8:
            end -= 1
        return Span(at, end, rule.id, sure=True)
    return None


def _is_key(body: str, rule: Rule) -> bool:
    """Judge the part behind the prefix: no placeholder, and random as far as the rule asks."""
    if body.endswith(("EXAMPLE", "EXAMPLEKEY")) or len(set(body)) < 5 or is_placeholder(body):
        return False
    if is_random(body):
        return True
    if rule.certain or rule.body in {ALNUM, HEX}:
        return any(char.isdigit() for char in body)
    parts = re.split(r"[-_.]", body)
    return any(is_random(part) or _CAPITALS.fullmatch(part) is not None for part in parts)


def _find_unlisted(text: str, start: int, end: int) -> Iterator[Span]:
    """Find kinds without a prefix, and ``<vendor>_<credential word>_<random>`` of any vendor."""
    long = [match for match in _WORD.finditer(text, start, end) if _DIGIT.search(match.group())]
    if end - start >= 32 and (long or "Q~" in text[start:end]):
        run = text[start:end]
        for kind, anchor, pattern in _shape_patterns():
            if anchor in run:
                for match in pattern.finditer(text, start, end):
                    yield Span(match.start(), match.end(), kind, sure=True)
    for match in long:
        parts = re.split(r"[_-]", match.group()[:200])
        if len(parts) < 2:
            continue
        words = [part.lower() for part in parts[:5]]
        at = next((n for n, word in enumerate(words[:-1]) if word in _CREDENTIAL), None)
        if at is None or not _PUBLIC.isdisjoint(words):
            continue
        longest = max(parts[at + 1 :], key=len, default="")
        if len(longest) >= 14 and not is_hex(longest) and is_random(longest):
            yield Span(match.start(), match.end(), "token", sure=True)
