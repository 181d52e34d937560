"""Kinds in their surroundings, measured: secrets masked, honest lines left alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hermes_memory_core.safety.redact import redact, vendors
from hermes_memory_core.safety.redact.masks import MASK

if TYPE_CHECKING:
    import random

HONEST = Path(__file__).parents[2] / "data" / "secrets" / "honest.txt"


def leaks(secret: str, text: str) -> bool:
    """Tell whether the secret, or eight characters in a row of its random part, is left."""
    left = MASK.sub(" ", redact(text))
    first = len(secret) // 3
    return secret in left or any(
        secret[at : at + 8] in left for at in range(first, max(first + 1, len(secret) - 7))
    )


@pytest.fixture(scope="session")
def results(corpus: list[Any]) -> list[tuple[Any, bool]]:
    return [(sample, leaks(sample.secret, sample.text)) for sample in corpus]


def share_masked(results: list[tuple[Any, bool]]) -> float:
    return 1 - sum(leak for _, leak in results) / len(results)


def test_hundred_kinds_and_more(corpus: list[Any]) -> None:
    assert len({sample.kind for sample in corpus}) >= 150
    assert len({rule.id for rule in vendors.RULES}) >= 140


@pytest.mark.timeout(60)
def test_known_kinds_and_places_are_masked(results: list[tuple[Any, bool]]) -> None:
    assert share_masked([row for row in results if not row[0].held_out]) >= 0.98


@pytest.mark.timeout(60)
def test_kinds_and_places_kept_aside_are_masked(results: list[tuple[Any, bool]]) -> None:
    kept_aside = [row for row in results if row[0].held_out]
    assert len(kept_aside) >= len(results) / 3
    assert share_masked(kept_aside) >= 0.97


@pytest.mark.timeout(60)
def test_no_context_falls_behind(results: list[tuple[Any, bool]]) -> None:
    total = Counter(sample.context for sample, _ in results)
    leaked = Counter(sample.context for sample, leak in results if leak)
    weak = {name: leaked[name] / count for name, count in total.items()}
    assert {name: share for name, share in weak.items() if share > 0.03} == {}


@pytest.mark.timeout(60)
def test_no_kind_is_missed_throughout(results: list[tuple[Any, bool]]) -> None:
    total = Counter(sample.kind for sample, _ in results)
    leaked = Counter(sample.kind for sample, leak in results if leak)
    assert [kind for kind in total if leaked[kind] > total[kind] / 2] == []


def test_honest_lines_stay() -> None:
    lines = HONEST.read_text(encoding="utf-8").splitlines()
    touched = [(line, redact(line)) for line in lines if redact(line) != line]
    assert len(lines) >= 150
    assert len(touched) <= len(lines) // 100, touched


def test_honest_lines_stay_in_one_text() -> None:
    lines = HONEST.read_text(encoding="utf-8").splitlines()
    masked = redact("\n\n".join(lines)).split("\n\n")
    assert sum(a != b for a, b in zip(lines, masked, strict=True)) <= len(lines) // 50


def test_rules_are_well_formed() -> None:
    for rule in vendors.RULES:
        assert re.fullmatch(r"[a-z0-9-]{2,48}", rule.id), rule
        assert rule.title
        assert all(prefix[0].isalnum() for prefix in rule.prefixes), rule
        re.compile(rule.body)
    prefixes = [(p, rule.body) for rule in vendors.RULES for p in rule.prefixes]
    assert len(prefixes) == len(set(prefixes))


def test_unlisted_vendor_is_known_by_its_form(rng: random.Random, draw: Any) -> None:
    for head in ("acme_live_", "zorb-sk-", "qux_secret_", "nimbus_pat_"):
        key = head + draw(rng, "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRS23456789", 32)
        assert not leaks(key, f"deploy with {key} today")


@pytest.mark.parametrize(
    "head", ["call_", "toolu_", "msg_", "req_", "run_", "pk_live_", "acme_pub_key_"]
)
def test_identifiers_of_that_form_stay(rng: random.Random, draw: Any, head: str) -> None:
    text = f"result of {head}{draw(rng, 'abcdefghijkmnpqrstuvwxyzABCDEFGH23456789', 24)} arrived"
    assert redact(text) == text
