# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of the hooks around a conversation: its start, its end, compression, sub-agents."""

from __future__ import annotations

from typing import get_args

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, check
from hermes_memory_core.testing.harness import Harness, in_threads
from hermes_memory_core.types import EndReason, Message, StartReason


@check("`start_session` works for every reason", hooks=("start_session",))
def sessions_start_for_every_reason(h: Harness) -> str | None:
    subject, before = h.start(), inputs.session_info()
    for reason in get_args(StartReason):
        session = inputs.session_info()
        previous = None if reason in ("new", "resume") else before
        subject.call("start_session", session=session, reason=reason, previous=previous)
    return None


@check("`start_session` works without a session before it", hooks=("start_session",))
def sessions_start_without_previous(h: Harness) -> str | None:
    subject = h.start()
    for reason in get_args(StartReason):
        subject.call("start_session", session=inputs.session_info(), reason=reason, previous=None)
    return None


@check("`start_session` for the same session twice is harmless", hooks=("start_session",))
def sessions_start_twice(h: Harness) -> str | None:
    session = inputs.session_info()
    for subject in (h.start(), h.start()):
        subject.call("start_session", session=session, reason="new")
        subject.call("start_session", session=session, reason="resume")
    return None


@check("sessions may start in four threads at once", hooks=("start_session",))
def sessions_start_in_threads(h: Harness) -> str | None:
    subject = h.start()
    in_threads(
        lambda _n: subject.call("start_session", session=inputs.session_info(), reason="new"), 4
    )
    return None


@check("`end_session` works for every reason", hooks=("end_session",))
def sessions_end_for_every_reason(h: Harness) -> str | None:
    subject = h.start()
    for reason in get_args(EndReason):
        session = inputs.session_info()
        if "start_session" in subject.hooks:
            subject.call("start_session", session=session, reason="new")
        if "sync_turn" in subject.hooks:
            subject.call("sync_turn", session=session, turn=inputs.turn(session, f"End: {reason}."))
        subject.call("end_session", session=session, reason=reason)
    return None


@check("`end_session` works for a session this instance never saw", hooks=("end_session",))
def an_unknown_session_ends(h: Harness) -> str | None:
    h.start().call("end_session", session=inputs.session_info("never-started"), reason="crash")
    return None


@check("`end_session` delivered twice is harmless", hooks=("end_session",))
def a_session_ends_twice(h: Harness) -> str | None:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    if "sync_turn" in subject.hooks:
        subject.call("sync_turn", session=session, turn=inputs.turn(session, f"Twice: {word}"))
    subject.call("end_session", session=session, reason="exit")
    once = h.stored(subject, word)
    subject.call("end_session", session=session, reason="exit")
    if once and (h.stored(subject, word) or 0) > once:
        raise CheckFailed(
            "Ending a session a second time stored its turns again.",
            "the outbox delivers at least once: note that the session is done",
        )
    return None


@check("`before_compression` answers text or None", hooks=("before_compression",))
def before_compression_is_text_or_nothing(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    hard = [Message("user", text) for text in inputs.TEXTS.values()]
    for messages in ((), tuple(hard), inputs.tool_messages(), (Message("system", ""),)):
        value = subject.call("before_compression", session=session, messages=messages)
        if value is not None and not isinstance(value, str):
            raise CheckFailed(
                f"`before_compression` returned a {type(value).__name__}.", "return a str or None"
            )
    return None


@check(
    "`delegation_finished` works with and without a child session", hooks=("delegation_finished",)
)
def delegations_are_taken_in(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for task, result, child in (
        ("look up tides", "high at nine", "child-1"),
        ("look up tides", "", None),
        ("", inputs.LONG, None),
        (inputs.TEXTS["Chinese"], inputs.TEXTS["emoji sequences"], "child-2"),
    ):
        subject.call("delegation_finished", session=session, task=task, result=result, child=child)
    return None
