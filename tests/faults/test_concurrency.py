"""Many conversations at once in one process: no cross-talk, bounded threads and memory. bench/crowd.py: 100 × 50."""

from __future__ import annotations

import gc
import threading
import tracemalloc

import pytest
from helpers import instance_of

from faults.crowd import crowd, echo
from hermes_memory_core import Memory


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_many_sessions_at_once_do_not_mix(home):
    problems, extra = crowd(home, 30, 8)
    assert not problems, problems[:5]
    # 4 of the provider, the outbox's, the history's, and one or two that are just ending
    assert extra <= 8


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_memory_does_not_grow_with_the_number_of_sessions(home):
    held = []

    def look():
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])

    crowd(home, 8, 3)  # what first use costs is not growth
    tracemalloc.start(1)
    try:
        crowd(home / "few", 8, 6, before_reading=look)
        crowd(home / "many", 32, 6, before_reading=look)
    finally:
        tracemalloc.stop()
    few, many = held
    assert many - few < 8 * 2**20, f"24 more sessions hold {(many - few) / 2**20:.1f} MB"


def test_a_session_used_from_many_threads_keeps_every_turn_once(home):
    with Memory.open(home, providers=[echo()]) as memory, memory.session() as session:
        threads = [
            threading.Thread(target=lambda n=n: session.end_turn(f"turn {n}", "yes"))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.flush(5)
        words = [one.content for one in memory.history.messages(session.id) if one.role == "user"]
        assert sorted(words) == sorted(f"turn {n}" for n in range(20))
        told = [text for _, text in instance_of(memory).told[session.id]]
        assert told == words, "the provider got another order than history"
