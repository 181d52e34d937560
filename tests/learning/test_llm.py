"""A host's model of any shape: an object, a function, one that hangs, raises, or is none."""

from __future__ import annotations

import threading

import pytest
from helpers import eventually

from hermes_memory_core import Memory
from hermes_memory_core.errors import UsageError
from hermes_memory_core.learning.llm import IN_FLIGHT, Asker, ModelFailure, as_llm
from hermes_memory_core.testing import FakeLLM

MESSAGES = [{"role": "user", "content": "name it"}]


def ask(llm, timeout_s=2.0):
    return Asker(as_llm(llm)).ask(MESSAGES, task="title", max_tokens=9, timeout_s=timeout_s)


def test_an_object_is_taken_as_it_is():
    model = FakeLLM("Trip")
    assert as_llm(model) is model
    assert as_llm(None) is None
    assert ask(model) == "Trip"
    assert model.asked == [("title", tuple(MESSAGES))]


@pytest.mark.parametrize(
    "function",
    [
        lambda messages: f"{messages[0]['content']} - -",
        lambda messages, task: f"{messages[0]['content']} {task} -",
        lambda messages, *, max_tokens, task="": f"{messages[0]['content']} {task} {max_tokens}",
        lambda messages, **named: f"{messages[0]['content']} {named['task']} {named['max_tokens']}",
    ],
)
def test_a_function_gets_the_messages_and_what_else_it_takes(function):
    text, task, tokens = ask(function).rsplit(" ", 2)
    assert text == "name it"
    assert task in ("title", "-")
    assert tokens in ("9", "-")


def test_a_callable_without_a_signature_gets_the_messages():
    with pytest.raises(ModelFailure, match="list"):
        ask(list)


async def later(messages):
    return "never"


@pytest.mark.parametrize(
    "wrong", [3, "gpt", object(), later, type("Late", (), {"complete": later})()]
)
def test_what_cannot_be_asked_is_refused_at_open(home, wrong):
    with pytest.raises(UsageError) as caught:
        Memory.open(home, llm=wrong)
    assert "llm" in caught.value.message
    assert caught.value.hint


def raising(error):
    def complete(_messages):
        raise error

    return complete


@pytest.mark.parametrize(
    ("llm", "why"),
    [
        (raising(ValueError("no credit")), "ValueError: no credit"),
        (raising(SystemExit(3)), "SystemExit"),
        (lambda _messages: None, "NoneType"),
        (lambda _messages: {"text": "x"}, "dict"),
    ],
)
def test_every_failure_has_a_reason(llm, why):
    with pytest.raises(ModelFailure, match=why):
        ask(llm)


def test_one_that_hangs_is_left_behind_and_few_of_them_block_the_rest():
    leave = threading.Event()
    asker = Asker(as_llm(lambda _messages: leave.wait(30) and "late"))
    for _ in range(IN_FLIGHT):
        with pytest.raises(ModelFailure, match="no answer"):
            asker.ask(MESSAGES, task="title", max_tokens=9, timeout_s=0.01)
    with pytest.raises(ModelFailure, match="not been answered"):
        asker.ask(MESSAGES, task="title", max_tokens=9, timeout_s=0.01)
    leave.set()

    def answers_again():
        try:
            return asker.ask(MESSAGES, task="title", max_tokens=9, timeout_s=1) == "late"
        except ModelFailure:
            return False

    eventually(answers_again)


def test_a_provider_gets_the_adapted_model(home):
    from helpers import instance_of, recorder

    with Memory.open(home, llm=lambda _messages: "Trip", providers=[recorder()]) as memory:
        assert instance_of(memory).context.llm.complete(MESSAGES, task="any") == "Trip"
