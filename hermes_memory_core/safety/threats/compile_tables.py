"""Turns the readable tables (``tables/*.toml``, ``tables/words/``, ``tables/tone/``) into ``tables/compiled.json``.

Run after editing a table: ``python -m hermes_memory_core.safety.threats.compile_tables``. Parsing and folding tens of
thousands of phrases takes a third of a second, too long for the first scan of a process; the compiled file is read in a
few milliseconds. A test fails when it is not current. Never imported by a scan, except for `read_words` when a table
from outside changes how words are spelled.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

from hermes_memory_core.safety.threats.lexicon import VARIANTS, Lexicon
from hermes_memory_core.safety.threats.rules import COMPILED, LANGUAGES

TABLES = COMPILED.parent


def read_words() -> dict[str, dict[str, str]]:
    """The word tables as written: ``{language: {concept: "word, phrase"}}``."""
    return {lang: _read(f"words/{lang}.toml")["words"] for lang in LANGUAGES}


def compiled() -> str:
    """The text of ``tables/compiled.json`` as it should be; the same tables always give the same text."""
    evidence = _read("evidence.toml")
    words = read_words()
    tables = {
        "rule": evidence["rule"],
        "less": evidence["less"],
        "shape": _read("shapes.toml")["shape"],
        "pattern": _read("words/shared.toml")["pattern"],
        "reasons": _read("reasons.toml")["reasons"],
        "variants": {lang: words[lang][VARIANTS] for lang in LANGUAGES if VARIANTS in words[lang]},
        "tone": _tone(),
        "lexicon": Lexicon.from_tables(words).packed(),
    }
    # One value per line: changes can be read in a diff.
    return json.dumps(tables, ensure_ascii=False, indent=0) + "\n"


def _tone() -> dict[str, Any]:
    """All files of ``tone/`` as one: ``{"bias": …, "review": …, "warn": …, "weights": {"0.8": "word word"}}``."""
    table: dict[str, Any] = _read("tone/shared.toml")
    weights: dict[str, list[str]] = {}
    for path in sorted((TABLES / "tone").glob("*.toml")):
        for weight, words in _read(f"tone/{path.name}")["weights"].items():
            weights.setdefault(weight, []).append(words)
    table["weights"] = {weight: " ".join(words) for weight, words in weights.items()}
    return table


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((TABLES / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    COMPILED.write_text(compiled(), encoding="utf-8")
