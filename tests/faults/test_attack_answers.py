"""The command line with nowhere to write its answer: done is done, said on standard error, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(60),
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
]
ROOT = Path(__file__).resolve().parents[2]


def shell(line):
    """Run one line of shell with ``$CLI`` standing for the program."""
    return subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={
            **os.environ,
            "CLI": f"{sys.executable} -m hermes_memory_core",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "providers")]),
        },
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [("> /dev/full", 1), ("--json > /dev/full", 1), (">&-", 0), ("--json >&-", 0)],
)
def test_an_answer_that_cannot_be_written_leaves_the_work_done_and_no_traceback(home, ending, code):
    done = shell(f"$CLI memory add 'likes pelicans' {ending}")
    assert "Traceback" not in done.stderr
    assert done.returncode == code
    assert (home / "memories" / "MEMORY.md").read_text() == "likes pelicans"
    if code:
        assert "No space left" in done.stderr
