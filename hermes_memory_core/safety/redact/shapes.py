"""What a value looks like: random, a placeholder, a reference to a secret kept elsewhere, code.

Pure functions on one short string. What surrounds the value (names, separators, lines) is judged
elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hermes_memory_core.storage import memos


def word_list(words: str) -> tuple[str, ...]:
    """Split a list of words kept as one text; easier to read and to sort than many literals."""
    return tuple(words.split())


def word_set(words: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(words.split())


# The commonest letter pairs of English. About nine in ten pairs of an English text are among
# them and two in ten of a random one: enough to tell a name from a key without a dictionary.
_PAIRS = word_set(
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve "
    "co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no "
    "ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts "
    "mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo "
    "sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ck ey pi ub"
)

_PLACEHOLDER = re.compile(
    r"""(?xi)
    .*(?:your|my)[ _-]?(?:own[ _-]?)?(?:[a-z0-9]+[ _-]?){0,3}
        (?:key|token|secret|pass|pw|password|passwd|credential|value|here|id)s?(?:[ _-]?here)?\W*
    | (?:.*[^a-z0-9])?your(?:[_ -].*|s)?
    | .*(?:placeholder|redacted|change[ _-]?me|replace[ _-]?(?:me|with|this)|example(?:key)?|dummy
        |sample|insert|fill[ _-]?in|to[ _-]?be[ _-]?set|not[ _-]?set|fake[ _-]).*
    | .*[^a-z0-9]here
    | (?:.*[^a-z0-9])?x{4,}(?:[^a-z0-9].*)?
    | .*(?:x{6,}|\*{3,}|\.{3}|…|•{2,}|_{4,}|-{4,}|0{10,}|\#{4,}).*
    | .*abcdefghijklmnopqrstuvwxyz.*
    | .*(?:\[(?:\^|0-9|a-z|\\)|a-za-z|\\[dws]).*
    | (.)\1*
    | (?:foo|bar|baz|qux|abc|xyz|123|1234|12345|test|testing|todo|tbd|fixme|n/?a|none|null|nil
        |undefined|true|false|yes|no|on|off|empty|unset|default|secret|password|passwd|pass|pw|pwd
        |user|username|token|key|apikey|value|string|str|text|bytes|int|integer|number|bool|boolean
        |object|any|optional|required|hidden|masked|void|self|env|prompt|ask|anonymous|admin-?pass
        |some[ _-].*|the[ _-].*|mysecret|mytoken|mypassword|secret[ _-]?(?:key|value|token)
        |(?:api|access|auth|client|bearer)[ _-]?(?:key|token|secret)
        |(?:pass|password|token|key|secret)[ _-]?(?:goes)?[ _-]?here)
    """
)

_REFERENCE = re.compile(
    r"""(?x)
    \$ | %\w+%$ | \{\{ | \{[^{}]*\}$ | < [^<>]* >? $ | @[\w.]+@$ | \[ [^\]]* \]?$ | &\w+$ | \*\w+$
    | (?:os|process|import\.meta|System|ENV|env|secrets|vars|var|self|this|config|settings|options
        |opts|args|ctx|context|request|req|response|resp|data|params|local|module|each|cfg|app)
        (?:\.|\[|\()
    | (?:vault|op|ssm|secretsmanager|keyring|env|file|sm|aws-sm|gcp-sm|akv|doppler|bws|pass|azkv)
        :(?://)?\S*[/:]?\S*$
    | arn:aws | projects/ | !(?:Ref|Sub|GetAtt|secret|vault|env)\b | ENC\[ | \(
    """
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*$|[A-Za-z]:\\|[\w./~-]+\.(?:pem|key|crt|cer|json|ya?ml|"
    r"toml|txt|env|py|js|ts|go|rs|rb|java|md|sh|cfg|ini|conf|lock|log|html?|csv|db|sqlite|p12|pub)$"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_DIGEST = re.compile(
    r"(?i)(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:=][A-Za-z0-9+/=_-]{16,}"
)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]+)?")
_TIMESTAMPED = re.compile(r"(?:19|20)\d{2}-?[01]\d-?[0-3]\d(?:[T_ -]?\d{2}:?\d{2})?.*")
_CALL = re.compile(r"[\w.]+[(\[]|.*(?:::|->|=>)")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[,;]?")
_BRACKETS = re.compile(r"[(){}<>]")
_ODD_SIGNS = frozenset("!@#%^*?&$")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
_TECHNICAL = re.compile(
    r"(?i)(?:aes|sha|md|rsa|base|oauth|utf|http|argon|scrypt|bcrypt|pbkdf|x|ed|es|hs|rs|ps|ec|s|"
    r"tls|ssl|totp|k|p|v|win|ipv|python|py|node|level|step|part|page|line|id|user|test|type|gpt)"
    r"-?\d{1,5}(?:[-_]?(?:cbc|gcm|ctr|sha|hmac|with)[-_]?\d*)*[a-z]{0,2}"
)


def is_placeholder(value: str) -> bool:
    """Tell whether a value only holds the place of a secret (``YOUR_API_KEY``, ``xxxx``, ``…``)."""
    return len(value) < 200 and _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_reference(value: str) -> bool:
    """Tell whether a value points to a secret kept elsewhere (``${X}``, ``$X``, ``<token>``)."""
    return _REFERENCE.match(value) is not None


def is_path(value: str) -> bool:
    """Tell whether a value is a file path or a file name."""
    return len(value) < 400 and _PATH.match(value) is not None and not is_random(value)


def is_uuid(value: str) -> bool:
    """Tell whether a value is a UUID."""
    return len(value) == 36 and _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Tell whether a value is hexadecimal only (a git SHA, an MD5, a trace id)."""
    return _HEX.fullmatch(value) is not None


def is_plain(value: str) -> bool:
    """Tell whether a value is something technical that is no secret whatever stands before it."""
    return (
        _VERSION.fullmatch(value) is not None
        or _TIMESTAMPED.fullmatch(value) is not None
        or _DIGEST.match(value) is not None
        or _EMAIL.match(value) is not None
        or (_URL.match(value) is not None)
    )


def is_code(value: str) -> bool:
    """Tell whether an unquoted value is an expression or a dotted name and not a literal."""
    if _CALL.match(value) is not None:
        return True
    if _DOTTED.fullmatch(value) is None and _BRACKETS.search(value) is None:
        return False
    return not is_random(value)


def is_technical(value: str) -> bool:
    """Tell whether a word with digits names an algorithm, a format or a version (``sha256``)."""
    return _TECHNICAL.fullmatch(value) is not None


def classes(value: str) -> int:
    """Count the character classes in a value: lower, upper, digit, other ASCII sign."""
    lower = upper = digit = other = 0
    for char in value:
        if char.islower():
            lower = 1
        elif char.isupper():
            upper = 1
        elif char.isdigit():
            digit = 1
        else:
            other = 1
    return lower + upper + digit + other


def _kind(char: str) -> int:
    if "a" <= char <= "z":
        return 1
    if "A" <= char <= "Z":
        return 2
    if "0" <= char <= "9":
        return 3
    return 0


@lru_cache(maxsize=2048)
def is_random(value: str) -> bool:
    """Tell whether a value looks drawn at random and not put together from words.

    Two measures over neighbouring characters: how often the class changes (lower, upper, digit),
    and how many letter pairs are common in English. A random base62 string changes class at six
    of ten places, camel case at two or three.
    """
    size = len(value)
    if size < 8 or len(set(value)) < min(6, size // 2):
        return False
    if size >= 10 and len(_ODD_SIGNS.intersection(value)) >= 2 and classes(value) == 4:
        return " " not in value
    changes = numeric = neighbours = pairs = common = 0
    previous, previous_kind = value[0], _kind(value[0])
    for char in value[1:256]:
        kind = _kind(char)
        if kind and previous_kind:
            neighbours += 1
            # An upper letter before a lower one opens a word (camel case); that is no change.
            if kind != previous_kind and not (kind == 1 and previous_kind == 2):
                changes += 1
                numeric += 3 in {kind, previous_kind}
            if kind != 3 and previous_kind != 3 and not (kind == 2 and previous_kind == 1):
                pairs += 1
                if (previous + char).lower() in _PAIRS:
                    common += 1
        previous, previous_kind = char, kind
    if neighbours < 5:
        return False
    rate = changes / neighbours
    if rate >= 0.22 and (is_hex(value) or numeric >= 5):
        return True
    wordy = common / pairs if pairs >= 3 else 0.3
    if rate >= 0.3:
        return wordy <= 0.62
    if rate >= 0.1:
        return wordy < 0.46
    return pairs >= 7 and wordy < 0.36 and (size >= 16 or rate > 0)


memos.register(is_random.cache_clear)
