# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``sync_turn`` with hard texts: each kind on its own, so that a report names the kind."""

from __future__ import annotations

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, check
from hermes_memory_core.testing.checks.turns import deliver, ended
from hermes_memory_core.testing.harness import Harness

HOOKS = ("sync_turn",)


@check("a turn without a user message is taken in", hooks=HOOKS)
def a_turn_without_a_user_message(h: Harness) -> str | None:
    deliver(h.start(), inputs.session_info(), "", "Good morning.")
    return None


@check("a turn without a reply is taken in", hooks=HOOKS)
def a_turn_without_a_reply(h: Harness) -> str | None:
    deliver(h.start(), inputs.session_info(), "Are you there?", "")
    return None


@check("a turn in any script is kept as it was", hooks=HOOKS)
def a_turn_in_every_script(h: Harness) -> str | None:
    return _kept(
        h, "Chinese", "Japanese and Korean", "right to left", "combining", "emoji sequences"
    )


@check("a turn with NUL or control characters is taken in", hooks=HOOKS)
def a_turn_with_control_characters(h: Harness) -> str | None:
    return _kept(h, "NUL", "control characters", "blank", exact=False)


@check("a turn with the syntax of a database is kept as it was", hooks=HOOKS)
def a_turn_with_query_syntax(h: Harness) -> str | None:
    return _kept(h, "SQL", "search syntax", "JSON", "markup")


@check("a turn about fence tags is taken in", hooks=HOOKS)
def a_turn_with_fence_tags(h: Harness) -> str | None:
    return _kept(h, "fence", exact=False)


@check("a turn of more than 25,000 characters is taken in", hooks=HOOKS)
def a_very_long_turn(h: Harness) -> str | None:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    deliver(subject, session, f"{word} {inputs.LONG * 3}", inputs.LONG * 3)
    ended(subject, session)
    if h.stored(subject, word) == 0:
        raise CheckFailed(
            "Nothing is kept of a turn of 60,000 characters, and no error was raised.",
            "cut it into parts, or raise `ProviderRejectedError`",
        )
    return None


def _kept(h: Harness, *names: str, exact: bool = True) -> str | None:
    subject, session = h.start(), inputs.session_info()
    words = {name: inputs.marker() for name in names}
    for number, name in enumerate(names, 1):
        text = f"{words[name]} {inputs.TEXTS[name]}"
        deliver(subject, session, text, number=number)
    ended(subject, session)
    for name in names:
        if h.stored(subject, words[name]) == 0:
            raise CheckFailed(
                f"Nothing is kept of a turn with {name} in it, and no error was raised.",
                "store text as UTF-8, with parameters instead of string formatting",
            )
    if not exact or "export_memories" not in subject.hooks:
        return None
    records = [record.content for record in subject.call("export_memories", scope=None)]
    for name in names:
        holding = [content for content in records if words[name] in content]
        if holding and not any(inputs.TEXTS[name].strip() in content for content in holding):
            return f"text with {name} comes back changed"
    return None
