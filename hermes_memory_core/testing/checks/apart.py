# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks that nothing crosses over: between users, chats, sessions and profiles."""

from __future__ import annotations

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.recall import recall_text
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness, in_threads
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import Scope, SessionInfo

MEND = "keep `session.scope.key` with everything you store and ask for, and filter by it"


@check("one user's words never come up for another", hooks=("prefetch", "sync_turn"))
def users_are_kept_apart(h: Harness) -> str | None:
    return _apart(h, _of_user("ada"), _of_user("bo"), "another user's")


@check("one chat's words never come up in another", hooks=("prefetch", "sync_turn"))
def chats_are_kept_apart(h: Harness) -> str | None:
    return _apart(h, _of_chat("kitchen"), _of_chat("workshop"), "another chat's")


@check("a user's words never come up where nobody is named", hooks=("prefetch", "sync_turn"))
def the_anonymous_are_kept_apart(h: Harness) -> str | None:
    anonymous = inputs.session_info(scope=Scope("user", None))
    return _apart(h, _of_user("ada"), anonymous, "a user's")


@check(
    "what was looked up for one session is not handed to another",
    hooks=("queue_prefetch", "prefetch"),
)
def queued_recall_stays_in_its_session(h: Harness) -> str | None:
    subject, word = h.start(), inputs.marker()
    first, second = _of_user("ada"), _of_user("bo")
    if "sync_turn" in subject.hooks:
        subject.call(
            "sync_turn", session=first, turn=inputs.turn(first, f"My boat is called {word}.")
        )
    subject.call("queue_prefetch", session=first, query=f"what is my boat {word} called?")
    if word in recall_text(subject, second, "what is the boat called?"):
        raise CheckFailed(
            "What `queue_prefetch` found for one session came up in another.",
            "keep it under `session.id`",
        )
    return None


@check("many sessions at once do not mix", hooks=("prefetch", "sync_turn"))
def sessions_in_threads_do_not_mix(h: Harness) -> str | None:
    subject = h.start()
    sessions = [_of_user(f"user{number}") for number in range(4)]
    words = [inputs.marker() for _ in sessions]

    def work(number: int) -> None:
        for turn in range(1, 4):
            text = f"Note {turn}: the parcel for {words[number]} is at the gate."
            subject.call(
                "sync_turn",
                session=sessions[number],
                turn=inputs.turn(sessions[number], text, number=turn),
            )

    in_threads(work, len(sessions))
    for number, session in enumerate(sessions):
        text = recall_text(subject, session, "whose parcel is at the gate?")
        strange = [word for word in words if word != words[number] and word in text]
        if strange:
            raise CheckFailed(
                "After turns of four users at once, one was shown another's words.", MEND
            )
    return None


@check("two profiles side by side share nothing", hooks=("sync_turn",))
def profiles_are_kept_apart(h: Harness) -> str | None:
    if h.backend is not None:
        raise Skip("both profiles would use the test's one backend and one account")
    first, second = h.start("default"), h.start("work")
    word = inputs.marker()
    session = inputs.session_info()
    other = inputs.session_info(profile="work")
    first.call(
        "sync_turn", session=session, turn=inputs.turn(session, f"The safe opens with {word}.")
    )
    _ended(first, session)
    if "prefetch" in second.hooks and word in recall_text(
        second, other, f"how does the safe open {word}"
    ):
        raise CheckFailed(
            "What one profile was told came up in another.", "keep data in `context.data_dir`"
        )
    if h.stored(second, word):
        raise CheckFailed(
            "What one profile was told is kept in another.", "keep data in `context.data_dir`"
        )
    third = h.start("work")
    if h.stored(third, word):
        raise CheckFailed(
            "After a restart one profile holds another's data.", "no module-level state"
        )
    return None


def _apart(h: Harness, owner: SessionInfo, stranger: SessionInfo, whose: str) -> str | None:
    subject, word = h.start(), inputs.marker()
    subject.call(
        "sync_turn", session=owner, turn=inputs.turn(owner, f"The spare key is with {word}.")
    )
    _ended(subject, owner)
    query = f"who has the spare key {word}"
    for place, one in (("", subject), (" after a restart", h.start())):
        if word in recall_text(one, stranger, query):
            raise CheckFailed(f"`prefetch` showed {whose} words{place}.", MEND)
    if word in recall_text(subject, owner, query):
        return "and its owner is shown it"
    return "its owner was not shown it either (yet)"


def _of_user(user: str) -> SessionInfo:
    return inputs.session_info(user=user, scope=Scope("user", user))


def _of_chat(chat: str) -> SessionInfo:
    return inputs.session_info(user="ada", chat=chat, scope=Scope("chat", chat))


def _ended(subject: Subject, session: SessionInfo) -> None:
    if "end_session" in subject.hooks:
        subject.call("end_session", session=session, reason="exit")
