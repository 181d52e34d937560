"""Kills the worker at random points and counts what is left; used by the test and by bench/kill.py."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_core import Memory

from .kill_worker import recorder

WORKER = Path(__file__).with_name("kill_worker.py")


@dataclass
class Tally:
    """What the worker's lives left behind."""

    acknowledged: dict[str, list[int]] = field(default_factory=dict)
    """Session id → numbers of turns that were acknowledged."""
    kills: int = 0
    missing_in_history: list[str] = field(default_factory=list)
    missing_at_provider: list[str] = field(default_factory=list)
    twice_in_history: list[str] = field(default_factory=list)
    twice_at_provider: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    attempts: int = 0
    turns: int = 0
    pending: int = 0

    @property
    def acknowledged_count(self) -> int:
        return sum(len(numbers) for numbers in self.acknowledged.values())

    @property
    def ok(self) -> bool:
        lost = self.missing_in_history + self.missing_at_provider
        wrong = self.twice_in_history + self.twice_at_provider + self.out_of_order
        return not lost and not wrong and not self.pending


def lives(home, record, *, kills, turns, sessions=3, seed=0):
    """Let the worker live until ``turns`` were acknowledged, killing it ``kills`` times on the way."""
    rng = random.Random(seed)
    tally = Tally()
    per_life = max(2, turns // (kills + 1))
    number = 0
    while number < turns or tally.kills < kills:
        # some lives go on with a session whose process was killed, some begin a new one
        session = f"talk-{rng.randrange(sessions)}-{tally.kills // 25}"
        doomed = tally.kills < kills
        last = number + per_life * 3 if doomed else max(turns, number + 1)
        acknowledged = _live(home, record, session, number, last, rng, per_life if doomed else None)
        tally.acknowledged.setdefault(session, []).extend(acknowledged)
        tally.kills += doomed
        number = (
            max([number, *(one + 1 for one in acknowledged)]) + 1
        )  # one may be saved and untold
    return tally


def _live(home, record, session, first, last, rng, turns_to_live):
    command = [sys.executable, str(WORKER), str(home), str(record), session, str(first), str(last)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    acknowledged = []
    limit = None if turns_to_live is None else rng.randrange(turns_to_live * 2)
    for line in worker.stdout:
        acknowledged.append(int(line))
        if limit is not None and len(acknowledged) > limit:
            time.sleep(rng.random() * 0.003)  # into the middle of the next turn
            break
    if limit is not None:
        worker.send_signal(signal.SIGKILL)
    rest = worker.stdout.read()  # what it had printed before it died
    acknowledged += [int(one) for one in rest.split("\n") if one.strip().isdigit()]
    worker.stdout.close()
    code = worker.wait(30)
    assert code in (0, -signal.SIGKILL), f"the worker ended with {code}"
    return acknowledged


def count(home, record, tally):
    """Open once more, let everything be delivered, and compare with what was acknowledged."""
    with Memory.open(home, providers=[recorder(record)]) as memory:
        memory.session().end()  # the first session finds the crashed ones
        deadline = time.monotonic() + 60
        while not memory.flush(1.0) and time.monotonic() < deadline:
            continue
        tally.pending = memory.status()["outbox"]["pending"]
        history = {
            session: Counter(
                message.content
                for message in memory.history.messages(session)
                if message.role == "user"
            )
            for session in tally.acknowledged
        }
    with sqlite3.connect(record) as db:
        rows = db.execute("SELECT session, text FROM turns ORDER BY seq").fetchall()
        tally.attempts = db.execute("SELECT count(*) FROM attempts").fetchone()[0]
    tally.turns = len(rows)
    taken = Counter(text for _, text in rows)
    for session, numbers in tally.acknowledged.items():
        for number in numbers:
            text = f"turn {number:06d} of {session}"
            if not history[session][text]:
                tally.missing_in_history.append(text)
            if not taken[text]:
                tally.missing_at_provider.append(text)
        tally.twice_in_history += [text for text, times in history[session].items() if times > 1]
        order = [text for one, text in rows if one == session]
        if order != sorted(order):
            tally.out_of_order.append(session)
    tally.twice_at_provider = [text for text, times in taken.items() if times > 1]
    return tally
