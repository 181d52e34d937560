"""Speed of the threat scan on 2,200-character notes (the limit of MEMORY.md): median and 95th percentile in ms.

Run: ``python bench/scan_speed.py [rounds]``. Notes are cut from the honest corpus in tests/data/threats.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hermes_memory_core.safety.threats import scan

CORPUS = Path(__file__).parent.parent / "tests" / "data" / "threats" / "notes"
SIZE = 2_200


def notes(languages: str) -> str:
    """Honest notes of the first batch, one after the other."""
    rows = (CORPUS / "first.txt").read_text(encoding="utf-8").splitlines()
    honest = [row.split("|", 1)[1] for row in rows if row[:2] in languages and row[3] == "H"]
    text = "\n§\n".join(honest)
    return (text * (SIZE // len(text) + 1))[:SIZE]


PROSE = (
    "The office moved to the third floor in spring. Lena runs the garden club and prefers short meetings. "
    "Invoices go out on the first working day; the template has two columns and a footer. "
    "The staging database is rebuilt every night from anonymised data. Tea, not coffee. "
)


def measure(text: str, rounds: int) -> tuple[float, float]:
    for _ in range(5):
        scan(text)
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        scan(text)
        times.append((time.perf_counter() - started) * 1_000)
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.95)]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    started = time.perf_counter()
    scan("first call loads the tables")
    print(f"first call (loads tables)  {(time.perf_counter() - started) * 1_000:7.1f} ms")
    samples = {
        "plain prose, English": (PROSE * 10)[:SIZE],
        "hard honest notes, English": notes("en"),
        "hard honest notes, Chinese": notes("zh"),
        "hard honest notes, eight others": notes("es de fr pt ru ar ja ko"),
    }
    for name, text in samples.items():
        median, p95 = measure(text, rounds)
        print(f"{name:32} p50 {median:6.2f} ms   p95 {p95:6.2f} ms")


if __name__ == "__main__":
    main()
