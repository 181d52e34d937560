"""History at scale, beside hermes-agent 0.19.0 in the same run: append rate, stalls, queries, bytes, memory.

    python -m bench.history_scale [--sizes 10000,100000] [--queries 60] [--ours-only]

Texts are made by rule: English-like and Chinese words drawn by Zipf's law, 27 words at the median. Both sides commit
every message durably (hermes-agent's database at ``synchronous=FULL``, ours with a synced transcript). ``end_turn`` is
ours through a session, two messages a turn, against the peer's single messages. A question is asked as typed of ours;
the peer, which finds nothing that way, gets its words joined by OR. CPU is the whole process's, index thread included:
on a shared machine compare CPU within a run. Figures of ``frequent words`` and ``Chinese question`` stand apart because
large stores do not follow frequent words to all their messages; ``recall`` says how many of the twenty best, as ranked
without that limit, are still there.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.peers import hermes_python

ONSETS = (
    "b",
    "bl",
    "c",
    "d",
    "f",
    "fr",
    "g",
    "gl",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "sk",
    "t",
    "tr",
    "v",
    "w",
)
RIMES = ("a", "e", "i", "o", "u", "an", "en", "ol", "ur", "eth", "ist", "ond", "arm", "ine", "oat")
CLASSES = (
    "rare word",
    "two words, AND",
    "question",
    "frequent words",
    "Chinese word",
    "Chinese question",
)


class Texts:
    """Deterministic messages and queries over an invented vocabulary."""

    def __init__(self, seed=11):
        self.random = random.Random(seed)
        self.english = self._words(
            30_000,
            lambda r: "".join(
                r.choice(ONSETS) + r.choice(RIMES) for _ in range(r.choice((1, 2, 2, 3)))
            ),
        )
        signs = [chr(0x4E00 + i) for i in self.random.sample(range(8000), 2000)]
        self.chinese = self._words(
            15_000,
            lambda r: "".join(
                signs[min(int(r.expovariate(0.004)), 1999)]
                for _ in range(r.choice((1, 2, 2, 2, 3)))
            ),
        )
        self._weights = {
            id(words): list(itertools.accumulate(1 / (i + 3) for i in range(len(words))))
            for words in (self.english, self.chinese)
        }

    def _words(self, count, make):
        found = {}
        while len(found) < count:
            found[make(self.random)] = None
        return list(found)

    def _word(self, words):
        weights = self._weights[id(words)]
        return words[bisect.bisect_left(weights, self.random.random() * weights[-1])]

    def message(self):
        length = max(3, min(200, int(self.random.lognormvariate(3.3, 0.8))))
        if self.random.random() < 0.25:
            return (
                "，".join(
                    "".join(self._word(self.chinese) for _ in range(min(8, length - at)))
                    for at in range(0, length, 8)
                )
                + "。"
            )
        return " ".join(self._word(self.english) for _ in range(length)) + "."

    def queries(self, count):
        r = random.Random(5)
        en, zh = self.english, [word for word in self.chinese[100:5000] if len(word) == 2]

        def some(low, high, number):
            return r.sample(en[low:high], number)

        return {
            "rare word": [r.choice(en[3000:15000]) for _ in range(count)],
            "two words, AND": [" AND ".join(some(50, 400, 2)) for _ in range(count)],
            "question": [
                "When did "
                + " ".join(some(20, 200, 2) + some(200, 2000, 2) + some(2000, 9000, 2))
                + "?"
                for _ in range(count)
            ],
            "frequent words": [" ".join(some(0, 60, 4)) for _ in range(count)],
            "Chinese word": [r.choice(zh) for _ in range(count)],
            "Chinese question": [
                r.choice(zh) + r.choice(zh) + "是什么" + r.choice(zh) + "？" for _ in range(count)
            ],
        }


class Ours:
    def __init__(self, home):
        from hermes_memory_core import Memory

        self.home = home
        self.memory = Memory.open(home=home).__enter__()

    def append(self, session, role, text, at):
        self.memory.history.append(session, role, text, timestamp=at)

    def ready(self):
        self.memory.history.flush()

    def search(self, _kind, query):
        return [hit.message_id for hit in self.memory.history.search(query, limit=20)]

    def bytes(self):
        return sum(path.stat().st_size for path in self.home.glob("history.db*"))

    def unpruned(self, query):
        import hermes_memory_sessions.search.chosen as chosen

        limit, chosen.PRUNE_FROM = chosen.PRUNE_FROM, 1 << 60
        try:
            return self.search("", query)
        finally:
            chosen.PRUNE_FROM = limit

    def close(self):
        self.memory.__exit__(None, None, None)


class Hermes:
    def __init__(self, home):
        from hermes_state import SessionDB

        self.path = home / "state.db"
        self.store, self.seen = SessionDB(self.path), set()

    def append(self, session, role, text, at):
        if session not in self.seen:
            self.seen.add(session)
            self.store.create_session(session, "cli")
        self.store.append_message(session, role, text, timestamp=at)

    def ready(self):
        self.store._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def search(self, kind, query):
        if kind in ("question", "frequent words"):
            query = " OR ".join(query.rstrip("?").split())
        return self.store.search_messages(query, limit=20)

    def bytes(self):
        return self.path.stat().st_size

    def close(self):
        self.store.close()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def fill(store, texts, start, size, limit_s):
    """Append up to ``size``; seconds of each append, and CPU seconds of all."""
    waits, cpu, spent = [], 0.0, 0.0
    for number in range(start, size):
        text = texts.message()
        began, used = time.perf_counter(), time.process_time()
        store.append(
            f"s{number // 40:07d}", "assistant" if number % 2 else "user", text, 1.7e9 + number * 30
        )
        waits.append(time.perf_counter() - began)
        cpu += time.process_time() - used
        spent += waits[-1]
        if spent > limit_s:
            break
    return waits, cpu


def ask(store, queries, seconds=25):
    rows = {}
    for kind, items in queries.items():
        waits, found, used, until = [], 0, time.process_time(), time.perf_counter() + seconds
        for query in items:
            began = time.perf_counter()
            found += bool(store.search(kind, query))
            waits.append(time.perf_counter() - began)
            if time.perf_counter() > until:
                break
        rows[kind] = {
            "p50": percentile(waits, 0.5) * 1e3, "p95": percentile(waits, 0.95) * 1e3,
            "cpu": (time.process_time() - used) / len(waits) * 1e3, "found": found / len(waits),
        }  # fmt: skip
    return rows


def recall(store, queries, kinds=("frequent words", "Chinese question"), count=10):
    """Share of the twenty best without pruning that are there with it."""
    shares = {}
    for kind in kinds:
        pairs = [
            (set(store.search(kind, query)), set(store.unpruned(query)))
            for query in queries[kind][:count]
        ]
        shares[kind] = sum(len(some & best) / len(best) for some, best in pairs if best) / max(
            1, sum(bool(best) for _, best in pairs)
        )
    return shares


def turns(home, count):
    """Messages per second through ``end_turn`` on top of what is there, and the slowest turn."""
    from hermes_memory_core import Memory

    texts, waits = Texts(3), []
    with Memory.open(home=home) as memory:
        for _ in range(count // 20):
            with memory.session() as session:
                for _ in range(20):
                    user, reply = texts.message(), texts.message()
                    began = time.perf_counter()
                    session.end_turn(user, reply)
                    waits.append(time.perf_counter() - began)
    return 2 * len(waits) / sum(waits), max(waits) * 1e3


def work(side, sizes, count, limit_s):
    """One side, in a process of its own: a row per size."""
    rows, done, texts = [], 0, Texts()
    queries = texts.queries(count)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        store = {"ours": Ours, "hermes-agent": Hermes}[side](home)
        for size in sizes:
            waits, cpu = fill(store, texts, done, size, limit_s)
            done += len(waits)
            store.ready()
            row = {
                "side": side, "size": done, "rate": len(waits) / sum(waits), "cpu": cpu / len(waits) * 1e6,
                "p50": percentile(waits, 0.5) * 1e6, "p95": percentile(waits, 0.95) * 1e6, "worst": max(waits) * 1e3,
                "bytes": store.bytes() / done, "queries": ask(store, queries),
            }  # fmt: skip
            if side == "ours":
                row["recall"] = recall(store, queries)
            row["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append(row)
            if done < size:
                break
        store.close()
        if side == "ours":
            rows[-1]["end_turn"] = turns(home, 2000)
    print(json.dumps(rows))


def show(rows):
    print(
        "| side | messages | append/s | CPU µs | p50 µs | p95 µs | worst ms | end_turn messages/s (worst ms) | bytes/message | peak MB |"
    )
    print("|---" * 10 + "|")
    for row in sorted(rows, key=lambda row: (row["size"], row["side"])):
        rate, worst = row.get("end_turn", (0, 0))
        through = f"{rate:.0f} ({worst:.0f})" if rate else "–"
        print(
            f"| {row['side']} | {row['size']:,} | {row['rate']:.0f} | {row['cpu']:.0f} | {row['p50']:.0f} | {row['p95']:.0f} "
            f"| {row['worst']:.0f} | {through} | {row['bytes']:.0f} | {row['memory']:.0f} |"
        )
    print(
        "\n| side | messages | "
        + " | ".join(f"{kind} p50 / p95 / CPU ms" for kind in CLASSES)
        + " |"
    )
    print("|---" * (2 + len(CLASSES)) + "|")
    for row in sorted(rows, key=lambda row: (row["size"], row["side"])):
        cells = []
        for kind in CLASSES:
            one = row["queries"][kind]
            kept = f", recall {row['recall'][kind]:.2f}" if kind in row.get("recall", {}) else ""
            cells.append(
                f"{one['p50']:.2f} / {one['p95']:.2f} / {one['cpu']:.2f} ({one['found']:.0%} answered{kept})"
            )
        print(f"| {row['side']} | {row['size']:,} | " + " | ".join(cells) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument(
        "--limit", type=float, default=400, help="seconds of appending a side and size may take"
    )
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.side:
        work(options.side, sizes, options.queries, options.limit)
        return 0
    sides = {
        "ours": Path(sys.executable),
        "hermes-agent": None if options.ours_only else hermes_python(),
    }
    root = Path(__file__).resolve().parent.parent
    rows = []
    for side, python in sides.items():
        if python is None:
            continue
        command = [
            str(python),
            str(Path(__file__).resolve()),
            "--side",
            side,
            "--sizes",
            options.sizes,
        ]
        command += ["--queries", str(options.queries), "--limit", str(options.limit)]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"{side} failed: {done.stderr[-800:]}", file=sys.stderr)
            return 1
        rows += json.loads(done.stdout.splitlines()[-1])
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
