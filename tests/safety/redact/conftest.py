"""Generates secrets and the places they stand in; no line of the repository looks like a key."""

from __future__ import annotations

import random
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as sre_parser  # type: ignore[import-not-found]
import string
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hermes_memory_core.safety.redact import vendors

if TYPE_CHECKING:
    from collections.abc import Iterator

B62 = string.ascii_letters + string.digits
B36 = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
B64 = B62 + "+/"
SIGNS = "!@#%^*_-+?"

# Kinds that only their name gives away: (label, setting, alphabet, length).
CONTEXT_KINDS: tuple[tuple[str, str, str, int], ...] = (
    ("Datadog API key", "DD_API_KEY", HEX, 32),
    ("Datadog app key", "DATADOG_APP_KEY", HEX, 40),
    ("Heroku API key", "HEROKU_API_KEY", "uuid", 36),
    ("Algolia admin key", "ALGOLIA_ADMIN_KEY", HEX, 32),
    ("Cohere API key", "COHERE_API_KEY", B62, 40),
    ("Mistral API key", "MISTRAL_API_KEY", B62, 32),
    ("Twilio auth token", "TWILIO_AUTH_TOKEN", HEX, 32),
    ("AWS secret access key", "AWS_SECRET_ACCESS_KEY", B64, 40),
    ("Okta API token", "OKTA_API_TOKEN", B62 + "_-", 42),
    ("WireGuard private key", "WG_PRIVATE_KEY", B64, 43),
    ("Cloudflare API token", "CLOUDFLARE_API_TOKEN", B62 + "_-", 40),
    ("Azure client secret", "AZURE_CLIENT_SECRET", B62 + "_-.", 40),
    ("Azure storage account key", "AZURE_STORAGE_KEY", B64, 86),
    ("Zendesk API token", "ZENDESK_API_TOKEN", B62, 40),
    ("Trello token", "TRELLO_TOKEN", HEX, 64),
    ("Twitter API secret", "TWITTER_API_SECRET", B62, 50),
    ("Spotify client secret", "SPOTIFY_CLIENT_SECRET", HEX, 32),
    ("Weights and Biases API key", "WANDB_API_KEY", HEX, 40),
    ("Deepgram API key", "DEEPGRAM_API_KEY", HEX, 40),
    ("Pinecone API key", "PINECONE_API_KEY", "uuid", 36),
    ("Segment write key", "SEGMENT_WRITE_KEY", B62, 32),
    ("Jenkins API token", "JENKINS_API_TOKEN", HEX, 34),
    ("JFrog access token", "JFROG_ACCESS_TOKEN", B62, 64),
    ("Django secret key", "SECRET_KEY", B62 + "!@#%^*-", 50),
    ("session secret", "SESSION_SECRET", B62, 48),
    ("encryption key", "ENCRYPTION_KEY", HEX, 64),
    ("database password", "DB_PASSWORD", B62 + SIGNS, 16),
    ("admin password", "ADMIN_PASSWORD", B62 + SIGNS, 12),
    ("SMTP password", "SMTP_PASS", B36, 16),
    ("Redis password", "REDIS_PASSWORD", B62, 32),
)

# (context, template); {v} the value, {N} the setting's name, {n} in lower case, {label} in words.
CONTEXTS: tuple[tuple[str, str], ...] = (
    ("env", "{N}={v}"),
    ("env", "export {N}='{v}'"),
    ("env", "# staging\nPORT=8080\n{N}={v}\nDEBUG=false"),
    ("json", '{{"{n}": "{v}", "retries": 3}}'),
    ("json", '{{"env": {{"{N}": "{v}"}}, "arguments": "{{\\"{n}\\": \\"{v}\\"}}"}}'),
    ("yaml", "service:\n  {n}: {v}\n  port: 80"),
    ("yaml", '- name: {N}\n  value: "{v}"'),
    ("toml", '[service]\n{n} = "{v}"'),
    ("header", "Authorization: Bearer {v}"),
    ("header", "curl -H 'X-Api-Key: {v}' https://api.example.org/v1/items"),
    ("header", '"headers": {{"Authorization": "token {v}"}}'),
    ("url", "https://api.example.org/v1/items?api_key={v}&page=2"),
    ("url", "git clone https://deploy:{v}@git.example.org/team/app.git"),
    ("prose", "the {label} is {v}, please keep it"),
    ("prose", "My {label} for staging is {v}"),
    ("prose", "Here is the {label}: {v}"),
    ("prose", "Please use {v} as the {label} when you deploy."),
    ("chinese", "测试环境的密钥是 {v}，不要外传"),
    ("chinese", "API 密钥：{v}"),
    ("table", "| service | {label} |\n|---|---|\n| app | {v} |"),
    ("table", "| setting | value |\n|---|---|\n| {N} | `{v}` |"),
    ("code", 'client = Client({n}="{v}", timeout=30)'),
    ("code", "const {n} = '{v}';"),
    ("cli", "tool deploy --token {v} --region eu"),
)


