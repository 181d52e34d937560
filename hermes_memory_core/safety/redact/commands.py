"""Finds secrets in what people type and in files that tools read without names beside the values.

Command lines (``curl -u``, ``mysql -p…``, ``sshpass -p``), ``.pgpass`` lines, cookie headers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.shapes import (
    is_placeholder,
    is_plain,
    is_random,
    is_reference,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUE = r"""(?:"(?P<double>[^"\\\n]{1,200})"|'(?P<single>[^'\\\n]{1,200})'|(?P<bare>[^\s"'`\\«»|;&<>]{1,200}))"""
# A gap ends at a mask: else each further look would go one flag further.
_GAP = r"[^\n|;&«]{0,300}?"
_COMMANDS = tuple(
    (anchor, re.compile(pattern + _VALUE))
    for anchor, pattern in (
        (
            "curl",
            rf"\bcurl\b{_GAP}\s(?:-u[ =]?|--(?:proxy-)?user[ =])[\"']?[^\s:\"'`«»]{{0,80}}:(?=[^/])",
        ),
        ("http -a", r"\bhttps?\s+-a[ =][\"']?[^\s:\"'`«»]{1,80}:"),
        ("wget", rf"\bwget\b{_GAP}\s--(?:http-|ftp-|proxy-)?password[ =]"),
        ("--auth", rf"\bhttps?\s{_GAP}\s(?:--auth|-a)[ =][\"']?[^\s:\"'`«»]{{1,80}}:"),
        (
            "mysql",
            rf"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump)\b{_GAP}\s-p(?![ort]*\s)",
        ),
        ("mariadb", rf"\bmariadb(?:-dump)?\b{_GAP}\s-p(?=\S)"),
        ("sshpass", r"\bsshpass\s+-p\s?"),
        ("redis-cli", rf"\bredis-cli\b{_GAP}\s(?:-a|--pass)[ =]"),
        (
            "login",
            rf"\b(?:docker|podman|nerdctl|helm registry|az|oc|buildah|skopeo|crane)\s+login\b{_GAP}\s-p[ =]?",
        ),
        ("mongo", rf"\bmongo(?:sh|dump|restore|export|import)?\b{_GAP}\s-p[ =]?(?![ort])"),
        ("ldap", rf"\bldap(?:search|add|modify|delete|whoami|passwd)\b{_GAP}\s-w[ ]?"),
        ("smb", rf"\bsmb(?:client|get|map)\b{_GAP}\s-U[ ]?[\w.\\-]{{1,60}}%"),
        ("sqlcmd", rf"\b(?:sqlcmd|bcp)\b{_GAP}\s-P[ ]?"),
        ("sqlplus", r"\bsqlplus\s+(?:-\w+\s+){0,3}\w{1,40}/(?=\S+@)"),
        ("htpasswd", r"\bhtpasswd\s+-\w*b\w*\s+\S{1,100}\s+\S{1,60}\s+"),
        ("openssl", rf"\bopenssl\b{_GAP}\s-(?:pass|passin|passout)\s+pass:"),
        ("openssl", rf"\bopenssl\b{_GAP}\s-k\s+"),
        ("keytool", rf"\bkeytool\b{_GAP}\s-(?:store|key)pass\s+"),
        ("zip", rf"\b(?:zip|unzip)\s{_GAP}\s?-P[ ]?"),
        ("7z", rf"\b7z\w?\b{_GAP}\s-p(?=\S)"),
        ("net use", rf"\bnet use\b{_GAP}\s/user:\S{{1,80}}\s+"),
        ("chpasswd", r"\becho\s+[\"']?[\w.-]{1,40}:(?=\S+\s*\|\s*(?:sudo\s+)?chpasswd)"),
        ("--password-stdin", r"\becho\s+(?:-n\s+)?(?=\S+\s*\|[^\n]{0,80}--password-stdin)"),
        ("xfreerdp", rf"\b(?:x|w)?freerdp\d?\b{_GAP}\s/p:"),
    )
)
_ANCHORS = tuple(dict.fromkeys(anchor for anchor, _ in _COMMANDS))
_PGPASS = re.compile(
    r"(?m)^[ \t>]{0,8}(?:[\w.-]{2,100}|\*):(?:\d{2,5}|\*):(?:[\w.-]{1,60}|\*):(?:[\w.@-]{1,60}|\*):(?P<value>[^\s:\"'`«»]{4,120})[ \t]*$"
)
_COOKIE = re.compile(
    r"(?i)(?:set-)?cookie\\{0,8}[\"']?\s{0,3}[:=]\s{0,3}\\{0,8}[\"']?(?P<pairs>[^\n\"'\\]{3,4000})"
)
_CRUMB = re.compile(r"(?P<name>[\w.$!%*-]{1,80})=(?P<value>[^;\s\"'\\«»]{6,2000})")
_SESSION = re.compile(
    r"(?i)sess|sid$|auth|token|jwt|login|remember|csrf|xsrf|secret|connect\.|ticket|key|^id$|asp"
)
_ATTRIBUTES = word_set("path domain expires max-age samesite lang locale theme tz priority version")


def find_in_commands(text: str, low: str) -> Iterator[Span]:
    """Find passwords given to a command by a short flag.

    Args:
        text: any text.
        low: the same in lower case.
    """
    if " -" not in low and "net use" not in low and "echo" not in low and "sqlplus" not in low:
        return
    for anchor in _ANCHORS:
        if anchor not in low:
            continue
        for own, pattern in _COMMANDS:
            if own == anchor:
                for match in pattern.finditer(text):
                    group = match.lastgroup
                    value = match[group] if group else ""
                    if group and _is_password(value):
                        value = value.rstrip(",.)")
                        start = match.start(group)
                        yield Span(start, start + len(value), "password", _is_sure(value))


def find_pgpass(text: str) -> Iterator[Span]:
    """Find ``host:port:database:user:password`` lines."""
    for match in _PGPASS.finditer(text):
        if _is_password(match["value"]):
            yield Span(*match.span("value"), "password", _is_sure(match["value"]))


def find_cookies(text: str) -> Iterator[Span]:
    """Find cookie values that open a session; attributes and settings stay."""
    for header in _COOKIE.finditer(text):
        for crumb in _CRUMB.finditer(text, *header.span("pairs")):
            name, value = crumb["name"], crumb["value"]
            if name.lower() in _ATTRIBUTES or is_placeholder(value) or is_reference(value):
                continue
            if is_random(value) or (_SESSION.search(name) and len(value) >= 8):
                yield Span(*crumb.span("value"), "cookie", _is_sure(value))


def _is_password(value: str) -> bool:
    return (
        len(value) >= 3
        and not value.startswith("-")
        and not is_placeholder(value)
        and not is_reference(value)
        and not is_plain(value)
    )


def _is_sure(value: str) -> bool:
    return len(value) >= 8 and is_random(value)
