"""The five tools against the stub."""

import pytest
from hermes_memory_honcho import tools
from rig import call, recall, session, settle, user_scope


@pytest.fixture
def taught(rig):
    one = rig.provider()
    for text in ("I like green tea.", "My boat is called Marie.", "The office moved to Lyon."):
        one.sync_turn(session(), rig.turn(session(), text))
    other = session("s2")
    one.sync_turn(other, rig.turn(other, "The dog is called Bello."))
    return one


def test_search_finds_what_newer_batches_and_other_sessions_hide(taught, rig):
    assert "green tea" in call(taught, session(), "honcho_search", query="green tea")["result"]
    assert "Marie" in call(taught, session("s2"), "honcho_search", query="boat called")["result"]
    assert "Bello" in call(taught, session(), "honcho_search", query="dog")["result"]
    # the server's own perspective search is blind to all but the newest batch: that is why
    server = taught.parts.server
    blind = server.sdk.search("green tea", filters={"peer_perspective": "user"})
    assert blind == []


def test_search_finds_conclusions_and_respects_its_budget(taught):
    call(taught, session(), "honcho_conclude", conclusion="Allergic to nuts")
    assert (
        "[conclusion] Allergic to nuts"
        in call(taught, session(), "honcho_search", query="nuts")["result"]
    )
    for tokens, longest in ((1, 200), (100, 400), (99_999, 8000)):
        answer = call(
            taught, session(), "honcho_search", query="called tea boat", max_tokens=tokens
        )
        assert len(answer["result"]) <= longest


def test_search_that_finds_nothing_says_so(rig):
    answer = call(rig.provider(), session(), "honcho_search", query="anything")
    assert answer["ok"]
    assert answer["found"] == 0


def test_cards(taught):
    empty = call(taught, session(), "honcho_profile")
    assert empty["ok"]
    assert "hint" in empty
    written = call(taught, session(), "honcho_profile", card=["Name: Ada", " ", "Likes tea"])
    assert written["card"] == ["Name: Ada", "Likes tea"]
    assert call(taught, session(), "honcho_profile")["result"] == ["Name: Ada", "Likes tea"]
    assert not call(taught, session(), "honcho_profile", card=["x"] * 41)["ok"]
    assert not call(taught, session(), "honcho_profile", card="Name: Ada")["ok"]
    unobserved = call(taught, session(), "honcho_profile", peer="nobody")
    assert "no card" in unobserved["result"]


def test_context_is_one_call(taught, rig):
    with rig.stub.counting() as asked:
        answer = call(taught, session(), "honcho_context", query="tea")
    assert len(asked) == 1
    assert any("Lyon" in line for line in answer["result"]["recent_messages"])
    assert "green tea" in answer["result"]["representation"]
    assert len(answer["result"]["recent_messages"]) == 5


def test_reasoning_levels(taught, rig):
    def level(**arguments):
        with rig.stub.counting() as asked:
            call(taught, session(), "honcho_reasoning", **arguments)
        return asked[-1].body["reasoning_level"]

    assert level(query="who?") == "low"
    assert level(query="who?", reasoning_level="max") == "max"
    assert level(query="w" * 500) == "high"
    assert not call(taught, session(), "honcho_reasoning", query="who?", reasoning_level="deep")[
        "ok"
    ]
    plain = rig.provider(dialectic_dynamic=False)
    with rig.stub.counting() as asked:
        call(plain, session(), "honcho_reasoning", query="w" * 500, reasoning_level="max")
    assert asked[-1].body["reasoning_level"] == "low"


def test_reasoning_answers_are_whole_and_postpone_the_next_question(taught, rig):
    rig.stub.state.chat_answer = "A long answer. " * 200
    recall(taught, session(), turn=1)
    settle(taught, session())
    recall(taught, session(), turn=2)
    assert len(call(taught, session(), "honcho_reasoning", query="who?")["result"]) > 2900
    with rig.stub.counting() as asked:
        taught.queue_prefetch(session(), "go", 2)
        settle(taught, session())
    assert [one for one in asked if one.route.endswith("/chat")] == []


