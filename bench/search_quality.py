#!/usr/bin/env python3
"""Quality of history search, straight on the index: LoCoMo evidence recall and the CJK set.

    python bench/search_quality.py --membench DIR --locomo FILE [--pooled] [--set session=0.5 ...] [--cross-validate]

DIR holds the ``membench`` package (loader, metrics, CJK set), FILE is LoCoMo's JSON. Neither is part of this
repository: the data may be measured with, not shipped. CPU milliseconds are this process's own.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sqlite3
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parent.parent),
    str(Path(__file__).resolve().parent.parent / "providers"),
]

from hermes_memory_sessions import schema  # noqa: E402
from hermes_memory_sessions.search import Filters, Index, MessageRow, search  # noqa: E402
from hermes_memory_sessions.search.weights import DEFAULT, Weights  # noqa: E402

NOW = 1_790_000_000.0
VARIATIONS = {
    "k1": (0.6, 1.2), "b": (0.15, 0.45), "near": (0.15, 0.35), "next_near": (0.05, 0.25), "answer": (0.5, 0.9),
    "session": (0.2, 0.6), "speaker": (0.4, 1.0), "date": (0.7, 2.0), "temporal": (0.3, 0.9), "asking": (0.05, 0.25),
}  # fmt: skip


def store(messages):
    """(session, role, text, ts, speaker) tuples in an open database; ids count from 1."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(db)
    index, keys = Index(db), {}
    db.execute("BEGIN")
    for id_, (session, role, text, ts, speaker) in enumerate(messages, 1):
        if session not in keys:
            keys[session] = len(keys) + 1
            db.execute(
                "INSERT INTO sessions (key, id, started_at, last_active) VALUES (?, ?, ?, ?)",
                (keys[session], session, ts, ts),
            )
        index.add([MessageRow(id_, keys[session], role, text, ts, name=speaker or None)])
    db.execute("COMMIT")
    return db


def ask(db, question, limit, weights):
    start = time.process_time()
    hits = search(db, question, Filters(limit=limit), now=NOW, weights=weights).hits
    return [hit.message_id - 1 for hit in hits], time.process_time() - start


def locomo(conversations, stores, weights, score):
    """Per conversation: one dict of numbers per question of categories 1 to 4."""
    out = []
    for conversation, db in zip(conversations, stores, strict=True):
        rows = []
        for question in conversation.qas:
            if question.category <= 4:
                ids, seconds = ask(db, question.question, 20, weights)
                rows.append({**score(ids, question, conversation.msgs), "cpu_ms": seconds * 1e3})
        out.append(rows)
    return out


def mean(rows, key):
    return statistics.fmean(row[key] for row in rows)


def report(name, per_conversation):
    rows = list(itertools.chain.from_iterable(per_conversation))
    cpu = sorted(row["cpu_ms"] for row in rows)
    print(
        f"{name:24} recall@5 {mean(rows, 'recall@5'):.4f} @10 {mean(rows, 'recall@10'):.4f} @20 {mean(rows, 'recall@20'):.4f} "
        f"session@3 {mean(rows, 'sess_recall@3'):.4f} empty {mean(rows, 'empty'):.3f} "
        f"CPU ms p50 {cpu[len(cpu) // 2]:.2f} p95 {cpu[int(len(cpu) * 0.95)]:.2f}  "
        + " ".join(f"{mean(rows, 'recall@10'):.3f}" for rows in per_conversation),
        flush=True,
    )


def cross_validate(conversations, stores, weights, score):
    """Choose single changes on three conversations, look at the other two: what choosing gains where it was not made."""
    tried = {"as they are": locomo(conversations, stores, weights, score)}
    for key, values in VARIATIONS.items():
        for value in values:
            name = f"{key}={value}"
            tried[name] = locomo(
                conversations, stores, dataclasses.replace(weights, **{key: value}), score
            )
            report(name, tried[name])

    def over(name, chosen):
        return mean([row for i in chosen for row in tried[name][i]], "recall@10")

    gains, spread = [], []
    everyone = range(len(conversations))
    for train in itertools.combinations(everyone, 3):
        check = [i for i in everyone if i not in train]
        best = max(tried, key=lambda name: over(name, train))
        gains.append(over(best, check) - over("as they are", check))
        spread.append(over("as they are", train) - over("as they are", check))
    print(
        f"choosing on 3 changes recall@10 on the other 2 by {statistics.fmean(gains):+.4f} (worst {min(gains):+.4f})"
    )
    print(f"train minus check, weights as they are: {statistics.fmean(spread):+.4f}")


def cjk(documents, queries, weights):
    db = store(("s", "user", text, 1.7e9 + i, "") for i, text in enumerate(documents))
    recall = precision = first = empty = 0.0
    for kind, query, gold in queries:
        got = [id_ + 1 for id_ in ask(db, query, 10, weights)[0]]
        right = len(set(got) & gold)
        recall += right / len(gold)
        precision += right / len(got) if got else 0
        first += bool(got) and got[0] in gold
        empty += not got
        if right < max(len(gold), len(got)):
            print(f"    {kind}: {query}  wanted {sorted(gold)}, got {got}")
    n = len(queries)
    print(
        f"CJK recall@10 {recall / n:.3f} precision {precision / n:.3f} first {first / n:.3f} empty {empty:.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--membench", required=True, help="directory that holds the membench package"
    )
    parser.add_argument("--locomo", default="")
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--set", nargs="*", default=[], metavar="WEIGHT=VALUE")
    options = parser.parse_args()
    sys.path.insert(0, options.membench)
    from membench import cjkset, metrics
    from membench import locomo as loader

    changes = {key: float(value) for key, value in (item.split("=") for item in options.set)}
    weights: Weights = dataclasses.replace(DEFAULT, **changes)
    cjk(cjkset.DOCS, cjkset.QUERIES, weights)
    if not options.locomo:
        return
    conversations = loader.load(options.locomo)
    if options.pooled:
        from locomo_recall import pool

        conversations = pool(conversations)
    stores = [
        store((m.session, m.role, m.text, m.ts, m.speaker) for m in c.msgs) for c in conversations
    ]
    report(
        "pooled" if options.pooled else "one store each",
        locomo(conversations, stores, weights, metrics.score),
    )
    if options.cross_validate and len(conversations) == 5:
        cross_validate(conversations, stores, weights, metrics.score)


if __name__ == "__main__":
    main()
