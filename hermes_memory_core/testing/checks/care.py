# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``health``, ``backup_paths`` and ``close``."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.checks.turns import deliver
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import Health

T = TypeVar("T")

SPARE_THREADS = 2
"""Daemon threads an SDK may leave behind for good after ``close``."""
SPARE_FILES = 3
CYCLES = 6


@check("`health` says whether it works, and what to do when it does not", hooks=("health",))
def health_is_an_answer(h: Harness) -> str | None:
    health = _health(h.start())
    if h.strict and not health.ok:
        raise CheckFailed(f"It reports ill in its own test: {health.message}", health.hint)
    return health.message


@check("`health` reports ill when the service is down", hooks=("health",))
def health_notices_an_outage(h: Harness) -> str | None:
    backend = h.backend
    if backend is None:
        raise Skip("the test gives no backend that can fail", wanting=True)
    subject = h.start()
    for name, outage in (
        ("drops the connection", backend.drop),
        ("answers 503", lambda: backend.fail(503)),
        ("answers 401", lambda: backend.fail(401)),
    ):
        with outage():
            health = _health(subject)
        if health.ok:
            raise CheckFailed(
                f"The service {name}, and `health` says it works: {health.message}",
                "make a real request that needs the key",
            )
    if not _health(subject).ok:
        raise CheckFailed(
            "The service is back, and `health` still reports ill.", "do not keep the verdict"
        )
    return None


@check("`backup_paths` names paths outside the profile", hooks=("backup_paths",))
def backup_paths_are_paths(h: Harness) -> str | None:
    subject = h.start()
    paths = list(subject.call("backup_paths") or ())
    for path in paths:
        if not isinstance(path, Path) or not path.is_absolute():
            raise CheckFailed(f"{path!r} is no absolute Path.", "return `pathlib.Path`s")
        if path.is_relative_to(subject.context.home):
            raise CheckFailed(
                f"{path} lies inside the profile, which a backup holds already.",
                "name only what lies elsewhere",
            )
    return f"{len(paths)} paths"


@check("`stores` offers objects by name", hooks=("stores",))
def stores_are_offered_by_name(h: Harness) -> str | None:
    stores = h.start().call("stores")
    wrong = set(stores) - {"notes", "history", "skills"}
    if wrong or not all(store is not None for store in stores.values()):
        raise CheckFailed(
            f"`stores` offers {sorted(stores)}.", "the names are notes, history, skills"
        )
    return ", ".join(stores)


@check("`close` comes back in time, also when nothing was done", hooks=("close",))
def close_comes_back(h: Harness) -> str | None:
    h.start().close()
    busy = h.start()
    if "sync_turn" in busy.hooks:
        deliver(busy, inputs.session_info(), "The last words before closing.")
    busy.close()
    return None


@check("a second `close` is harmless", hooks=("close",))
def close_twice(h: Harness) -> str | None:
    subject = h.start()
    subject.call("close")
    subject.call("close")
    return None


@check("nothing hangs or crashes the interpreter after `close`", hooks=("close",))
def hooks_after_close(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    subject.call("close")
    for hook, more in (("prefetch", {"query": "still there?"}), ("health", {})):
        if hook in subject.hooks:
            subject.attempt(hook, session=session, timeout_s=5.0, **more)
    return None


@check("opening and closing leaves no threads behind")
def no_threads_are_left(h: Harness) -> str | None:
    _cycle(h)  # what the first use of an SDK starts for good is not counted against it
    before = set(threading.enumerate())
    for _ in range(CYCLES):
        _cycle(h)
    left = _settled(
        lambda: [one for one in threading.enumerate() if one not in before and one.is_alive()]
    )
    holding = [one.name for one in left if not one.daemon]
    if holding:
        raise CheckFailed(
            f"Threads that keep the program from ending: {', '.join(holding[:5])}.",
            "start threads as daemons and stop them in `close`",
        )
    if len(left) > SPARE_THREADS:
        raise CheckFailed(
            f"After opening and closing {CYCLES} times {len(left)} more threads run: "
            f"{', '.join(sorted({one.name for one in left}))}.",
            "stop them in `close`",
        )
    return None


@check("opening and closing leaves no files open")
def no_files_are_left_open(h: Harness) -> str | None:
    if not sys.platform.startswith("linux"):
        raise Skip("open files can be counted on Linux only")
    _cycle(h)
    before = _open_files()
    for _ in range(CYCLES):
        _cycle(h)
    more = _settled(lambda: range(max(0, _open_files() - before - SPARE_FILES)))
    if more:
        raise CheckFailed(
            f"After opening and closing {CYCLES} times {len(more) + SPARE_FILES} more files are open.",
            "close connections, clients and files in `close`",
        )
    return None


def _health(subject: Subject) -> Health:
    health = subject.call("health")
    if not isinstance(health, Health):
        raise CheckFailed(f"`health` returned a {type(health).__name__}.", "return `Health(ok, …)`")
    if not health.ok and not (health.message and health.hint):
        raise CheckFailed(
            "It reports ill without saying what is wrong and what to type next.",
            'return `Health(False, "what is wrong", "next command")`',
        )
    json.dumps(dict(health.details), default=str)
    return health


def _cycle(h: Harness) -> None:
    subject, session = h.start(), inputs.session_info()
    if "start_session" in subject.hooks:
        subject.call("start_session", session=session, reason="new")
    if "prefetch" in subject.hooks:
        subject.call("prefetch", session=session, query="anything about the mast?")
    if "sync_turn" in subject.hooks:
        deliver(subject, session, "The mast is new.")
    if "end_session" in subject.hooks:
        subject.call("end_session", session=session, reason="exit")
    subject.close()
    h.subjects.remove(subject)


def _settled(look: Callable[[], Sequence[T]], seconds: float = 2.0) -> Sequence[T]:
    """Look again until nothing is left or the time is over: threads end and files close a little later."""
    deadline = time.monotonic() + seconds
    found = look()
    while found and time.monotonic() < deadline:
        time.sleep(0.02)
        gc.collect()
        found = look()
    return found


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting only
