"""``hermes sessions search``: grouped, de-duplicated, explained, and ids that lead on."""

from __future__ import annotations

import time

import pytest
from cli.sessions_kit import DAY, compressed, fill

from hermes_memory_core import Memory
from hermes_memory_core.cli import output
from hermes_memory_core.cli.sessions_search import group_hits, snippet_lines, wrap
from hermes_memory_core.types import Hit


def test_a_search_on_an_empty_home_says_why_there_is_nothing(hermes, home):
    ran = hermes("sessions", "search", "anything")
    assert ran.code == 0
    assert ran.out == "No conversations yet, so there is nothing to search.\n"
    assert "hermes sessions import" in ran.err


def test_nothing_found_is_not_an_empty_store(hermes, home):
    fill(home)
    ran = hermes("sessions", "search", "hippopotamus")
    assert (ran.code, ran.out) == (0, "Nothing found for hippopotamus\n")
    assert "import" not in ran.err


@pytest.mark.parametrize(
    ("question", "id_", "evidence"),
    [
        ("What did we say the trip to Lisbon may cost, what budget?", "lisbon_0001", "1,240"),
        ("预算", "kitchen_0002", "三万两千元"),
        ("v1.2.3", "deploy_0003", "is live"),
    ],
)
def test_a_question_in_ones_own_words_finds_the_turn_and_says_why(
    hermes, home, question, id_, evidence
):
    fill(home)
    ran = hermes("sessions", "search", "--json", question)
    assert ran.schema == "hermes-memory/sessions-search/1"
    best = ran.data["results"][0]
    assert best["session"]["id"] == id_
    hit = next(hit for hit in best["hits"] if evidence in hit["content"])
    assert hit["why"]
    assert hit["session_id"] == id_
    assert hit["role"] == "assistant"


def test_words_need_no_quotes_and_may_be_several_arguments(hermes, home):
    fill(home)
    one = hermes("sessions", "search", "--json", "Lisbon budget").data
    several = hermes("sessions", "search", "--json", "Lisbon", "budget").data
    assert one == several


def test_the_hint_opens_the_conversation_at_the_best_hit(hermes, home):
    fill(home)
    ran = hermes("sessions", "search", "staging")
    [command] = [line for line in ran.err.splitlines() if line.startswith("→ ")]
    arguments = command.removeprefix("→ hermes ").split()
    data = hermes(*arguments, "--json").data
    assert data["session"]["id"] == "deploy_0003"
    assert data["around"] in [message["id"] for message in data["messages"]]


def test_a_lineage_is_one_result_and_a_copied_text_comes_once(hermes, home):
    first, second = compressed(home)
    with Memory.open(home=home) as memory:
        memory.history.append(second, "user", "Where did we leave the giraffe?")
    data = hermes("sessions", "search", "--json", "giraffe garden zebra").data
    [result] = data["results"]
    texts = [(hit["role"], hit["content"]) for hit in result["hits"]]
    assert texts.count(("user", "Where did we leave the giraffe?")) == 1
    assert ("assistant", "In the garden.") in texts
    assert {hit["session_id"] for hit in result["hits"]} == {first, second}
    shown = hermes("sessions", "search", "giraffe garden zebra").out
    assert f" in {first}" in shown or f" in {second}" in shown, "where the other part is, is said"


def test_terms_are_marked_on_a_terminal_and_only_there(hermes, home):
    fill(home)
    plain = hermes("sessions", "search", "Lisbon").out
    assert "\x1b" not in plain
    assert ">>>" not in plain
    coloured = hermes("sessions", "search", "Lisbon", "--color").out
    assert "\x1b[33m\x1b[1mLisbon\x1b[0m" in coloured


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (["--source", "telegram"], set()),
        (["--source", "telegram", "--source", "cli"], {"lisbon_0001", "deploy_0003"}),
        (["--role", "assistant", "--session", "deploy"], {"deploy_0003"}),
        (["--session", "Trip to Lisbon"], {"lisbon_0001"}),
        (["--since", "10d"], {"deploy_0003"}),
        (["--until", "10d"], {"lisbon_0001"}),
        (["--title", "lisbon"], {"lisbon_0001"}),
    ],
)
def test_filters_have_the_names_of_the_api(hermes, home, filters, ids):
    fill(home)
    data = hermes("sessions", "search", "--json", "budget OR staging OR live", *filters).data
    assert {result["session"]["id"] for result in data["results"]} == ids


