"""Finds ``name`` – separator – ``value``: env lines, JSON, YAML, TOML, XML, code, headers, queries.

A search for the words of ``names`` gives the places; from each the whole name is read to both
sides and the value behind it, by patterns anchored there. The cost stays linear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hermes_memory_core.safety.redact.masks import MASK, Span
from hermes_memory_core.safety.redact.names import (
    NATIVE_STEMS,
    PHRASES,
    STEMS,
    Secrecy,
    secrecy_of,
)
from hermes_memory_core.safety.redact.shapes import is_random
from hermes_memory_core.safety.redact.values import Form, is_secret_value

if TYPE_CHECKING:
    from collections.abc import Iterator


class Name(NamedTuple):
    """A name that may stand for a secret, found in a text."""

    start: int
    end: int
    text: str
    """As written, perhaps with the words before it (``the Datadog API key``)."""
    secrecy: Secrecy


_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-")
_RIGHT = re.compile(r"[A-Za-z0-9_-]*(?:\.(?=[A-Za-z_])[A-Za-z0-9_-]+)*")
_BEFORE = re.compile(r"(?:[A-Za-z]{1,20}[ ]){1,3}$")
_SEPARATOR = re.compile(
    r"""(?x)
    (?:\\{0,8}["'`*\]]){0,4}
    (?:[ \t]{0,2}[(（][^()（）\n]{1,40}[)）])?
    (?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z][\w\[\]|.<>?]{0,30}(?=[ \t]{0,4}=(?![=~>])))?
    [ \t]{0,20}
    (?P<sign> => | := | \?= | \+?=(?![=~>]) | :(?!:|//|=) | ： | ＝ | %3[DA](?![0-9A-F]) )
    \*{0,3}[ \t]{0,20}
    (?: [|>][+-]?[ \t]{0,4}\n[ \t]{1,40} )?
    """
)
_PAIR = re.compile(
    r"""\\{0,8}["']?[ \t]{0,8},?\s{0,40}\\{0,8}["']?value\\{0,8}["']?[ \t]{0,4}[:=][ \t]{0,4}"""
)
_QUOTE = re.compile(r"""[rbfuRBFU]{0,2}(\\{0,8})(["'`“‘「『])""")
_OUTSIDE = re.compile(r"\s{0,8}(?:[,\]}:)]|$)")
_ELEMENT = re.compile(r"([^<>\"«»\n]{3,400})</")
_CLOSING = {"“": "”", "‘": "’", "「": "」", "『": "』"}
_SEEDS = re.compile(r"(?i)mnemonic|seed|recovery")
_SEED = re.compile(r"[\"'`]?(?P<words>(?:\d{0,2}[.)]?[ ]?[a-z]{3,8}[, ]{1,2}){11,23}[a-z]{3,8})")
_SCHEME = re.compile(
    r"(?i)(?:bearer|basic|token|bot|api-?key|key|geniekey|ssws|dpop|splunk|oauth|pveapitoken=|jwt|"
    r"klaviyo-api-key|zoho-oauthtoken|hmac|signature|negotiate)(?:[ \t]{1,4}|%20|\+)(?:token=)?"
)
_WHOLE = re.compile(r"(?:[^\s\\\"'`«»]|\\(?![nrtbfu\"'`/\\]))+")
_PIECE = re.compile(r"(?:[^\s\\\"'`<>|«»，。；、！？）」』】]|\\(?![nrtbfu\"'`/\\|]))+")
_PARAMETER = re.compile(r"[^\s\\\"'`<>|«»&#;]+")
_NEXT_PAIR = re.compile(r"(?:[&;]|%26)[ ]?[A-Za-z_][\w.\- \[\]]{0,40}(?:=|%3D)|,[\w-]{1,40}[=:]")
_LINE_HEAD = re.compile(
    r"(?:^|[\n\r]|\\n)[ \t>+#*-]*(?:(?:export|set|setx|ENV|ARG|declare -x|env|const|let|var)[ \t]+"
    r"|\$env:|-[eE][ \t]+|/{2,}[\w./:-]*:|;[ \t]*)?[\"']?$"
)
_LINE_TAIL = re.compile(r"[ \t]*[,;]?[ \t]*(?:#[^\n]*|\r?\n|\\[nr]|$|[\"'`]|//)")
_JUDGED = 400
"""Characters of an unquoted value that are judged; a secret is then read to its end."""
_TRAILING = ".,;:)]}>|*"


def find_names(text: str, low: str) -> Iterator[Name]:
    """Find names that may stand for a secret.

    Args:
        text: any text.
        low: the same text in lower case, of the same length.
    """
    done = 0
    masks = [match.span() for match in MASK.finditer(text)] if "«redacted:" in text else []
    for start, end in _places(low):
        if start < done:
            continue
        while masks and masks[0][1] <= start:
            masks.pop(0)
        if masks and masks[0][0] <= start:
            continue
        begin, floor = start, max(done, start - 64)
        while begin > floor and text[begin - 1] in _NAME_CHARS:
            begin -= 1
        if begin and text[begin - 1] == "\\" and text[begin] in "nrt" and begin < start:
            begin += 1
        right = _RIGHT.match(text, end, end + 64)
        done = end = end if right is None else right.end()
        name = text[begin:end].rstrip(".-")
        end = begin + len(name)
        secrecy = secrecy_of(name.lstrip("-$."))
        if begin and text[begin - 1] == " " and name.isalpha():
            before = _BEFORE.search(text, max(0, begin - 63), begin)
            if before is not None:
                name = before.group() + name
                secrecy = secrecy_of(name)
        if secrecy is not Secrecy.NONE:
            yield Name(begin, end, name, secrecy)


def _places(low: str) -> list[tuple[int, int]]:
    """Find the stems in order. Repeated ``find`` is ten times as fast as one pattern of them all."""
    places: list[tuple[int, int]] = []
    stems = STEMS if low.isascii() else STEMS + NATIVE_STEMS
    phrases = PHRASES if " " in low or "_" in low else ()
    for stem in (*stems, *phrases):
        at = low.find(stem)
        while at >= 0:
            places.append((at, at + len(stem)))
            at = low.find(stem, at + len(stem))
    places.sort(key=lambda place: (place[0], -place[1]))
    return places


def find_assigned(text: str, name: Name) -> tuple[bool, list[Span]]:
    """Read the value that a separator ties to a name.

    Returns:
        Whether a separator follows the name (then nothing looser need be tried), and the spans.
    """
    at = name.end
    if name.start and text[name.start - 1] == "<" and text.startswith(">", at):
        element = _ELEMENT.match(text, at + 1)
        return True, _judge(text, *element.span(1), name, Form.FIELD) if element else []
    pair = _PAIR.match(text, at)
    match = pair or _SEPARATOR.match(text, at)
    if match is None:
        return False, []
    at = match.end()
    phrase = _SEED.match(text, at) if _SEEDS.search(name.text) else None
    if phrase is not None:
        return True, [Span(*phrase.span("words"), "seed-phrase", sure=False)]
    sign = "" if pair else match["sign"]
    quote = _QUOTE.match(text, at)
    if quote is not None:
        if _OUTSIDE.match(text, quote.end()):
            return True, []  # this quote ends the string that the name itself stands in
        closed = _quoted(text, quote)
        if closed is not None:
            start, stop = closed
            return True, _judge(text, start, stop, name, Form.FIELD)
        at = quote.end()
    return True, _unquoted(text, at, name, sign)


def _quoted(text: str, quote: re.Match[str]) -> tuple[int, int] | None:
    """Find the end of a quoted value; None when it is not closed in its line."""
    escape, sign = quote.groups()
    closing = escape + _CLOSING.get(sign, sign)
    at = quote.end()
    limit = min(len(text), at + 2000)
    while True:
        stop = text.find(closing, at, limit)
        if stop < 0:
            break
        slashes = 0
        while not escape and text[stop - 1 - slashes] == "\\":
            slashes += 1
        if slashes % 2 == 0:
            break
        at = stop + 1
    if stop < 0 or "\n" in text[quote.end() : stop]:
        return None
    return quote.end(), stop


def _unquoted(text: str, at: int, name: Name, sign: str) -> list[Span]:
    before = text[name.start - 1 : name.start]
    limit = at + _JUDGED
    if (before in {"?", "&", ";", "#"} and sign in {"=", "%3D"}) or text.endswith(
        "%26", 0, name.start
    ):
        pattern, form = _PARAMETER, Form.QUERY
        match = pattern.match(text, at, limit)
    else:
        head = _LINE_HEAD.search(text, max(0, name.start - 60), name.start) is not None
        spaced = text[at - 1] in " \t*\n"
        whole = head and (sign in {"=", "："} or (sign == ":" and spaced))
        pattern, form = (_WHOLE if whole and sign == "=" else _PIECE), Form.BARE
        match = pattern.match(text, at, limit)
        if match and whole and _LINE_TAIL.match(text, match.end()):
            form = Form.BARE if sign == "=" and spaced else Form.LINE
    if match is None:
        return []
    start, stop = match.span()
    if text.startswith("«", stop):
        return []  # the rest of this value is masked already
    scheme = _SCHEME.match(text, start)
    if scheme is not None and scheme.end() > stop:
        match = _PIECE.match(text, scheme.end(), scheme.end() + _JUDGED)
        if match is None:
            return []
        pattern, form = _PIECE, Form.HEADER
        start, stop = match.span()
    cut = _NEXT_PAIR.search(text, start, stop)
    if cut is not None and form is not Form.HEADER:
        stop = cut.start()
        form = Form.QUERY if cut.group()[0] != "," and form is not Form.LINE else form
    found = _judge(text, *_trim(text, start, stop), name, form)
    if not found and stop == limit:
        # A run without a break that is no secret: an empty span keeps the search out of it.
        return [Span(limit - 64, limit - 64, "none", sure=False)]
    if found and found[-1].end == limit:
        rest = pattern.match(text, start)
        if rest is not None:
            found[-1] = found[-1]._replace(end=_trim(text, start, rest.end())[1])
    return found


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    while stop > start and text[stop - 1] in _TRAILING:
        stop -= 1
    return start, stop


def _judge(text: str, start: int, stop: int, name: Name, form: Form) -> list[Span]:
    value = text[start:stop]
    scheme = _SCHEME.match(value) if name.secrecy is Secrecy.TOKEN else None
    if scheme is not None and len(value) > scheme.end():
        start += scheme.end()
        value, form = value[scheme.end() :], Form.HEADER
    loud = name.text.isupper()
    if not is_secret_value(value, name.secrecy, form, loud=loud):
        return []
    kind = "password" if name.secrecy is Secrecy.PASSWORD else "secret"
    sure = len(value) >= 8 and " " not in value and is_random(value)
    return [Span(start, stop, kind, sure)]
