"""Run by tests as a process of its own: writes to a history store and says what was acknowledged."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / name) for name in ("providers", "")]

from hermes_memory_sessions import History  # noqa: E402

from hermes_memory_core.types import ProviderContext, SessionInfo, Turn  # noqa: E402


def open_history(home: Path) -> History:
    logging.disable(logging.CRITICAL)
    return History(
        ProviderContext(
            name="sessions",
            home=home,
            data_dir=home / "d",
            profile="default",
            config={},
            settings={},
            secrets={},
            logger=logging.getLogger("worker"),
            clock=time.time,
        )
    )


def write_turns(home: Path, session_id: str, count: int) -> None:
    """Commits turns one by one; prints each number when it is acknowledged."""
    store = open_history(home)
    info = SessionInfo(session_id, session_id, started_at=time.time())
    for number in range(1, count + 1):
        text = f"question {number} of {session_id} " + "filler words here " * 20
        store.commit_turn(
            info,
            Turn(
                f"{session_id}-{os.getpid()}-{number}", session_id, number, text, f"answer {number}"
            ),
        )
        os.write(1, f"{number}\n".encode())
    store.close()


def limited(home: Path, limit: int) -> None:
    """Appends under a file size limit until it is refused; prints acknowledged ids, then the error's code."""
    import resource

    store = open_history(home)
    store.append("s1", "user", "first")
    store.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    from hermes_memory_core.errors import HermesMemoryError

    for number in range(10_000):
        try:
            print(store.append("s1", "user", f"message {number} " + "x" * 500), flush=True)
        except HermesMemoryError as error:
            print(error.code, flush=True)
            os._exit(0)


if __name__ == "__main__":
    action, home_, *rest = sys.argv[1:]
    if action == "turns":
        write_turns(Path(home_), rest[0], int(rest[1]))
    elif action == "limited":
        limited(Path(home_), int(rest[0]))
