"""Judges names: is a setting, field, column or phrase of this name a secret, and how surely.

Vocabulary only, in several languages; values are judged in ``shapes`` and ``values``.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from hermes_memory_core.safety.redact.shapes import word_list
from hermes_memory_core.storage import memos


class Secrecy(IntEnum):
    """How surely a name stands for a secret; decides what its value may look like."""

    NONE = 0
    WEAK = 1
    """``key`` with something before it: only a random value counts."""
    TOKEN = 2
    """Token, secret, API key: a random or a mixed value counts."""
    PASSWORD = 3
    """Password, passphrase: any value that is no word of description counts."""


STEMS = word_list(
    "pass pwd pw secret token key cred auth bearer cookie pat dsn mnemonic pin otp jwt sid sig "
    "webhook kennwort jeton senha chave clave psk"
)
"""Parts of English names (and some others in ASCII) that are worth a closer look, lower case."""

PHRASES = (
    *("seed phrase", "seed_phrase", "recovery phrase", "recovery code", "connection string"),
    *("connectionstring", "connection_string", "mot de passe"),
)

NATIVE_STEMS = word_list(
    "密码 密碼 密钥 密鑰 密匙 口令 令牌 金钥 金鑰 私钥 私鑰 凭证 憑證 パスワード トークン シークレット キー 비밀번호 암호 토큰 "
    "키 contraseña schlüssel пароль токен ключ"
)
"""The same in other scripts; looked for only in text that is not ASCII."""

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
    r"|hmac ?key|jwt ?key|pre ?shared ?key|consumer ?key|ssh ?key|root ?key|project ?key|team ?key"
    r"|credential|authorization|bearer|connection ?string|cookie)s?"
    r"|(?:.* )?(?:creds?|auth|pat|dsn|jwt|psk|npmauth)"
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
_SERVICES = re.compile(
    r"\b(?:datadog|algolia|stripe|twilio|heroku|mistral|cohere|openai|anthropic|cloudflare|azure|aws|gcp|okta"
    r"|sendgrid|mailgun|deepgram|assemblyai|pinecone|weather|maps|segment|amplitude|mixpanel|new ?relic"
    r"|trello|zendesk|shodan|virustotal|rapidapi|newsapi|tmdb|alchemy|infura|etherscan|binance|coinbase"
    r"|kraken|openweather(?:map)?|serpapi|bing|deepl|deepseek|dashscope|qwen|moonshot|zhipu|minimax|baidu"
    r"|tencent|aliyun|alibaba|volcengine|wandb|comet|honcho|mem0|zep|dd|wireguard|elastic|snyk|fastly) key"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_NATIVE_PASSWORD = re.compile(
    r"(?i)密[码碼]|口令|パスワード|비밀번호|암호|contraseña|\bclave\b|mot de passe|kennwort|senha|парол|كلمة"
)
_NATIVE = re.compile(r"(?i)[^\x00-\x7f]|\b(?:clave|mot de passe|jeton|senha|chave)\b")


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
    if _SERVICES.search(short):
        return Secrecy.TOKEN
    if short == "key" or _KEY.fullmatch(short):
        return Secrecy.WEAK
    if short in {"sig", "signature", "webhook", "webhook url", "otp", "nonce"}:
        return Secrecy.WEAK
    return Secrecy.NONE


memos.register(secrecy_of.cache_clear)
