"""What the engine costs per turn, with a trivial provider and with one that hangs.

    python -m bench.engine_overhead [--turns 400] [--rounds 3]

Ours: ``begin_turn`` + ``end_turn`` with the trivial provider minus the same without, in one process, in alternating
blocks of turns so that one side's background work does not fall into the other's figures. Theirs: hermes-agent
0.19.0's ``MemoryManager`` with the same provider (recall, fence, sync, queue), minus an empty manager. ``p50`` is what a
turn waits; ``delivered`` is a block with its flush, divided by its turns: what the turn costs the machine. Then
``end_turn``'s p95 while ``sync_turn`` and ``queue_prefetch`` hang, minus the p95 without a provider.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.peers import hermes_python

TEXTS = """
USER = "What did we decide about the database migration, and who runs it on Thursday? " * 2
REPLY = "We move it on Thursday evening; Ines runs it and Kim watches the totals. " * 4
BLOCK = 20
"""

OURS = (
    TEXTS
    + """
import json, statistics, sys, time
from pathlib import Path
from hermes_memory_core import Memory, hookimpl
turns, base = int(sys.argv[1]), Path(sys.argv[2])

class Trivial:
    def __init__(self, context): pass
    @hookimpl
    def system_block(self): return "Trivial memory is on."
    @hookimpl
    def prefetch(self, query): return "- a fact about the user"
    @hookimpl
    def sync_turn(self, turn): return None
    @hookimpl
    def queue_prefetch(self, query): return None

with Memory.open(base / "with", providers=[Trivial]) as with_, Memory.open(base / "none") as without:
    sides = [(with_, with_.session(), [], []), (without, without.session(), [], [])]
    for _, session, _, _ in sides:
        session.system_prompt()
    for block in range(turns // BLOCK + 2):
        for memory, session, times, blocks in sides:
            start = time.perf_counter()
            for number in range(BLOCK):
                began = time.perf_counter()
                session.begin_turn(USER)
                session.end_turn(USER, REPLY)
                times.append(time.perf_counter() - began)
            assert memory.flush(10)
            blocks.append((time.perf_counter() - start) / BLOCK)
    assert "- a fact about the user" in sides[0][1].begin_turn(USER).text
    print(json.dumps([
        [statistics.median(times[BLOCK * 2:]) * 1e3, statistics.median(blocks[2:]) * 1e3] for _, _, times, blocks in sides
    ]))
"""
)

THEIRS = (
    TEXTS
    + """
import json, logging, os, statistics, sys, time
os.environ["HERMES_HOME"] = sys.argv[2]
logging.disable(logging.CRITICAL)
import agent.memory_manager as module
from agent.memory_provider import MemoryProvider
turns = int(sys.argv[1])

class Trivial(MemoryProvider):
    name = "trivial"
    def is_available(self): return True
    def initialize(self, session_id, **k): pass
    def system_prompt_block(self): return "Trivial memory is on."
    def prefetch(self, query, *, session_id=""): return "- a fact about the user"
    def sync_turn(self, user, assistant, *, session_id="", **k): pass
    def queue_prefetch(self, query, *, session_id=""): pass
    def get_tool_schemas(self): return []
    def handle_tool_call(self, name, arguments, **k): return "{}"

def manager(*providers):
    made = module.MemoryManager()
    for provider in providers:
        made.add_provider(provider)
    made.initialize_all("s1", hermes_home=sys.argv[2], platform="cli")
    return made

sides = [(manager(Trivial()), [], []), (manager(), [], [])]
for block in range(turns // BLOCK + 2):
    for one, times, blocks in sides:
        start = time.perf_counter()
        for number in range(BLOCK):
            began = time.perf_counter()
            found = one.prefetch_all(USER, session_id="s1")
            module.build_memory_context_block(found)
            one.sync_all(USER, REPLY, session_id="s1")
            one.queue_prefetch_all(USER, session_id="s1")
            times.append(time.perf_counter() - began)
        one.flush_pending(10)
        blocks.append((time.perf_counter() - start) / BLOCK)
assert "a fact" in sides[0][0].prefetch_all(USER, session_id="s1")
print(json.dumps([
    [statistics.median(times[BLOCK * 2:]) * 1e3, statistics.median(blocks[2:]) * 1e3] for _, times, blocks in sides
]))
sys.stdout.flush()
os._exit(0)
"""
)

HANGING = (
    TEXTS
    + """
import json, statistics, sys, threading, time
from pathlib import Path
from hermes_memory_core import Memory, hookimpl
turns, base = int(sys.argv[1]), Path(sys.argv[2])
never = threading.Event()

class Hanging:
    def __init__(self, context): pass
    @hookimpl
    def sync_turn(self, turn): never.wait()
    @hookimpl
    def queue_prefetch(self, query): never.wait()
    @hookimpl
    def end_session(self, reason): never.wait()

with Memory.open(base / "hang", providers=[Hanging]) as hang, Memory.open(base / "none") as without:
    sessions = [(hang.session(), []), (without.session(), [])]
    for number in range(turns + 30):
        for session, times in sessions:
            began = time.perf_counter()
            assert session.end_turn(USER, REPLY).saved
            times.append(time.perf_counter() - began)
    quantiles = [statistics.quantiles(times[30:], n=20) for _, times in sessions]
    closing = time.perf_counter()
print(json.dumps([[q[9] * 1e3, q[18] * 1e3] for q in quantiles] + [time.perf_counter() - closing]))
"""
)


def child(python: Path, code: str, turns: int) -> list:
    with tempfile.TemporaryDirectory() as home:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [str(python), "-c", code, str(turns), home],
            capture_output=True,
            text=True,
            env={**env, "HERMES_HOME": home},
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    hermes = hermes_python()
    ours, theirs, hanging = [], [], []
    for _ in range(options.rounds):
        ours.append(child(Path(sys.executable), OURS, options.turns))
        if hermes:
            theirs.append(child(hermes, THEIRS, options.turns))
        hanging.append(child(Path(sys.executable), HANGING, options.turns))
    mine = show("ours", ours)
    if theirs:
        other = show("hermes-agent", theirs)
        print(f"ratio of the overheads {mine / other:.2f} wall (must be < 1), ours must be ≤ 1 ms")
    middle = [statistics.median(run[0][1] - run[1][1] for run in hanging)]
    p50 = statistics.median(run[0][0] - run[1][0] for run in hanging)
    p95 = [statistics.median(run[side][1] for run in hanging) for side in (0, 1)]
    print(
        f"end_turn while the provider hangs: p95 {p95[0]:.2f} ms, without a provider {p95[1]:.2f} ms:"
        f" +{middle[0]:.2f} ms (must be < 5), p50 {p50:+.2f} ms; closing took"
        f" {statistics.median(run[2] for run in hanging):.1f} s"
    )


def show(name: str, runs: list) -> float:
    """Print one side's medians; the overhead in milliseconds that a turn waits."""
    waits, delivered = (
        [statistics.median(run[side][kind] for run in runs) for side in (0, 1)] for kind in (0, 1)
    )
    print(
        f"{name:<13} p50 per turn: with the trivial provider {waits[0]:.3f} ms, without {waits[1]:.3f} ms:"
        f" overhead {waits[0] - waits[1]:.3f} ms; delivered: {delivered[0] - delivered[1]:.3f} ms"
    )
    return waits[0] - waits[1]


if __name__ == "__main__":
    main()
