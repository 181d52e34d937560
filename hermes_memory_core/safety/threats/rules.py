"""The rule tables as objects: reading the shipped TOML files, checking them, and adding tables from outside.

A ``RuleSet`` is immutable for its users; ``extend`` returns a new one. No scanning happens here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from hermes_memory_core.errors import ConfigError
from hermes_memory_core.safety.threats.evidence import EvidenceRule
from hermes_memory_core.safety.threats.lexicon import Lexicon
from hermes_memory_core.safety.threats.tone import Tone
from hermes_memory_core.types import Severity

LANGUAGES = ("en", "zh", "ja", "ko", "es", "de", "fr", "ru", "pt", "ar")
_SEVERITIES = ("warn", "review", "block")


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """A structural rule: a pattern on the folded text, tried only when one of its ``gate`` strings occurs."""

    id: str
    pattern: re.Pattern[str]
    gate: tuple[str, ...]
    severity: Severity
    reasons: Mapping[str, str]
    inside: re.Pattern[str] | None = None
    """Must be found within what ``pattern`` matched; two simple patterns are faster than one nested one."""
    examples_for: tuple[str, ...] = ()
    examples_against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptPattern:
    """Names with punctuation (URLs, file names) that count as evidence for a concept."""

    concept: str
    gate: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything a scan needs. ``RuleSet.default()`` is loaded once per process."""

    evidence: tuple[EvidenceRule, ...]
    shapes: tuple[ShapeRule, ...]
    patterns: tuple[ConceptPattern, ...]
    lexicon: Lexicon
    tone: Tone
    less: dict[str, float]
    reasons: dict[str, dict[str, str]]
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    off: frozenset[str] = frozenset()

    @staticmethod
    def default() -> RuleSet:
        """The rules shipped with the package."""
        return _default()

    def extend(self, tables: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> RuleSet:
        """Return a rule set with the tables of the config or of plugins added.

        Args:
            tables: One table or several, each with any of ``words`` (``{language: {concept: "a, b"}}``),
                ``rule`` (like ``tables/evidence.toml``), ``shape`` (like ``tables/shapes.toml``) and
                ``off`` (ids that shall not be reported).

        Raises:
            ConfigError: A table has an unknown key, a bad pattern or a missing field.
        """
        result = self
        for table in [tables] if isinstance(tables, Mapping) else tables:
            unknown = set(table) - {"words", "rule", "shape", "off"}
            if unknown:
                raise ConfigError(
                    f"A threat table has the unknown keys {sorted(unknown)}; it was not used.",
                    hint="Allowed are: words, rule, shape, off.",
                )
            result = _extended(result, table)
        return result

    def reason(self, rule_id: str, lang: str | None) -> str:
        """Why the rule fired, in ``lang`` when there is a translation, else in English."""
        texts = self.reasons.get(rule_id, {})
        return texts.get((lang or "en")[:2]) or texts.get("en") or rule_id


def _extended(base: RuleSet, table: Mapping[str, Any]) -> RuleSet:
    words = base.words
    lexicon = base.lexicon
    if table.get("words"):
        words = _merged(base.words, table["words"])
        lexicon = Lexicon.from_tables(words)
    evidence = tuple(_evidence_rule(raw) for raw in table.get("rule", ()))
    shapes = tuple(_shape_rule(raw) for raw in table.get("shape", ()))
    reasons = dict(base.reasons)
    reasons.update(_reasons(evidence, shapes))
    return replace(
        base,
        evidence=base.evidence + evidence,
        shapes=base.shapes + shapes,
        lexicon=lexicon,
        words=words,
        reasons=reasons,
        off=base.off | frozenset(table.get("off", ())),
    )


def _reasons(
    evidence: Iterable[EvidenceRule], shapes: Iterable[ShapeRule]
) -> dict[str, dict[str, str]]:
    reasons = {rule.id: dict(rule.reasons) for rule in evidence}
    reasons.update({shape.id: dict(shape.reasons) for shape in shapes})
    return reasons


def _merged(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    merged = {lang: dict(concepts) for lang, concepts in old.items()}
    for lang, concepts in new.items():
        target = merged.setdefault(lang, {})
        for concept, phrases in concepts.items():
            target[concept] = f"{target[concept]}, {phrases}" if concept in target else phrases
    return merged


@cache
def _default() -> RuleSet:
    evidence_table = _read("evidence.toml")
    evidence = tuple(_evidence_rule(raw) for raw in evidence_table["rule"])
    shapes = tuple(_shape_rule(raw) for raw in _read("shapes.toml")["shape"])
    words = {lang: _read(f"words/{lang}.toml")["words"] for lang in LANGUAGES}
    patterns = tuple(
        ConceptPattern(raw["concept"], tuple(raw["gate"]), re.compile(raw["pattern"]))
        for raw in _read("words/shared.toml")["pattern"]
    )
    reasons = _reasons(evidence, shapes)
    reasons.update(_read("reasons.toml")["reasons"])
    return RuleSet(
        evidence=evidence,
        shapes=shapes,
        patterns=patterns,
        lexicon=Lexicon.from_tables(words),
        tone=Tone.from_table(_read("tone.toml")),
        less={key: float(value) for key, value in evidence_table["less"].items()},
        reasons=reasons,
        words=words,
    )


def _read(name: str) -> dict[str, Any]:
    source = resources.files("hermes_memory_core.safety.threats").joinpath(
        "tables", *name.split("/")
    )
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _evidence_rule(raw: Mapping[str, Any]) -> EvidenceRule:
    try:
        return EvidenceRule(
            id=raw["id"],
            need=tuple(frozenset(group.split("|")) for group in raw["need"]),
            score=float(raw["score"]),
            more={key: float(value) for key, value in raw.get("more", {}).items()},
            less={key: float(value) for key, value in raw.get("less", {}).items()},
            reasons={lang: raw[lang] for lang in LANGUAGES if lang in raw},
            examples_for=tuple(raw.get("for", ())),
            examples_against=tuple(raw.get("against", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"The threat rule {raw.get('id', '?')!r} cannot be used: {error!r}.",
            hint="A rule needs id, need and score; see the comments in evidence.toml.",
        ) from error


def _shape_rule(raw: Mapping[str, Any]) -> ShapeRule:
    try:
        if raw["severity"] not in _SEVERITIES:
            raise ValueError(f"severity {raw['severity']!r}")
        return ShapeRule(
            id=raw["id"],
            pattern=re.compile(raw["pattern"]),
            gate=tuple(raw.get("gate", ())),
            severity=raw["severity"],
            reasons={lang: raw[lang] for lang in LANGUAGES if lang in raw},
            inside=re.compile(raw["inside"]) if "inside" in raw else None,
            examples_for=tuple(raw.get("for", ())),
            examples_against=tuple(raw.get("against", ())),
        )
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise ConfigError(
            f"The threat shape {raw.get('id', '?')!r} cannot be used: {error}.",
            hint="A shape needs id, pattern and severity (warn, review or block).",
        ) from error