def test_sort_and_paging(hermes, home):
    fill(home)
    arguments = ["sessions", "search", "--json", "budget OR staging OR morning", "--role", "user"]
    newest = hermes(*arguments, "--sort", "newest").data["results"]
    assert [one["session"]["id"] for one in newest] == ["hello_0004", "deploy_0003", "lisbon_0001"]
    oldest = hermes(*arguments, "--sort", "oldest", "--limit", "1").data
    assert [one["session"]["id"] for one in oldest["results"]] == ["lisbon_0001"]
    assert oldest["more"] is True
    rest = hermes(*arguments, "--sort", "oldest", "--limit", "2", "--offset", "1").data
    assert [one["session"]["id"] for one in rest["results"]] == ["deploy_0003", "hello_0004"]
    assert rest["more"] is False


@pytest.mark.parametrize(
    "query", ['"', "AND", "((", "NEAR(", "*", "^:", "'; DROP TABLE", "🚀", "。"]
)
def test_no_query_fails_because_of_its_syntax(hermes, home, query):
    fill(home)
    ran = hermes("sessions", "search", "--json", "--", query)
    assert ran.code == 0
    assert isinstance(ran.data["results"], list)


def test_a_session_filter_that_names_nothing_is_an_error_not_an_empty_answer(hermes, home):
    fill(home)
    ran = hermes("sessions", "search", "--json", "budget", "--session", "no such")
    assert ran.code == 1
    assert ran.error["code"] == "session_not_found"


def test_b22_automated_sessions_come_last_and_are_not_left_out(hermes, home):
    now = time.time()
    with Memory.open(home=home) as memory:
        with memory.session(source="cli", session_id="person") as session:
            memory.history.append(
                session.id, "user", "The invoice check found nothing.", timestamp=now - 20 * DAY
            )
        for number in range(30):
            with memory.session(source="cron", session_id=f"cron_{number:02}") as session:
                memory.history.append(session.id, "user", "The invoice check found nothing.")
    data = hermes("sessions", "search", "--json", "invoice check", "--limit", "5").data
    sources = [result["session"]["source"] for result in data["results"]]
    assert sources[0] == "cli"
    assert "cron" in sources
    only = hermes("sessions", "search", "--json", "invoice check", "--source", "cron").data
    assert {result["session"]["source"] for result in only["results"]} == {"cron"}


def test_b24_what_sub_agents_said_is_found_when_asked_for(hermes, home):
    with Memory.open(home=home) as memory, memory.session(session_id="parent") as parent:
        parent.end_turn("Find the leak", "I will ask a helper.")
        with memory.session(
            source="subagent", session_id="child", parent_id="parent", agent_context="subagent"
        ) as child:
            child.end_turn("Look at the boiler", "The valve is loose.")
    assert hermes("sessions", "search", "--json", "valve").data["results"] == []
    data = hermes("sessions", "search", "--json", "valve", "--include-subagents").data
    assert [result["session"]["id"] for result in data["results"]] == ["child"]


def hit(message_id, session_id, content="same text", role="user"):
    return Hit(message_id, session_id, role, None, 0.0, content, content, 1.0, "terms")


def test_a_session_deleted_while_we_looked_is_left_out(home):
    fill(home)
    with Memory.open(home=home) as memory:
        groups = group_hits(memory.history, [hit(1, "gone"), hit(2, "hello_0004")])
    assert [group.record.id for group in groups] == ["hello_0004"]


def test_the_same_words_of_another_role_or_conversation_stay(home):
    fill(home)
    hits = [hit(1, "hello_0004"), hit(2, "hello_0004", role="assistant"), hit(3, "deploy_0003")]
    hits.append(hit(4, "hello_0004"))
    with Memory.open(home=home) as memory:
        groups = group_hits(memory.history, hits)
    assert [[one.message_id for one in group.hits] for group in groups] == [[1, 2], [3]]


@pytest.mark.parametrize(
    "text", ["word " * 60, "预算" * 90, "a" * 300, "🚀" * 80, "mixed 预算 " * 40]
)
@pytest.mark.parametrize("width", [1, 2, 7, 40])
def test_lines_are_never_wider_than_asked_and_lose_nothing_before_the_cut(text, width):
    lines = wrap(text, width, 10_000)
    assert all(output.cells(line) <= max(2, width) for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    few = wrap(text, width, 2)
    assert len(few) <= 2
    assert few[-1].endswith("…")


def test_a_mark_that_is_broken_over_lines_is_painted_on_both():
    first, second = snippet_lines("aaaa >>>bbbb cccc<<< dddd", 9, most=3)[:2]
    assert "bbbb" in first
    assert first.count("\x1b[0m") == second.count("\x1b[0m") == 1
    assert ">>>" not in first + second
