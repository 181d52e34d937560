"""100 sessions of 50 turns at once in one process: cross-talk, threads, memory.

python -m bench.crowd [--sessions 100] [--turns 50]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from faults.crowd import crowd


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--turns", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        crowd(Path(directory) / "small", 8, 2)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        problems, threads = crowd(Path(directory) / "home", options.sessions, options.turns)
        spent = time.perf_counter() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    turns = options.sessions * options.turns
    print(
        f"{options.sessions} sessions × {options.turns} turns in {spent:.1f} s ({turns / spent:.0f} turns/s with recall):"
        f" {len(problems)} problems, {threads} threads beside the callers', peak RSS +{grown:.0f} MB"
    )
    for problem in problems[:5]:
        print(str(problem)[:200])
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
