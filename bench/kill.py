"""Kill -9 at 200 random points of 10,000 turns: is every acknowledged turn in history and at the provider?

python -m bench.kill [--kills 200] [--turns 10000] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from faults.killing import count, lives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        home, record = Path(directory) / "home", Path(directory) / "record.db"
        tally = lives(home, record, kills=options.kills, turns=options.turns, seed=options.seed)
        count(home, record, tally)
    print(
        f"{tally.kills} kills, {tally.acknowledged_count} turns acknowledged in {len(tally.acknowledged)} sessions,"
        f" {time.perf_counter() - began:.0f} s"
    )
    print(
        f"missing in history {len(tally.missing_in_history)}, missing at the provider {len(tally.missing_at_provider)},"
        f" twice in history {len(tally.twice_in_history)}, twice at the provider {len(tally.twice_at_provider)},"
        f" sessions out of order {len(tally.out_of_order)}, still pending {tally.pending}"
    )
    print(
        f"deliveries {tally.attempts} for {tally.turns} turns (the rest were repeats the key took care of)"
    )
    return 0 if tally.ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
