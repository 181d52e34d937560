"""Texts inside the text: base64, base32, hex, binary, character codes, and escapes written in line.

Only decodes; judging what comes out is the scanner's business. Every result is bounded by the length of its source.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import string
import zlib
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from hermes_memory_core.safety.threats.fold import View

_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:[ \t]?\r?\n[ \t]?[A-Za-z0-9+/_-]{8,})*={0,2}"
)
_BASE64_SPACED = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{4}[ \t\n]){4,}[A-Za-z0-9+/]{1,4}={0,2}"
)
_BASE32 = re.compile(r"(?<![A-Z0-9])[A-Z2-7]{24,}={0,6}(?![A-Za-z0-9])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ :,\-]{0,2}){8,}")
_BINARY = re.compile(r"(?<![01])(?:[01]{8}[ ,]?){6,}")
_CODES = re.compile(r"(?<![\d.])(?:\d{2,5}(?:, ?| )){7,}\d{2,5}(?![\d.])")
_INLINE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|&#[xX][0-9A-Fa-f]{1,6};?|&#\d{1,7};?|&[A-Za-z]{2,8};"
    r"|(?:\\x[0-9A-Fa-f]{2})+|\\u\{[0-9A-Fa-f]{1,6}\}|\\u[0-9A-Fa-f]{4}|(?:\\[0-3][0-7]{2})+|(?:=[0-9A-F]{2}){2,}"
    r"|\bU\+[0-9A-Fa-f]{4,6}\b ?"
)
_INLINE_GATE = re.compile(
    r"%[0-9A-Fa-f]{2}|&#|&[a-zA-Z]{2,8};|\\[xu0-3]|=[0-9A-F]{2}=|U\+[0-9A-Fa-f]{4}"
)
# Cheap looks before the patterns above are tried.
_LONG_WORD = 16
_LONG_BASE32 = 24


def _only(allowed: str) -> bytes:
    """Table for `bytes.translate` that turns every other character into a space."""
    return bytes(code if chr(code) in allowed else 0x20 for code in range(256))


_CODED = _only(string.ascii_letters + string.digits + "+/_-")
_CODED_32 = _only(string.ascii_uppercase + "234567")
_HEX_DIGITS = _only(string.hexdigits + "x")
_DIGITS = _only(string.digits)
_MIN_DIGITS, _MIN_CODE_DIGITS, _MIN_BITS = 10, 24, 40
_INFLATED_LIMIT = 65_536
_CODE_LIMIT = 0x10FFFF


class Blob(NamedTuple):
    """A decoded stretch: offsets in the source, and the text that was inside."""

    start: int
    end: int
    text: str


def find_blobs(text: str) -> list[Blob]:
    """Every stretch of ``text`` that decodes to readable text."""
    found: list[Blob] = []
    plain = text.encode("ascii", "replace")
    decoders: list[tuple[re.Pattern[str], Callable[[str], str | None]]] = []
    # Three words of four in a row: the first and the last of a spaced run may touch something else.
    if "\4\4\4" in "".join(map(chr, map(len, text.split()))):
        decoders.append((_BASE64_SPACED, _from_base64))
    if _longest(plain.translate(_CODED)) >= _LONG_WORD:
        decoders.append((_BASE64, _from_base64))
        if _longest(plain.translate(_CODED_32)) >= _LONG_BASE32:
            decoders.append((_BASE32, _from_base32))
    digits = len(plain) - len(plain.translate(None, b"0123456789"))
    if digits >= _MIN_DIGITS:
        if _longest(plain.translate(_HEX_DIGITS, b" :,-")) >= _LONG_WORD:
            decoders.append((_HEX, _from_hex))
        if plain.count(b"0") + plain.count(b"1") >= _MIN_BITS:
            decoders.append((_BINARY, _from_binary))
        if digits >= _MIN_CODE_DIGITS and _longest(plain.translate(_DIGITS, b" ,")) >= _LONG_WORD:
            decoders.append((_CODES, _from_codes))
    for pattern, decoder in decoders:
        for match in pattern.finditer(text):
            inner = decoder(match.group())
            if inner is not None:
                found.append(Blob(match.start(), match.end(), inner))
    return found


def _longest(text: bytes) -> int:
    return max(map(len, text.split()), default=0)


def expand_inline(text: str) -> View | None:
    r"""Replace escapes (``%20``, ``&#105;``, ``\\u0069`` …) by their characters.

    Returns:
        The new text around the escapes; None when nothing was escaped.
    """
    if _INLINE_GATE.search(text) is None:
        return None
    pieces: list[str] = []
    starts: list[int] = []
    first = -1
    position = 0
    for match in _INLINE.finditer(text):
        plain = _unescape(match.group())
        if plain is None or plain == match.group():
            continue
        if 2 * plain.count("\ufffd") > len(plain):
            continue  # no escape: a path such as backup\2024
        first = match.start() if first < 0 else first
        pieces.append(text[position : match.start()])
        starts.extend(range(position, match.start()))
        pieces.append(plain)
        step = len(match.group()) / max(len(plain), 1)
        starts.extend(match.start() + int(step * index) for index in range(len(plain)))
        position = match.end()
    if not pieces:
        return None
    last = len(starts)
    pieces.append(text[position:])
    starts.extend(range(position, len(text)))
    return View("".join(pieces), starts, len(text)).around(first, last)


def _unescape(escape: str) -> str | None:
    try:
        if escape[0] == "%":
            return unquote_to_bytes(escape).decode("utf-8", "replace")
        if escape[0] == "&":
            return html.unescape(escape if escape.endswith(";") else escape + ";")
        if escape[0] == "=":
            return bytes.fromhex(escape.replace("=", "")).decode("utf-8")
        if escape[0] == "U":
            return _character(int(escape.strip(), 0))
        if escape.startswith("\\x"):
            return bytes.fromhex(escape.replace("\\x", "")).decode("utf-8", "replace")
        if escape.startswith("\\u"):
            return _character(int(escape[2:].strip("{}"), 16))
        return bytes(int(code, 8) for code in escape.split("\\")[1:]).decode("utf-8", "replace")
    except ValueError:
        return None


def _character(code: int) -> str | None:
    return chr(code) if code <= _CODE_LIMIT and not 0xD800 <= code <= 0xDFFF else None


def _readable(raw: bytes) -> str | None:
    """The text in ``raw`` if it is one: valid UTF-8 or UTF-16, nearly all of it printable."""
    if raw[:2] == b"\x1f\x8b" or raw[:1] == b"\x78":
        raw = _inflate(raw) or raw
    if len(raw) >= 8 and raw[1::2].count(0) * 2 > len(raw) * 0.8:
        text = raw.decode("utf-16-le", "replace")
    else:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if len(text) < 5:
        return None
    good = sum(char.isprintable() or char in "\n\r\t" for char in text)
    return text if good >= 0.95 * len(text) else None


def _inflate(raw: bytes) -> bytes | None:
    try:
        return zlib.decompressobj(wbits=47).decompress(raw, _INFLATED_LIMIT)
    except zlib.error:
        return None


def _from_base64(blob: str) -> str | None:
    compact = re.sub(r"\s+", "", blob).rstrip("=").replace("-", "+").replace("_", "/")
    if len(compact) < 16 or compact.isdigit() or len(compact) % 4 == 1:
        return None
    try:
        return _readable(base64.b64decode(compact + "=" * (-len(compact) % 4)))
    except (binascii.Error, ValueError):
        return None


def _from_base32(blob: str) -> str | None:
    compact = blob.rstrip("=")
    try:
        return _readable(base64.b32decode(compact + "=" * (-len(compact) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_hex(blob: str) -> str | None:
    digits = re.sub(r"0x|[ :,\-]", "", blob)
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _from_binary(blob: str) -> str | None:
    bits = re.sub(r"[ ,]", "", blob)
    return _readable(bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8)))


def _from_codes(blob: str) -> str | None:
    characters = [_character(int(code)) for code in re.findall(r"\d+", blob)]
    text = "".join(char for char in characters if char)
    letters = sum(char.isalpha() or char == " " for char in text)
    return text if len(text) == len(characters) and letters >= 0.9 * len(text) else None
