"""Killed at random points: what was acknowledged is in history and at the provider; bench/kill.py does it 200 times."""

from __future__ import annotations

import sqlite3

import pytest

from faults.killing import count, lives


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(60)
def test_every_acknowledged_turn_survives_kill_9(home, tmp_path):
    record = tmp_path / "record.db"
    tally = lives(home, record, kills=12, turns=400, seed=20)
    count(home, record, tally)
    assert tally.kills == 12 and tally.acknowledged_count >= 300
    assert tally.ok, tally
    assert tally.turns <= tally.attempts
    with sqlite3.connect(record) as db:
        ends = dict(db.execute("SELECT session, count(*) FROM ends GROUP BY session"))
    assert set(tally.acknowledged) <= set(ends), "a session never ended"
