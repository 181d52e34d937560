# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``system_block``: static text, nothing recalled."""

from __future__ import annotations

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, check
from hermes_memory_core.testing.harness import Harness


@check("`system_block` answers text or None", hooks=("system_block",))
def system_block_is_text_or_nothing(h: Harness) -> str | None:
    value = h.start().call("system_block", session=inputs.session_info())
    if value is not None and not isinstance(value, str):
        raise CheckFailed(
            f"`system_block` returned a {type(value).__name__}.",
            "return a str, or None for nothing",
        )
    return f"{len(value or '')} characters in every prompt"


@check("`system_block` answers the same twice, also after a turn", hooks=("system_block",))
def system_block_never_changes(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    first = subject.call("system_block", session=session)
    if "sync_turn" in subject.hooks:
        subject.call(
            "sync_turn", session=session, turn=inputs.turn(session, "The gate code changed.")
        )
    again = subject.call("system_block", session=session)
    restarted = h.start().call("system_block", session=session)
    if not first == again == restarted:
        raise CheckFailed(
            "`system_block` changed between two calls for the same session.",
            "leave out times, counts and recalled text: a changed prompt breaks the host's prompt cache",
        )
    return None


@check("`system_block` holds nothing recalled", hooks=("system_block", "sync_turn"))
def system_block_recalls_nothing(h: Harness) -> str | None:
    subject, word = h.start(), inputs.marker()
    first, second = inputs.session_info(), inputs.session_info()
    subject.call("sync_turn", session=first, turn=inputs.turn(first, f"My boat is called {word}."))
    subject.call(
        "end_session", session=first, reason="exit"
    ) if "end_session" in subject.hooks else None
    if word in (subject.call("system_block", session=second) or ""):
        raise CheckFailed(
            "`system_block` repeats what was said in an earlier conversation.",
            "give that from `prefetch`, where it has a deadline, a fence and a place in the report",
        )
    return None


@check("`system_block` needs no `start_session` before it", hooks=("system_block",))
def system_block_for_an_unknown_session(h: Harness) -> str | None:
    h.start().call("system_block", session=inputs.session_info("never-started"))
    return None
