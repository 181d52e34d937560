"""Judges names: is a setting, field, column or phrase of this name a secret, and how surely.

Vocabulary only, in several languages; values are judged in ``shapes`` and ``values``.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


class Secrecy(IntEnum):
    """How surely a name stands for a secret; decides what its value may look like."""

    NONE = 0
    WEAK = 1
    """``key`` with something before it: only a random value counts."""
    TOKEN = 2
    """Token, secret, API key: a random or a mixed value counts."""
    PASSWORD = 3
    """Password, passphrase: any value that is no word of description counts."""


WORDS = re.compile(
    r"pass(?:word|wd|phrase|code|wort|w)?|pwd|(?<![a-z])pw(?![a-z])|secret|token|key(?!board|note|frame)"
    r"|cred(?:ential)?s?(?![a-z])|auth(?!or(?!iz))|bearer|cookie|(?<![a-z])pat(?![a-z])|dsn|mnemonic"
    r"|seed[ _-]?phrase|recovery[ _-](?:phrase|code)|(?<![a-z])(?:pin|otp|jwt|sid|sig|salt)(?![a-z])"
    r"|signature|webhook|connection[ _-]?string|密[码碼钥鑰匙]|口令|令牌|金[钥鑰]|私[钥鑰]|凭证|憑證"
    r"|パスワード|トークン|シークレット|キー|비밀번호|암호|토큰|키|contraseña|clave|mot de passe|jeton"
    r"|kennwort|schlüssel|senha|chave|парол|токен|ключ|كلمة المرور|كلمة السر|رمز|مفتاح"
)
"""Search on lower-cased text: the places worth a closer look."""

_PASSWORD = re.compile(
    r"(?:.*[^a-z]|pg|my|db|sa|root|user|admin|ssh|sudo|smtp|ftp|redis|mail|http|ldap|mysql|old|new"
    r"|bind|login|key|store|key_?store|wifi)?"
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|pw|kennwort|passw|mnemonic|seed ?phrase"
    r"|recovery (?:phrase|code)|pin)s?"
)
_TOKEN = re.compile(
    r".*(?:token|secret|api ?keys?|apikey|access ?key|secret ?key|private ?key|auth ?key|client ?key"
    r"|account ?key|shared ?key|admin ?key|service ?(?:role ?)?key|signing ?key|encryption ?key"
    r"|master ?key|app(?:lication)? ?key|license ?key|subscription ?key|deploy ?key|storage ?key"
    r"|session ?key|write ?key|server ?key|user ?key|webhook ?key|integration ?key|ingest(?:ion)? ?key"
    r"|hmac ?key|jwt ?key|pre ?shared ?key|psk|consumer ?key|ssh ?key|root ?key|project ?key|team ?key"
    r"|credential|creds?|auth|authorization|bearer|pat|dsn|jwt|connection ?string|cookie|secrets)s?"
)
_KEY = re.compile(r".*[a-z0-9 ]key")
_NOT_KEY = re.compile(
    r".*(?:cache|primary|foreign|sort|partition|public|publishable|object|s3|idempotency|dedupe?"
    r"|routing|row|hash|lookup|index|i18n|translation|map|dict|group|unique|shard|range|composite"
    r"|natural|surrogate|config|json|field|column|sub|hot|arrow|enter|escape|shift|any|each|issue"
    r"|feature|message|event|host|known|registry|answer|image|file|bucket|blob|state|react|data"
    r"|artifact|build|store|query|metric|label|tag|param|header|env|secret ?name|anon|site|pub"
    r"|client ?side|verify|verification|peer|trusted|gpg|pgp|ssh ?host|correlation|trace|candidate"
    r"|entity|model|memory|session|context) ?keys?"
)
_NOT_SECRET = re.compile(
    r"(?:.* )?(?:max|min|num|total|input|output|completion|prompt|cached|reasoning|count|used|eos|bos"
    r"|pad|unk|mask|sep|cls|stop|next ?page|page|pagination|continuation|next|sync|cursor|special|per"
    r"|mem|continue|end|start|first|last|bad|invalid|expired|missing|no|without|public|csrf|xsrf"
    r"|nft|erc20|cancellation|design|syntax|placeholder|image|text|audio|rate|budget|grant|how)"
    r" ?tokens?|(?:.* )?(?:by|bi|com|tres|sur|under|over|low|high|band|multi|single|one|first|second|"
    r"two|all|boarding|back|test|tests|must|will|should|to|can|render|build|mountain) ?pass(?:es)?|"
    r"(?:no|is|use|has|needs?|requires?|enable|disable|with|without|pre) ?(?:auth|authorization)|"
    r"(?:o|oauth2?) ?auth|.*(?:secret|token|password|credential) ?(?:name|ref|key ?ref|manager)"
)
_MODIFIERS = re.compile(
    r"(?: (?:prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|test(?:ing)?|live|sandbox|local|old|new"
    r"|backup|previous|current|primary|secondary|default|main|value|plain|plaintext|text|raw|b64"
    r"|base64|encoded|hex|ro|rw|read|write|readonly|eu|us|cn|v?\d+|[a-d]|str|string|data|hash ?key"
    r"|is|for \w+|header|env))+$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_NATIVE_PASSWORD = re.compile(
    r"(?i)密[码碼]|口令|パスワード|비밀번호|암호|contraseña|clave|mot de passe|kennwort|senha|парол|كلمة"
)
_NATIVE = re.compile(
    r"(?i)[^\x00-\x7f]|clave|mot de passe|jeton|senha|chave"
)


def words_of(name: str) -> str:
    """Split a name into lower-case words: ``dbPassword``, ``DB_PASSWORD`` → ``db password``."""
    return _SEPARATORS.sub(" ", _CAMEL.sub(" ", name).lower()).strip()


@lru_cache(maxsize=4096)
def secrecy_of(name: str) -> Secrecy:
    """Judge a name such as ``OPENAI_API_KEY``, ``db.password``, ``clientSecret``, ``密码``.

    The last words decide: ``token_count`` counts tokens, ``api_key_2`` is a key.
    """
    name = name[-120:]
    if _NATIVE.search(name):
        return Secrecy.PASSWORD if _NATIVE_PASSWORD.search(name) else Secrecy.TOKEN
    words = words_of(name)
    short = _MODIFIERS.sub("", words) or words
    if _NOT_SECRET.fullmatch(short):
        return Secrecy.NONE
    if _PASSWORD.fullmatch(short):
        return Secrecy.PASSWORD
    if _NOT_KEY.fullmatch(short):
        return Secrecy.NONE
    if _TOKEN.fullmatch(short):
        return Secrecy.TOKEN
    if short == "key" or _KEY.fullmatch(short):
        return Secrecy.WEAK
    if short in {"sig", "signature", "salt", "webhook", "webhook url", "otp", "nonce"}:
        return Secrecy.WEAK
    return Secrecy.NONE
