"""Automatic titles through an open memory: when, by whom, never over a person's, never in a turn's way."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time

import pytest
from helpers import eventually, instance_of, recorder
from hermes_memory_sessions import History

from hermes_memory_core import Memory
from hermes_memory_core.errors import StoreFullError
from hermes_memory_core.testing import FakeLLM

QUESTION = "Can you help me plan a trip to Lisbon?"
PLAIN = "Plan a trip to Lisbon"


@pytest.fixture
def told():
    return []


@pytest.fixture
def open_memory(home, told):
    opened = []

    def make(**named):
        memory = Memory.open(home, notify=told.append, **named)
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()


def title(memory, session):
    """The stored title, once nothing is being named any more."""
    assert memory._titles.wait(4)
    return memory.history.session(session.id).title


def off(home):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("auxiliary: {title_generation: {enabled: false}}\n")


# ---------------------------------------------------------------- when


def test_the_first_exchange_names_the_conversation(open_memory):
    memory = open_memory()
    with memory.session() as session:
        assert session.info.title is None
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
        assert session.info.title == PLAIN
        session.end_turn("And a hotel in Porto, please", "Done.")
        assert title(memory, session) == PLAIN
    assert [record.title for record in memory.history.sessions()] == [PLAIN]
    assert memory.resume(PLAIN).id == session.id


def test_a_greeting_waits_for_the_second_exchange_and_no_longer(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn("hello!", "Hello, how can I help?")
        assert title(memory, session) is None
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
    with memory.session() as other:
        for text in ("hi", "👍", QUESTION):
            other.end_turn(text, "ok")
        assert title(memory, other) is None


def test_where_the_person_says_nothing_the_answer_names_it(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn("👍", "ok")
        session.end_turn("…", "The ferry to Skagen leaves at nine.")
        assert title(memory, session) == "The ferry to Skagen leaves at nine"


def test_off_means_off_also_with_a_model(home, open_memory):
    off(home)
    model = FakeLLM("Lisbon")
    memory = open_memory(llm=model)
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) is None
    assert model.asked == []


@pytest.mark.parametrize(
    "named",
    [
        {"source": "cron"},
        {"source": "tool"},
        {"source": "subagent"},
        {"agent_context": "cron"},
        {"agent_context": "subagent"},
        {"agent_context": "review"},
        {"agent_context": "flush"},
    ],
)
def test_what_ran_by_itself_gets_no_name(open_memory, named):
    memory = open_memory(llm=FakeLLM("Lisbon"))
    with memory.session(**named) as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) is None


@pytest.mark.parametrize("source", ["cli", "telegram", "mcp", "api_server"])
def test_every_place_a_person_talks_in_is_named(open_memory, source):
    memory = open_memory()
    with memory.session(source=source, user_id="u") as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN


def test_an_interrupted_turn_names_nothing(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn(QUESTION, "With", interrupted=True)
        assert title(memory, session) is None


def test_with_history_off_nothing_is_tried(home, open_memory):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("memory: {history_enabled: false}\n")
    model = FakeLLM("Lisbon")
    memory = open_memory(llm=model)
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert memory._titles.wait(2)
    assert model.asked == []


# ---------------------------------------------------------------- by whom


def test_a_persons_title_stands_before_and_after(open_memory):
    memory = open_memory(llm=FakeLLM("Lisbon"))
    with memory.session(title="Mine") as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == "Mine"
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == "Lisbon"
        assert memory.slash("/title Our holiday", session) == "Title: Our holiday"
        assert memory.slash("/title", session) == "Our holiday"
        session.end_turn("And a hotel", "Done.")
        assert title(memory, session) == "Our holiday"


def test_a_title_a_person_took_away_does_not_come_back(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
        session.set_title("")
        session.end_turn("And a hotel in Porto, please", "Done.")
        assert title(memory, session) is None
        assert session.info.title is None


def test_a_person_who_names_it_while_the_model_thinks_is_right(open_memory):
    asked, answer = threading.Event(), threading.Event()

    def slow(_messages):
        asked.set()
        answer.wait(5)
        return "Lisbon"

    memory = open_memory(llm=slow)
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert asked.wait(2)
        # as `hermes sessions rename` of another process does it
        memory.history.set_title(session.id, "Mine")
        answer.set()
        assert title(memory, session) == "Mine"
        assert session.info.title == "Mine"


def test_of_two_conversations_with_one_name_the_second_gets_a_number(open_memory):
    memory = open_memory()
    names = []
    for _ in range(3):
        with memory.session() as session:
            session.end_turn(QUESTION, "With pleasure.")
            names.append(title(memory, session))
    assert names == [PLAIN, f"{PLAIN} #2", f"{PLAIN} #3"]


def test_a_secret_never_becomes_a_title(open_memory, home):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    memory = open_memory(llm=FakeLLM(f"Deploy with {token}"))
    with memory.session() as session:
        session.end_turn(f"Deploy with {token} to the build server", "Done.")
        found = title(memory, session)
    assert token not in found
    assert "redacted" not in found
    assert not any(
        token.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file()
    )


# ---------------------------------------------------------------- the model


def test_the_model_is_asked_once_about_both_sides_and_its_answer_cleaned(open_memory, told):
    model = FakeLLM('<think>hm</think>\nTitle: "Lisbon in May"')
    memory = open_memory(llm=model)
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure: Alfama first.")
        assert title(memory, session) == "Lisbon in May"
        session.end_turn("And a hotel", "Done.")
        memory._titles.wait(2)
    ((task, messages),) = model.asked
    assert task == "title"
    assert QUESTION in messages[-1]["content"]
    assert "Alfama" in messages[-1]["content"]
    assert told == []


KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def broken(_messages):
    raise RuntimeError(f"no credit left\nfor key {KEY}")


@pytest.mark.parametrize("llm", [broken, lambda _messages: "", lambda _messages: "<think>hm"])
def test_a_failure_is_told_once_and_the_text_names_it(open_memory, told, llm):
    memory = open_memory(llm=llm)
    for number in (1, 2):
        with memory.session() as session:
            assert session.end_turn(QUESTION, "With pleasure.").error is None
            assert title(memory, session) == (PLAIN if number == 1 else f"{PLAIN} #2")
    assert [notice.code for notice in told] == ["auto_title_failed"]
    assert KEY not in told[0].message
    assert "\n" not in told[0].message
    assert "auxiliary.title_generation.enabled" in told[0].hint


def test_a_model_that_hangs_is_given_up_after_its_time(home, open_memory, told):
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("auxiliary: {title_generation: {timeout: 0.05}}\n")
    leave = threading.Event()
    memory = open_memory(llm=lambda _messages: leave.wait(20) and "late")
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
    assert "no answer in 0.05 s" in told[0].message
    leave.set()


def test_a_turn_does_not_wait_for_the_model(open_memory):
    leave = threading.Event()
    memory = open_memory(llm=lambda _messages: leave.wait(20) and "Lisbon")
    with memory.session() as session:
        assert session.end_turn(QUESTION, "With pleasure.").saved
        assert session.end_turn("And a hotel", "Done.").saved  # while it still thinks
        assert session.info.title is None
        leave.set()
        assert title(memory, session) == "Lisbon"


def test_closing_does_not_wait_and_leaves_a_name(home, open_memory):
    leave = threading.Event()
    memory = open_memory(llm=lambda _messages: leave.wait(20) and "Lisbon")
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
    memory.close()
    again = open_memory()
    assert again.history.session(session.id).title == PLAIN
    leave.set()
    time.sleep(0.05)
    assert again.history.session(session.id).title == PLAIN


@pytest.mark.process
def test_a_model_that_never_answers_does_not_hold_the_interpreter(home):
    code = textwrap.dedent(
        """
        import time
        from hermes_memory_core import Memory
        memory = Memory.open(llm=lambda messages: time.sleep(600))
        session = memory.session()
        session.end_turn("Can you help me plan a trip to Lisbon?", "With pleasure.")
        """
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=30, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Memory.open(home) as memory:
        assert [record.title for record in memory.history.sessions()] == [PLAIN]


def test_a_store_that_cannot_write_is_told_and_the_turn_is_saved(open_memory, told, monkeypatch):
    def full(self, session_id, title, **named):
        raise StoreFullError("There is no room on the disk.", hint="make room")

    monkeypatch.setattr(History, "set_title", full)
    memory = open_memory()
    with memory.session() as session:
        assert session.end_turn(QUESTION, "With pleasure.").saved
        assert title(memory, session) is None
    assert [notice.code for notice in told] == ["auto_title_not_saved"]


def test_a_session_deleted_meanwhile_is_no_error_and_does_not_come_back(open_memory, told):
    leave = threading.Event()
    memory = open_memory(llm=lambda _messages: leave.wait(20) and "Lisbon")
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
    memory.history.delete_sessions([session.id])
    leave.set()
    assert memory._titles.wait(4)
    assert memory.history.session(session.id) is None
    assert told == []


def test_what_is_forgotten_while_the_model_thinks_is_no_title(open_memory):
    asked, leave = threading.Event(), threading.Event()

    def slow(_messages):
        asked.set()
        leave.wait(20)
        return "Lisbon"

    memory = open_memory(llm=slow)
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert asked.wait(2)
        memory.forget("Lisbon", dry_run=False)
        leave.set()
        time.sleep(0.05)
        assert title(memory, session) is None
        assert session.info.title is None


def test_forgetting_takes_an_automatic_title_away(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
        memory.forget("Lisbon", dry_run=False)
        assert session.info.title is None


# ---------------------------------------------------------------- on the way on


def test_a_compression_takes_the_name_along_a_branch_and_a_reset_do_not(open_memory):
    memory = open_memory()
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
        child = session.compressed("We plan a trip.")
        assert session.info.title == PLAIN
        assert memory.history.session(child).title == PLAIN
        assert [record.title for record in memory.history.sessions()] == [PLAIN]
        session.branch()
        assert session.info.title is None
        session.end_turn("Bake sourdough bread at home", "Flour first.")
        assert title(memory, session) == "Bake sourdough bread at home"
        session.reset()
        assert session.info.title is None


def test_a_compression_while_the_model_thinks_names_what_goes_on(open_memory):
    leave = threading.Event()
    memory = open_memory(llm=lambda _messages: leave.wait(20) and "Lisbon")
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        session.compressed("We plan a trip.")
        leave.set()
        assert title(memory, session) == "Lisbon"
        assert session.info.title == "Lisbon"
        assert [record.title for record in memory.history.sessions()] == ["Lisbon"]


def test_another_memory_that_takes_a_detached_session_over_knows_its_name(open_memory):
    first = open_memory()
    with first.session(on_exit="detach") as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(first, session) == PLAIN
    second = open_memory()
    with second.session(session_id=session.id) as taken:
        assert taken.info.title == PLAIN
        taken.end_turn("Bake sourdough bread", "Flour first.")
        assert title(second, taken) == PLAIN


def test_g18_what_providers_see_does_not_change_its_name_in_the_middle(open_memory):
    """A provider may name its own session by the title: only a person changes it while the session goes on."""
    seen = []

    def sync_turn(self, session, turn):
        seen.append(session.title)

    memory = open_memory(providers=[recorder(sync_turn=sync_turn)])
    with memory.session() as session:
        session.end_turn(QUESTION, "With pleasure.")
        assert title(memory, session) == PLAIN
        session.end_turn("And a hotel", "Done.")
        assert memory.flush(4)
        assert seen == [None, None]
        session.set_title("Our holiday")
        session.end_turn("And a car", "Done.")
        assert memory.flush(4)
        assert seen == [None, None, "Our holiday"]
    assert instance_of(memory).seen[0][0] == "start"


def test_g18_a_session_that_was_given_a_name_keeps_it_for_providers(open_memory):
    seen = []

    def sync_turn(self, session, turn):
        seen.append(session.title)

    memory = open_memory(providers=[recorder(sync_turn=sync_turn)], llm=FakeLLM("Lisbon"))
    with memory.session(title="workspace-7") as session:
        for _ in range(3):
            session.end_turn(QUESTION, "With pleasure.")
        memory._titles.wait(2)
        assert memory.flush(4)
    assert seen == ["workspace-7"] * 3


def test_many_conversations_at_once_are_all_named(open_memory):
    memory = open_memory(llm=FakeLLM("Lisbon"))
    sessions = [memory.session() for _ in range(12)]
    threads = [
        threading.Thread(target=session.end_turn, args=(f"{QUESTION} {number}", "Yes."))
        for number, session in enumerate(sessions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory._titles.wait(10)
    eventually(lambda: all(session.info.title for session in sessions))
    assert len({session.info.title for session in sessions}) == 12


def test_a_second_turn_that_comes_while_a_greeting_is_judged_names_the_conversation(
    open_memory, monkeypatch
):
    from hermes_memory_core.learning.titles import AutoTitles

    memory = open_memory()
    plain, judged = AutoTitles._plain, []

    def slow(self, turns):
        found = plain(self, turns)
        judged.append(len(turns))
        if len(judged) == 1:
            session.end_turn(QUESTION, "With pleasure.")
        return found

    monkeypatch.setattr(AutoTitles, "_plain", slow)
    with memory.session() as session:
        session.end_turn("hello!", "Hello, how can I help?")
        assert title(memory, session) == PLAIN
    assert judged == [1, 2]
