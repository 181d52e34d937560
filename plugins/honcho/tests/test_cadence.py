"""The three knobs, turn by turn. Tables: which turns fetch, which ask, which show."""

import itertools

import pytest
from hermes_memory_honcho.cadence import Cadence


def run(turns=12, answers="useful", **knobs):
    """Turns after which the base is fetched, turns after which a question goes out, turns that show the base."""
    knobs = {"context_cadence": 1, "dialectic_cadence": 2, "injection": "every-turn", **knobs}
    cadence = Cadence(**knobs)
    cadence.fired(0)
    answer = itertools.cycle([answers] if isinstance(answers, str) else answers)
    cadence.answered(next(answer) == "useful")
    fetched, asked, shown = [], [], []
    for turn in range(1, turns + 1):
        if cadence.shows_base():
            shown.append(turn)
            cadence.base_shown = True
        if cadence.base_due(turn):
            fetched.append(turn)
            cadence.base_fetched(turn)
        if cadence.dialectic_due(turn):
            asked.append(turn)
            cadence.fired(turn)
            cadence.answered(next(answer) == "useful")
    return fetched, asked, shown


EVERY = list(range(1, 13))


@pytest.mark.parametrize(
    ("cadence", "fetched"),
    [(1, EVERY), (2, [2, 4, 6, 8, 10, 12]), (5, [5, 10]), (20, [])],
)
def test_context_cadence(cadence, fetched):
    assert run(context_cadence=cadence)[0] == fetched


@pytest.mark.parametrize(
    ("cadence", "asked"),
    [(1, EVERY), (2, [2, 4, 6, 8, 10, 12]), (3, [3, 6, 9, 12]), (5, [5, 10])],
)
def test_dialectic_cadence(cadence, asked):
    assert run(dialectic_cadence=cadence)[1] == asked


@pytest.mark.parametrize(
    ("injection", "fetched", "shown"), [("every-turn", EVERY, EVERY), ("first-turn", [], [1])]
)
def test_injection_frequency(injection, fetched, shown):
    found = run(injection=injection)
    assert (found[0], found[2]) == (fetched, shown)
    assert found[1] == [2, 4, 6, 8, 10, 12]


def test_the_knobs_do_not_touch_each_other():
    for context, dialectic, injection in itertools.product((1, 3), (1, 2, 4), ("every-turn",)):
        found = run(context_cadence=context, dialectic_cadence=dialectic, injection=injection)
        assert found[0] == run(context_cadence=context)[0]
        assert found[1] == run(dialectic_cadence=dialectic)[1]


def test_back_off_on_empty_answers_grows_and_is_bounded():
    asked = run(turns=40, answers="empty", dialectic_cadence=1)[1]
    gaps = [b - a for a, b in itertools.pairwise([0, *asked])]
    assert gaps == [2, 3, 4, 5, 6, 7, 8]
    long = run(turns=200, answers="empty", dialectic_cadence=1)[1]
    assert max(b - a for a, b in itertools.pairwise(long)) == 8


def test_a_useful_answer_ends_the_back_off():
    asked = run(turns=12, answers=["empty", "empty", "useful"], dialectic_cadence=2)[1]
    assert asked[:4] == [3, 7, 9, 12]


@pytest.mark.parametrize(
    ("cadence", "fired", "turn", "stale"),
    [(2, 4, 8, False), (2, 4, 9, True), (1, 0, 2, False), (1, 0, 3, True)],
)
def test_stale(cadence, fired, turn, stale):
    assert Cadence(1, cadence, "every-turn").stale(fired, turn) is stale
