"""How far a turn goes beyond its deadline when the external provider misbehaves, fault by fault.

    python -m bench.faults [--repeats 5] [--cap 0.2]

For each fault in each hook: ``begin_turn``, ``tools``, ``call_tool`` and ``system_prompt`` against their deadline, and
``session``, ``end_turn`` and ``end`` against the same call without a provider. Printed is the largest median overrun
of each fault in milliseconds (must be ≤ 50), and the worst single one.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from faults.reference.bad import ANSWERING, HOOKS, RAISING, bad, deadlines, good, released

from hermes_memory_core import Memory

WAITING = ("system_prompt", "tools", "begin_turn", "call_tool")
"""Steps with a deadline of their own; the others must not wait for the provider at all."""


def drive(home: Path, kind: type | None, cap: float) -> dict[str, float]:
    home.mkdir()
    (home / "config.yaml").write_text(deadlines(cap), encoding="utf-8")
    seconds = {}
    with Memory.open(home, providers=[kind] if kind else []) as memory:

        def step(name, work, *arguments):
            began = time.perf_counter()
            value = work(*arguments)
            seconds[name] = time.perf_counter() - began
            return value

        memory.session().end()  # first use of files and tables
        session = step("session", memory.session)
        step("system_prompt", session.system_prompt)
        step("tools", session.tools)
        step("begin_turn", session.begin_turn, "tell me about the boat")
        step("call_tool", session.call_tool, "bad_tool", {})
        assert step("end_turn", session.end_turn, "tell me about the boat", "pier two").saved
        step("end", session.end)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cap", type=float, default=0.2, help="deadline in seconds")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    faults = {**RAISING, **ANSWERING}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        base, runs = Path(directory), 0

        def times(kind: type | None) -> list[dict[str, float]]:
            nonlocal runs
            found = []
            for _ in range(options.repeats):
                released.clear()
                runs += 1
                found.append(drive(base / str(runs), kind, options.cap))
                released.set()
            return found

        plain = times(bad("none", good))
        base_ms = {step: statistics.median(run[step] for run in plain) for step in plain[0]}
        worst = 0.0
        for name, fault in faults.items():
            medians: dict[str, float] = {}
            for hook in HOOKS:
                if name in ANSWERING and hook not in ("prefetch", "tools", "call_tool"):
                    continue
                for step, over in overruns(times(bad(hook, fault)), base_ms, options.cap).items():
                    medians[f"{hook}/{step}"] = statistics.median(over) * 1e3
                    worst = max(worst, max(over) * 1e3)
            where = max(medians, key=lambda key: medians[key])
            print(f"{name:<40} {medians[where]:7.1f} ms over ({where})", flush=True)
        print(f"worst single overrun {worst:.1f} ms; {len(faults)} faults")
    os._exit(0)  # what still hangs is a daemon, and a bench need not wait for it


def overruns(
    runs: list[dict[str, float]], base: dict[str, float], cap: float
) -> dict[str, list[float]]:
    """Seconds beyond what is allowed, by step and run; negative when there was time left."""
    return {
        step: [run[step] - (cap if step in WAITING else base[step]) for run in runs]
        for step in base
    }


if __name__ == "__main__":
    main()
