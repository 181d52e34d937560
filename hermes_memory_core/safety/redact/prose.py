"""Finds secrets that a sentence gives away: ``the password for the wifi is …``, ``密码是 …``.

Looser than ``assignments``, so the value must prove itself; a word of description after "is"
("the token is expired") must stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.names import Secrecy
from hermes_memory_core.safety.redact.shapes import classes, is_hex, is_random, is_uuid, word_set
from hermes_memory_core.safety.redact.values import Form, is_secret_value

if TYPE_CHECKING:
    from hermes_memory_core.safety.redact.assignments import Name

_LINKS = word_set(
    "is are was be = : := -> → => – — being equals to as reads ist war lautet heißt es era será est "
    "était é são fue son это это: равен -- called named became becomes remains stays now:"
)
_LOOSE = word_set("to as be")
_BREAKS = word_set(
    "id ids count limit length size name names type format policy hash file path url uri endpoint "
    "expires expired expiry ttl manager field header fields variable and or but if when because "
    "which who must should will can may not no never commit sha digest checksum revision version "
    "request trace error message column page parameter flow bucket budget usage window"
)
_NOUNS = word_set(
    "id count limit length size name type format policy hash hashing file path url field manager "
    "variable parameter header algorithm generator module library class function method"
)
_WORD = re.compile(r"\S+")
_USER = re.compile(r"(?i)\b(?:user(?:name)?|login|account|log in)\b")
_NEXT = re.compile(r"[ \t]{1,4}(\S{3,300})")
_QUOTED = re.compile(r"""\\?["'`“‘「『«]""")
_NATIVE_LINK = re.compile(
    r"(?:[^\x00-\x7f，。；！？\n]{0,8}?)[ \t]{0,2}(?:[是为為：:＝=]|は|が|는|은|이|설정|다음|改成了?|换成了?|改为了?|設為|设为|就是|叫做|如下)"
    r"{1,4}[ \t]{0,3}[:：]?[ \t]{0,3}[\"'`“「『]?(?P<value>[!-~]{4,200})"
)
_NATIVE_DIRECT = re.compile(r"[ \t]{0,3}[「『“\"'`（(]?[ \t]{0,2}(?P<value>[!-~]{6,200})")
_LONG = re.compile(r"(?<![A-Za-z0-9/_.+=-])[A-Za-z0-9+/_-][A-Za-z0-9+/_.~=-]{18,}")
_NOT_HERE = re.compile(
    r"(?i)\b(?:commits?|sha\d*|digest|checksum|hash(?:es)?|fingerprint|etag|integrity|sri|base64|image"
    r"|uuid|guid|trace|request[ -]id|message-id|public|pubkey|blob|revision|cursor|next_page|build|"
    r"artifact|docker|container|branch|session[ _]id|call[ _]id|tool_call|snapshot|job|run id)\b"
)
_REVERSE = re.compile(
    r"(?P<value>[^\s\"'`«»]{5,200})[\"'`]?[ \t]+(?:is|as|was|for|ist|est|es|是|为|作为)[ \t]+"
    r"(?:(?:the|your|my|our|their|his|her|its|a|an|das|die|der|le|la|el|mon|mein)[ \t]+"
    r"(?:[\w'-]{1,20}[ \t]+){0,4})?$"
)
_VERBS = word_set("is as was for ist est es 是 为 作为")
_PAIRED = re.compile(
    r"[ \t]{0,3}(?:are|is|:|：|=|for [\w.-]{1,40}:?)?[ \t]{0,3}[\"'`]?(?P<user>[\w.@+-]{2,60})[\"'`]?[ \t]{0,2}"
    r"(?:[:/|]|and|with)[ \t]{0,2}[\"'`]?(?P<value>[^\s\"'`«»，。]{5,120})"
)
_LOGIN = re.compile(
    r"(?i)\b(?:log[ -]?in|log[ -]?on|sign[ -]?in|logins?|account|credentials?)(?:[ ](?:with|as|using|is|are|to \S{1,60} (?:with|as)))?:?"
    r"[ ]{1,3}(?P<user>[\w.@+-]{2,60})[ ]?(?:/|:(?!/))[ ]?(?P<value>[^\s\"'`«»/，。]{6,120})(?![\w/])"
)
_STRIP = ".,;:)]}>*\"'`”’」』），。；"


def find_in_prose(text: str, name: Name) -> list[Span]:
    """Find the value a sentence ties to a name that no separator follows.

    Args:
        text: any text.
        name: a name found in it.
    """
    stop = text.find("\n", name.end, name.end + 240)
    stop = min(len(text), name.end + 240) if stop < 0 else stop
    if not name.text.isascii():
        return _native(text, name, stop)
    return _command(text, name, stop) or _linked(text, name, stop) or _reversed(text, name)


def find_near(text: str, names: list[Name]) -> list[Span]:
    """Find long random words in a line that speaks of a secret (the high-entropy rule)."""
    spans: list[Span] = []
    done = -1
    for name in names:
        if name.secrecy is Secrecy.WEAK or name.start < done:
            continue
        begin = max(text.rfind("\n", 0, name.start) + 1, name.start - 400)
        stop = text.find("\n", name.end, name.end + 400)
        done = stop = min(len(text), name.end + 400) if stop < 0 else stop
        longest = max(map(len, text[begin:stop].split()), default=0)
        if longest < 20 or _NOT_HERE.search(text, begin, stop):
            continue
        spans += [
            Span(start, end, "secret", sure=True)
            for start, end in (
                _strip(text, *word.span()) for word in _LONG.finditer(text, begin, stop)
            )
            if _is_dense(text[start:end])
        ]
    return spans


