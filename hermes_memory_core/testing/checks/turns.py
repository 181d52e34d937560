# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``sync_turn``: at least once from the core, exactly once in what is kept."""

from __future__ import annotations

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness, in_threads
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import Message, SessionInfo

ONCE = "keep `turn.id` with what you store (or send it as the service's idempotency key) and skip known ids"
HOOKS = ("sync_turn",)


@check("a turn is taken in, and what is kept of it can be seen", hooks=HOOKS)
def a_turn_is_kept(h: Harness) -> str | None:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    deliver(subject, session, f"The tide table is with {word}.")
    ended(subject, session)
    seen = h.stored(subject, word)
    return "what is kept cannot be seen from outside" if seen is None else f"kept in {seen} places"


@check("the same turn delivered three times is kept once", hooks=HOOKS)
def a_repeated_turn_is_kept_once(h: Harness) -> str | None:
    subject = h.start()
    return _same_as_once(h, [subject, subject, subject])


@check("a turn delivered again after a restart is kept once", hooks=HOOKS)
def a_repeated_turn_after_a_restart_is_kept_once(h: Harness) -> str | None:
    first = h.start()
    return _same_as_once(h, [first, None, None])


@check("two turns with the same words are two turns", hooks=HOOKS)
def equal_words_are_not_the_same_turn(h: Harness) -> str | None:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    once = deliver(subject, session, f"yes, {word}", number=1)
    first = h.must_see(subject, word)
    deliver(subject, session, f"yes, {word}", number=2)
    if first and h.must_see(subject, word) < first:
        raise CheckFailed(
            f"Turn {once} vanished when another turn with the same words came.",
            "tell turns apart by `turn.id`, not by their text",
        )
    return None


@check("turns are kept in the order in which they came", hooks=(*HOOKS, "export_memories"))
def order_is_kept(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    words = [inputs.marker() for _ in range(5)]
    for number, word in enumerate(words, 1):
        deliver(subject, session, f"Step {number} is {word}.", number=number)
    ended(subject, session)
    records = list(subject.call("export_memories", scope=None))
    times: dict[str, float] = {}
    for record in records:
        for word in words:
            if word in record.content and record.created_at is not None:
                times.setdefault(word, record.created_at)
    if len(times) < len(words):
        raise Skip("its export has no record with a time for each turn")
    if sorted(words, key=lambda word: times[word]) != words:
        raise CheckFailed(
            "Sorted by their time, the turns of one session stand in another order.",
            "use `turn.at` as the time of what you store",
        )
    return None


@check("two conversations may take turns", hooks=HOOKS)
def sessions_may_interleave(h: Harness) -> str | None:
    subject = h.start()
    first, second, word = inputs.session_info(), inputs.session_info(), inputs.marker()
    for number in range(1, 4):
        deliver(subject, first, f"First {number}: {word}", number=number)
        deliver(subject, second, f"Second {number}: {word}", number=number)
    ended(subject, first)
    deliver(subject, second, f"Second 4: {word}", number=4)
    ended(subject, second)
    return None


@check("a turn comes also where `start_session` never ran", hooks=HOOKS)
def a_turn_of_an_unknown_session(h: Harness) -> str | None:
    deliver(h.start(), inputs.session_info("never-started"), "The outbox brings this days later.")
    return None


@check("after a restart the same session goes on", hooks=HOOKS)
def a_session_goes_on_after_a_restart(h: Harness) -> str | None:
    session, word = inputs.session_info(), inputs.marker()
    first = h.start()
    if "start_session" in first.hooks:
        first.call("start_session", session=session, reason="new")
    deliver(first, session, f"Before: {word}", number=1)
    seen = h.stored(first, word)
    first.close()
    second = h.start()
    if seen and not h.stored(second, word):
        raise CheckFailed(
            "What was taken in before a restart is gone after it.",
            "write it down before `sync_turn` returns: returning means taken",
        )
    deliver(second, session, f"After: {word}", number=2)
    ended(second, session)
    return None


@check("a turn with tool calls and images is taken in", hooks=HOOKS)
def a_turn_with_tools_and_images(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    turn = inputs.turn(
        session, "[2 images]\nWhat is on them?", "A crane.", between=inputs.tool_messages()
    )
    subject.call("sync_turn", session=session, turn=turn)
    only_tools = inputs.turn(session, "", "", number=2, between=inputs.tool_messages())
    subject.call("sync_turn", session=session, turn=only_tools)
    named = inputs.turn(
        session, "Hi all", between=(Message("user", "And hello", name="bo"),), number=3
    )
    subject.call("sync_turn", session=session, turn=named)
    return None


@check("sessions of four threads are taken in at once", hooks=HOOKS)
def turns_in_threads(h: Harness) -> str | None:
    subject = h.start()
    words = [inputs.marker() for _ in range(4)]

    def work(number: int) -> None:
        session = inputs.session_info()
        for turn in range(1, 6):
            deliver(subject, session, f"{words[number]} {turn}", number=turn)
        ended(subject, session)

    in_threads(work, 4)
    seen = [h.stored(subject, word) for word in words]
    if None not in seen and len(set(seen)) > 1:
        raise CheckFailed(
            f"Four threads delivered five turns each; kept are {seen}.",
            "guard what the threads share with a lock",
        )
    return None


@check("two instances in one profile may take in turns at once", hooks=HOOKS)
def turns_into_two_instances(h: Harness) -> str | None:
    subjects = [h.start(), h.start()]
    words = [inputs.marker(), inputs.marker()]

    def work(number: int) -> None:
        session = inputs.session_info()
        for turn in range(1, 6):
            deliver(subjects[number], session, f"{words[number]} {turn}", number=turn)
        ended(subjects[number], session)

    in_threads(work, 2)
    third = h.start()
    seen = [h.stored(third, word) for word in words]
    if None not in seen and len(set(seen)) > 1:
        raise CheckFailed(
            f"Two instances took in five turns each; kept are {seen}.",
            "several processes share a profile: lock the file, or use SQLite with a busy timeout",
        )
    return None


def deliver(
    subject: Subject,
    session: SessionInfo,
    user: str,
    assistant: str = "Noted.",
    *,
    number: int = 1,
    turn_id: str | None = None,
) -> str:
    """Deliver one turn; its id."""
    turn = inputs.turn(session, user, assistant, number=number, turn_id=turn_id)
    subject.call("sync_turn", session=session, turn=turn)
    return turn.id


def ended(subject: Subject, session: SessionInfo) -> None:
    """End the session, so that what was held back is written."""
    if "end_session" in subject.hooks:
        subject.call("end_session", session=session, reason="exit")


def _same_as_once(h: Harness, subjects: list[Subject | None]) -> str | None:
    """Deliver one turn once and another to each of the subjects (None: restart), and compare what is kept."""
    once, often = inputs.marker(), inputs.marker()
    first, second = inputs.session_info(), inputs.session_info()
    subject = subjects[0] or h.start()
    deliver(subject, first, f"Once: {once}")
    ended(subject, first)
    turn = inputs.turn(second, f"Often: {often}")
    for one in subjects:
        if one is None:
            subject.close()
            subject = h.start()
        subject.call("sync_turn", session=second, turn=turn)
    ended(subject, second)
    kept_once, kept_often = h.must_see(subject, once), h.must_see(subject, often)
    if kept_often > kept_once:
        raise CheckFailed(
            f"A turn delivered {len(subjects)} times is kept {kept_often} times, one delivered once "
            f"{kept_once} times.",
            ONCE,
        )
    if not kept_once:
        raise Skip("nothing of a turn is kept that could be counted")
    return None
