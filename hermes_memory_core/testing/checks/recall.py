# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``prefetch`` and ``queue_prefetch``: what comes back, and when."""

from __future__ import annotations

import time

from hermes_memory_core.engine.fence import remove_tags
from hermes_memory_core.errors import ProviderError
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness, in_threads
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import Recall, SessionInfo

SLACK_S = 0.5
"""What a loaded machine may add to a deadline before a check complains."""
DEADLINE_S = 0.4


@check("`prefetch` answers text, a Recall, or None", hooks=("prefetch",))
def prefetch_answers_recall(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    _told(subject, session, f"The lighthouse keeper is called {inputs.marker()}.")
    began = time.monotonic()
    recall_text(subject, session, "who keeps the lighthouse?")
    return f"{(time.monotonic() - began) * 1000:.0f} ms"


@check("`prefetch` for an empty question answers", hooks=("prefetch",))
def prefetch_of_nothing(h: Harness) -> str | None:
    subject = h.start()
    for query in ("", " ", "\n", "?"):
        recall_text(subject, inputs.session_info(), query)
    return None


@check("`prefetch` for a question of 100,000 characters answers in time", hooks=("prefetch",))
def prefetch_of_a_huge_question(h: Harness) -> str | None:
    recall_text(h.start(), inputs.session_info(), "harbour crane bay " * 5556)
    return None


@check("`prefetch` for any text answers", hooks=("prefetch",))
def prefetch_of_hard_questions(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    _told(subject, session, "The ferry leaves at nine.")
    for query in {**inputs.TEXTS, **inputs.BROKEN_TEXTS}.values():
        recall_text(subject, session, query)
    return None


@check("`prefetch` gives up at its deadline when the service hangs", hooks=("prefetch",))
def prefetch_honours_its_deadline(h: Harness) -> str | None:
    backend = h.backend
    if backend is None:
        raise Skip("the test gives no backend that can be made to hang", wanting=True)
    subject, session = h.start(), inputs.session_info()
    with backend.hang(10.0):
        answer = subject.attempt(
            "prefetch",
            session=session,
            query="when does the ferry leave?",
            timeout_s=5.0,
            deadline=time.monotonic() + DEADLINE_S,
        )
    if answer.elapsed_s > DEADLINE_S + SLACK_S:
        raise CheckFailed(
            f"`prefetch` had {DEADLINE_S} s and took {answer.elapsed_s:.1f} s.",
            "pass `deadline - time.monotonic()` on as the timeout of the request",
        )
    if answer.error is not None and not isinstance(answer.error, ProviderError):
        raise CheckFailed(
            f"At its deadline `prefetch` raised {type(answer.error).__name__}.",
            "raise `ProviderTimeoutError`",
        )
    return None


@check("`prefetch` with a deadline that has passed comes back at once", hooks=("prefetch",))
def prefetch_after_its_deadline(h: Harness) -> str | None:
    answer = h.start().attempt(
        "prefetch",
        session=inputs.session_info(),
        query="when does the ferry leave?",
        deadline=time.monotonic() - 1.0,
        timeout_s=5.0,
    )
    if answer.error is not None and not isinstance(answer.error, ProviderError):
        raise CheckFailed(
            f"With no time left `prefetch` raised {type(answer.error).__name__}: {answer.error}",
            "a timeout of 0 or less means: give up now, with `ProviderTimeoutError` or None",
        )
    return None


@check("`prefetch` puts up no fence of its own", hooks=("prefetch",))
def prefetch_has_no_fence(h: Harness) -> str | None:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    _told(subject, session, f"The crane operator is {word}.")
    text = recall_text(subject, session, f"who is the crane operator {word}")
    if remove_tags(text) != text:
        raise CheckFailed(
            "`prefetch` returned fence tags; the core removes them and puts up the fence itself.",
            "return the bare text",
        )
    return None


@check("`prefetch` from four threads at once answers each", hooks=("prefetch",))
def prefetch_in_threads(h: Harness) -> str | None:
    subject = h.start()

    def work(number: int) -> None:
        session = inputs.session_info()
        for turn in range(3):
            recall_text(subject, session, f"question {turn} of thread {number}")

    in_threads(work, 4)
    return None


@check("`prefetch` needs no `start_session` before it", hooks=("prefetch",))
def prefetch_for_an_unknown_session(h: Harness) -> str | None:
    recall_text(h.start(), inputs.session_info("never-started"), "what did we say about the mast?")
    return None


@check("`queue_prefetch` comes back, and `prefetch` after it", hooks=("queue_prefetch",))
def queue_prefetch_comes_back(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for query in ("what about the mast?", "", inputs.TEXTS["Chinese"], inputs.LONG):
        subject.call("queue_prefetch", session=session, query=query)
        if "prefetch" in subject.hooks:
            recall_text(subject, session, query)
    return None


def recall_text(subject: Subject, session: SessionInfo, query: str) -> str:
    """The text of one recall.

    Raises:
        CheckFailed: It is neither text, nor a Recall, nor None.
    """
    value = subject.call("prefetch", session=session, query=query)
    if value is None:
        return ""
    text = value.text if isinstance(value, Recall) else value
    if not isinstance(text, str):
        raise CheckFailed(
            f"`prefetch` returned a {type(value).__name__}"
            + (f" with a {type(text).__name__} as its text." if isinstance(value, Recall) else "."),
            "return a str, a Recall, or None for nothing",
        )
    return text


def _told(subject: Subject, session: SessionInfo, text: str) -> None:
    if "sync_turn" in subject.hooks:
        subject.call("sync_turn", session=session, turn=inputs.turn(session, text))
