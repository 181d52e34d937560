"""How a sentence sounds: words and concepts weighed together, for attacks that avoid every known phrase.

The weights are data (``tables/tone.toml``), learned by ``tests/data/threats/learn.py`` from the development half of the
labelled notes. A sentence is judged by its words (spaced scripts), character pairs (Han and kana), the concepts the
lexicon found in it, and how far the evidence rules got. Tone alone never blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hermes_memory_core.safety.threats.evidence import Weighed
from hermes_memory_core.safety.threats.lexicon import TOKEN

_HAN_RUN = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff]{2,}")
_SHORT_NOTE = 400
_LEAST_CONCEPTS = 1.0
_NO = -9.0
_USUAL_SIZE = 16
_STEPS = (1.0, 1.8, 2.5, 3.4)


@dataclass(frozen=True, slots=True)
class Tone:
    """Learned weights: words, character pairs (both in ``words``), concepts (prefixed ``@``) and the bias."""

    words: Mapping[str, float]
    bias: float
    review: float
    warn: float

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> Tone:
        """Read ``{"words": {"0.8": "word word"}, "concepts": {"0.5": "dismiss told"}, "bias": …}``."""
        words: dict[str, float] = {}
        for section, prefix in (("words", ""), ("concepts", "@")):
            buckets = table[section]
            assert isinstance(buckets, Mapping)  # noqa: S101 - our own file
            for weight, members in buckets.items():
                value = float(weight)
                for member in str(members).split():
                    words[prefix + member] = value
        return cls(words, _number(table, "bias"), _number(table, "review"), _number(table, "warn"))

    def judge(self, sentence: str, concepts: Iterable[str], strength: float) -> float:
        """`score` of the `features` of a sentence; its words are not looked at when its concepts rule an attack out."""
        named = _named(concepts, strength)
        if math.fsum([self.words.get(name, 0.0) for name in named]) < _LEAST_CONCEPTS:
            return _NO
        return self._sum(_wording(sentence).union(named))

    def score(self, features: Iterable[str]) -> float:
        """Log-odds that a sentence with these features is an attack.

        Words alone do not convict: without concepts that speak for an attack the answer is "no".
        """
        found = set(features)
        if math.fsum([self.words.get(name, 0.0) for name in found if name[0] == "@"]) < (
            _LEAST_CONCEPTS
        ):
            return _NO
        return self._sum(found)

    def _sum(self, features: set[str]) -> float:
        known = self.words.keys() & features
        return self.bias + scale(len(known)) * math.fsum(map(self.words.__getitem__, known))


def scale(size: int) -> float:
    """A long sentence has more words of every kind; each then counts less."""
    return math.sqrt(_USUAL_SIZE / max(size, _USUAL_SIZE))


def _number(table: Mapping[str, object], key: str) -> float:
    return float(str(table[key]))


def features(sentence: str, concepts: Iterable[str], strength: float) -> set[str]:
    """What a folded sentence is judged by.

    Args:
        sentence: Folded text.
        concepts: Concepts the lexicon found in it, after negation.
        strength: Highest score of an evidence rule in it.
    """
    return _wording(sentence).union(_named(concepts, strength))


def _wording(sentence: str) -> set[str]:
    found = set(TOKEN.findall(sentence))
    for run in () if sentence.isascii() else _HAN_RUN.findall(sentence):
        found.update(map(str.__add__, run, run[1:]))
    return found


def _named(concepts: Iterable[str], strength: float) -> list[str]:
    named = ["@" + concept for concept in concepts]
    named += [f"@rule{step}" for step in _STEPS if strength >= step]
    return named


Sentence = tuple[int, int, int, set[str], float]


def sentences(text: str, weighed: Weighed) -> list[Sentence]:
    """Cut a text as the evidence was.

    Returns:
        (clause, start, end, concepts, highest rule score) per sentence in which the lexicon found something, and
        once more for the whole, as clause -1, if it is short.
    """
    concepts: dict[int, set[str]] = {}
    strength: dict[int, float] = {}
    for cluster in weighed.clusters:
        concepts.setdefault(cluster.clause, set()).update(cluster.concepts)
    for verdict in weighed.verdicts:
        clause = weighed.clusters[verdict.cluster].clause
        strength[clause] = max(strength.get(clause, 0.0), verdict.score)
    parts = []
    start = 0
    for clause, cut in enumerate(weighed.cuts):
        end = min(cut, len(text))
        if clause in concepts:
            parts.append((clause, start, end, concepts[clause], strength.get(clause, 0.0)))
        start = end
    if len(text) <= _SHORT_NOTE and len(parts) > 1:
        everything: set[str] = set().union(*concepts.values())
        parts.append((-1, 0, len(text), everything, max(strength.values(), default=0.0)))
    return parts
