"""What a model answers to "name this", as a title."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_core.learning.extract import MAX_CHARS
from hermes_memory_core.learning.model_title import SNIPPET, clean_answer, prompt


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Trip to Lisbon", "Trip to Lisbon"),
        ('"Trip to Lisbon"', "Trip to Lisbon"),
        ("“Trip to Lisbon.”", "Trip to Lisbon"),
        ("Title: Trip to Lisbon", "Trip to Lisbon"),
        ('The title is: "Trip to Lisbon"', "Trip to Lisbon"),
        ("**Title:** Trip to Lisbon", "Trip to Lisbon"),
        ("## Trip to Lisbon\n\nBecause they plan a trip.", "Trip to Lisbon"),
        ("<think>They plan a trip.\nTitle: no</think>\nTrip to Lisbon", "Trip to Lisbon"),
        ("They plan a trip.</think>Trip to Lisbon", "Trip to Lisbon"),
        ("<reasoning>hm</reasoning>\n\n`Trip to Lisbon`", "Trip to Lisbon"),
        ("标题：里斯本之旅", "里斯本之旅"),
        ("「東京出張の予定」", "東京出張の予定"),
        ("제목: 부산 출장", "부산 출장"),
        ("Trip\u200b to\u202e  Lisbon", "Trip to Lisbon"),
        ("Titles of nobility in Denmark", "Titles of nobility in Denmark"),
        ("<think>never closed", None),
        ("", None),
        ('""', None),
        ("Title:", None),
        ("...\n\n", None),
    ],
)
def test_only_the_title_is_left(answer, title):
    assert clean_answer(answer) == title


def test_a_long_one_is_clipped_to_eighty_characters():
    title = clean_answer("word " * 60)
    assert len(title) <= MAX_CHARS
    assert title.endswith("...")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_answer_gives_one_short_line_or_nothing(answer):
    title = clean_answer(answer)
    assert title is None or (0 < len(title) <= MAX_CHARS and title == " ".join(title.split()))


@pytest.mark.parametrize("part", ["<think>", "</think>", "<", '"', "Title:", "title is "])
def test_no_answer_takes_long(part):
    clean_answer(part * 50_000)


def test_the_prompt_shows_little_and_names_the_language_when_one_is_set():
    system, user = prompt("u" * 5_000, "a" * 5_000, "Danish")
    assert "Danish" in system["content"]
    assert user["content"].count("u") <= SNIPPET + 20
    assert user["content"].count("a") <= SNIPPET + 20
    assert "the user writes in" in prompt("u", "a")[0]["content"]
