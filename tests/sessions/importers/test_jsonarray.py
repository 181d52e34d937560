from __future__ import annotations

import io
import json

import pytest
from hermes_memory_sessions.importers import jsonarray
from hermes_memory_sessions.importers.jsonarray import ArrayReader
from hermes_memory_sessions.importers.records import Tally


def run(text):
    tally = Tally("f")
    found = list(ArrayReader(io.StringIO(text), tally))
    return found, {item.reason: item.count for item in tally.drain()}


@pytest.fixture(params=[1, 2, 3, 7, 64, 1 << 16])
def chunk(request, monkeypatch):
    """The same input cut at every place: a boundary must never change the result."""
    monkeypatch.setattr(jsonarray, "CHUNK", request.param)


VALUES = [
    {"a": 'quote " and \\ back'},
    {"b": ["[", "]", {"c": "}"}]},
    [1, 2],
    "s,]",
    12.5,
    -3,
    None,
    True,
    {},
]


def test_all_elements_in_order(chunk):
    for indent in (None, 2):
        for ascii_only in (True, False):
            text = json.dumps([*VALUES, {"城": "🙂"}], indent=indent, ensure_ascii=ascii_only)
            found, reasons = run(text)
            assert [value for _, value in found] == [*VALUES, {"城": "🙂"}]
            assert not reasons


def test_a_broken_element_does_not_take_its_neighbours(chunk):
    found, reasons = run('[{"n": 1}, {"n": oops, "s": "]}\\"{"}, {"n": 3}, nope, {"n": 5}]')
    assert [value["n"] for _, value in found] == [1, 3, 5]
    assert reasons == {"not valid JSON": 2}


def test_a_file_cut_off_gives_what_was_whole(chunk):
    whole = json.dumps([{"n": 1, "s": "x" * 50}, {"n": 2, "s": "y" * 50}])
    for length in range(1, len(whole)):
        found, reasons = run(whole[:length])
        assert [value["n"] for _, value in found] in ([], [1], [1, 2])
        assert sum(reasons.values()) == 1, (length, reasons)


def test_an_element_too_deep_is_passed_over():
    text = '[{"n": 1}, ' + "[" * 200_000 + "]" * 200_000 + ', {"n": 3}]'
    found, reasons = run(text)
    assert [value["n"] for _, value in found] == [1, 3]
    assert reasons == {"nested too deeply": 1}


def test_an_element_too_large_is_passed_over(monkeypatch):
    monkeypatch.setattr(jsonarray, "MAX_ELEMENT_CHARS", 200_000)
    found, reasons = run(json.dumps([{"n": 1}, {"s": "x" * 900_000}, {"n": 3}]))
    assert [value for _, value in found] == [{"n": 1}, {"n": 3}]
    assert reasons == {"larger than 200000 characters": 1}


def test_numbers_of_thousands_of_digits(chunk):
    found, reasons = run('[{"n": 1}, {"n": ' + "9" * 5000 + '}, {"n": 3}]')
    assert [value["n"] for _, value in found] == [1, 3]
    assert reasons == {"not valid JSON": 1}


def test_values_one_after_the_other(chunk):
    found, reasons = run('{"n": 1}\n\n{"n":\n 2} {"n": 3}')
    assert [value["n"] for _, value in found] == [1, 2, 3]
    assert not reasons


@pytest.mark.parametrize(
    "text", ["]", "}{", '[}, {"n": 1}]', "[1}}", '{"n": 1}]]]', "[,,]", ",", "]" * 5000]
)
def test_brackets_nobody_opened_do_not_stop_it(text, chunk):
    found, _ = run(text)
    assert all(value in ({"n": 1}, 1) for _, value in found)


def test_nothing_at_all():
    assert run("") == ([], {})
    assert run("  \n") == ([], {})
    assert run("[]") == ([], {})


def test_memory_does_not_grow_with_the_file():
    """The buffer holds about one element, whatever came before it."""

    class Endless(io.TextIOBase):
        def __init__(self):
            self.left = 400
            self.pending = "["

        def read(self, size=-1):
            while len(self.pending) < size and self.left:
                self.left -= 1
                self.pending += json.dumps({"s": "x" * 20_000}) + ("," if self.left else "]")
            piece, self.pending = self.pending[:size], self.pending[size:]
            return piece

    reader = ArrayReader(Endless(), Tally("f"))
    largest = 0
    count = 0
    for _ in reader:
        count += 1
        largest = max(largest, len(reader._buffer))
    assert count == 400
    assert largest < 300_000
