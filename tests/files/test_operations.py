from __future__ import annotations

import pytest
from hermes_memory_files.document import parse, serialise
from hermes_memory_files.history import diff
from hermes_memory_files.operations import apply, check_limit
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.errors import (
    NoteAmbiguousError,
    NoteError,
    NoteLimitError,
    NoteNotFoundError,
)
from hermes_memory_core.types import NoteOperation


def run(entries, *steps, echo=str):
    operations = [NoteOperation(*step) for step in steps]
    return apply(tuple(entries), operations, "memory", echo)


def test_patch_changes_only_the_fragment():
    done = run(["A: 1\nB: 2\nC: 3"], ("patch", "B: 9", "B: 2"))
    assert done.entries == ("A: 1\nB: 9\nC: 3",)


def test_patch_may_delete_the_fragment_but_not_the_entry():
    assert run(["tea, black"], ("patch", "", ", black")).entries == ("tea",)
    with pytest.raises(NoteError, match="remove"):
        run(["tea"], ("patch", " \u200b", "tea"))


def test_patch_needs_one_entry_and_one_place_in_it():
    with pytest.raises(NoteAmbiguousError) as two:
        run(["red tea", "red hat"], ("patch", "x", "red"))
    assert two.value.details["matches"] == ["red tea", "red hat"]
    with pytest.raises(NoteAmbiguousError, match="2 times"):
        run(["red red"], ("patch", "x", "red"))


def test_patch_keeps_the_spaces_around_the_fragment():
    assert run(["uses vim daily"], ("patch", " emacs ", " vim ")).entries == ("uses emacs daily",)
    assert run(["uses vim daily"], ("patch", "emacs", "VIM")).entries == ("uses emacs daily",)


def test_replace_takes_the_whole_entry_and_remove_too():
    assert run(["uses vim daily", "b"], ("replace", "uses emacs", "vim")).entries == (
        "uses emacs",
        "b",
    )
    assert run(["uses vim daily", "b"], ("remove", None, "vim")).entries == ("b",)


def test_a_replacement_that_is_there_already_leaves_one_of_the_two():
    assert run(["old tea", "new tea"], ("replace", "new tea", "old tea")).entries == ("new tea",)


def test_later_steps_see_earlier_ones():
    done = run(["a-note"], ("add", "b-note"), ("patch", "B", "b"), ("remove", None, "a-note"))
    assert done.entries == ("B-note",)
    assert [step.result for step in done.steps] == ["added", "patched", "removed"]


def test_a_bad_step_is_named_and_its_cause_kept():
    with pytest.raises(NoteNotFoundError, match=r"^Operation 2 \(remove\).*None of the 3") as error:
        run(["green tea"], ("add", "k"), ("remove", None, "green coffee"), ("add", "z"))
    assert error.value.details["closest_entries"] == ["green tea"]
    assert error.value.details["failed_operation"] == 2


def test_the_inventory_of_a_failed_batch_is_the_real_one():
    with pytest.raises(NoteNotFoundError) as error:
        run(["alpha"], ("add", "k"), ("remove", None, "zzz"))
    assert error.value.details["current_entries"] == ["alpha"]


@pytest.mark.parametrize(
    "text",
    [
        "one\n§\ntwo",
        "§",
        "§\none",
        "one\n§",
        "one\r\n§\r\ntwo",
        "one\r§\rtwo",
        "one\n § \ntwo",
        "one\n§\u3000\ntwo",
    ],
)
@pytest.mark.parametrize("action", ["add", "replace"])
def test_a_delimiter_line_is_refused_before_anything_happens(action, text):
    with pytest.raises(NoteError, match="§"):
        run(["known"], (action, text, "known"))


@pytest.mark.parametrize(
    ("entry", "fragment", "content"),
    [("a X b", "X", "\n§\n"), ("a\nx§\nb", "x", ""), ("a\nX", "X", "§"), ("X\nb", "X", "§")],
)
def test_a_patch_cannot_smuggle_a_delimiter_in(entry, fragment, content):
    with pytest.raises(NoteError, match="§"):
        run([entry], ("patch", content, fragment))


