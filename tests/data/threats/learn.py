"""Learns ``tables/tone/`` from the labelled notes that are not kept aside, and sets from which score on a note is held.

Run by hand after adding notes or words, in an environment with scikit-learn (nothing else needs it):
``python tests/data/threats/learn.py [honest.txt …]``, then
``python -m hermes_memory_core.safety.threats.compile_tables``.

Two models of the same features are averaged: logistic regression, which weighs features against each other, and naive
Bayes, which is steadier for rare ones (Wang and Manning 2012, "Baselines and bigrams"). Honest background is added with
little weight: prose of the standard library's own help, descriptions of the packages that happen to be installed, and
the lines of the files named. The shipped tables were learned with the conversations of the chatterbot-corpus package
(BSD licence; twelve languages, 15 to 300 characters a line); only weights come from all these, no text is kept. The
thresholds are set on notes the model did not see (five-fold, in blocks of neighbouring lines, since one sitting writes
similar notes).
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import Distribution, distributions
from pathlib import Path
from pydoc_data import topics

import numpy as np
from corpus import Note, notes
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from hermes_memory_core.safety.threats import scan, scanner, verdict
from hermes_memory_core.safety.threats.evidence import weigh
from hermes_memory_core.safety.threats.fold import fold
from hermes_memory_core.safety.threats.hearing import Hearing
from hermes_memory_core.safety.threats.passages import Part, Passage, passages
from hermes_memory_core.safety.threats.rules import RuleSet
from hermes_memory_core.safety.threats.tone import Feature, Tone, features, scale

HERE = Path(__file__).parent
TABLES = HERE.parents[2] / "hermes_memory_core" / "safety" / "threats" / "tables" / "tone"
RULES = RuleSet.default()
FOLDS, BLOCK = 5, 40
LEAST = 2
"""Notes a feature must stand in."""
KEPT = 30_000
"""Features that are kept, those that weigh most; half as many cost two points, twice as many bring one at most."""
SMALLEST = 0.05
SMOOTHING, PENALTY = 0.5, 1.0
BACKGROUND = 0.1
PART = 0.5
"""Weight of an honest sentence beside the honest note it is from."""
SHARES, HELD_SHARE, WARNED = (0.0225,), 0.0225, 3.0
"""Honest notes that tone alone may hold, tried and chosen; so many times more may be mentioned."""
CALIBRATING = "sixteenth"
"""The batch whose honest notes were written to trip a scan, and do not mirror hostile ones."""
LANGUAGES = ("en", "zh", "ja", "ko", "es", "de", "fr", "ru", "pt", "ar")
FLAT = dict.fromkeys(LANGUAGES, 0.0)
Sample = tuple[list[Feature], bool, float]


def background() -> list[str]:
    """Honest prose that nobody wrote as a note: the library's help, descriptions of installed packages, named files."""
    documents = [*topics.topics.values(), *map(description, sorted(distributions(), key=name_of))]
    paragraphs = [part for text in documents for part in re.split(r"\n\s*\n", text)]
    prose = {" ".join(part.split()) for part in paragraphs if part.count("  ") < 8}
    honest = sorted(part for part in prose if 40 < len(part) < 400 and part.count("http") < 2)
    for name in sys.argv[1:]:
        honest += Path(name).read_text(encoding="utf-8").splitlines()
    return honest


def description(distribution: Distribution) -> str:
    return distribution.read_text("METADATA") or ""


def name_of(distribution: Distribution) -> str:
    return str(distribution.metadata["Name"])


def read(text: str) -> list[list[list[Feature]]]:
    """Per passage of a note the features of the whole and of each sentence, as the scanner sees them."""
    plain, cut = divided(text)

    def named(part: Part) -> list[Feature]:
        return features(plain[part.start : part.end], part.concepts, part.strength)

    return [
        [
            named(passage.whole),
            *(map(named, passage.clauses) if len(passage.clauses) > 1 else ()),
        ]
        for passage in cut
    ]


def divided(text: str) -> tuple[str, list[Passage]]:
    """A note folded, and its passages, as the scanner has them."""
    plain = fold(text).text
    weighed = weigh(plain, scanner._hits(plain, RULES), RULES.evidence, RULES.less)
    return plain, passages(plain, weighed)


