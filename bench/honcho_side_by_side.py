"""Honcho, ours beside hermes-agent 0.19.0's: calls, bytes, latency, and what faults do to the messages.

    python -m bench.honcho_side_by_side [--turns 20] [--markdown FILE]

Both talk to the same loopback stand-in (plugins/honcho/tests/honcho_stub.py) with the real SDK, one process a run, the same
settings. A turn = recall, 50 ms of "model", handing the turn over, preparing the next. Environments are made once below
``.venv/peers``; ``MEMBENCH_PY_HERMES_HONCHO`` and ``MEMBENCH_PY_HONCHO`` name others.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 1.0
MODEL_S = 0.05
THINK_S = 0.3
"""Between turns: a person reads and types; background work of either side gets its chance."""
FAULTY = range(6, 9)
"""Turns during which the fault lasts."""


# ---------------------------------------------------------------- the two sides, each in a process of its own


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def drive(side: str, url: str, home: str, first: int, last: int) -> None:
    """Speak turns as told on standard input, one line each; report times."""
    if side == "cost":
        cost(url, Path(home))
    began = time.perf_counter()
    begin, turn, end = (ours if side == "ours" else upstream)(url, Path(home))
    begin()
    say(event="begun", ms=(time.perf_counter() - began) * 1000)
    time.sleep(THINK_S)
    for number in range(first, last):
        say(event="ready", turn=number)
        sys.stdin.readline()
        turn(number, f"message {number:03d} about the harbour", f"answer {number:03d} about it")
    say(event="ready", turn=last)
    sys.stdin.readline()
    say(event="ended", pending=end())
    os._exit(0)  # upstream's threads may sleep for an hour


def timed(number: int, recall, hand_over) -> None:
    began = time.perf_counter()
    recall()
    recalled = time.perf_counter()
    time.sleep(MODEL_S)
    handing = time.perf_counter()
    hand_over()
    done = time.perf_counter()
    say(
        event="turn",
        turn=number,
        recall_ms=(recalled - began) * 1000,
        over_ms=(done - handing) * 1000,
    )
    time.sleep(THINK_S)


def ours(url: str, home: Path):
    importlib.import_module("honcho.api_types")
    from hermes_memory_honcho import HonchoProvider

    from hermes_memory_core import Memory

    home.mkdir(parents=True, exist_ok=True)
    honcho = {"base_url": url, "timeout": TIMEOUT_S, "session_strategy": "per-session"}
    settings = {"memory": {"provider": "honcho"}, "providers": {"honcho": honcho}}
    (home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    memory = Memory.open(home, providers=[HonchoProvider])
    session = memory.session(session_id="bench", on_exit="detach")

    def begin() -> None:
        from hermes_memory_core.safety import scan

        session.system_prompt()
        session.tools()
        scan("recall is scanned; its tables are built once a process, and counted as start-up here")

    def turn(number: int, user: str, assistant: str) -> None:
        timed(number, lambda: session.begin_turn(user), lambda: session.end_turn(user, assistant))

    def end() -> int:
        memory.flush(20.0, force=True)  # as `hermes memory outbox flush` does
        pending = memory.status()["outbox"]["pending"]
        memory.close()
        return int(pending)

    return begin, turn, end


def upstream(url: str, home: Path):
    home.mkdir(parents=True, exist_ok=True)
    os.environ.update(HERMES_HOME=str(home), HOME=str(home))
    block = {
        "enabled": True,
        "workspace": "hermes",
        "peerName": "user",
        "aiPeer": "hermes",
        "sessionStrategy": "per-session",
        "observationMode": "directional",
        "dialecticCadence": 2,
    }
    settings = {"baseUrl": url, "timeout": TIMEOUT_S, "hosts": {"hermes": block}}
    (home / "honcho.json").write_text(json.dumps(settings), encoding="utf-8")
    for name in ("honcho", "plugins.memory.honcho.session"):
        importlib.import_module(name)  # importing is not what is measured
    from plugins.memory.honcho import HonchoMemoryProvider

    provider = HonchoMemoryProvider()

    def begin() -> None:
        provider.initialize("bench", platform="cli", hermes_home=str(home))
        thread = provider._init_thread  # turns before it is done are dropped: give it the time
        if thread is not None:
            thread.join(10.0)

    def turn(number: int, user: str, assistant: str) -> None:
        provider.on_turn_start(number, user)

        def hand_over() -> None:
            provider.sync_turn(user, assistant)
            provider.queue_prefetch(user)

        timed(number, lambda: provider.prefetch(user), hand_over)

    def end() -> int:
        provider.on_session_end([])
        provider.shutdown()
        return 0

    return begin, turn, end


def cost(url: str, home: Path) -> None:
    """Turns with Honcho hanging beside turns without a provider, by turns in one process: median difference in ms.

    The first turn of each is left out (it may wait). The server answers until the base is there, then hangs.
    """
    from hermes_memory_honcho import HonchoProvider

    from hermes_memory_core import Memory
    from hermes_memory_core.safety import scan

    scan("its tables are built once a process")
    memories = []
    for name, providers in (("without", []), ("with", [HonchoProvider])):
        place = home / name
        place.mkdir(parents=True)
        honcho = {"base_url": url, "timeout": 5.0}
        settings = {"providers": {"honcho": honcho}} if providers else {}
        (place / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
        memory = Memory.open(place, providers=providers)
        memories.append((memory, memory.session(session_id=name, on_exit="detach")))
    for _, session in memories:
        session.begin_turn("the first message about the harbour")
        session.end_turn("the first message about the harbour", "noted")
    time.sleep(1.5)
    say(event="ready", turn=1)
    sys.stdin.readline()
    times: list[list[float]] = [[], []]
    for number in range(2, 60):
        text = f"message {number} about the harbour and its crane"
        for at, (_, session) in enumerate(memories):
            began = time.perf_counter()
            session.begin_turn(text)
            session.end_turn(text, "noted")
            times[at].append((time.perf_counter() - began) * 1000)
        time.sleep(0.02)
    medians = [statistics.median(one) for one in times]
    pairs = sorted(b - a for a, b in zip(*times, strict=True))
    say(event="cost", without=medians[0], with_=medians[1], difference=statistics.median(pairs))
    os._exit(0)


def hanging_cost(python: Path) -> str:
    from honcho_stub import HonchoStub

    with tempfile.TemporaryDirectory() as folder, HonchoStub() as stub:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "plugins" / "honcho" / "src")}
        process = subprocess.Popen(
            [
                str(python),
                str(Path(__file__).resolve()),
                "--drive",
                "cost",
                stub.url,
                folder,
                "0",
                "0",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        with ExitStack() as lasting:
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "ready":
                    lasting.enter_context(stub.hang(60.0))
                    process.stdin.write("\n")
                    process.stdin.flush()
                elif event["event"] == "cost":
                    process.wait(10)
                    return (
                        f"A turn from the second on: {event['without']:.1f} ms without a provider, "
                        f"{event['with_']:.1f} ms with Honcho hanging, median difference {event['difference']:.1f} ms."
                    )
        return "the cost of a hanging server could not be measured"


# ---------------------------------------------------------------- the faults


def faults():
    """Name → what happens to the stub during the faulty turns."""
    from honcho_stub import Fault

    def stores(route: str) -> bool:
        return route.endswith("/messages")

    def fail(status: int, **headers: str):
        return lambda stub: stub.fail(
            status, "", {k.replace("_", "-"): v for k, v in headers.items()}
        )

    return {
        "none": None,
        "drops connections": lambda stub: stub.drop(),
        "hangs 3 s": lambda stub: stub.hang(3.0),
        "stores, then drops": lambda stub: stub.fault(Fault("drop_after", only=stores)),
        "stores, answers after 3 s": lambda stub: stub.fault(
            Fault("hang_after", seconds=3.0, only=stores)
        ),
        "500": fail(500),
        "429, Retry-After 3600": fail(429, Retry_After="3600"),
        "401": fail(401),
        "restarts": "restart",
        "our process is killed": ("kill", None),
        "drops, and our process is killed": ("kill", lambda stub: stub.drop()),
    }


def play(side: str, python: Path, fault, turns: int) -> dict[str, object]:
    """One run: a fresh server, a fresh home."""
    from honcho_stub import HonchoStub

    with tempfile.TemporaryDirectory() as folder:
        stub = HonchoStub().__enter__()
        times: list[tuple[int, float]] = []
        facts: dict[str, object] = {"pending": 0}
        try:
            home = str(Path(folder) / "home")
            if isinstance(fault, tuple):
                middle = FAULTY.stop
                converse(side, python, stub, home, 1, middle, fault[1], times, kill=True)
                facts = converse(side, python, stub, home, middle, turns + 1, None, times)
            else:
                facts = converse(side, python, stub, home, 1, turns + 1, fault, times)
            time.sleep(0.3)
            stub = facts.pop("stub", stub)  # type: ignore[assignment]
            return {**facts, **count(stub, turns), **latency(times)}
        finally:
            stub.stop()


def converse(side, python, stub, home, first, last, fault, times, *, kill=False):
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "plugins" / "honcho" / "src") if side == "ours" else "",
        "HERMES_MEMORY_NO_TELEMETRY": "1",
    }
    command = [str(python), str(Path(__file__).resolve()), "--drive", side, stub.url, home]
    process = subprocess.Popen(
        [*command, str(first), str(last)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
        cwd=home.rpartition("/")[0],
    )
    facts: dict[str, object] = {"pending": 0}
    with ExitStack() as lasting:
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            if event["event"] == "begun":
                facts["start_ms"] = event["ms"]
            elif event["event"] == "turn":
                times.append((event["turn"], event["recall_ms"] + event["over_ms"]))
            elif event["event"] == "ended":
                facts["pending"] = event["pending"]
                break
            elif event["event"] == "ready":
                number = event["turn"]
                if kill and number == last:
                    process.kill()
                    break
                if fault == "restart" and number == FAULTY.start:
                    stub = stub.restart()
                elif callable(fault) and number == FAULTY.start:
                    lasting.enter_context(fault(stub))
                elif number == FAULTY.stop:
                    lasting.close()
                process.stdin.write("\n")
                process.stdin.flush()
    process.kill()
    process.wait()
    facts["stub"] = stub
    return facts


def count(stub, turns: int) -> dict[str, object]:
    found = [one["content"] for one in stub.messages()]
    expected = [
        text
        for number in range(1, turns + 1)
        for text in (f"message {number:03d} about the harbour", f"answer {number:03d} about it")
    ]
    return {
        "lost": sum(text not in found for text in expected),
        "doubled": sum(found.count(text) - 1 for text in expected if text in found),
        "calls": len(stub.asked) / turns,
        "bytes": sum(one.size for one in stub.asked) / turns,
    }


def latency(times) -> dict[str, object]:
    """First turn apart: it may wait."""
    later = [ms for turn, ms in times if turn > 1]
    first = [ms for turn, ms in times if turn == 1]
    return {
        "first_ms": first[0] if first else 0.0,
        "median_ms": statistics.median(later),
        "worst_ms": max(later),
    }


# ---------------------------------------------------------------- environments and the table


def environment(name: str, variable: str, packages: list[str]) -> Path | None:
    given = os.environ.get(variable)
    if given:
        return Path(given)
    python = ROOT / ".venv" / "peers" / name / "bin" / "python"
    if not python.exists():
        print(f"installing {' '.join(packages)} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *packages], check=False, cwd=ROOT
        )
        if done.returncode:
            print("it could not be installed", file=sys.stderr)
            return None
    return python


def table(rows) -> str:
    head = "| the server | side | lost | doubled | still queued | calls/turn | bytes/turn | start ms | turn 1 ms | later: median ms | worst ms |"
    lines = [head, "|" + "---|" * 11]
    for name, side, found in rows:
        numbers = (
            f"{found['lost']} | {found['doubled']} | {found['pending']} | {found['calls']:.1f} | "
            f"{found['bytes']:,.0f} | {found['start_ms']:.0f} | {found['first_ms']:.0f} | {found['median_ms']:.1f} | {found['worst_ms']:.0f}"
        )
        lines.append(f"| {name} | {side} | {numbers} |")
    return "\n".join(lines)


def main() -> int:
    if "--drive" in sys.argv:
        at = sys.argv.index("--drive")
        side, url, home, first, last = sys.argv[at + 1 : at + 6]
        drive(side, url, home, int(first), int(last))
        return 0
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "plugins" / "honcho" / "tests"))
    mine = environment("honcho", "MEMBENCH_PY_HONCHO", ["-e", ".", "honcho-ai>=2.7,<3"])
    theirs = environment(
        "hermes-honcho",
        "MEMBENCH_PY_HERMES_HONCHO",
        ["hermes-agent==0.19.0", "honcho-ai==2.2.0"],  # the version it installs for itself
    )
    if mine is None:
        return 1
    rows = []
    for name, fault in faults().items():
        if options.only not in name:
            continue
        for side, python in (("ours", mine), ("hermes-agent 0.19.0", theirs)):
            if python is None:
                continue
            short = "ours" if side == "ours" else "upstream"
            rows.append((name, side, play(short, python, fault, options.turns)))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    text = f"{table(rows)}\n\n{hanging_cost(mine)}"
    print(f"\n{text}")
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
