"""Cutting messages, budgets, abstentions, summaries."""

import pytest
from hermes_memory_honcho import texts
from hypothesis import given, settings
from hypothesis import strategies as st

PIECES = st.lists(
    st.sampled_from(
        ["word", "a sentence. ", "\n\n", "。", "多字", "!", " ", "x" * 60, "👩‍👩‍👧", "e\u0301"]
    ),
    max_size=400,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(PIECES, st.integers(200, 900))
def test_parts_are_short_enough_and_lose_nothing(text, limit):
    parts = texts.parts(text, limit)
    assert all(len(part) <= limit for part in parts)
    bare = [parts[0], *(part.removeprefix(texts.CONTINUED) for part in parts[1:])]
    assert "".join(bare) == text


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One is here. Two is there. " * 20, "sentence"),
        ("第一句在这里。第二句在那里！" * 40, "sentence"),
        ("first paragraph " * 8 + "\n\n" + "second " * 40, "paragraph"),
    ],
)
def test_cuts_are_at_ends(text, first):
    head = texts.parts(text, 200)[0].rstrip(" ")
    ends = {"sentence": (".", "。", "！"), "paragraph": ("\n\n",)}[first]
    assert head.endswith(ends)


def test_a_wall_of_text_is_cut_anyway():
    parts = texts.parts("x" * 60_000, 25_000)
    assert [len(part) for part in parts] == [25_000, 25_000, 10_000 + 2 * len(texts.CONTINUED)]


@pytest.mark.parametrize(
    ("answer", "nothing"),
    [
        ("", True),
        ("  \n", True),
        ("I don't have any information about this person yet.", True),
        ("There is no information available about the user.", True),
        ("No relevant memories were found.", True),
        ("Unable to answer: insufficient context about Alice.", True),
        ("我没有关于这位用户的任何信息。", True),
        ("Alice prefers tabs and lives in Berlin.", False),
        ("She does not like long answers.", False),
        ("The user knows no French but is fluent in German.", False),
        (
            "I have no information about hobbies. "
            + "But the work: she leads a robotics team. " * 12,
            False,
        ),
    ],
)
def test_abstentions_are_nothing(answer, nothing):
    assert texts.abstains(answer) is nothing


@pytest.mark.parametrize(
    ("answer", "enough"),
    [
        ("short", False),
        ("- a\n- b", False),
        ("x" * 301, True),
        ("x" * 200, False),
        ("## Facts\n" + "- likes tea in the morning\n" * 5, True),
        ("1. " + "x" * 50 + "\n2. " + "y" * 60, True),
        ("plain line\n" * 12, False),
    ],
)
def test_early_exit(answer, enough):
    assert texts.suffices(answer) is enough


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        (None, ""),
        ("They planned a trip.", "They planned a trip."),
        ("<think>let me see</think>They planned a trip.", "They planned a trip."),
        ("plan a\n</think>draft</think>\nFinal.", "Final."),
        ("Good so far <think>never closed", "Good so far"),
        ("<thinking>only thoughts</thinking>", ""),
    ],
)
def test_summaries_lose_what_a_model_thought(summary, kept):
    assert texts.usable_summary(summary) == kept


def test_budget_cuts_at_a_word_only_near_the_end():
    assert texts.trimmed("alpha beta gamma delta", 19) == "alpha beta gamma…"
    assert texts.trimmed("a " + "b" * 40, 20) == "a " + "b" * 17 + "…"
    assert texts.trimmed("short", 20) == "short"