def samples(text: str, *, hostile: bool, weight: float = 1.0) -> list[Sample]:
    """Honest passages and their sentences; of a hostile note all of it, since one cannot know where it turns."""
    if hostile:
        return [([name for whole, *_ in read(text) for name in whole], True, weight)]
    made = []
    for whole, *parts in read(text):
        made.append((whole, False, weight))
        made += [(part, False, weight * PART) for part in parts]
    return made


def examples() -> list[Sample]:
    """The rules' own examples count double: a test holds the scan to them."""
    return [
        sample
        for rule in (*RULES.evidence, *RULES.shapes)
        for hostile, texts in ((True, rule.examples_for), (False, rule.examples_against))
        for text in texts
        for sample in samples(text, hostile=hostile, weight=2.0)
    ]


def matrix(found: Sequence[list[Feature]], known: dict[str, int]) -> sparse.csr_matrix:
    """Rows as `Sounds.score` sums them up: counts, scaled by how many features are known."""
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for names in found:
        met = [[known[name] for name in feature if name in known] for feature in names]
        row = [column for feature in met for column in feature]
        columns += row
        values += [scale(sum(map(bool, met)))] * len(row)
        ends.append(len(columns))
    made = sparse.csr_matrix((values, columns, ends), shape=(len(found), len(known)))
    made.sum_duplicates()
    return made


def weights(data: Sequence[Sample], known: dict[str, int]) -> np.ndarray:
    """Both models' weights, each brought to a spread of one over the samples, averaged."""
    rows = matrix([names for names, _, _ in data], known)
    labels = np.array([hostile for _, hostile, _ in data])
    worth = np.array([weight for _, _, weight in data])
    there = sparse.diags(worth) @ (rows > 0)
    bad = SMOOTHING + np.asarray(there[labels].sum(0))[0]
    good = SMOOTHING + np.asarray(there[~labels].sum(0))[0]
    bayes = np.log((bad / bad.sum()) / (good / good.sum()))
    logistic = LogisticRegression(C=PENALTY, max_iter=3000, solver="liblinear")
    logistic.fit(rows, labels, sample_weight=worth)
    found = [logistic.coef_[0], bayes]
    return sum(each / (rows @ each).std() for each in found) / len(found)


def fit(data: Sequence[Sample]) -> dict[str, float]:
    """The heaviest features' weights, learned again without the others."""
    counts = Counter(
        name for names, _, _ in data for name in {one for each in names for one in each}
    )
    known = _numbered(name for name, count in counts.items() if count >= LEAST)
    first = dict(zip(known, weights(data, known), strict=True))
    known = _numbered(sorted(first, key=lambda name: -abs(first[name]))[:KEPT])
    found = dict(zip(known, weights(data, known), strict=True))
    return {name: weight for name, weight in found.items() if abs(weight) >= SMALLEST}


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(names))}


def loudest(tone: Tone, text: str) -> float:
    """The score that the scanner compares with its threshold."""
    plain, cut = divided(text)
    hearing = Hearing(cut, tone.read(plain), tone)
    return max((score for score, _, _ in hearing.scores()), default=0.0)


