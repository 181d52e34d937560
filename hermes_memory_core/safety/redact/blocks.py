"""Finds private keys written as blocks: PEM, OpenSSH, PGP, PuTTY, also cut, quoted or escaped.

Certificates and public keys stay. A line that stands alone is judged by its width: PEM breaks at
64 characters, OpenSSH at 70.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import zip_longest
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.shapes import is_hex, is_random

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = re.compile(
    r"-{4,5}[ ]?BEGIN (?P<label>[A-Z0-9 ]{0,40}?(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY(?: BLOCK)?"
    r"|OPENVPN STATIC KEY[ V0-9]*))[ ]?-{4,5}"
)
_END = re.compile(r"-{4,5}[ ]?END [A-Z0-9 ]{1,50}")
_PUBLIC = re.compile(
    r"-----BEGIN (?:CERTIFICATE|[A-Z ]*PUBLIC KEY|[A-Z0-9 ]*CERTIFICATE REQUEST|PGP (?:SIGNATURE|MESSAGE)|SSH SIGNATURE|X509 CRL|DH PARAMETERS|EC PARAMETERS)"
)
_BREAK = re.compile(r"\r?\n|\\+r?\\*n|\\+r|%0[AD]|\r")
_PIECE = re.compile(r"[A-Za-z0-9+/=_-]+")
_HEADER = re.compile(r"[\s>|#*+\"',-]*(?:[A-Z][A-Za-z-]{2,24}): ")
_DECORATED = re.compile(
    r"(?P<before>[\s>|#*+\"'`,;:.\d\[\]()-]{0,24}?)(?P<body>=?[A-Za-z0-9+/][A-Za-z0-9+/=]*)(?P<after>[\s\"'`,;+|\])\\]{0,12})"
)
_PUTTY = re.compile(r"Private-Lines:[ ]?(\d{1,3})")
_ALONE = re.compile(
    r"(?m)^[ \t>|+#*\"'-]{0,24}(?P<body>[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{15,75}={1,2})"
    r"(?:\\+[nr]|[\"',\s+;|\\]){0,8}$"
)
_DIGEST_SIZES = frozenset({24, 28, 32, 44, 48, 88})
_FIRST = re.compile(r"\s*([A-Za-z0-9+/=]{32,})")
_LITERAL = re.compile(r"null|true|false|\d+")
_LIMIT = 40_000


def find_blocks(text: str) -> Iterator[Span]:
    """Find the bodies of private-key blocks; the BEGIN and END lines stay.

    A block without an end runs as far as its lines look like one.
    """
    begins = list(_BEGIN.finditer(text))
    ends = [match.start() for match in _END.finditer(text)] if begins else []
    for begin, following in zip_longest(begins, begins[1:]):
        if begin is None:
            break
        start = begin.end()
        limit = min(len(text), start + _LIMIT)
        if following is not None:
            limit = min(limit, following.start())
        number = bisect_left(ends, start)
        closed = number < len(ends) and ends[number] <= limit
        yield from _body(text, start, ends[number] if closed else limit, closed=closed)
    done = 0
    for putty in _PUTTY.finditer(text):
        if putty.start() >= done:
            done = _after_lines(text, putty.end(), int(putty[1]) + 1)
            yield from _body(text, putty.end(), done, closed=False)


def _after_lines(text: str, start: int, count: int) -> int:
    at = start
    for _ in range(count):
        found = _BREAK.search(text, at, start + _LIMIT)
        if found is None:
            return min(len(text), start + _LIMIT)
        at = found.end()
    return at


def _body(text: str, start: int, stop: int, *, closed: bool) -> Iterator[Span]:
    at = start
    while at < stop:
        found = _BREAK.search(text, at, stop)
        line_end = stop if found is None else found.start()
        if line_end > at and not _HEADER.match(text, at, line_end):
            match = _DECORATED.fullmatch(text, at, line_end)
            if match is not None and _LITERAL.fullmatch(match["body"]):
                pass  # a value of JSON beside the block
            elif match is not None:
                yield Span(*match.span("body"), "private-key", sure=len(match["body"]) >= 24)
            elif closed:
                for piece in _PIECE.finditer(text, at, line_end):
                    if len(piece.group()) >= 12:
                        yield Span(*piece.span(), "private-key", sure=False)
            elif text[at:line_end].strip(" \t>|#*+\"',-"):
                # Not of the block any more; mask a first part of the line that still looks so.
                first = _FIRST.match(text, at, line_end)
                if first is not None:
                    yield Span(*first.span(1), "private-key", sure=False)
                return
        if found is None:
            return
        at = found.end()


def find_lone_lines(text: str) -> Iterator[Span]:
    """Find lines that can only be a part of a private-key block, seen without its head.

    A final line (it ends in ``=``) counts unless it has the length of a digest.
    """
    if _PUBLIC.search(text):
        return
    for match in _ALONE.finditer(text):
        body = match["body"]
        if len(body) not in {64, 70} and len(body) in _DIGEST_SIZES:
            continue
        if not is_hex(body) and _is_base64(body):
            yield Span(*match.span("body"), "private-key", sure=False)


def _is_base64(body: str) -> bool:
    core = body.rstrip("=")
    return (
        any(char.isupper() for char in core)
        and any(char.islower() for char in core)
        and (any(char.isdigit() for char in core) or len(core) < 24)
        and is_random(core)
    )
