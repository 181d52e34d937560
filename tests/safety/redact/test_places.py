"""Places where secrets stand: blocks, addresses, commands, tables, manifests, several languages."""

from __future__ import annotations

import json
import string
from typing import TYPE_CHECKING, Any

import pytest

from hermes_memory_core.safety.redact import MASK_PREFIX, Redactor, contains_mask, redact

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

B62 = string.ascii_letters + string.digits
PASSWORD = "Tr0ub" + "4dor&3"
BEGIN = "-----BEGIN {} PRIVATE KEY-----"


def block(rng: random.Random, draw: Any, label: str, width: int = 64) -> list[str]:
    body = [draw(rng, B62 + "+/", width) for _ in range(5)] + [draw(rng, B62, 38) + "=="]
    begin = BEGIN.format(label)
    return [begin, *body, begin.replace("BEGIN", "END")]


WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "plain": "\n".join,
    "windows": "\r\n".join,
    "indented": lambda lines: "key: |\n" + "\n".join("    " + line for line in lines),
    "quoted": lambda lines: "\n".join("> " + line for line in lines),
    "diff": lambda lines: "\n".join("+" + line for line in lines),
    "escaped": "\\n".join,
    "escaped twice": "\\\\n".join,
    "json": lambda lines: json.dumps({"private_key": "\n".join(lines), "n": 1}),
    "list": json.dumps,
    "python": lambda lines: "\n".join(f'    "{line}\\n"' for line in lines),
    "cut": lambda lines: "\n".join(lines[:4]),
    "with header": lambda lines: "\n".join([lines[0], "Proc-Type: 4,ENCRYPTED", "", *lines[1:]]),
}


@pytest.mark.parametrize("label", ["RSA", "EC", "OPENSSH", "ENCRYPTED"])
@pytest.mark.parametrize("form", WRITTEN)
def test_private_key_block(rng: random.Random, draw: Any, label: str, form: str) -> None:
    lines = block(rng, draw, label, 70 if label == "OPENSSH" else 64)
    text = WRITTEN[form](lines)
    masked = redact(text)
    kept = lines[1:4] if form == "cut" else lines[1:-1]
    assert [line for line in kept if line in masked] == []
    assert lines[0] in masked
    if form in {"json", "list"}:
        json.loads(masked)


def test_block_seen_line_by_line(rng: random.Random, draw: Any) -> None:
    for line in block(rng, draw, "RSA")[1:-1]:
        assert line not in redact(line)
    lines = [line + "\n" for line in block(rng, draw, "RSA")]
    masked = list(Redactor().redact_lines(["before\n", *lines, "after\n"]))
    assert masked[0] == "before\n"
    assert masked[-1] == "after\n"
    assert len(masked) == len(lines) + 2
    assert not any(line.strip() in "".join(masked) for line in lines[1:-1])


def test_certificates_and_public_keys_stay(rng: random.Random, draw: Any) -> None:
    body = [draw(rng, B62, 64) for _ in range(4)]
    for label in ("CERTIFICATE", "PUBLIC KEY"):
        text = "\n".join([f"-----BEGIN {label}-----", *body, f"-----END {label}-----"])
        assert redact(text) == text


SAID = [
    "the password is {}",
    "The root password for the NAS is {}.",
    "I changed the wifi password to {} yesterday",
    "{} is the admin password",
    "please use {} as the database password",
    "**Password:** `{}`",
    "log in with bob / {}",
    "credentials: bob:{}",
    "machine api.example.org login bob password {}",
    "db.example.org:5432:app:bob:{}",
    "mysql -u root -p{} app",
    "sshpass -p '{}' ssh bob@host",
    "curl -u bob:{} https://example.org",
    "tool --password {} run",
    "PGPASSWORD={} psql -h db",
    "Server=db;User Id=sa;Password={};Encrypt=true",
    "<password>{}</password>",
    "| user | password |\n|---|---|\n| bob | {} |",
    " user | password \n------+----------\n bob  | {} ",
    "user,password,email\nbob,{},b@example.org",
    "spring.datasource.password={}",
    "密码是 {}",
    "数据库密码为{}，请保密",
    "我的密码改成了 {}",
    "用户名 bob，密码：{}",
    "パスワードは {} です",
    "비밀번호는 {} 입니다",
    "la contraseña es {}",
    "das Passwort lautet {}",
    "le mot de passe est {}",
    "пароль: {}",
    "a senha é {}",
]


@pytest.mark.parametrize("sentence", SAID)
def test_password_is_masked_and_the_rest_stays(sentence: str) -> None:
    masked = redact(sentence.format(PASSWORD))
    assert PASSWORD not in masked
    before, _, after = sentence.partition("{}")
    assert masked.startswith(before)
    assert masked.endswith(after)


@pytest.mark.parametrize("scheme", ["postgres", "mysql", "mongodb+srv", "redis", "amqp", "https"])
def test_connection_string_keeps_its_structure(rng: random.Random, draw: Any, scheme: str) -> None:
    secret = draw(rng, B62, 20)
    masked = redact(f"{scheme}://bob:{secret}@db.example.org:5432/app?ssl=true")
    assert masked.startswith(f"{scheme}://bob:{MASK_PREFIX}")
    assert masked.endswith("@db.example.org:5432/app?ssl=true")


def test_query_keeps_its_other_parameters(rng: random.Random, draw: Any) -> None:
    secret = draw(rng, B62, 32)
    masked = redact(f"https://example.org/cb?lang=de&access_token={secret}&page=2#top")
    assert secret not in masked
    assert masked.startswith("https://example.org/cb?lang=de&access_token=«")
    assert masked.endswith("»&page=2#top")


def test_manifest_of_a_kubernetes_secret(rng: random.Random, draw: Any) -> None:
    value = draw(rng, B62, 24)
    head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n"
    text = f"{head}data:\n  user: {value}\ntype: Opaque\n"
    assert value not in redact(text)
    assert redact(text).startswith(head)
    assert redact(text.replace("Secret", "ConfigMap")) == text.replace("Secret", "ConfigMap")


def test_cookie_that_opens_a_session(rng: random.Random, draw: Any) -> None:
    value = draw(rng, B62, 32)
    masked = redact(f"Cookie: sessionid={value}; lang=en; theme=dark")
    assert value not in masked
    assert masked.endswith("; lang=en; theme=dark")


def test_key_behind_an_escaped_line_break(rng: random.Random, draw: Any) -> None:
    key = "gh" + "p_" + draw(rng, B62, 36)
    text = json.dumps({"arguments": json.dumps({"cmd": f"login\n{key}\nexit"})})
    masked = redact(text)
    assert key not in masked
    assert contains_mask(json.loads(json.loads(masked)["arguments"])["cmd"])


def test_f02_text_of_the_report_is_masked_in_message_and_tool_call() -> None:
    key = "sk-" + "test-" + string.ascii_uppercase[:24]
    assert key not in redact(f"here: {key}")
    assert key not in redact(json.dumps({"function": {"arguments": json.dumps({"k": key})}}))
