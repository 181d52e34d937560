"""Start-up, prompt, tools and write rate, each as a ratio against hermes-agent 0.19.0 in the same run.

    python -m bench.foundation [--quick]

Runs alternate between the two sides, so that noise hits both alike; the median of each side is compared. CPU
seconds are those of the child process (user + system), wall seconds are printed beside them.
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

OURS = Path(sys.executable)

OUR_WRITES = """
import json, sys, time
from hermes_memory_core import Memory
n, home = int(sys.argv[1]), sys.argv[2]
text = "We moved the nightly export to the new host and checked the totals twice. 预算 stays at nine hundred. " * 3
with Memory.open(home) as memory:
    session = memory.session()
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(n // 2):
        if number and number % 20 == 0:
            session.end()
            session = memory.session()
        receipt = session.end_turn(f"{number} {text}", f"{number} {text}")
        assert receipt.saved
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu
    session.end()
print(json.dumps({"per_s": n / spent, "cpu_us": cpu / n * 1e6}))
"""

HERMES_WRITES = """
import json, logging, sys, time
from pathlib import Path
logging.disable(logging.CRITICAL)
from hermes_state import SessionDB
n, home = int(sys.argv[1]), Path(sys.argv[2])
home.mkdir(parents=True, exist_ok=True)
db = SessionDB(home / "state.db")
db._conn.execute("PRAGMA synchronous=FULL")
text = "We moved the nightly export to the new host and checked the totals twice. 预算 stays at nine hundred. " * 3
began, cpu = time.perf_counter(), time.process_time()
for number in range(n):
    session = f"s{number // 40}"
    if number % 40 == 0:
        db.create_session(session, "cli")
    db.append_message(session, "user" if number % 2 == 0 else "assistant", f"{number // 2} {text}")
spent, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps({"per_s": n / spent, "cpu_us": cpu / n * 1e6}))
"""

OUR_PROMPT = """
import json, sys, time
from hermes_memory_core import Memory
with Memory.open(sys.argv[1]) as memory:
    for number in range(14):
        memory.notes.add("memory", f"Project {number}: the service runs on host {number}, deploys with make deploy-{number}, owner is team {number}; its tests need redis.")
    for number in range(9):
        memory.notes.add("user", f"Prefers option {number} for topic {number}; likes short answers; works in UTC+{number}.")
    cold, warm = [], []
    for _ in range(30):
        with memory.session() as session:
            began = time.perf_counter()
            session.system_prompt()
            warm.append(time.perf_counter() - began)
    for _ in range(10):
        with Memory.open(sys.argv[1]) as other, other.session() as session:
            other.notes
            began = time.perf_counter()
            session.system_prompt()
            cold.append(time.perf_counter() - began)
    with memory.session() as session:
        tools = {tool["function"]["name"]: len(json.dumps(tool["function"], ensure_ascii=False)) for tool in session.tools()}
        prompt = session.system_prompt()
    blocks = memory.notes.snapshot()
    guidance = len(prompt) - len(blocks)
    warm.sort(); cold.sort()
    print(json.dumps({"warm_ms": warm[len(warm) // 2] * 1e3, "cold_ms": cold[len(cold) // 2] * 1e3, "tools": tools, "guidance": guidance}))
"""


def child(
    python: Path, *arguments: str, home: str, code: str | None = None
) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds and output of one run."""
    command = [str(python), "-c", code, *arguments] if code else [str(python), *arguments]
    probe = (
        "import json, os, resource, subprocess, sys, time\n"
        "t = time.perf_counter()\n"
        "p = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "w = time.perf_counter() - t\n"
        "r = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([w, r.ru_utime + r.ru_stime, p.returncode, p.stdout, p.stderr[-2000:]]))\n"
    )
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }
    env["HERMES_HOME"] = home
    done = subprocess.run(
        [sys.executable, "-c", probe, *command], capture_output=True, text=True, env=env, check=True
    )
    wall, cpu, code_, out, err = json.loads(done.stdout)
    if code_:
        raise RuntimeError(f"{command[:4]} ended with {code_}: {err}")
    return wall, cpu, out


def compare(
    label: str,
    ours: list[str],
    theirs: list[str] | None,
    runs: int,
    hermes: Path | None,
    limit: float,
) -> None:
    """CPU of two commands, run in turns."""
    figures: dict[str, list[float]] = {"ours": [], "hermes": []}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(runs + 1):
            figures["ours"].append(child(OURS, *ours, home=home)[1])
            if hermes and theirs:
                figures["hermes"].append(child(hermes, *theirs, home=f"{home}/hermes")[1])
    mine = statistics.median(figures["ours"][1:])
    line = f"{label:<34} ours {mine * 1e3:7.0f} ms CPU"
    if figures["hermes"]:
        other = statistics.median(figures["hermes"][1:])
        line += f"   hermes-agent {other * 1e3:7.0f} ms   ratio {mine / other:.2f} (must be ≤ {limit:.2f})"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    quick = parser.parse_args().quick
    hermes = hermes_python()
    runs = 3 if quick else 9
    bin_ = OURS.parent
    script = str(bin_ / "hermes-memory")
    theirs = str(hermes.parent / "hermes") if hermes else ""
    compare("--version", [script, "--version"], [theirs, "--version"], runs, hermes, 0.25)
    compare(
        "memory status",
        [script, "memory", "status"],
        [theirs, "memory", "status"],
        runs,
        hermes,
        0.5,
    )

    with tempfile.TemporaryDirectory() as home:
        bare = [child(OURS, home=home, code="pass")[1] for _ in range(runs)]
        mine = [child(OURS, home=home, code="import hermes_memory_core")[1] for _ in range(runs)]
        out = child(
            OURS,
            home=home,
            code="import hermes_memory_core, sys; print([m for m in ('pydantic','httpx','rich','ruamel','mcp') if m in sys.modules])",
        )[2].strip()
        over = (statistics.median(mine) - statistics.median(bare)) * 1e3
        print(
            f"{'import hermes_memory_core':<34} {over:.0f} ms CPU over bare Python (must be ≤ 100); heavy modules imported: {out}"
        )
        prompt = json.loads(child(OURS, f"{home}/p", home=home, code=OUR_PROMPT)[2])
        print(
            f"{'system prompt, full notes':<34} {prompt['warm_ms']:.2f} ms warm, {prompt['cold_ms']:.2f} ms in a fresh Memory (must be ≤ 2)"
        )
        total = sum(prompt["tools"].values()) + prompt["guidance"]
        print(
            f"{'tools and guidance':<34} {total} characters (must be ≤ 4,000; hermes-agent about 10,300): {prompt['tools']}, guidance {prompt['guidance']}"
        )

    rates: dict[str, list[dict[str, float]]] = {"ours": [], "hermes": []}
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as home:
            rates["ours"].append(
                json.loads(child(OURS, "10000", f"{home}/o", home=home, code=OUR_WRITES)[2])
            )
            if hermes:
                rates["hermes"].append(
                    json.loads(
                        child(hermes, "10000", f"{home}/h", home=home, code=HERMES_WRITES)[2]
                    )
                )
    mine_rate = statistics.median(rate["per_s"] for rate in rates["ours"])
    line = f"{'messages/s to 10,000, durable':<34} ours {mine_rate:,.0f} through end_turn"
    if rates["hermes"]:
        other_rate = statistics.median(rate["per_s"] for rate in rates["hermes"])
        line += f"   hermes-agent {other_rate:,.0f} appends   ratio {mine_rate / other_rate:.1f} (must be ≥ 2)"
    print(line)


if __name__ == "__main__":
    main()