@dataclass(frozen=True)
class Sample:
    kind: str
    context: str
    text: str
    secret: str
    held_out: bool


def random_text(rng: random.Random, alphabet: str, size: int) -> str:
    """Draw a value with a letter and a digit in it, as real keys of that length have."""
    if alphabet == "uuid":
        return "-".join(random_text(rng, HEX, n) for n in (8, 4, 4, 4, 12))
    while True:
        value = "".join(rng.choice(alphabet) for _ in range(size))
        if size < 8 or (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
            return value


def from_pattern(rng: random.Random, pattern: str) -> str:
    """Draw a text that a pattern matches; open-ended repeats run some characters on."""
    return _draw(rng, sre_parser.parse(pattern))


def _draw(rng: random.Random, nodes: Any) -> str:
    return "".join(_draw_node(rng, op, argument) for op, argument in nodes)


def _draw_node(rng: random.Random, op: Any, argument: Any) -> str:
    if op is sre.LITERAL:
        return chr(argument)
    if op is sre.NOT_LITERAL:
        return "a"
    if op is sre.IN:
        return rng.choice(_members(argument))
    if op in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
        low, high, inner = argument
        top = low + rng.randrange(0, 13) if high is sre.MAXREPEAT else rng.randint(low, high)
        return "".join(_draw(rng, inner) for _ in range(top))
    if op is sre.SUBPATTERN:
        return _draw(rng, argument[3])
    if op is sre.BRANCH:
        return _draw(rng, rng.choice(argument[1]))
    if op in {sre.ASSERT, sre.ASSERT_NOT, sre.AT}:
        return ""
    message = f"pattern part {op} is not known to the generator"
    raise NotImplementedError(message)


def _members(argument: Any) -> str:
    found = ""
    if argument[0][0] is sre.NEGATE:
        return B62 + "+/=.-"
    for op, value in argument:
        if op is sre.LITERAL:
            found += chr(value)
        elif op is sre.RANGE:
            found += "".join(map(chr, range(value[0], value[1] + 1)))
        elif op is sre.CATEGORY:
            found += {sre.CATEGORY_DIGIT: string.digits, sre.CATEGORY_WORD: B62 + "_"}.get(
                value, B62
            )
    return found


def setting_name(kind: str) -> str:
    words = re.sub(r"[^a-z]+", "_", kind).strip("_").upper()
    return words if words.endswith(("KEY", "TOKEN", "SECRET")) else f"{words}_TOKEN"


def is_held_out(name: str) -> bool:
    """A third of kinds and of templates, by checksum: rules are not tuned upon them."""
    return zlib.crc32(name.encode()) % 3 == 0


def vendor_secrets(rng: random.Random) -> Iterator[tuple[str, str]]:
    for rule in vendors.RULES:
        for prefix in rule.prefixes:
            yield rule.id, prefix + from_pattern(rng, rule.body)
    for kind, _, pattern in vendors.SHAPES:
        yield kind, from_pattern(rng, pattern)


def all_secrets(rng: random.Random) -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, label, setting, value)."""
    for kind, value in vendor_secrets(rng):
        label = kind.replace("-", " ")
        if not label.endswith(("key", "token", "secret")):
            label += " token"
        yield kind, label, setting_name(kind), value
    for label, setting, alphabet, size in CONTEXT_KINDS:
        yield label, label, setting, random_text(rng, alphabet, size)


def samples(seed: int) -> Iterator[Sample]:
    rng = random.Random(seed)
    for kind, label, setting, value in all_secrets(rng):
        for context, template in CONTEXTS:
            text = template.format(v=value, N=setting, n=setting.lower(), label=label)
            held_out = is_held_out(kind) or is_held_out(template)
            yield Sample(kind, context, text, value, held_out)


@pytest.fixture(scope="session")
def corpus() -> list[Sample]:
    return list(samples(20260101))


@pytest.fixture
def rng() -> random.Random:
    return random.Random(7)


@pytest.fixture(scope="session")
def draw() -> Any:
    """The generator itself: ``draw(rng, alphabet, size)``."""
    return random_text
