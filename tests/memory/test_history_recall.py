"""``memory.history_recall: on``: a few lines of past evidence before a turn, from elsewhere, and only when it is wanted."""

from __future__ import annotations

import pytest
from helpers import Clock

from hermes_memory_core import Memory

BUDGET = 1200
"""Characters the page for people promises at most."""


@pytest.fixture
def configure(home):
    home.mkdir(parents=True)

    def write(text: str) -> None:
        (home / "config.yaml").write_text(text, encoding="utf-8")

    write("memory: {history_recall: on}\n")
    return write


def talk(memory, *turns, **named):
    with memory.session(**named) as session:
        for user, assistant in turns:
            session.end_turn(user, assistant)
    return session.id


def recalled(memory, question, **named):
    """What one question in a new session brings, and the report of it."""
    with memory.session(**named) as session:
        turn = session.begin_turn(question)
        reports = [one for one in turn.recalls if one.provider == "sessions"]
        return turn.text, reports[0] if reports else None


FERRY = (
    "When does the ferry to Skagen leave?",
    "The ferry to Skagen leaves at nine in the morning.",
)


def test_off_is_the_default_and_brings_nothing(home):
    with Memory.open(home) as memory:
        talk(memory, FERRY)
        text, _ = recalled(memory, "which time did we say for the ferry to Skagen?")
        assert text == ""


def test_on_brings_the_evidence_with_its_date_speaker_and_reason(home, configure):
    clock = Clock(1_767_225_600.0)
    with Memory.open(home, clock=clock) as memory:
        talk(memory, FERRY)
        text, report = recalled(memory, "which time did we say for the ferry to Skagen?")
    assert "leaves at nine in the morning" in text
    line = next(line for line in text.splitlines() if "nine in the morning" in line)
    assert line.startswith(("- 2026-01-01 assistant:", "- 2025-12-31 assistant:"))
    reason = line.rpartition("[")[2].rstrip("]")
    assert "ferry" in reason or "skagen" in reason, line
    assert report.state == "fresh"
    assert report.source.endswith("past messages") or report.source == "1 past message"


@pytest.mark.parametrize("text", ["ok", "谢谢", "👍", "/new", "go on"])
def test_a_slight_message_is_not_asked_about(home, configure, text):
    with Memory.open(home) as memory:
        talk(memory, FERRY, (text, text))
        assert recalled(memory, text)[0] == ""


def test_what_this_conversation_knows_is_not_recalled_also_after_a_compression(home, configure):
    with Memory.open(home) as memory, memory.session() as session:
        session.end_turn(*FERRY)
        assert session.begin_turn("the ferry to Skagen, when?").text == ""
        session.compressed("We spoke about a ferry.")
        assert "nine in the morning" not in session.begin_turn("the ferry to Skagen, when?").text


@pytest.mark.parametrize(
    "question",
    ["compile error in the tokenizer of my lisp", "what is it that you are?", "编译器报错怎么办"],
)
def test_nothing_relevant_is_nothing_also_where_function_words_match(home, configure, question):
    with Memory.open(home) as memory:
        talk(memory, FERRY, ("What is it?", "It is what you are in the end."))
        assert recalled(memory, question)[0] == ""


def test_the_budget_holds_however_much_there_is(home, configure):
    with Memory.open(home) as memory:
        for number in range(30):
            talk(memory, (f"ferry plan {number} " + "Skagen harbour ferry " * 200, "noted " * 400))
        _, report = recalled(memory, "the ferry to Skagen harbour")
    assert 0 < report.chars <= BUDGET


def test_what_was_taken_back_does_not_return(home, configure):
    with Memory.open(home) as memory:
        with memory.session() as session:
            session.end_turn(*FERRY)
            session.rewind()
        assert recalled(memory, "which time did we say for the ferry to Skagen?")[0] == ""


def test_b22_cron_comes_after_people_and_does_not_push_them_out(home, configure):
    report = ("Report: the ferry to Skagen", "The ferry to Skagen ran without delay today.")
    with Memory.open(home) as memory:
        for _ in range(12):
            talk(memory, report, source="cron", agent_context="cron")
        talk(memory, FERRY)
        text, _ = recalled(memory, "which time did we say for the ferry to Skagen?")
        assert "nine in the morning" in text
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        people = [index for index, line in enumerate(lines) if "without delay" not in line]
        robots = [index for index, line in enumerate(lines) if "without delay" in line]
        assert not robots or max(people) < min(robots), lines


def test_where_only_cron_knows_it_is_asked(home, configure):
    with Memory.open(home) as memory:
        talk(memory, ("Report the tide", "High tide at Skagen is at 14:07."), source="cron")
        assert "14:07" in recalled(memory, "when is high tide at Skagen?")[0]


def test_each_person_recalls_only_their_own(home, configure):
    configure("memory: {history_recall: on, isolation: user}\n")
    with Memory.open(home) as memory:
        talk(memory, FERRY, source="telegram", user_id="mei")
        question = "which time did we say for the ferry to Skagen?"
        assert recalled(memory, question, source="telegram", user_id="ada")[0] == ""
        assert "nine" in recalled(memory, question, source="telegram", user_id="mei")[0]


def test_what_is_recalled_is_not_stored(home, configure):
    with Memory.open(home) as memory:
        talk(memory, FERRY)
        question = "which time did we say for the ferry to Skagen?"
        with memory.session() as session:
            turn = session.begin_turn(question)
            session.end_turn(f"{question}\n\n{turn.text}", "At nine.")
        stored = [message.content for message in memory.history.messages(session.id)]
        assert stored == [question, "At nine."]
