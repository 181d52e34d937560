"""Reported faults of area B (session store and search) once more, through an open memory as a host drives it."""

from __future__ import annotations

import json

import pytest
from helpers import Clock, instance_of, recorder

from hermes_memory_core import Memory
from hermes_memory_core.errors import TitleConflictError

DAY = 86_400.0


@pytest.fixture
def memory(home):
    with Memory.open(home) as memory:
        yield memory


def talk(memory, user, assistant="noted", **named):
    with memory.session(**named) as session:
        session.end_turn(user, assistant)
    return session.id


def search(session, query, **arguments):
    return json.loads(session.call_tool("session_search", {"query": query, **arguments}))


def test_b15_after_a_compression_the_printed_id_any_id_and_the_title_go_on(memory):
    with memory.session(title="Boats") as session:
        first = session.id
        session.end_turn("what floats?", "A boat.")
        second = session.compressed("Boats float.")
        third = session.compressed("Boats float, still.")
        session.end_turn("and ducks?", "Ducks too.")
    assert third == session.id
    for text in (first, second, third, "Boats", first[:-1]):
        with memory.resume(text) as again:
            assert again.id == third, text
            assert again.info.title == "Boats"
            assert again.turn_number == 1
    assert [record.id for record in memory.history.sessions()] == [third]


def test_b16_a_rename_that_is_blocked_names_who_blocks_it_and_how_to_free_it(memory):
    held = talk(memory, "pack the bags", title="Trip", source="telegram")
    memory.history.update_session(held, archived=True)
    with memory.session() as session:
        with pytest.raises(TitleConflictError) as caught:
            session.set_title("trip")
        assert {"session_id": held, "source": "telegram", "archived": True}.items() <= (
            caught.value.details.items()
        )
        assert held in caught.value.hint
        assert held in memory.slash("/title Trip", session)
        assert session.info.title is None


def test_b21_expired_sessions_are_ended_and_told_once_over_any_number_of_starts(home):
    clock, ends = Clock(), []

    def open_memory():
        return Memory.open(home, clock=clock, providers=[recorder()])

    with open_memory() as memory:
        sessions = [memory.session(on_exit="detach") for _ in range(3)]
        for number, session in enumerate(sessions):
            session.end_turn(f"the question {number}", "the answer")
            session.detach()
    for _ in range(3):
        clock.forward(2 * DAY)
        with open_memory() as memory:
            memory.session().end()
            assert memory.flush(4)
            ends += [what for what in instance_of(memory).seen if what[0] == "end"]
    idle = [(session_id, reason) for _, session_id, reason in ends if reason == "idle"]
    assert sorted(idle) == sorted((session.id, "idle") for session in sessions)


def test_b22_people_first_cron_behind_them_and_to_be_had_by_name(memory):
    for number in range(60):
        talk(memory, f"disk space report disk space {number}", source="cron", agent_context="cron")
    mine = talk(memory, "why is the disk space so low after the move?")
    with memory.session() as session:
        found = search(session, "disk space", limit=5)["results"]
        assert found[0]["session_id"] == mine
        assert len(found) == 5
        only = search(session, "disk space", source="cron", limit=5)["results"]
    assert {item["source"] for item in only} == {"cron"}


def test_b24_what_sub_agents_found_out_is_reached_by_one_flag_in_tool_and_api(memory):
    parent = talk(memory, "explore the folder")
    child = talk(
        memory,
        "explored the walrus folder",
        agent_context="subagent",
        parent_id=parent,
        source="cli",
    )
    with memory.session() as session:
        assert search(session, "walrus")["results"] == []
        found = search(session, "walrus", include_subagents=True)["results"]
    assert [item["session_id"] for item in found] == [child]
    assert memory.history.search("walrus") == []
    hits = memory.history.search("walrus", include_subagents=True)
    assert {hit.session_id for hit in hits} == {child}


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_b25_the_present_conversation_does_not_fill_the_window(memory, sort):
    old = {talk(memory, "the flamingo order"), talk(memory, "another flamingo order")}
    with memory.session() as session:
        for number in range(45):
            session.end_turn(f"flamingo {number}", "flamingo flamingo")
        found = search(session, "flamingo", sort=sort)["results"]
        session.compressed("Flamingos.")
        after = search(session, "flamingo", sort=sort)["results"]
    assert {item["session_id"] for item in found} == old
    assert {item["session_id"] for item in after} == old