def test_a_section_sign_inside_a_line_is_text():
    assert run([], ("add", "§ 4 of the law")).entries == ("§ 4 of the law",)


@pytest.mark.parametrize("text", ["", "  \n", "\u200b\u200d", None])
def test_blank_content_is_refused(text):
    with pytest.raises(NoteError, match="empty"):
        run([], ("add", text))


@pytest.mark.parametrize("again", ["likes tea", " likes  tea\n", "Likes Tea", "likes\u200b tea"])
def test_the_same_note_in_another_spelling_is_a_duplicate(again):
    done = run(["likes tea"], ("add", again))
    assert done.entries == ("likes tea",)
    assert done.steps[0].result == "duplicate"


def test_a_short_fragment_cannot_lose_an_entry_but_may_patch():
    with pytest.raises(NoteAmbiguousError) as error:
        run(["beta two"], ("remove", None, "a"))
    assert error.value.details["matches"] == ["beta two"]
    assert run(["port 3"], ("patch", "4", "3")).entries == ("port 4",)
    assert run(["k", "longer"], ("remove", None, "k")).entries == ("longer",)


def test_blocked_text_comes_only_through_the_echo():
    def hide(_text):
        return "[hidden]"

    with pytest.raises(NoteNotFoundError) as error:
        run(["secret plan alpha"], ("remove", None, "secret plan beta"), echo=hide)
    assert "plan alpha" not in str(error.value.details)
    with pytest.raises(NoteAmbiguousError) as several:
        run(["secret one", "secret two"], ("remove", None, "secret"), echo=hide)
    assert several.value.details["matches"] == ["[hidden]", "[hidden]"]


def test_the_limit_says_by_how_much_and_what_is_there():
    with pytest.raises(NoteLimitError) as error:
        check_limit(("a" * 9, "b" * 6), ("a" * 9, "b" * 6, "c" * 30), "memory", 40, str)
    details = error.value.details
    assert (details["over_by"], details["current"], details["limit"]) == (11, 18, 40)
    assert details["usage"] == "18/40"
    assert details["current_entries"] == ["a" * 9, "b" * 6]
    assert "operations" in error.value.message
    assert "11" in error.value.message


def test_only_taking_away_is_never_over_the_limit():
    check_limit(("a" * 50, "b" * 50), ("a" * 50,), "memory", 40, str)
    check_limit(("a" * 50,), ("a" * 50, "b"), "memory", 0, str)
    with pytest.raises(NoteLimitError):
        check_limit(("a" * 50,), ("a" * 45,), "memory", 40, str)


STEP = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(["ant", "bee", "cat", "ant bee"]), st.none()),
    st.tuples(st.just("patch"), st.sampled_from(["ant", "", "dog"]), st.sampled_from(["ant", "bee", "a"])),
    st.tuples(st.just("replace"), st.sampled_from(["ant", "cow"]), st.sampled_from(["ant", "bee", "cat"])),
    st.tuples(st.just("remove"), st.none(), st.sampled_from(["ant", "bee", "cat", "zzz"])),
)  # fmt: skip


@given(st.lists(STEP, max_size=6))
def test_whatever_is_applied_reads_back_and_its_pinned_form_does_the_same(steps):
    entries = ("ant hill", "bee", "cat")
    operations = [NoteOperation(*step) for step in steps]
    try:
        done = apply(entries, operations, "memory", str)
    except NoteError:
        return
    assert parse(serialise(done.entries)) == done.entries
    assert apply(entries, done.operations, "memory", str).entries == done.entries


@given(
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.lists(st.sampled_from("abcdef"), unique=True),
)
def test_hunks_rebuild_the_new_list_from_the_old(old, new):
    before, after, hunks = diff(old, new)
    built, taken, placed, at = [], 0, 0, 0
    for i, gone, _j, come in hunks:
        built += old[at:i]
        assert old[i : i + gone] == list(before[taken : taken + gone])
        built += after[placed : placed + come]
        taken, placed, at = taken + gone, placed + come, i + gone
    assert built + old[at:] == new
