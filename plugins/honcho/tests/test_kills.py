"""Real processes, really killed: nothing is lost and nothing is there twice.

``HONCHO_TURNS`` scales it (10,000 in the benchmark job; here as many as a test run can afford).
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TURNS = int(os.environ.get("HONCHO_TURNS", "400"))
LIMIT_S = max(60, TURNS / 20)
SCRIPT = Path(__file__).with_name("deliver.py")


def start(home, url, turns, frequency="async"):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(home), url, str(turns), frequency],
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, seconds, process):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "too slow"
        assert process.poll() is None, process.stdout.read()
        time.sleep(min(0.25, 0.01 + TURNS / 50_000))  # looking costs the stub


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(LIMIT_S * 4)
@pytest.mark.parametrize("frequency", ["async", "25"])
def test_two_kills_lose_and_double_nothing(stub, tmp_path, frequency):
    home = tmp_path / "home"
    for share in (0.25, 0.6):
        process = start(home, stub.url, TURNS, frequency)
        wanted = int(TURNS * 2 * share)
        wait_for(lambda wanted=wanted: len(stub.messages("fact")) * 2 >= wanted, LIMIT_S, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    process = start(home, stub.url, TURNS, frequency)
    out, _ = process.communicate(timeout=LIMIT_S * 2)
    assert "delivered" in out
    expected = [text for n in range(TURNS) for text in (f"fact {n:05d}", f"noted {n:05d}")]
    found = [one["content"] for one in stub.messages() if one["session_id"] == "long"]
    assert found == expected
