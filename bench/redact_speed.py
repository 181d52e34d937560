"""How long redaction takes: clean messages, messages with words to look at, a flood of 1 MB.

Run: python bench/redact_speed.py [--flood]
"""

from __future__ import annotations

import argparse
import random
import string
import time
import timeit

from hermes_memory_core.safety.redact import Redactor, redact

CLEAN = (
    "Yesterday we went over the plan for the harbour walk and agreed that Mia brings the maps "
    "while Jonas books the ferry. The weather should hold until noon, so we start early and have "
    "lunch near the old lighthouse. If it rains we meet at the museum instead and look at the new "
    "ship models before going home by train."
)
MESSAGES = {
    "clean, 311 characters": CLEAN[:311],
    "with a path and an address": (
        "Look at src/hermes/storage/sqlite_store.py and https://example.org/docs/guide/start, "
        + CLEAN
    )[:311],
    "with telling words": ("The token budget is spent, the password field is required. " + CLEAN)[
        :311
    ],
    "Chinese": "昨天我们讨论了港口散步的计划，决定由米娅带地图，约纳斯订渡轮。" * 10,
    "with a secret": ("DB_PASSWORD=Xy9!zzQ1wPm4 and " + CLEAN)[:311],
}
FLOODS = ("password=", "password: ", "sk-", "|", "://a:b@", "-----BEGIN PRIVATE KEY-----\n", "\\")


def microseconds(text: str, call: object = redact, number: int = 2000) -> float:
    """Best of seven rounds of processor time, per call."""
    if not callable(call):
        raise TypeError(call)
    rounds = timeit.repeat(lambda: call(text), time.process_time, number=number, repeat=7)
    return min(rounds) / number * 1e6


def main() -> None:
    """Print one line per measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flood", action="store_true", help="also floods of 1 MB")
    flood = parser.parse_args().flood
    for name, text in MESSAGES.items():
        print(f"{name:32} {len(text):5} characters {microseconds(text):8.1f} µs")
    rng = random.Random(1)
    full = Redactor()
    for _ in range(256):
        full.remember("".join(rng.choices(string.ascii_letters + string.digits, k=32)))
    clean = MESSAGES["clean, 311 characters"]
    print(f"{'clean, 256 values remembered':32} {'':16} {microseconds(clean, full.redact):8.1f} µs")
    if flood:
        for unit in FLOODS:
            text = unit * (1_000_000 // len(unit))
            start = time.perf_counter()
            redact(text)
            print(f"1 MB of {unit!r:30} {time.perf_counter() - start:6.2f} s")


if __name__ == "__main__":
    main()
