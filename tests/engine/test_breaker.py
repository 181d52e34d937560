from __future__ import annotations

from hermes_memory_core.engine.breaker import Breaker


def test_opens_after_five_failures_doubles_and_closes_on_a_good_probe():
    breaker = Breaker()
    now = 1000.0
    for _ in range(4):
        assert breaker.failure(now, "down") is False
        assert breaker.allow(now)
    assert breaker.failure(now, "down") is True
    assert not breaker.allow(now + 59)
    assert breaker.allow(now + 60), "one probe"
    assert not breaker.allow(now + 61), "and only one"
    breaker.failure(now + 61, "still down")
    assert not breaker.allow(now + 61 + 119)
    assert breaker.allow(now + 61 + 120)
    assert breaker.success() is True
    assert breaker.state.state == "closed"
    assert breaker.allow(now + 200)


def test_the_pause_never_grows_over_its_maximum():
    breaker = Breaker(failures=1, open_s=60, max_open_s=900)
    now = 0.0
    for _ in range(12):
        breaker.failure(now, "down")
        assert breaker.state.until - now <= 900
        now = breaker.state.until
        assert breaker.allow(now)


def test_a_rate_limit_opens_at_once_for_as_long_as_asked_but_not_longer_than_the_maximum():
    breaker = Breaker()
    assert breaker.failure(0.0, "429", pause_s=30) is True
    assert breaker.state.until == 30
    breaker = Breaker()
    breaker.failure(0.0, "429", pause_s=3600)
    assert breaker.state.until == 900


def test_one_outage_has_one_beginning():
    breaker = Breaker(failures=1)
    breaker.failure(10.0, "down")
    breaker.allow(100.0)
    breaker.failure(100.0, "down")
    assert breaker.state.opened_at == 10.0


def test_success_between_failures_starts_the_count_anew():
    breaker = Breaker()
    for _ in range(20):
        breaker.failure(0.0, "hiccup")
        breaker.success()
    assert breaker.state.state == "closed"
