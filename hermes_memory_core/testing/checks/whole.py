# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of the whole: the provider inside a real ``Memory``, as a person uses it."""

from __future__ import annotations

import json
import time
from typing import Any

from hermes_memory_core.memory import Memory
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.watch import files_written, outside

FLUSH_S = 20.0


@check("a whole conversation runs without a failure in `status`")
def a_whole_conversation(h: Harness) -> str | None:
    with h.memory() as memory:
        with memory.session() as session:
            session.system_prompt()
            tools = session.tools()
            for number in range(1, 4):
                session.begin_turn(f"Question {number}: where is the mast?")
                for tool in tools:
                    if tool["function"]["name"].startswith(h.name):
                        json.loads(session.call_tool(tool["function"]["name"], {}))
                receipt = session.end_turn(f"Question {number}", "It is in the shed.")
                if not receipt.saved:
                    raise CheckFailed(f"A turn was not saved: {receipt.error}")
            session.before_compression([{"role": "user", "content": "Where is the mast?"}])
            session.compressed("They looked for the mast.")
            session.end_turn("And the sail?", "In the loft.")
            session.reset()
            session.end_turn("A new matter.", "Go on.")
            session.delegation_finished("count the sails", "seven", "child")
        _flush(h, memory)
        return _sound(h, memory)


@check("every turn reaches it, also over a restart", hooks=("sync_turn",))
def every_turn_arrives(h: Harness) -> str | None:
    words = [inputs.marker() for _ in range(6)]
    session_id = "over-a-restart"
    for half in (words[:3], words[3:]):
        with h.memory() as memory:
            with memory.session(session_id=session_id, on_exit="detach") as session:
                for word in half:
                    session.end_turn(f"Pier {word} is free.", "Noted.")
            _flush(h, memory)
            _sound(h, memory)
    subject = h.start()
    missing = [word for word in words if not h.must_see(subject, word)]
    if len(missing) == len(words):
        raise Skip("nothing of a turn is kept that could be seen")
    if missing:
        raise CheckFailed(f"{len(missing)} of {len(words)} turns were taken and are not kept.")
    return None


@check("sessions of cron jobs and sub-agents leave no trace in it", hooks=("sync_turn",))
def unattended_sessions_leave_no_trace(h: Harness) -> str | None:
    word = inputs.marker()
    with h.memory() as memory:
        for context in ("cron", "subagent", "review"):
            with memory.session(agent_context=context) as session:
                session.begin_turn(f"A question about {word}")
                session.end_turn(f"A note about {word}", "Done.")
        _flush(h, memory)
    subject = h.start()
    if h.must_see(subject, word):
        if h.built_in:
            raise Skip("the built-in history keeps every conversation")
        raise CheckFailed(
            "What a cron job or sub-agent said is kept.",
            "keep nothing in `prefetch` or `start_session`; only `sync_turn` brings what to keep",
        )
    return None


@check("inside a real Memory it keeps to its own directory")
def inside_a_memory_it_keeps_to_its_directory(h: Harness) -> str | None:
    if h.built_in:
        raise Skip("the built-ins' files are the profile's own")
    with files_written() as paths, h.memory() as memory, memory.session() as session:
        session.begin_turn("Where is the mast?")
        session.end_turn("Where is the mast?", "In the shed.")
        _flush(h, memory)
    wrong = outside(paths, h.place())
    if wrong:
        raise CheckFailed(
            f"It wrote outside the profile: {', '.join(wrong[:3])}.", "use `context.data_dir`"
        )
    return None


@check("a provider that is closed can be opened again", hooks=())
def it_opens_again(h: Harness) -> str | None:
    for _ in range(3):
        with h.memory() as memory, memory.session() as session:
            session.begin_turn("Where is the mast?")
            session.end_turn("Where is the mast?", "In the shed.")
    return None


def _flush(h: Harness, memory: Memory) -> None:
    """Wait for the outbox; as soon as a delivery fails there is nothing to wait for."""
    deadline = time.monotonic() + FLUSH_S
    problem = "no error was told"
    while not memory.flush(0.5):
        memory.status(check=True)  # carries the figures of this moment
        error = _layer(h, memory)["last_error"]
        if error or time.monotonic() > deadline:
            problem = error["message"] if error else problem
            break
    else:
        return
    if not h.strict:
        raise Skip(f"nothing answers behind the provider ({problem})", wanting=True)
    raise CheckFailed(
        f"Turns still wait in the outbox: {problem}",
        "return from `sync_turn` when the turn is taken; raise a `ProviderError` when it is not",
    )


def _sound(h: Harness, memory: Memory) -> str | None:
    """Nothing failed, nothing is dead."""
    memory.status(check=True)
    layer = _layer(h, memory)
    if layer["state"] != "on" or layer["failures"]:
        if not h.strict:
            raise Skip(f"nothing answers behind the provider ({layer['why']})", wanting=True)
        raise CheckFailed(
            f"`hermes memory status` says {layer['state']}: {layer['why'] or layer['last_error']}",
            layer["hint"],
        )
    dead = memory.status()["outbox"]["dead"]
    if dead:
        raise CheckFailed(f"{dead} items ended among the dead letters.")
    return f"{layer['calls']} calls"


def _layer(h: Harness, memory: Memory) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        one for one in memory.status()["layers"] if one["name"] == h.name
    ]
    if not found:
        raise CheckFailed("It is not among the layers of `hermes memory status`.")
    return found[0]
