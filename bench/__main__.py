"""``make bench``: every benchmark in turn, each in a process of its own.

    python -m bench                # all
    python -m bench foundation     # one
    python -m bench --quick        # fewer runs where a benchmark knows how

Figures are ratios against a named peer in the same run wherever there is one; absolute times on a shared machine
say little. The conversations of the LoCoMo set may be measured with, not shipped: ``search_quality`` and the scale
figures read them from ``$MEMBENCH_DATA`` and are skipped without it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK = {"foundation"}
"""Those that understand ``--quick``."""


def main() -> int:
    quick = "--quick" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    known = sorted(
        path.stem
        for path in (ROOT / "bench").glob("*.py")
        if path.stem not in ("__init__", "__main__", "peers")
    )
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    failed = []
    for name in names or known:
        print(f"\n== {name} ".ljust(90, "="), flush=True)
        command = [sys.executable, "-m", f"bench.{name}"]
        if quick and name in QUICK:
            command.append("--quick")
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
