"""The rule tables as objects: loading the shipped ones, checking them, and adding tables from outside.

A ``RuleSet`` is immutable for its users; ``extend`` returns a new one. The shipped tables are read in their compiled form
(``tables/compiled.json``, made by ``compile_tables.py``). No scanning happens here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import ConfigError
from hermes_memory_core.safety.threats.evidence import EvidenceRule
from hermes_memory_core.safety.threats.gates import Gates
from hermes_memory_core.safety.threats.lexicon import VARIANTS, Lexicon
from hermes_memory_core.safety.threats.tone import Tone
from hermes_memory_core.storage import memos
from hermes_memory_core.types import Severity

LANGUAGES = ("en", "zh", "ja", "ko", "es", "de", "fr", "ru", "pt", "ar")
COMPILED = Path(__file__).parent / "tables" / "compiled.json"
_SEVERITIES = ("warn", "review", "block")


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """A structural rule: a pattern on the folded text, tried only when one of its ``gate`` strings occurs."""

    id: str
    source: str
    gate: tuple[str, ...]
    severity: Severity
    reasons: Mapping[str, str]
    inside_source: str | None = None
    """Must be found within what ``pattern`` matched; two simple patterns are faster than one nested one."""
    examples_for: tuple[str, ...] = ()
    examples_against: tuple[str, ...] = ()

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a gate opens for the first time."""
        return _pattern(self.source)

    @property
    def inside(self) -> re.Pattern[str] | None:
        """The second pattern, compiled when the first matches."""
        return None if self.inside_source is None else _pattern(self.inside_source)


@dataclass(frozen=True, slots=True)
class ConceptPattern:
    """Names with punctuation (URLs, file names) that count as evidence for a concept."""

    concept: str
    gate: tuple[str, ...]
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a gate opens for the first time."""
        return _pattern(self.source)


# Unlike the cache of `re` this one forgets nothing: rules are few and live as long as the process.
_pattern = cache(re.compile)


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
    variants: Mapping[str, str] = field(default_factory=dict)
    added: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Words of the tables `extend` was given."""
    off: frozenset[str] = frozenset()
    gates: Gates = field(init=False)

    def __post_init__(self) -> None:
        """Collect the gates of all rules."""
        every = [rule.gate for rule in self.shapes] + [rule.gate for rule in self.patterns]
        object.__setattr__(self, "gates", Gates(chain.from_iterable(every)))

    @property
    def words(self) -> Mapping[str, Mapping[str, str]]:
        """All word tables as written; read from the TOML files, which a scan never needs."""
        from hermes_memory_core.safety.threats.compile_tables import read_words

        return _merged(read_words(), self.added)

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
    added, lexicon = base.added, base.lexicon
    if table.get("words"):
        _check_names(table["words"])
        added = _merged(base.added, table["words"])
        lexicon = _with_words(base, table["words"], added)
    evidence = tuple(_evidence_rule(raw) for raw in table.get("rule", ()))
    shapes = tuple(_shape_rule(raw, check=True) for raw in table.get("shape", ()))
    reasons = dict(base.reasons)
    reasons.update(_reasons(evidence, shapes))
    return replace(
        base,
        evidence=base.evidence + evidence,
        shapes=base.shapes + shapes,
        lexicon=lexicon,
        added=added,
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


def _check_names(words: Mapping[str, Mapping[str, str]]) -> None:
    for name in (*words, *(concept for concepts in words.values() for concept in concepts)):
        if not name.replace("-", "_").isidentifier():
            raise ConfigError(
                f"A threat table uses {name!r} as a language or concept; it was not used.",
                hint="Such names are letters, digits and underscores.",
            )


def _with_words(
    base: RuleSet, new: Mapping[str, Mapping[str, str]], added: Mapping[str, Mapping[str, str]]
) -> Lexicon:
    if any(VARIANTS in concepts for concepts in new.values()):
        # Another spelling concerns the shipped phrases too.
        from hermes_memory_core.safety.threats.compile_tables import read_words

        return Lexicon.from_tables(_merged(read_words(), added))
    variants = {lang: words[VARIANTS] for lang, words in added.items() if VARIANTS in words}
    known = {
        lang: ",".join(filter(None, (base.variants.get(lang), variants.get(lang)))) for lang in new
    }
    return base.lexicon.with_tables(new, known)


@cache
def _default() -> RuleSet:
    tables = json.loads(COMPILED.read_bytes())
    evidence = tuple(_evidence_rule(raw) for raw in tables["rule"])
    shapes = tuple(_shape_rule(raw, check=False) for raw in tables["shape"])
    patterns = tuple(
        ConceptPattern(raw["concept"], tuple(raw["gate"]), raw["pattern"])
        for raw in tables["pattern"]
    )
    reasons = _reasons(evidence, shapes)
    reasons.update(tables["reasons"])
    return RuleSet(
        evidence=evidence,
        shapes=shapes,
        patterns=patterns,
        lexicon=Lexicon(tables["lexicon"]),
        tone=Tone.from_table(tables["tone"]),
        less={key: float(value) for key, value in tables["less"].items()},
        reasons=reasons,
        variants=tables["variants"],
    )


memos.register(_default.cache_clear)  # its word lists remember the words they were asked for


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


def _shape_rule(raw: Mapping[str, Any], *, check: bool) -> ShapeRule:
    """Make the rule; ``check`` compiles its patterns at once, so that a bad one is reported where it comes from."""
    try:
        if raw["severity"] not in _SEVERITIES:
            raise ValueError(f"severity {raw['severity']!r}")
        for source in (raw["pattern"], raw.get("inside", "")) if check else ():
            _pattern(source)
        return ShapeRule(
            id=raw["id"],
            source=raw["pattern"],
            gate=tuple(raw.get("gate", ())),
            severity=raw["severity"],
            reasons={lang: raw[lang] for lang in LANGUAGES if lang in raw},
            inside_source=raw.get("inside"),
            examples_for=tuple(raw.get("for", ())),
            examples_against=tuple(raw.get("against", ())),
        )
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise ConfigError(
            f"The threat shape {raw.get('id', '?')!r} cannot be used: {error}.",
            hint="A shape needs id, pattern and severity (warn, review or block).",
        ) from error
