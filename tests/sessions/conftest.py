"""A history store on a real disk, with a clock that tests can set and notices they can read."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from hermes_memory_sessions import History

from hermes_memory_core.types import ProviderContext, SessionInfo, Turn

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class Clock:
    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def make_context(home: Path, *, clock=None, notices=None, settings=None, redact=None):
    return ProviderContext(
        name="sessions",
        home=home,
        data_dir=home / "sessions-data",
        profile="default",
        config={},
        settings=settings or {},
        secrets={},
        logger=logging.getLogger("test.sessions"),
        clock=clock or Clock(),
        notify=(notices if notices is not None else []).append,
        **({"redact": redact} if redact else {}),
    )


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def notices():
    return []


@pytest.fixture
def open_history(home, clock, notices):
    """Opens stores on one home; all are closed at the end."""
    opened = []

    def make(where: Path | None = None, **options):
        store = History(make_context(where or home, clock=clock, notices=notices, **options))
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def history(open_history):
    return open_history()


@pytest.fixture
def talk(history):
    """Commits turns: talk("s1", "question", "answer") numbers them itself."""
    numbers: dict[str, int] = {}

    def say(session_id, user, assistant="", *, store=None, at=0.0, **options):
        numbers[session_id] = numbers.get(session_id, 0) + 1
        number = numbers[session_id]
        info = SessionInfo(session_id, session_id, started_at=at or START)
        turn = Turn(
            f"{session_id}-t{number}", session_id, number, user, assistant, at=at, **options
        )
        return (store or history).commit_turn(info, turn)

    return say


@pytest.fixture
def worker():
    """Command that runs tests/sessions/worker.py in a process of its own."""
    script = Path(__file__).with_name("worker.py")

    def command(*arguments):
        return [sys.executable, str(script), *map(str, arguments)]

    return command
