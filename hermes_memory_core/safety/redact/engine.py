"""Puts the finders together: a quick look first, then spans, merging and masking.

Pure: no memory of values and no configuration (see ``redactor``).
"""

from __future__ import annotations

import re

from hermes_memory_core.safety.redact.masks import MASK_PREFIX, Span, mask

_GATE = (
    *("pass", "secret", "token", "key", "pwd", "auth", "cred", "pw", "cookie", "bearer", "private"),
    *(
        "curl",
        "mysql",
        "redis-cli",
        "login",
        "in with ",
        "in as ",
        " pat",
        "dsn",
        "mnemonic",
        "seed phrase",
        "recovery ",
    ),
    *(
        "senha",
        "clave",
        "kennwort",
        "jeton",
        "webhook",
        " pin",
        "psk",
        "zip",
        "ldap",
        "7z",
        "net use",
    ),
)
_NATIVE_GATE = (
    *(
        "密",
        "口令",
        "令牌",
        "鑰",
        "钥",
        "凭证",
        "憑證",
        "パス",
        "トークン",
        "シークレット",
        "キー",
        "비밀번호",
    ),
    *("암호", "토큰", "키", "contraseña", "schlüssel", "пароль", "токен", "ключ"),
)
_LONG_CHARS = 16
_LONG = re.compile(r"[!-~]{16}")
_PASSES = 4


def redact_text(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Mask every secret found in a text.

    Returns:
        The masked text, and the values masked so surely that they may be remembered, with kinds.
    """
    sure: list[tuple[str, str]] = []
    for _ in range(_PASSES):
        spans = find_secrets(text)
        if not spans:
            break
        sure += [(text[s.start : s.end], s.kind) for s in spans if s.sure]
        text = apply_masks(text, spans)
    return text, sure


def is_clean(text: str) -> bool:
    """Tell at once that a text holds nothing to look at: no telling word, no long word."""
    low = text.lower()
    for word in _GATE:
        if word in low:
            return False
    if not text.isascii():
        for word in _NATIVE_GATE:
            if word in low:
                return False
    words = text.split()
    if not words or len(max(words, key=len)) < _LONG_CHARS:
        return True
    return all(len(word) < _LONG_CHARS or _LONG.search(word) is None for word in words)


def find_secrets(text: str) -> list[Span]:
    """Find every secret in a text.

    Returns:
        Spans in order, without overlaps, none touching a mask.
    """
    if is_clean(text):
        return []
    # Imported here: most texts never come this far, and the tables need not be loaded for them.
    from hermes_memory_core.safety.redact.search import search_text

    return merge_spans(text, search_text(text))


def merge_spans(text: str, spans: list[Span]) -> list[Span]:
    """Sort spans, join overlapping ones (the longest gives the kind), drop those with a mask."""
    merged: list[Span] = []
    masked = MASK_PREFIX in text
    for found in sorted(spans, key=lambda s: (s.start, -s.end)):
        span = _clear_of_escapes(text, found)
        if span.end <= span.start or (masked and "«" in text[span.start : span.end]):
            continue
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
            continue
        longer = max(last, span, key=lambda s: (s.end - s.start, s.sure))
        end = max(last.end, span.end)
        merged[-1] = Span(last.start, end, longer.kind, last.sure or span.sure)
    return merged


def _clear_of_escapes(text: str, span: Span) -> Span:
    """Move a span out of the backslash sequences it begins or ends in, so JSON stays JSON."""
    start, end = span.start, span.end
    if start and text[start - 1] == "\\" and _slashes(text, start) % 2:
        start += 5 if text[start] == "u" else 1
    if end > start and text[end - 1] == "\\" and _slashes(text, end) % 2:
        end -= 1
    return span if (start, end) == (span.start, span.end) else span._replace(start=start, end=end)


def _slashes(text: str, end: int) -> int:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return end - start


def apply_masks(text: str, spans: list[Span]) -> str:
    """Replace spans (in order, without overlaps) by masks."""
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], mask(span.kind)]
        at = span.end
    parts.append(text[at:])
    return "".join(parts)
