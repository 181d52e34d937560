"""Undone messages never come back, by any way of searching; compacted ones stay."""

from __future__ import annotations

import pytest
from hermes_memory_sessions import schema

QUERIES = [
    "kiln",
    "kil*",
    '"green kiln"',
    "kiln AND green",
    "kiln OR oven",
    "green NOT oven",
    "what about the green kiln?",
    "窑炉",
    "窑",
    "->",
    "today",
    "when did we talk today?",
]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("sort", ["relevance", "newest"])
@pytest.mark.parametrize("query", QUERIES)
def test_undone_is_never_found(shelf, query, sort, many, monkeypatch):
    if many:
        monkeypatch.setattr("hermes_memory_sessions.search.candidates.ALL_POSTINGS", 0)
    asked = shelf.say("did the green kiln 窑炉 arrive? -> today", ts=1_773_764_000.0)
    gone = shelf.say("yes, the green kiln 窑炉 -> came today", role="assistant", ts=1_773_764_001.0)
    assert gone in shelf.find(query, sort=sort)
    shelf.index.set_state([gone], schema.UNDONE)
    found = shelf.find(query, sort=sort)
    assert gone not in found
    assert asked in found


def test_undone_message_added_as_such_is_never_found(shelf):
    shelf.say("green kiln", state=schema.UNDONE)
    assert shelf.find("kiln") == []


def test_compacted_stays_and_redo_brings_back(shelf):
    id_ = shelf.say("the green kiln")
    shelf.index.set_state([id_], schema.COMPACTED)
    assert shelf.find("kiln") == [id_]
    shelf.index.set_state([id_], schema.UNDONE)
    shelf.index.set_state([id_], schema.LIVE)
    assert shelf.find("kiln") == [id_]
    assert shelf.index.check() == []


def test_undone_is_not_found_even_if_its_index_entry_was_left(shelf):
    shelf.say("the green kiln")
    shelf.db.execute("UPDATE messages SET state = ?", (schema.UNDONE,))
    assert shelf.find("kiln") == []
    assert shelf.index.check() != []


def test_what_follows_a_rewind_stands_next_to_what_stayed(shelf):
    shelf.say("which colour has the kiln?")
    gone = shelf.say("blue I think", role="assistant")
    shelf.index.set_state([gone], schema.UNDONE)
    answer = shelf.say("it is turquoise", role="assistant")
    assert answer in shelf.find("which colour has the kiln?")
