"""Finds secrets in addresses: the password before ``@``, webhook paths, tokens in paths.

Parameters (``?token=…``) are assignments and found there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.shapes import is_placeholder, is_random, is_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

_USER_INFO = re.compile(
    r"://(?P<user>[^\s/:@\"'`<>«»\\?#]{0,200})(?::(?P<pass>[^\s/\"'`<>«»\\]{1,300}?))?@(?=[\w\[$-])"
)
_SLASHED = re.compile(
    r"://(?P<user>[^\s/:@\"'`<>«»\\]{0,200}):(?P<pass>[^\s@\"'`<>«»\\]{1,200}(?:@[^\s@/:\"'`<>«»\\]{1,40})?)@(?=[\w.-]+(?:[:/?,]|\b))"
)
_WEAK = frozenset(
    {"pass", "password", "pw", "secret", "passwd", "pwd", "user", "token", "x-oauth-basic"}
)
_PATHS = re.compile(
    r"(?x)(?:"
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/"
    r"|webhook\.office\.com/webhookb2/|outlook\.office\.com/webhook/"
    r"|hooks\.zapier\.com/hooks/catch/|maker\.ifttt\.com/trigger/[\w-]+/(?:json/)?with/key/"
    r"|open\.(?:feishu|larksuite)\.(?:cn|com)/open-apis/bot/v2/hook/"
    r"|chat\.googleapis\.com/v1/spaces/[\w-]+/messages\?key="
    r"|api\.telegram\.org/(?:file/)?bot|(?:hooks|webhooks)\.[\w.-]+/(?:[\w-]+/){0,3}"
    r")(?P<path>[A-Za-z0-9/_.:@%-]{12,300})"
)


def find_in_urls(text: str) -> Iterator[Span]:
    """Find user information and telling paths in every address of a text."""
    if "@" in text:
        for match in _USER_INFO.finditer(text):
            yield from _user_info(match)
        for match in _SLASHED.finditer(text):
            if "/" in match["pass"] or "@" in match["pass"]:
                yield from _slashed(match)
    if not any(word in text for word in ("hook", "telegram", "ifttt", "chat.google")):
        return
    for match in _PATHS.finditer(text):
        path = match["path"].rstrip("/.:")
        if any(is_random(part) for part in path.split("/")) and not is_placeholder(path):
            yield Span(match.start("path"), match.start("path") + len(path), "webhook", sure=False)


def _user_info(match: re.Match[str]) -> Iterator[Span]:
    word = match["pass"]
    if word is None:
        user = match["user"]
        if len(user) >= 16 and is_random(user) and not is_reference(user):
            yield Span(*match.span("user"), "token", sure=True)
        return
    if "@" not in word and _is_password(word):
        yield Span(*match.span("pass"), "url-password", sure=len(word) >= 8 and is_random(word))
    elif len(match["user"]) >= 20 and is_random(match["user"]):
        yield Span(*match.span("user"), "token", sure=True)
    user = match["user"]
    if len(user) == 32 and is_random(user):
        yield Span(*match.span("user"), "token", sure=True)


def _slashed(match: re.Match[str]) -> Iterator[Span]:
    """A password with ``/`` or ``@`` left unescaped; a path with an ``@`` is none."""
    word = match["pass"]
    port = re.match(r"\d{1,5}(?:/|$)", word)
    if port is None and _is_password(word) and not re.search(r"/(?:[a-z][\w.-]*/)+", word):
        yield Span(*match.span("pass"), "url-password", sure=is_random(word))


def _is_password(word: str) -> bool:
    return word.lower() not in _WEAK and not is_placeholder(word) and not is_reference(word)
