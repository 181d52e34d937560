"""The peer of a run: hermes-agent 0.19.0 from the package index, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERMES = "hermes-agent==0.19.0"


def hermes_python() -> Path | None:
    """Its interpreter: ``$MEMBENCH_PY_HERMES``, else an environment made once; None when it cannot be installed."""
    given = os.environ.get("MEMBENCH_PY_HERMES")
    if given:
        return Path(given)
    home = ROOT / ".venv" / "peers" / "hermes"
    python = home / "bin" / "python"
    done = home / ".installed"
    if done.exists():
        return python
    print(f"installing {HERMES} for comparison …", file=sys.stderr)
    if shutil.which("uv"):
        steps = [
            ["uv", "venv", "--quiet", str(home)],
            ["uv", "pip", "install", "--quiet", "--python", str(python), HERMES],
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", str(home)],
            [str(python), "-m", "pip", "install", "--quiet", HERMES],
        ]
    for step in steps:
        if subprocess.run(step, check=False).returncode:
            print(f"{HERMES} could not be installed; only our own figures follow", file=sys.stderr)
            return None
    done.touch()
    return python
