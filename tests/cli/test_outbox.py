from __future__ import annotations

from helpers import recorder

from hermes_memory_core import Memory
from hermes_memory_core.errors import ProviderRejectedError, ProviderUnavailableError


def fill(home, error):
    def sync_turn(self, session, turn):
        raise error

    with Memory.open(home, providers=[recorder(sync_turn=sync_turn)]) as memory:
        with memory.session() as session:
            for number in range(3):
                session.end_turn(f"turn {number}", "yes then")
        memory.flush(0.3)


def test_empty(hermes):
    assert "Nothing waits." in hermes("memory", "outbox").out


def test_waiting_items_are_listed(hermes, home):
    fill(home, ProviderUnavailableError("refused"))
    assert "refused" in hermes("memory", "outbox", "list").out
    data = hermes("memory", "outbox", "list", "--json").data
    assert data["pending"] == 4
    assert [item["hook"] for item in data["items"]] == ["sync_turn"] * 3 + ["end_session"]


def test_flush_ends_with_4_and_says_why_when_something_is_left(hermes, home):
    fill(home, ProviderUnavailableError("refused"))
    ran = hermes("memory", "outbox", "flush", "--timeout", "0.1", "--json")
    assert ran.code == 4
    assert ran.error["details"]["left"] == 4
    assert ran.error["details"]["errors"] == ["refused"]


def test_dead_letters_can_be_retried_and_dropped(hermes, home):
    fill(home, ProviderRejectedError("too long"))
    data = hermes("memory", "outbox", "list", "--dead", "--json").data
    assert data["dead"] == 3
    first = data["items"][0]["id"]
    assert hermes("memory", "outbox", "retry", str(first), "--json").data == {"revived": 1}
    assert hermes("memory", "outbox", "drop", "--yes", "--json").data == {"dropped": 2}
    assert hermes("memory", "outbox", "list", "--json").data["pending"] == 1
    with Memory.open(home) as memory:
        assert memory.history.stats()["messages"] == 6, "the conversation stays"