def find_logins(text: str) -> list[Span]:
    """Find ``log in with bob / x``, where no word names the secret."""
    as_password = Secrecy.PASSWORD
    spans: list[Span] = []
    for match in _LOGIN.finditer(text):
        start, end = _strip(text, *match.span("value"))
        value = text[start:end]
        if is_secret_value(value, as_password, Form.PROSE) and classes(value) >= 2:
            spans.append(Span(start, end, "password", sure=len(value) >= 8 and is_random(value)))
    return spans


def _is_dense(word: str) -> bool:
    if (
        len(word) < 20
        or is_hex(word)
        or is_uuid(word)
        or word.count("/") > 2
        or word.count(".") > 1
    ):
        return False
    if max(map(len, re.split(r"[-_./]", word))) < 12 and classes(word) < 4:
        return False
    return (
        is_random(word)
        and is_secret_value(word, Secrecy.TOKEN, Form.PROSE)
        and (classes(word.replace("-", "").replace("_", "")) >= 3 or len(word) >= 24)
        and any(char.isdigit() for char in word)
    )


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and text[end - 1] in _STRIP:
        end -= 1
    return start, end


def _span(text: str, start: int, end: int, name: Name, form: Form) -> list[Span]:
    while start < end and text[start] in "\"'`“‘「『(（*":
        start += 1
    for sign in "\"'`”’」』":
        cut = text.find(sign, start, end)
        if cut > start:
            end = cut - 1 if text[cut - 1] == "\\" else cut
    start, end = _strip(text, start, end)
    value = text[start:end]
    if "\\" in value or not is_secret_value(value, name.secrecy, form):
        return []
    kind = "password" if name.secrecy is Secrecy.PASSWORD else "secret"
    return [Span(start, end, kind, sure=len(value) >= 8 and is_random(value))]


def _command(text: str, name: Name, stop: int) -> list[Span]:
    """``--password x``, ``password x``: only blanks between."""
    word = _NEXT.match(text, name.end, stop)
    if word is None:
        return []
    start, end = word.span(1)
    quoted = _QUOTED.match(text, start) is not None
    flag = name.text.startswith("--") or text[max(0, name.start - 2) : name.start] == "--"
    form = Form.FIELD if quoted and (flag or name.secrecy is Secrecy.PASSWORD) else Form.SPACE
    if text[start] == "-" and not quoted:
        return []
    if _is_verb(name) and not _USER.search(text, max(0, name.start - 60), name.start):
        return []
    return _span(text, start, end, name, form)


def _linked(text: str, name: Name, stop: int) -> list[Span]:
    """``name for the wifi is x``: a linking word within the next words of the sentence."""
    linked = False
    loose = False
    for count, word in enumerate(_WORD.finditer(text, name.end, stop)):
        token = word.group()
        low = token.lower()
        if linked:
            form = Form.FIELD if _QUOTED.match(token) and not loose else Form.PROSE
            if (
                loose
                and name.secrecy is not Secrecy.PASSWORD
                and not is_random(token.strip(_STRIP))
            ):
                return []
            found = _span(text, *word.span(), name, form)
            if found or low not in {
                "now",
                "still",
                "just",
                "simply",
                "currently",
                "probably",
                "set",
                "to",
                ":",
            }:
                return found
            continue
        bare = low.strip("*_`'\"()")
        if low in _LINKS or (low.endswith((":", "：")) and count < 8):
            linked, loose = True, low in _LOOSE
            if loose and _is_verb(name):
                return []
        elif bare in _BREAKS or count >= 7 or token[-1] in ".!?;。；":
            return []
    return []


def _is_verb(name: Name) -> bool:
    """Tell whether the name may as well be a verb (``pass``, ``pin``)."""
    return name.text.rpartition(" ")[2].lower() in {"pass", "pin"}


def find_paired(text: str, name: Name) -> list[Span]:
    """Find the second of a pair: ``credentials: bob / x``, ``creds are bob:x``."""
    if "cred" not in name.text.lower():
        return []
    match = _PAIRED.match(text, name.end, name.end + 240)
    if match is None:
        return []
    as_password = name._replace(secrecy=Secrecy.PASSWORD)
    return _span(text, *match.span("value"), as_password, Form.PROSE)


def _reversed(text: str, name: Name) -> list[Span]:
    """``x is the password``, ``use x as the token``."""
    begin = name.start
    following = _WORD.search(text, name.end, name.end + 40)
    if following is not None and following.group().lower().strip("s.,") in _NOUNS:
        return []
    line = text.rfind("\n", 0, begin) + 1
    if _VERBS.isdisjoint(text[max(line, begin - 80) : begin].split()[-6:]):
        return []
    match = _REVERSE.search(text, max(line, begin - 160), begin)
    if match is None:
        return []
    return _span(text, *match.span("value"), name, Form.PROSE)


def _native(text: str, name: Name, stop: int) -> list[Span]:
    match = _NATIVE_LINK.match(text, name.end, stop)
    form = Form.PROSE
    if match is None:
        match = _NATIVE_DIRECT.match(text, name.end, stop)
        form = Form.SPACE
    if match is None:
        return _linked(text, name, stop) or _reversed(text, name)
    return _span(text, *match.span("value"), name, form)
