"""Things tests share: provider classes made of lambdas, a clock to turn by hand, waiting for a condition."""

from __future__ import annotations

import time

from hermes_memory_core import hookimpl


class Clock:
    """Epoch seconds that only move when told."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


def provider_class(name="testing", *, config=None, single_thread=False, **hooks):
    """A provider class whose hooks are the given functions; each gets the instance and the hook's arguments."""
    body = {"name": name, "single_thread": single_thread}
    if config is not None:
        body["Config"] = config

    def __init__(self, context):
        self.context = context
        self.seen = []

    body["__init__"] = __init__
    for hook, function in hooks.items():
        body[hook] = hookimpl(function)
    return type(name.title(), (), body)


def recorder(name="recorder", **extra):
    """A provider that writes down everything it observes in ``instance.seen``."""

    def sync_turn(self, session, turn):
        self.seen.append(("turn", session.id, turn.user))

    def end_session(self, session, reason):
        self.seen.append(("end", session.id, reason))

    def start_session(self, session, reason, previous):
        self.seen.append(("start", session.id, reason))

    def notes_written(self, session, write):
        self.seen.append(("note", write.target, write.action, write.after))

    def delegation_finished(self, session, task, result, child):
        self.seen.append(("delegation", task, result, child))

    hooks = {
        "sync_turn": sync_turn,
        "end_session": end_session,
        "start_session": start_session,
        "notes_written": notes_written,
        "delegation_finished": delegation_finished,
    }
    return provider_class(name, **{**hooks, **extra})


def instance_of(memory):
    """The live external provider of an open Memory."""
    return memory._profile.roster.external.instance


def eventually(condition, seconds=3.0):
    """Wait until the condition holds; fail with a clear message otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError(f"still not true after {seconds} s: {condition}")
