"""Many conversations at once in one process; used by the test and by bench/crowd.py."""

from __future__ import annotations

import threading

from helpers import provider_class

from hermes_memory_core import Memory

AT_ONCE = 8
"""Sessions that are inside a turn at the same moment."""


def echo():
    """Recalls what the session itself was told, and writes down who was told what."""
    lock = threading.Lock()
    told = {}

    def sync_turn(self, session, turn):
        with lock:
            told.setdefault(session.id, []).append((turn.id, turn.user))

    def prefetch(self, session, query):
        return f"asked by {session.id}: {query}"

    def call_tool(self, session, arguments):
        return {"success": True, "session": session.id, "word": arguments["word"]}

    kind = provider_class("echo", sync_turn=sync_turn, prefetch=prefetch, call_tool=call_tool)
    kind.told = told
    return kind


def talk(memory, number, turns, problems, most):
    session_id = f"talk-{number:03d}"
    try:
        with memory.session(
            session_id=session_id, source="telegram", chat_id=str(number)
        ) as session:
            for turn in range(1, turns + 1):
                query = f"what about item {number:03d}-{turn:02d}?"
                found = session.begin_turn(query)
                echoed = next((one for one in found.recalls if one.provider == "echo"), None)
                if echoed is None or echoed.state not in ("fresh", "busy", "late"):
                    problems.append((session_id, turn, "recall", echoed))
                elif echoed.text and f"asked by {session_id}:" not in echoed.text:
                    problems.append((session_id, turn, "another session's recall", echoed.text))
                receipt = session.end_turn(query, f"answer {number:03d}-{turn:02d}")
                if not receipt.saved or receipt.error:
                    problems.append((session_id, turn, "receipt", receipt))
                most[0] = max(most[0], threading.active_count())
    except Exception as error:
        problems.append((session_id, 0, "raised", error))


def crowd(home, sessions, turns, *, before_reading=lambda: None):
    """Let them all talk, and say what was wrong: an empty list, when nothing was.

    Returns:
        The problems, and the largest number of threads beyond the callers' own.
    """
    kind = echo()
    problems, most, others = [], [0], threading.active_count()
    gate = threading.Semaphore(AT_ONCE)
    with Memory.open(home, providers=[kind]) as memory:

        def run(number):
            with gate:
                talk(memory, number, turns, problems, most)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not memory.flush(60):
            problems.append("the outbox is not empty")
        before_reading()
        for number in range(sessions):
            session_id = f"talk-{number:03d}"
            asked = [f"what about item {number:03d}-{turn:02d}?" for turn in range(1, turns + 1)]
            stored = [
                one.content for one in memory.history.messages(session_id) if one.role == "user"
            ]
            told = [text for _, text in kind.told.get(session_id, [])]
            if stored != asked:
                problems.append((session_id, "history", stored))
            if told != asked:
                problems.append((session_id, "provider", told))
    ids = [turn_id for items in kind.told.values() for turn_id, _ in items]
    if len(ids) != len(set(ids)):
        problems.append("a turn was delivered twice")
    return problems, most[0] - others - sessions
