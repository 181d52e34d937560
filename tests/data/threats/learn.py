"""Learns ``tables/tone.toml`` from the development half of the labelled notes: logistic regression, nothing else.

Run by hand after adding notes or words: ``python tests/data/threats/learn.py [honest.txt …]``. Held-out notes are never
read for learning. Technical prose of the standard library's own help is added as honest background, and the lines of
the files named: everyday talk, so that the model learns what ordinary "you" and "tell" sound like. The shipped table was
learned with the conversations of the chatterbot-corpus package (BSD licence; twelve languages, 15 to 300 characters a
line); only weights come from them, no text is kept. Words of one line of ``kin.txt`` share a
part of their weight, so that words no note contains speak too. The thresholds are set on notes the model did not see
(four-fold), at the share of honest notes that may be held.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from pydoc_data import topics

from hermes_memory_core.safety.threats import scanner
from hermes_memory_core.safety.threats.evidence import weigh
from hermes_memory_core.safety.threats.fold import fold
from hermes_memory_core.safety.threats.rules import RuleSet
from hermes_memory_core.safety.threats.tone import Tone, features, scale, sentences

HERE = Path(__file__).parent
TARGET = (
    HERE.parent.parent.parent / "hermes_memory_core" / "safety" / "threats" / "tables" / "tone.toml"
)
RULES = RuleSet.default()
FOLDS, EPOCHS, RATE = 4, 40, 0.3
# Pull towards zero, of words, concepts ("@…") and lines of kin ("~…").
DECAY = {"@": 1.0, "~": 2.0}
DECAY_WORDS = 4.0
BACKGROUND = 0.05
HELD_SHARE = (
    0.1  # these honest notes mirror hostile ones word for word; ordinary ones score far lower
)
Sample = tuple[set[str], bool, float]


def notes(split: str) -> list[dict[str, str]]:
    rows = []
    for path in sorted(HERE.glob("*.jsonl")):
        rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["split"] == split and row["kind"] != "obfuscated"]


def background() -> list[str]:
    paragraphs = [part for topic in topics.topics.values() for part in re.split(r"\n\s*\n", topic)]
    prose = [" ".join(part.split()) for part in paragraphs if part.count("  ") < 8]
    honest = sorted(part for part in prose if 60 < len(part) < 400)[::2]
    for name in sys.argv[1:]:
        honest += Path(name).read_text(encoding="utf-8").splitlines()
    return honest


def parts(text: str) -> list[set[str]]:
    """Features of every sentence of a note, as the scanner sees it."""
    view = fold(text)
    weighed = weigh(view.text, scanner._hits(view.text, RULES), RULES.evidence, RULES.less)
    cut = sentences(view.text, weighed)
    found = [
        features(view.text[start:end], concepts, best) for _, start, end, concepts, best in cut
    ]
    return found or [features(view.text, (), 0.0)]


def samples(rows: list[dict[str, str]]) -> list[Sample]:
    """One sample per honest sentence; of a hostile note the richest part, since the rest may be honest."""
    made: list[Sample] = []
    for row in rows:
        found = parts(row["text"])
        if row["label"] == "hostile":
            made.append(
                (max(found, key=lambda part: sum(name[0] == "@" for name in part)), True, 1.0)
            )
        else:
            made += [(part, False, 1.0) for part in found]
    return made


def examples() -> list[Sample]:
    """The rules' own examples count double: a test holds the scan to them."""
    made: list[Sample] = []
    for rule in (*RULES.evidence, *RULES.shapes):
        made += [(part, False, 2.0) for text in rule.examples_against for part in parts(text)]
    return made


