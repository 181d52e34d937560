"""Puts the finders together: a quick look first, then spans, merging and masking.

Pure: no memory of values and no configuration (see ``redactor``).
"""

from __future__ import annotations

import re

from hermes_memory_core.safety.redact.masks import MASK_PREFIX, Span, mask

_COMMAND_GATE = (
    "curl",
    "mysql",
    "redis-cli",
    "zip",
    "ldap",
    "7z",
    "maria",
    "mongo",
    "sqlcmd",
    "smb",
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
_QUOTED_KEY = re.compile(r"(\\{0,8}\")[ \t]{0,4}:[ \t]{0,4}$")
_CLOSING_QUOTE = re.compile(r"\\{0,8}\"\s{0,8}[,:\]}]")
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)[ \t\r\n]{0,40}(?:[,}\]]|$)")
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
    # One expression and no loop: this line sees every message, and a loop doubles its cost.
    if (
        "pass" in low
        or "key" in low
        or "token" in low
        or "secret" in low
        or "pw" in low
        or "auth" in low
        or "cred" in low
        or "login" in low
        or "in with " in low
        or "in as " in low
        or "cookie" in low
        or " pin" in low
        or "phrase" in low
        or "mnemonic" in low
        or "recovery " in low
        or "senha" in low
        or "clave" in low
        or "kennwort" in low
        or "jeton" in low
        or "net use" in low
    ):
        return False
    if " -" in low and any(word in low for word in _COMMAND_GATE):
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
    """Move a span out of escapes and closing quotes it begins, ends or runs in: JSON stays JSON."""
    closing = _CLOSING_QUOTE.search(text, span.start, span.end)
    start, end = span.start, span.end if closing is None else closing.start()
    if start and text[start - 1] == "\\" and _slashes(text, start) % 2:
        start += 5 if text[start] == "u" else 1
    if end > start and closing is None and text[end - 1] == "\\" and _slashes(text, end) % 2:
        end -= 1
    return span if (start, end) == (span.start, span.end) else span._replace(start=start, end=end)


def _slashes(text: str, end: int) -> int:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return end - start


def apply_masks(text: str, spans: list[Span]) -> str:
    """Replace spans (in order, without overlaps) by masks.

    A bare value under a quoted key is a number of JSON; its mask gets quotes, to stay JSON.
    """
    parts: list[str] = []
    at = 0
    for span in spans:
        number = _NUMBER.match(text, span.start)
        quote = None
        if number is not None and number.end(1) == span.end:
            quote = _QUOTED_KEY.search(text, max(0, span.start - 24), span.start)
        sign = "" if quote is None else quote.group(1)
        parts += [text[at : span.start], sign, mask(span.kind), sign]
        at = span.end
    parts.append(text[at:])
    return "".join(parts)
