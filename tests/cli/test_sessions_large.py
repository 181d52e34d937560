"""Every reading command on a history of 10,000 messages: it works, and it shows a page, not everything."""

from __future__ import annotations

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.types import Message

SESSIONS = 100
EACH = 100


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A home with 100 conversations of 100 messages each."""
    home = tmp_path_factory.mktemp("large") / "home"
    with Memory.open(home=home) as memory:
        for session in range(SESSIONS):
            begin = 1_700_000_000.0 + session * 86_400
            memory.history.append_many(
                f"talk_{session:03}",
                [
                    Message(
                        "user" if number % 2 == 0 else "assistant",
                        f"Line {number} of talk {session}: the harbour was quiet, 港口很安静.",
                        timestamp=begin + number,
                    )
                    for number in range(EACH)
                ],
            )
        memory.history.append("talk_050", "user", "Only here: the walrus sang.", timestamp=1.75e9)
        memory.history.flush()
    return home


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "talk_050", "--limit", "20"],
        ["search", "walrus"],
        ["search", "harbour quiet"],
        ["search", "港口"],
        ["stats"],
        ["check"],
        ["prune", "--dry-run", "--include-open"],
        ["browse"],
    ],
    ids=" ".join,
)
def test_reading_ten_thousand_messages(hermes, large, arguments):
    ran = hermes("--home", str(large), "sessions", *arguments)
    assert ran.code == 0, ran.err
    assert ran.out
    assert len(ran.out.splitlines()) < 150, "a page, not everything"


@pytest.mark.timeout(60)
def test_numbers_and_the_one_line_among_ten_thousand(hermes, large):
    home = ["--home", str(large), "sessions"]
    data = hermes(*home, "stats", "--json").data
    assert (data["sessions"], data["messages"]) == (SESSIONS, SESSIONS * EACH + 1)
    [result] = hermes(*home, "search", "walrus", "--json").data["results"]
    assert result["session"]["id"] == "talk_050"
    many = hermes(*home, "search", "harbour", "--json").data
    assert (many["count"], many["more"]) == (20, True)


@pytest.mark.timeout(60)
def test_ten_thousand_messages_go_out_and_in_again(hermes, large, tmp_path):
    out = tmp_path / "all.jsonl"
    assert hermes("--home", str(large), "sessions", "export", str(out)).code == 0
    other = ["--home", str(tmp_path / "other"), "sessions"]
    data = hermes(*other, "import", str(out), "--json").data
    assert (data["imported"], data["messages"]) == (SESSIONS, SESSIONS * EACH + 1)
    assert hermes(*other, "stats", "--json").data["messages"] == SESSIONS * EACH + 1