def test_conclusions(taught):
    made = call(taught, session(), "honcho_conclude", conclusion="Allergic to nuts")
    (ident,) = made["ids"]
    listed = call(taught, session(), "honcho_conclude", list=True)["conclusions"]
    assert {"id": ident, "content": "Allergic to nuts"} in listed
    near = call(taught, session(), "honcho_conclude", list=True, query="nuts allergic")[
        "conclusions"
    ]
    assert near[0]["id"] == ident
    assert call(taught, session(), "honcho_conclude", delete_id=ident)["ok"]
    assert not call(taught, session(), "honcho_conclude", delete_id=ident)["ok"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"conclusion": "x", "list": True},
        {"conclusion": "x", "delete_id": "y"},
        {"conclusion": "x", "query": "y"},
        {"list": False},
        {"delete_id": "../peers"},
        {"conclusion": 7},
    ],
)
def test_wrong_combinations_are_answered(rig, arguments):
    answer = call(rig.provider(), session(), "honcho_conclude", **arguments)
    assert not answer["ok"]
    assert answer["error"]
    assert rig.stub.messages() == rig.stub.state.all_conclusions() == []


@pytest.mark.parametrize("name", ["honcho_search", "honcho_reasoning"])
@pytest.mark.parametrize("query", [None, "", "  ", 7, ["tea"]])
def test_a_missing_query_is_answered_without_a_call(rig, name, query):
    answer = call(rig.provider(), session(), name, query=query)
    assert not answer["ok"]
    assert rig.stub.asked == []


def test_unknown_tools_and_peers(rig):
    assert not call(rig.provider(), session(), "honcho_dream")["ok"]
    assert not call(rig.provider(), session(), "honcho_profile", peer="a/../b")["ok"]


def test_tools_still_write_when_saving_is_off(rig):
    one = rig.provider(save_messages=False)
    assert call(one, session(), "honcho_conclude", conclusion="Likes tea")["ok"]
    assert len(rig.stub.state.all_conclusions()) == 1


def test_a_sub_agent_may_look_and_not_write(taught):
    helper = session("h", agent_context="subagent")
    assert call(taught, helper, "honcho_search", query="tea")["ok"]
    assert not call(taught, helper, "honcho_conclude", conclusion="x")["ok"]
    assert not call(taught, helper, "honcho_profile", card=["x"])["ok"]


def test_a_stranger_asks_about_nobody_else(rig):
    one = rig.provider(peer_name="ada")
    owner, guest = session("o"), session("g", user_id="42", chat_id="7", source="telegram")
    one.sync_turn(owner, rig.turn(owner, "The vendor quote is 900."))
    one.sync_turn(guest, rig.turn(guest, "Hello, I am Bo."))
    for name, arguments in (
        ("honcho_profile", {"peer": "ada"}),
        ("honcho_search", {"query": "quote", "peer": "ada"}),
        ("honcho_search", {"query": "quote", "peer": "ai"}),
        ("honcho_reasoning", {"query": "the quote?", "peer": "ada"}),
        ("honcho_conclude", {"list": True, "peer": "ada"}),
        ("honcho_context", {"peer": "ada"}),
    ):
        answer = call(one, guest, name, **arguments)
        assert not answer["ok"], name
    for name in ("honcho_search", "honcho_reasoning"):
        assert "900" not in str(call(one, guest, name, query="the vendor quote")), name
    secret = rig.stub.state.all_conclusions()[0]["id"]
    assert not call(one, guest, "honcho_conclude", delete_id=secret)["ok"]
    assert "900" in call(one, owner, "honcho_search", query="vendor quote")["result"]


def test_scopes_find_only_their_own(rig):
    one = rig.provider()
    ada, bo = session("a", **user_scope("ada")), session("b", **user_scope("bo"))
    one.sync_turn(ada, rig.turn(ada, "My safe opens with 4711."))
    one.sync_turn(bo, rig.turn(bo, "My safe is red."))
    assert "4711" in call(one, ada, "honcho_search", query="safe opens")["result"]
    for name in ("honcho_search", "honcho_reasoning"):
        assert "4711" not in str(call(one, bo, name, query="safe opens"))


def test_the_guide_names_the_tools_there_are():
    for name in (tool.name for tool in tools.SPECS):
        assert name in tools.GUIDE["hybrid"]
        assert name in tools.GUIDE["tools"]
        assert name not in tools.GUIDE["context"]
