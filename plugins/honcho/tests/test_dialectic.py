"""Depth, levels, heuristics, early exit, cold and warm, abstentions."""

import pytest
from hermes_memory_honcho import dialectic
from hermes_memory_honcho.settings import HonchoSettings

LONG = "She leads the robotics team and prefers short answers. " * 7
SHORT = "She likes tea."


def inquire(answers, message="what now?", cold=False, **settings):
    asked = []

    def ask(question, level):
        asked.append((question, level))
        return answers[len(asked) - 1]

    found = dialectic.inquire(HonchoSettings(**settings), ask, message, cold=cold)
    return found, asked


@pytest.mark.parametrize(
    ("settings", "length", "levels"),
    [
        ({}, 10, ("low",)),
        ({}, 119, ("low",)),
        ({}, 120, ("medium",)),
        ({}, 400, ("high",)),
        ({"reasoning_level_cap": "medium"}, 400, ("medium",)),
        ({"reasoning_heuristic": False}, 400, ("low",)),
        ({"dialectic_reasoning_level": "max"}, 400, ("max",)),
        ({"dialectic_depth": 2}, 10, ("minimal", "low")),
        ({"dialectic_depth": 2}, 400, ("minimal", "high")),
        ({"dialectic_depth": 3}, 120, ("minimal", "medium", "low")),
        ({"dialectic_depth": 3, "dialectic_depth_levels": ["high"]}, 10, ("high", "low", "low")),
        ({"dialectic_depth": 1, "dialectic_depth_levels": ["max", "low"]}, 10, ("max",)),
        (
            {"dialectic_depth": 2, "dialectic_dynamic": False, "dialectic_depth_levels": ["max"]},
            400,
            ("low", "low"),
        ),
    ],
)
def test_levels(settings, length, levels):
    assert dialectic.levels_of(HonchoSettings(**settings), "x" * length) == levels


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_is_the_number_of_passes(depth):
    found, asked = inquire([SHORT] * 3, dialectic_depth=depth)
    assert len(asked) == found.passes == depth
    assert found.text == SHORT


def test_passes_build_on_each_other():
    _, asked = inquire(["first", "second", "third"], dialectic_depth=3)
    assert "first" in asked[1][0]
    assert "first" in asked[2][0]
    assert "second" in asked[2][0]


def test_a_good_answer_ends_it_early():
    found, asked = inquire([LONG, "never asked"], dialectic_depth=3)
    assert len(asked) == 1
    assert found.text == LONG.strip()


def test_after_an_empty_pass_the_question_is_asked_again():
    found, asked = inquire(["", SHORT, ""], dialectic_depth=3)
    assert asked[0][0] == asked[1][0]
    assert found.text == SHORT


def test_the_last_answer_that_says_something_counts():
    found, _ = inquire([SHORT, "I don't have any information about that.", "x"], dialectic_depth=2)
    assert found.text == SHORT


def test_an_abstention_is_nothing():
    found, _ = inquire(["I do not have enough information about this person."])
    assert found.text == ""


def test_cold_and_warm():
    _, cold = inquire([SHORT], message="fix the build", cold=True)
    _, warm = inquire([SHORT], message="fix the build", cold=False)
    assert "fix the build" not in cold[0][0]
    assert "fix the build" in warm[0][0]


def test_long_questions_and_answers_are_cut():
    found, asked = inquire(["word " * 500], message="talk " * 5000, dialectic_max_chars=100)
    assert len(asked[0][0]) <= 10_000
    assert len(found.text) <= 100
    assert found.text.endswith("…")
