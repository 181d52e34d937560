from __future__ import annotations

import logging
import threading
import time

import pluggy
import pytest
from helpers import Clock, eventually, provider_class

from hermes_memory_core.engine.breaker import Breaker
from hermes_memory_core.engine.calls import Provider, is_retryable
from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderUnavailableError,
)
from hermes_memory_core.hookspecs import PROJECT, ProviderSpec
from hermes_memory_core.plugins.load import Loaded
from hermes_memory_core.plugins.validate import validate


@pytest.fixture
def manager():
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(ProviderSpec)
    return manager


def make(
    manager, *, built_in=False, clock=None, on_change=None, single_thread=False, name="p", **hooks
):
    instance = provider_class(name, **hooks)(None)
    loaded = Loaded(name, "dist", "1", instance, validate(instance, name), built_in, single_thread)
    breaker = None if built_in else Breaker()
    return Provider(loaded, manager, clock or Clock(), breaker=breaker, on_change=on_change)


def test_an_answer_a_nothing_and_a_failure_can_be_told_apart(manager):
    def query(self, session, query):
        if query == "fail":
            raise ValueError("broken")
        return query or None

    provider = make(manager, prefetch=query)

    def ask(text):
        return provider.call("prefetch", 1, session=None, query=text, turn_number=1, deadline=0.0)

    assert ask("found").value == "found"
    nothing = ask("")
    assert nothing.ok
    assert nothing.value is None
    failed = ask("fail")
    assert not failed.ok
    assert failed.state == "failed"
    assert isinstance(failed.error, ValueError)
    assert provider.call("health", 1).state == "absent"


@pytest.mark.parametrize("built_in", [True, False])
@pytest.mark.parametrize("error", [SystemExit(1), GeneratorExit(), ValueError("x"), KeyError("y")])
def test_nothing_a_provider_raises_passes_the_guard(manager, built_in, error):
    def health(self):
        raise error

    outcome = make(manager, built_in=built_in, health=health).call("health", 1)
    assert outcome.state == "failed"
    assert outcome.error is error


def test_ctrl_c_passes_the_guard_of_a_built_in(manager):
    def health(self):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(manager, built_in=True, health=health).call("health", 1)


def test_the_deadline_wins_and_four_hung_calls_are_busy(manager):
    release = threading.Event()

    def health(self):
        release.wait(5)

    provider = make(manager, health=health)
    began = time.monotonic()
    outcomes = [provider.call("health", 0.02).state for _ in range(6)]
    assert time.monotonic() - began < 1
    assert outcomes == ["timeout"] * 4 + ["busy"] * 2
    release.set()
    eventually(lambda: provider.call("health", 0.5, probe=True).ok)


def test_each_provider_is_called_alone(manager):
    calls = []
    first = make(manager, name="first", health=lambda self: calls.append("first"))
    second = make(manager, name="second", health=lambda self: calls.append("second"))
    first.peers_changed()
    first.call("health", 1)
    assert calls == ["first"]
    second.call("health", 1)
    assert calls == ["first", "second"]


def test_one_dedicated_thread(manager):
    seen = set()

    def health(self):
        seen.add(threading.get_ident())

    provider = make(manager, single_thread=True, health=health)
    for _ in range(10):
        assert provider.call("health", 1).ok
    assert len(seen) == 1
    assert threading.get_ident() not in seen


def test_a_streak_is_logged_once(manager, caplog):
    def health(self):
        raise ProviderUnavailableError("refused", hint="start it")

    provider = make(manager, health=health)
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            provider.call("health", 1)
    assert sum("refused" in record.getMessage() for record in caplog.records) == 1


def test_the_breaker_is_told_what_matters(manager):
    errors = [ProviderRejectedError("no")] * 10
    clock = Clock()
    changes = []

    def health(self):
        error = errors.pop(0)
        if error is not None:
            raise error

    provider = make(
        manager, clock=clock, on_change=lambda _p, opened: changes.append(opened), health=health
    )
    for _ in range(10):
        provider.call("health", 1)
    assert provider.breaker.state.state == "closed", "a rejection is an answer"
    errors[:] = [ProviderRateLimitError("slow", details={"retry_after_s": 7}), None]
    provider.call("health", 1)
    assert provider.breaker.state.until == clock.now + 7
    assert provider.call("health", 1).state == "open"
    clock.forward(8)
    assert provider.call("health", 1).ok
    assert changes == [True, False]
    errors[:] = [ProviderAuthError("401"), None]
    provider.call("health", 1)
    assert provider.breaker.state.until == clock.now + 900


def test_cast_counts_when_it_ends(manager):
    release = threading.Event()

    def start_session(self, session):
        release.wait(5)
        raise ProviderUnavailableError("down")

    provider = make(manager, start_session=start_session)
    assert provider.cast("start_session", session=None, reason="new", previous=None)
    release.set()
    eventually(
        lambda: (
            provider.figures.get("start_session")
            and provider.figures["start_session"].failures == 1
        )
    )


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ProviderUnavailableError("x"), True),
        (ProviderRejectedError("x"), False),
        (ConnectionRefusedError(), True),
        (TimeoutError(), True),
        (TypeError("a bug"), None),
    ],
)
def test_retryable(error, answer):
    assert is_retryable(error) is answer
