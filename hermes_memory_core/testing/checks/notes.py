# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``notes_written``: every action, with and without a conversation, delivered twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.types import NoteAction, Scope

HOOKS = ("notes_written",)
_STEPS: Sequence[tuple[NoteAction, tuple[str, ...], tuple[str, ...]]] = (
    ("add", (), ("Prefers tea",)),
    ("patch", ("Prefers tea",), ("Prefers green tea",)),
    ("replace", ("Prefers green tea",), ("Drinks coffee now",)),
    ("rewrite", ("Drinks coffee now",), ("Drinks water", "Lives by the harbour")),
    ("undo", ("Drinks water", "Lives by the harbour"), ("Drinks coffee now",)),
    ("external", ("Drinks coffee now",), ("Drinks coffee, no milk",)),
    ("remove", ("Drinks coffee, no milk",), ()),
    ("reset", ("a", "b"), ()),
)


@check("`notes_written` takes every kind of change", hooks=HOOKS)
def every_note_action_is_taken(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for action, before, after in _STEPS:
        subject.call(
            "notes_written",
            session=session,
            write=inputs.note_write(action, before, after, session=session),
        )
    return None


@check("`notes_written` takes changes outside a conversation", hooks=HOOKS)
def notes_without_a_session(h: Harness) -> str | None:
    subject = h.start()
    for action, before, after in _STEPS:
        write = inputs.note_write(action, before, after, target="user")
        subject.call("notes_written", session=None, write=write)
    return None


@check("`notes_written` takes any text", hooks=HOOKS)
def notes_with_hard_texts(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for text in inputs.TEXTS.values():
        write = inputs.note_write("add", (), (text,), session=session)
        subject.call("notes_written", session=session, write=write)
    return None


@check("a note delivered twice is kept once", hooks=HOOKS)
def a_repeated_note_is_kept_once(h: Harness) -> str | None:
    subject = h.start()
    once, often = inputs.marker(), inputs.marker()
    subject.call(
        "notes_written", session=None, write=inputs.note_write("add", (), (f"Sails {once}",))
    )
    write = inputs.note_write("add", (), (f"Sails {often}",))
    for _ in range(3):
        subject.call("notes_written", session=None, write=write)
    kept_once, kept_often = h.must_see(subject, once), h.must_see(subject, often)
    if kept_often > kept_once:
        raise CheckFailed(
            f"A note delivered three times is kept {kept_often} times, one delivered once {kept_once} times.",
            "keep `write.id` with what you store and skip known ids",
        )
    if not kept_once:
        raise Skip("notes are not mirrored, or cannot be seen")
    return None


@check("a note of one user's scope is taken", hooks=HOOKS)
def notes_of_a_scope(h: Harness) -> str | None:
    subject = h.start()
    write = inputs.note_write(
        "add", (), ("Allergic to nuts",), target="user", scope=Scope("user", "ada")
    )
    subject.call("notes_written", session=None, write=write)
    subject.call(
        "notes_written", session=None, write=replace(write, id=write.id + "x", target="memory")
    )
    return None