def kin() -> dict[str, list[str]]:
    """Word or character pair → the lines of ``kin.txt`` it stands in, as ``~0``, ``~1`` …"""
    found: dict[str, list[str]] = defaultdict(list)
    lines = (HERE / "kin.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(line for line in lines if line and line[0] != "#"):
        for name in sorted(features(fold(line).text, (), 0.0)):
            found[name].append(f"~{number}")
    return dict(found)


KIN = kin()


def fit(data: list[Sample]) -> tuple[dict[str, float], float]:
    """Weights per feature, the share of its kin included, and the bias."""
    seen = Counter(name for found, _, _ in data for name in found)
    own = {name for name, count in seen.items() if count > 1}
    usable = []
    for found, label, importance in data:
        known = sorted(name for name in found if name in own or name in KIN)
        names = [name for name in known if name in own]
        names += [line for name in known for line in KIN.get(name, ())]
        usable.append((scale(len(known)), names, label, importance))
    counts = Counter(name for _, names, _, _ in usable for name in names)
    pull = {name: DECAY.get(name[0], DECAY_WORDS) / counts[name] / 2 for name in counts}
    weights: dict[str, float] = defaultdict(float)
    squares: dict[str, float] = defaultdict(lambda: 1e-6)
    bias, bias_square = 0.0, 1e-6
    rng = random.Random(11)
    for _ in range(EPOCHS):
        rng.shuffle(usable)
        for share, names, label, importance in usable:
            z = bias + share * sum([weights[name] for name in names])
            error = (1 / (1 + math.exp(-max(-30.0, min(30.0, z)))) - label) * importance
            bias_square += error * error
            bias -= RATE * error / math.sqrt(bias_square)
            for name in names:
                step = share * error + pull[name] * weights[name]
                squares[name] += step * step
                weights[name] -= RATE * step / math.sqrt(squares[name])
    return {
        name: (weights[name] if name in own else 0.0)
        + sum(weights[line] for line in KIN.get(name, ()))
        for name in sorted(own | KIN.keys())
    }, bias


def score(model: tuple[dict[str, float], float], text: str) -> float:
    tone = Tone(model[0], model[1], 0.0, 0.0)
    return max(tone.score(part) for part in parts(text))


def write(model: tuple[dict[str, float], float], review: float, warn: float) -> None:
    buckets: dict[str, dict[float, list[str]]] = {
        "concepts": defaultdict(list),
        "words": defaultdict(list),
    }
    for name, weight in model[0].items():
        rounded = round(weight, 1)
        if name[0] == "@":
            buckets["concepts"][rounded].append(name[1:])
        elif abs(rounded) >= 0.2 and '"' not in name and "\\" not in name:
            buckets["words"][rounded].append(name)
    lines = [
        "# Learned by tests/data/threats/learn.py; do not edit by hand. Each line: weight = the words that carry it.",
        "# Positive weights speak for an attack. Concepts are those of words/*.toml; rule… = how far a rule got.",
        f"bias = {model[1]:.2f}",
        f"review = {review:.2f}",
        f"warn = {warn:.2f}",
    ]
    for section, table in buckets.items():
        lines.append(f"\n[{section}]")
        lines += [
            f'"{weight}" = "{" ".join(sorted(table[weight]))}"'
            for weight in sorted(table, reverse=True)
        ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    rows = notes("dev")
    random.Random(5).shuffle(rows)
    extra: list[Sample] = [
        (part, False, BACKGROUND) for text in background() for part in parts(text)
    ]
    extra += examples()
    unseen: list[tuple[float, dict[str, str]]] = []
    for fold_number in range(FOLDS):
        learn = [row for index, row in enumerate(rows) if index % FOLDS != fold_number]
        model = fit(samples(learn) + extra)
        unseen += [(score(model, row["text"]), row) for row in rows[fold_number::FOLDS]]
    honest = sorted((value for value, row in unseen if row["label"] == "benign"), reverse=True)
    review = max(honest[int(len(honest) * HELD_SHARE)], 0.0)
    warn = max(honest[int(len(honest) * 0.12)], review - 1.0)
    for kind in ("stock", "paraphrase", "buried"):
        values = [value for value, row in unseen if row["kind"] == kind]
        print(kind, len(values), round(sum(value >= review for value in values) / len(values), 3))
    write(fit(samples(rows) + extra), review, warn)
    print("honest", len(honest), "review at", round(review, 2), "warn at", round(warn, 2))


if __name__ == "__main__":
    main()