def write(tone: Tone, by_language: dict[str, str]) -> None:
    tables: dict[str, dict[float, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, weight in tone.weights.items():
        tables[by_language.get(name, "shared")][round(weight, 2)].append(name)
    TABLES.mkdir(exist_ok=True)
    for name, table in tables.items():
        lines = [
            "# Learned by tests/data/threats/learn.py; not edited by hand. Each line: weight = what carries it.",
            "# Words, word_word side by side, characters and pairs of them; positive speaks for an attack.",
        ]
        if name == "shared":
            lines += [
                "# @… are the concepts of words/*.toml, @rule… how far a rule of evidence.toml got.",
                f"review = {tone.review:.2f}",
                f"warn = {tone.warn:.2f}",
                "[bias]",
                *[f"{name} = {value:.2f}" for name, value in sorted(tone.bias.items())],
            ]
        lines.append("\n[weights]")
        lines += [
            f'"{weight}" = "{" ".join(sorted(table[weight]))}"'
            for weight in sorted(table, reverse=True)
        ]
        (TABLES / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def languages(rows: Sequence[Note]) -> dict[str, str]:
    """The language most of whose notes a feature stands in; concepts and rules belong to none."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name in {name for whole, *_ in read(row["text"]) for each in whole for name in each}:
            seen[name][row["lang"]] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in seen.items() if name[0] != "@"}


def calibrated(rows: Sequence[Note], scores: np.ndarray) -> float:
    """By how much scores of notes a model has not seen are stretched to be log-odds."""
    hostile = np.array([row["label"] == "hostile" for row in rows])
    return float(LogisticRegression(C=1e6).fit(scores[:, None], hostile).coef_[0][0])


def thresholds(rows: Sequence[Note], odds: np.ndarray, share: float) -> Tone:
    """Per language the bias with which one threshold, zero, holds this share of the calibrating honest notes."""
    honest = np.array([row["label"] == "benign" and row["batch"] == CALIBRATING for row in rows])
    guessed = np.array([guess(row["text"]) for row in rows])
    bias = {
        name: -float(np.quantile(odds[honest & (guessed == name)], 1 - share)) for name in LANGUAGES
    }
    moved = odds + np.array([bias[name] for name in guessed])
    return Tone({}, bias, 0.0, float(np.quantile(moved[honest], 1 - WARNED * share)))


def guess(text: str) -> str:
    plain = fold(text).text
    return Tone({}, FLAT, 0.0, 0.0).read(plain).language(0, len(plain))


def stretched(tone: Tone, model: dict[str, float], stretch: float) -> Tone:
    weighed = {name: stretch * weight for name, weight in model.items()}
    return Tone(weighed, tone.bias, tone.review, tone.warn)


def report(outcomes: dict[tuple[str, str], list[str]]) -> None:
    for group, found in sorted(outcomes.items()):
        held = sum(one in ("review", "block") for one in found) / len(found)
        print(
            f"{group[0]:6} {group[1]:11} {len(found):6} held {held:.3f}  blocked {found.count('block') / len(found):.3f}"
        )


def main() -> None:
    rows = notes("dev")
    extra = [
        one for text in background() for one in samples(text, hostile=False, weight=BACKGROUND)
    ]
    extra += examples()
    made = [samples(row["text"], hostile=row["label"] == "hostile") for row in rows]
    models = []
    for number in range(FOLDS):
        unseen = [index for index in range(len(rows)) if index // BLOCK % FOLDS == number]
        left = set(range(len(rows))) - set(unseen)
        model = fit([sample for index in sorted(left) for sample in made[index]] + extra)
        models.append((model, unseen))
    stretch = calibrated(rows, unseen_scores(rows, models, 1.0))
    odds = unseen_scores(rows, models, stretch)
    for share in SHARES:
        tone = thresholds(rows, odds, share)
        print("share", share, {name: round(value, 2) for name, value in tone.bias.items()})
        outcomes: dict[tuple[str, str], list[str]] = defaultdict(list)
        for model, unseen in models:
            rules = replace(RULES, tone=stretched(tone, model, stretch))
            for index in unseen:
                row = rows[index]
                for name in (row["lang"], row["batch"]):
                    outcomes[name, row["kind"]].append(verdict(scan(row["text"], rules=rules)))
        report(outcomes)
    tone = thresholds(rows, odds, HELD_SHARE)
    final = stretched(tone, fit([one for some in made for one in some] + extra), stretch)
    write(final, languages(rows))
    print(len(final.weights), "features")


def unseen_scores(
    rows: Sequence[Note], models: Sequence[tuple[dict[str, float], list[int]]], stretch: float
) -> np.ndarray:
    scores = np.zeros(len(rows))
    flat = Tone({}, FLAT, 0.0, 0.0)
    for model, unseen in models:
        tone = stretched(flat, model, stretch)
        for index in unseen:
            scores[index] = loudest(tone, rows[index]["text"])
    return scores


if __name__ == "__main__":
    main()
