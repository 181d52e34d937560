"""Questions to Honcho's dialectic: which, how deep, at which level. Asks through a function; keeps nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hermes_memory_honcho import texts
from hermes_memory_honcho.settings import LEVELS, HonchoSettings, Level

Ask = Callable[[str, Level], str]
"""Question and level → answer, "" for nothing."""

COLD = (
    "Describe the person: who they are, what they prefer, what they are trying to reach, and how they like to work. "
    "Say only what you have evidence for; if there is none, answer with an empty text."
)
WARM = (
    "Someone is in the middle of a conversation and says the message below. What do you know about this person that "
    "matters for answering it? First what is going on in their current work, then lasting preferences; leave out "
    "biography that does not help. If you know nothing that helps, answer with an empty text.\n\nMessage: {message}"
)
AUDIT = (
    "An earlier answer to a question about this person is below. Look for what it misses or gets wrong, above all in "
    "their most recent sessions, and answer the question again with the evidence you find.\n\n"
    "Question: {question}\n\nEarlier answer: {first}"
)
RECONCILE = (
    "Two answers about the same person are below. Where they differ, decide by evidence and by which is newer. Give "
    "one short answer that keeps what holds.\n\nQuestion: {question}\n\nFirst: {first}\n\nSecond: {second}"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one question."""

    text: str
    passes: int
    levels: tuple[Level, ...]
    cold: bool


def raised(base: Level, by: int, cap: Level) -> Level:
    """A level some steps up, never above the cap; a base above the cap stays."""
    at = LEVELS.index(base)
    return LEVELS[max(at, min(at + by, LEVELS.index(cap)))]


def level_for(settings: HonchoSettings, message: str) -> Level:
    """The base level, raised by the message's length: from 120 characters by one, from 400 by two."""
    base = settings.dialectic_reasoning_level
    if not settings.dialectic_dynamic or not settings.reasoning_heuristic:
        return base
    steps = 0 if len(message) < 120 else 1 if len(message) < 400 else 2
    return raised(base, steps, settings.reasoning_level_cap)


def levels_of(settings: HonchoSettings, message: str) -> tuple[Level, ...]:
    """The level of every pass."""
    depth = settings.dialectic_depth
    base = level_for(settings, message)
    if not settings.dialectic_dynamic:
        return (settings.dialectic_reasoning_level,) * depth
    given = settings.dialectic_depth_levels
    if given:
        padding: list[Level] = ["low"] * depth
        return tuple([*given, *padding][:depth])
    by_depth: dict[int, tuple[Level, ...]] = {
        1: (base,),
        2: ("minimal", base),
        3: ("minimal", base, "low"),
    }
    return by_depth[depth]


def question(settings: HonchoSettings, message: str, *, cold: bool) -> str:
    """The first pass's question."""
    if cold or not message.strip():
        return COLD
    room = settings.dialectic_max_input_chars - len(WARM)
    return WARM.format(message=texts.cut_query(message.strip(), max(100, room)))


def inquire(settings: HonchoSettings, ask: Ask, message: str, *, cold: bool) -> Finding:
    """Up to three passes; stops early when an answer is good enough.

    An answer that only says there is nothing counts as none. After empty passes the question is asked again as it
    was. The result is the last answer that said something.
    """
    first_question = question(settings, message, cold=cold)
    answers: list[str] = []
    levels = levels_of(settings, message)
    used: list[Level] = []
    for level in levels:
        said = [answer for answer in answers if answer]
        if said and texts.suffices(said[-1]):
            break
        wording = _wording(first_question, said)
        answer = ask(texts.cut_query(wording, settings.dialectic_max_input_chars), level)
        used.append(level)
        answers.append("" if texts.abstains(answer) else answer.strip())
    said = [answer for answer in answers if answer]
    text = texts.trimmed(said[-1], settings.dialectic_max_chars) if said else ""
    return Finding(text, len(used), tuple(used), cold)


def _wording(first_question: str, said: list[str]) -> str:
    if not said:
        return first_question
    if len(said) == 1:
        return AUDIT.format(question=first_question, first=said[0])
    return RECONCILE.format(question=first_question, first=said[-2], second=said[-1])
