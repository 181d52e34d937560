"""The Redactor: values seen once, values known before, dicts, logs, threads."""

from __future__ import annotations

import json
import logging
import string
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from hermes_memory_core.safety.redact import (
    RedactingFilter,
    Redactor,
    contains_mask,
    mask,
    redact,
)
from hermes_memory_core.safety.redact.redactor import REMEMBERED_MAX

if TYPE_CHECKING:
    import random

B62 = string.ascii_letters + string.digits


@pytest.fixture
def secret(rng: random.Random, draw: Any) -> str:
    value: str = draw(rng, B62, 24)
    return value


def test_value_seen_once_is_masked_without_context(secret: str) -> None:
    redactor = Redactor()
    assert redactor.redact(f"I saw {secret} somewhere") == f"I saw {secret} somewhere"
    assert secret not in redactor.redact(f"DB_PASSWORD={secret}")
    assert secret not in redactor.redact(f"I saw {secret} somewhere")


def test_value_is_masked_elsewhere_in_the_same_text(secret: str) -> None:
    assert secret not in Redactor().redact(f"{secret} again\nDB_PASSWORD={secret}\n{secret}")


def test_function_remembers_nothing(secret: str) -> None:
    redact(f"DB_PASSWORD={secret}")
    assert redact(f"I saw {secret} somewhere") == f"I saw {secret} somewhere"


def test_short_and_regular_values_are_not_remembered() -> None:
    redactor = Redactor()
    for value in ("hunter2", "password", "aaaaaaaaaaaa", "swordfish", "12345678"):
        assert redactor.remember(value) is False
        assert redactor.redact(f"a {value} b") == f"a {value} b"


def test_known_values_are_masked_in_every_form(rng: random.Random, draw: Any) -> None:
    known = draw(rng, B62, 10) + "/+" + draw(rng, B62, 10) + '"&é'
    redactor = Redactor(known=[known, "short", "${PLACEHOLDER}", "YOUR_API_KEY"])
    for text in (known, quote(known, safe=""), json.dumps(known)):
        assert contains_mask(redactor.redact(f"x {text} y"))
    assert redactor.redact("short YOUR_API_KEY") == "short YOUR_API_KEY"
    redactor.forget_remembered()
    assert contains_mask(redactor.redact(known))


def test_known_value_that_the_mask_contains_does_not_break_it() -> None:
    redactor = Redactor(known=["redacted", "redacted:password"])
    once = redactor.redact("DB_PASSWORD=Xy9!zzQ1w")
    assert once == "DB_PASSWORD=" + mask("password")
    assert redactor.redact(once) == once


def test_memory_is_bounded_and_drops_the_oldest(rng: random.Random, draw: Any) -> None:
    redactor = Redactor()
    drawn = [draw(rng, B62, 20) for _ in range(REMEMBERED_MAX * 2)]
    values = [value for value in drawn if redactor.remember(value)]
    assert len(values) > REMEMBERED_MAX
    assert redactor.redact(values[0]) == values[0]
    assert contains_mask(redactor.redact(values[-1]))


def test_dict_is_judged_by_its_keys(secret: str) -> None:
    source = {
        "password": "hunter2",
        "note": f"the token is {secret}",
        "nested": [{"api_key": secret, "max_tokens": "4096"}, ("x", 1, None)],
        "token_type": "bearer",
    }
    masked = Redactor().redact_value(source)
    assert masked["password"] == mask("password")
    assert secret not in json.dumps(masked)
    assert masked["nested"][0]["max_tokens"] == "4096"
    assert masked["nested"][1] == ("x", 1, None)
    assert masked["token_type"] == "bearer"
    assert source["password"] == "hunter2"


def test_header_cookie_and_named_pair_in_dicts(secret: str) -> None:
    masked = Redactor().redact_value(
        {
            "headers": {"Authorization": f"Bearer {secret}", "Cookie": f"sid={secret[::-1]}; a=b"},
            "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "fast"}],
        }
    )
    assert masked["headers"]["Authorization"] == "Bearer " + mask("secret")
    assert secret[::-1] not in masked["headers"]["Cookie"]
    assert masked["headers"]["Cookie"].endswith("; a=b")
    assert [pair["value"] for pair in masked["env"]] == [mask("password"), "fast"]


def test_mask_shows_nothing_of_the_value(secret: str) -> None:
    masked = redact(f"DB_PASSWORD={secret}")
    assert masked == "DB_PASSWORD=" + mask("password")
    assert contains_mask(masked)
    assert not contains_mask("DB_PASSWORD=x «quoted»")


def test_many_threads_share_one_redactor(rng: random.Random, draw: Any) -> None:
    redactor = Redactor()
    values = [draw(rng, B62, 24) for _ in range(40)]
    failures: list[str] = []

    def work(own: list[str]) -> None:
        failures.extend(
            v for v in own if v in redactor.redact(f"API_TOKEN={v}") + redactor.redact(v)
        )

    threads = [threading.Thread(target=work, args=(values[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def record_of(message: str, *args: object, error: Exception | None = None) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("x", logging.INFO, __file__, 1, message, args, info)


def test_log_message_arguments_and_traceback_are_masked(secret: str) -> None:
    try:
        raise ValueError(f"cannot log in with DB_PASSWORD={secret}")
    except ValueError as caught:
        record = record_of("token=%s for %s", secret, "bob", error=caught)
    assert RedactingFilter(Redactor()).filter(record) is True
    text = logging.Formatter("%(message)s").format(record)
    assert secret not in text
    assert "for bob" in text
    assert "ValueError" in text


def test_log_record_with_wrong_arguments_is_masked_too(secret: str) -> None:
    record = record_of("two %s %s", f"API_TOKEN={secret}")
    RedactingFilter().filter(record)
    assert secret not in record.getMessage()
