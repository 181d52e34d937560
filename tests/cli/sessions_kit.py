"""A home with a few conversations in it, for tests of what people see."""

from __future__ import annotations

import time

from hermes_memory_core import Memory

DAY = 86_400.0


def fill(home, *, now=None):
    """Four conversations over five weeks; ids by what they are about."""
    now = time.time() if now is None else now
    said = {
        "lisbon_0001": (
            35,
            "cli",
            "What is the budget for the Lisbon trip?",
            "We set 1,240 euros.",
        ),
        "kitchen_0002": (34, "telegram", "厨房装修的预算是多少?", "预算定在三万两千元。"),
        "deploy_0003": (2, "cli", "Deploy the api to staging", "Done, v1.2.3 is live 🚀"),
        "hello_0004": (0.1, "cli", "good morning", "Good morning to you."),
    }
    at = [now]
    with Memory.open(home=home, clock=lambda: at[0]) as memory:
        for id_, (days, source, question, answer) in said.items():
            at[0] = now - days * DAY
            with memory.session(source=source, session_id=id_) as session:
                memory.history.append(session.id, "user", question, timestamp=at[0])
                at[0] += 5
                memory.history.append(session.id, "assistant", answer, timestamp=at[0])
        memory.history.set_title("lisbon_0001", "Trip to Lisbon")
        memory.history.set_title("kitchen_0002", "厨房装修")
    return said


def compressed(home):
    """One conversation in two parts; their ids, the older first."""
    with Memory.open(home=home) as memory, memory.session(title="Long talk") as session:
        first = session.id
        session.end_turn("Where did we leave the giraffe?", "In the garden.")
        session.compressed("They talked about a giraffe.")
        session.end_turn("And the zebra?", "In the cellar.")
        return first, session.id
