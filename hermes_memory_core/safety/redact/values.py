"""Judges a value in its place: with this name before it, in this form, is it a secret?

The one place where the strength of the name, the form it is written in and the look of the value
are weighed together. Finding name and value in the text is the work of ``assignments``.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import pairwise

from hermes_memory_core.safety.redact.masks import MASK_PREFIX
from hermes_memory_core.safety.redact.names import Secrecy
from hermes_memory_core.safety.redact.shapes import (
    classes,
    is_code,
    is_hex,
    is_path,
    is_placeholder,
    is_plain,
    is_random,
    is_reference,
    is_technical,
    is_uuid,
    word_set,
)


class Form(Enum):
    """How name and value are tied together; the tighter, the less the value must prove."""

    LINE = auto()
    """A whole line ``NAME=value`` or ``name: value``."""
    FIELD = auto()
    """A quoted value after ``:`` or ``=``."""
    BARE = auto()
    """An unquoted value after ``:`` or ``=``, somewhere in a line."""
    QUERY = auto()
    """A parameter of a URL or a form body."""
    HEADER = auto()
    """What follows ``Authorization: Bearer`` and the like."""
    CELL = auto()
    """A cell in a column of that name."""
    PROSE = auto()
    """``the token is …`` in a sentence."""
    SPACE = auto()
    """Only blanks between name and value: ``--password x``, ``login a password b``."""


_STOP = word_set(
    "required optional none null true false string text str number bool boolean default hidden "
    "invalid valid wrong incorrect correct missing expired empty unknown denied accepted rejected "
    "protected encrypted hashed stored saved reset changed set unset disabled enabled needed "
    "ask prompt stdin file env keyring vault manual auto yes no ok failed success error type field "
    "input output show hide enter confirm update forgot forgotten login logout change the a an and "
    "or not is was in on at to for from with by of as it its must should will can may your my our "
    "this that these any all see use using here there same different new old please never always "
    "only also then when if but so very too again still bearer basic token password secret passwort "
    "strong weak unique random generated rotated revoked leaked exposed shared sent given found "
    "trust peer md5 scram-sha-256 ident cert reject undefined everyone nobody people users "
    "authentication authorization rotation manager policy storage management expiry expiration "
    "leak leaks hygiene based refresh access auth user username email phone admin-only fields "
    "wird wurde ist nicht und oder der die das el la los que una para con est le les une pas pour "
    "pwdhash bcrypt argon2 scrypt digest negotiate kerberos"
)
_ID = re.compile(
    r"(?:call|toolu|msg|req|run|thread|asst|file|chatcmpl|cmpl|resp|evt|cus|sub|in|pi|ch|price|prod|"
    r"step|batch|vs|srv|conv|sess|session|trace|span|job|task|item|node|user|usr|org|team|proj|acct|"
    r"we|cs|seti|pm|src|card|ba|dpl|prj|inst|i|vpc|subnet|sg|ami|vol|snap|eni|rtb|igw|fs|pod|rev|"
    r"arn|obj|doc|note|turn|rs|fc|ws|tool|fn|func)[_-][A-Za-z0-9_-]+$"
)
_PUBLIC_KEY = re.compile(r"AAAA[BCE]|ssh-|MII[A-Z]|-----|pk_|pub_|age1")
_SENTENCE = re.compile(
    r"(?i)\b(?:the|is|a|an|your|must|be|to|this|field|required|enter|please|not|and|or|are|was|in)\b"
)
_CONSTANT = re.compile(r"[A-Z]{2,}(?:_[A-Z]{2,})+")
_PAIR = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"[-+]?[\d.,_ ]+(?:[a-z%]{1,3}|ms|bytes?)?")


def is_secret_value(value: str, secrecy: Secrecy, form: Form, *, loud: bool = False) -> bool:
    """Judge a value.

    Args:
        value: without quotes and trailing punctuation.
        secrecy: strength of its name.
        form: how the two are tied.
        loud: the name is in capitals, as settings in the environment are.
    """
    if secrecy is Secrecy.NONE or len(value) < 3 or MASK_PREFIX in value or "«" in value:
        return False
    if is_placeholder(value) or is_reference(value) or value.startswith(("...", "…")):
        return False
    if is_plain(value) or is_path(value) or _PUBLIC_KEY.match(value):
        return False
    if form not in {Form.FIELD, Form.CELL, Form.HEADER, Form.QUERY} and is_code(value):
        return False
    if _CONSTANT.fullmatch(value) or (form in {Form.PROSE, Form.SPACE} and _PAIR.match(value)):
        return False
    if form is Form.HEADER:
        return _in_header(value)
    if secrecy is Secrecy.PASSWORD:
        return _is_password(value, form)
    if " " in value:
        return False
    if secrecy is Secrecy.TOKEN:
        return _is_token(value, form, loud=loud)
    return _is_weak_key(value, form, loud=loud)


def _in_header(value: str) -> bool:
    return (
        len(value) >= 6
        and value.lower() not in _STOP
        and not (value.isalpha() and value.islower() and len(value) < 16)
    )


def _is_password(value: str, form: Form) -> bool:
    if len(value) > 300:
        return False
    if " " in value:
        return form in {Form.FIELD, Form.LINE, Form.CELL} and _is_passphrase(value)
    if not value.isascii() and (
        form not in {Form.FIELD, Form.LINE, Form.QUERY} or not any(map(str.isdigit, value))
    ):
        return False
    if form in {Form.PROSE, Form.SPACE} and re.split(r"\W", value, maxsplit=1)[0].lower() in _STOP:
        return False
    if value.lower().rstrip(".,;:!?)") in _STOP or (is_technical(value) and value.islower()):
        return False
    if value.isdigit():
        return (len(value) >= 4 and form not in {Form.PROSE, Form.SPACE, Form.BARE}) or len(
            value
        ) >= 6
    if _NUMBER.fullmatch(value):
        return False
    telling = _is_telling(value)
    if form in {Form.LINE, Form.FIELD, Form.QUERY, Form.CELL}:
        return telling or len(value) >= 4
    if form is Form.BARE:
        return telling
    return telling and len(value) >= 5


def _is_telling(value: str) -> bool:
    """Tell whether a word looks made up for a password: digits, signs or odd capitals in it."""
    core = value.strip("-_.,;:!?'\"()")
    letters = any(char.isalpha() for char in core)
    digits = any(char.isdigit() for char in core)
    signs = any(not char.isalnum() and char not in "-_.'/," for char in value)
    odd_case = not core.islower() and not core.isupper() and not core[:1].isupper()
    camel = any(a.islower() and b.isupper() for a, b in pairwise(core))
    return letters and (
        digits or signs or (odd_case and camel and is_random(core)) or is_random(core)
    )


def _is_passphrase(value: str) -> bool:
    words = value.split()
    if not 2 <= len(words) <= 30 or value.endswith((".", "?", ":")) or _SENTENCE.search(value):
        return False
    if any(is_reference(word) for word in words):
        return False
    return len(words) >= 4 or any(_is_telling(word) for word in words)


def _is_token(value: str, form: Form, *, loud: bool) -> bool:
    if len(value) < 8 or value.lower() in _STOP or _NUMBER.fullmatch(value):
        return False
    if _ID.match(value) or is_technical(value):
        return False
    tight = form in {Form.LINE, Form.FIELD, Form.QUERY, Form.CELL, Form.BARE}
    if is_uuid(value) or is_hex(value):
        return tight or (form in {Form.PROSE, Form.SPACE} and len(value) >= 24)
    if is_random(value):
        return tight or len(value) >= 12
    if not tight:
        return False
    digits = any(char.isdigit() for char in value)
    if form is Form.LINE and loud:
        return len(value) >= 10 or digits
    core = value.replace("-", "").replace("_", "").replace(".", "")
    if form in {Form.FIELD, Form.LINE, Form.QUERY}:
        return digits and classes(core) >= 3
    return digits and classes(core) >= 3 and len(value) >= 12


def _is_weak_key(value: str, form: Form, *, loud: bool) -> bool:
    if len(value) < 16 or _ID.match(value) or not is_random(value) or is_uuid(value):
        return False
    if is_hex(value):
        return form is Form.QUERY or (loud and form in {Form.LINE, Form.FIELD})
    if form in {Form.PROSE, Form.SPACE, Form.BARE}:
        return len(value) >= 20 and classes(value) >= 3
    return len(value) >= 20 or loud or form is Form.QUERY
