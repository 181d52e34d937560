"""Separate people: every way one person's session could read another's, tried."""

from __future__ import annotations

import json
import threading

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.errors import (
    NoteNotFoundError,
    ScopeRequired,
    SessionNotFoundError,
    UsageError,
)
from hermes_memory_core.types import PROFILE_SCOPE, Origin, Scope
from tests.helpers import Clock, eventually, provider_class, recorder

SECRET = "Quokkazebra"
REVIEW = Origin(who="review", attended=False)


def settings(home, text):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(text)


WHO = {
    "user": ({"user_id": "anna"}, {"user_id": "ben"}),
    "chat": ({"chat_id": "dm-anna"}, {"chat_id": "group"}),
}


@pytest.fixture(params=["user", "chat"])
def two(request, home):
    """A memory with isolation on, and how to open a session for each of two people (or chats)."""
    settings(home, f"memory:\n  isolation: {request.param}\n  history_recall: on\n")
    anna, ben = WHO[request.param]
    with Memory.open(clock=Clock()) as memory:
        with memory.session("telegram", "s-anna", title="Anna's plan", **anna) as session:
            memory.notes.add("user", f"{SECRET} is allergic", scope=session.info.scope)
            assert json.loads(
                session.call_tool(
                    "memory",
                    {"action": "add", "target": "memory", "content": f"Ask {SECRET} first"},
                )
            )["success"]
            session.end_turn(f"My password hint is {SECRET}", f"Noted, {SECRET}.")
            memory.notes.remove(
                "memory", f"Ask {SECRET} first", scope=session.info.scope, origin=REVIEW
            )
        yield memory, anna, ben


def tool(session, name, **arguments):
    return session.call_tool(name, arguments)


READS = {
    "prompt": lambda _memory, session: session.system_prompt(),
    "tool read memory": lambda _memory, session: tool(
        session, "memory", action="read", target="memory"
    ),
    "tool read user": lambda _memory, session: tool(
        session, "memory", action="read", target="user"
    ),
    "tool error echo": lambda _memory, session: tool(
        session, "memory", action="remove", target="user", old_text="allergic"
    ),
    "search": lambda _memory, session: tool(session, "session_search", query=f"{SECRET} hint"),
    "search inside": lambda _memory, session: tool(
        session, "session_search", query="password", session_id="s-anna"
    ),
    "browse": lambda _memory, session: tool(session, "session_search"),
    "read by id": lambda _memory, session: tool(session, "session_search", session_id="s-anna"),
    "read by title": lambda _memory, session: tool(
        session, "session_search", session_id="Anna's plan"
    ),
    "scroll": lambda memory, session: tool(
        session,
        "session_search",
        session_id="s-anna",
        around_message_id=memory.history.messages("s-anna")[0].id,
    ),
    "recall": lambda _memory, session: session.begin_turn(f"what is {SECRET}'s hint?").text,
    "history.search": lambda memory, session: str(
        memory.history.search("password hint", scope=session.info.scope)
    ),
    "history.sessions": lambda memory, session: str(
        memory.history.sessions(scope=session.info.scope)
    ),
    "notes.list": lambda memory, session: str(memory.notes.list(scope=session.info.scope)),
    "notes.log": lambda memory, session: str(memory.notes.log(scope=session.info.scope)),
    "notes.snapshot": lambda memory, session: memory.notes.snapshot(scope=session.info.scope),
    "pending": lambda memory, session: str(memory.pending.list(scope=session.info.scope)),
    "forget preview": lambda memory, session: str(memory.forget(SECRET, scope=session.info.scope)),
    **{
        command: lambda memory, session, command=command: memory.slash(command, session)
        for command in (
            "/memory",
            "/memory list",
            "/memory log",
            "/memory pending",
            "/memory approve all",
            "/search password hint",
            "/search Noted",
        )
    },
}


@pytest.mark.parametrize("way", READS)
def test_e02_e03_nobody_reads_what_another_said(two, way):
    memory, anna, ben = two
    with memory.session("telegram", "s-ben", **ben) as session:
        assert SECRET not in READS[way](memory, session).replace(f"what is {SECRET}", "")
    others = [{}, {"user_id": "anna"}, {"chat_id": "dm-anna"}]
    for number, who in enumerate(others):
        if who == anna:
            continue
        with memory.session("telegram", f"s-other-{number}", **who) as session:
            assert SECRET not in READS[way](memory, session).replace(f"what is {SECRET}", "")
    # the same id on another platform is another person until somebody links them
    with memory.session("discord", "s-discord", **anna) as session:
        assert SECRET not in READS[way](memory, session).replace(f"what is {SECRET}", "")


@pytest.mark.parametrize("way", [way for way in READS if "error" not in way and way != "/memory"])
def test_everybody_reads_their_own(two, way):
    """Otherwise the test above could pass because nothing can be read at all."""
    memory, anna, _ben = two
    with memory.session("telegram", "s-anna-2", **anna) as session:
        assert SECRET in READS[way](memory, session)


@pytest.mark.parametrize("who", ["ben", "nobody"])
def test_anothers_session_is_not_opened_by_id_or_title(two, who):
    memory, anna, ben = two
    them = ben if who == "ben" else {}
    with pytest.raises(UsageError, match="another"):
        memory.session("telegram", "s-anna", **them)
    for text in ("s-anna", "Anna's plan", "s-ann"):
        with pytest.raises((SessionNotFoundError, ScopeRequired)):
            memory.resume(text, source="telegram", **them)
        with pytest.raises(ScopeRequired):
            memory.resume(text)
        with memory.resume(text, source="telegram", **anna) as session:
            assert session.id == "s-anna"


def test_an_open_session_is_not_taken_over_either(two):
    memory, anna, ben = two
    with memory.session("telegram", "s-live", on_exit="detach", **anna) as session:
        session.system_prompt()
    with pytest.raises(UsageError, match="another"):
        memory.session("telegram", "s-live", **ben)
    with memory.session("telegram", "s-live", **anna) as session:
        assert SECRET in session.system_prompt()


def test_titles_of_others_are_neither_taken_nor_named(two):
    memory, _anna, ben = two
    with memory.session("telegram", "s-ben", **ben) as session:
        assert session.set_title("Anna's plan") == "Anna's plan"


def test_a_pending_write_is_decided_by_whose_it_is(two):
    memory, anna, ben = two
    (item,) = memory.pending.list(scope=PROFILE_SCOPE)
    with memory.session("telegram", "s-ben", **ben) as session:
        for verb in ("approve", "reject", "pending"):
            assert "no pending write" in memory.slash(f"/memory {verb} {item.id}", session)
        with pytest.raises(NoteNotFoundError):
            memory.pending.get(item.id, scope=session.info.scope)
    with memory.session("telegram", "s-anna-2", **anna) as session:
        assert item.id in memory.slash("/memory pending", session)
        assert "rejected" in memory.slash(f"/memory reject {item.id}", session)


NEEDS = {
    "notes.list": lambda memory: memory.notes.list(),
    "notes.add": lambda memory: memory.notes.add("memory", "x"),
    "notes.log": lambda memory: memory.notes.log(),
    "notes.snapshot": lambda memory: memory.notes.snapshot(),
    "history.search": lambda memory: memory.history.search("x"),
    "history.sessions": lambda memory: memory.history.sessions(),
    "history.resolve": lambda memory: memory.history.resolve("x"),
    "pending.list": lambda memory: memory.pending.list(),
    "pending.approve": lambda memory: memory.pending.approve(),
    "forget": lambda memory: memory.forget("x"),
}


@pytest.mark.parametrize("way", NEEDS)
def test_the_interface_asks_whose(two, way):
    memory, _anna, _ben = two
    with pytest.raises(ScopeRequired) as caught:
        NEEDS[way](memory)
    assert caught.value.hint


@pytest.mark.parametrize("command", ["/memory list", "/memory pending", "/search x", "/memory log"])
def test_slash_commands_without_a_session_ask_whose(two, command):
    memory, _anna, _ben = two
    assert SECRET not in memory.slash(command)
    assert "must be named" in memory.slash(command) or "whose" in memory.slash(command)


def test_a_chat_cannot_switch_approval_for_everybody(two):
    memory, anna, _ben = two
    with memory.session("telegram", "s-x", **anna) as session:
        assert "owner" in memory.slash("/memory approval on", session)
        assert memory.write_approval is False


def test_an_anonymous_session_keeps_nothing_and_sees_nothing(two):
    memory, _anna, _ben = two
    with memory.session("telegram", "s-anon") as session:
        answer = json.loads(
            tool(session, "memory", action="add", target="memory", content="kept for nobody")
        )
        assert answer["success"] is False
        session.end_turn("a word nobodyelse says", "ok")
    with memory.session("telegram", "s-anon-2") as session:
        assert "nobodyelse" not in tool(session, "session_search", query="nobodyelse")


# ---------------------------------------------------------------- the external provider


def test_e06_d01_the_provider_is_told_whose_each_call_is(home):
    settings(home, "memory:\n  isolation: user\n")
    seen = []

    def prefetch(self, session, query):
        seen.append(("prefetch", session.scope.id))
        return f"recall for {session.scope.id}"

    def sync_turn(self, session, turn):
        seen.append(("sync", session.scope.id))

    def notes_written(self, session, write):
        seen.append(("note", write.scope.id))

    kind = provider_class(
        "keeper", prefetch=prefetch, sync_turn=sync_turn, notes_written=notes_written
    )
    with Memory.open(providers=[kind]) as memory:
        for user in ("anna", "ben"):
            with memory.session("telegram", user_id=user) as session:
                block = session.begin_turn("what do you know of me?").text
                assert f"recall for telegram:{user}" in block
                session.end_turn("a question of mine", "an answer")
                tool(session, "memory", action="add", target="memory", content=f"Of {user}")
        memory.notes.add("memory", "By hand", scope=Scope("user", "telegram:anna"))
        assert memory.flush()
    assert {scope for _hook, scope in seen} == {"telegram:anna", "telegram:ben"}
    assert ("note", "telegram:anna") in seen


def test_lanes_of_the_outbox_never_mix_people(home):
    settings(home, "memory:\n  isolation: user\n")

    def sync_turn(self, session, turn):
        raise ConnectionError

    with Memory.open(providers=[recorder("keeper", sync_turn=sync_turn)]) as memory:
        for user in ("anna", "ben"):
            with memory.session("telegram", user_id=user) as session:
                session.end_turn("hello there", "hi")
            memory.notes.add("memory", f"Of {user}", scope=Scope("user", f"telegram:{user}"))
        lanes = {}
        for item in memory._profile.outbox.items(limit=100):
            whose = item.session.scope.id if item.session else item.payload["scope"]["id"]
            lanes.setdefault(item.lane, set()).add(whose)
        assert lanes
        assert all(len(people) == 1 for people in lanes.values())


def test_a_late_recall_reaches_only_its_own_session(home):
    settings(
        home,
        "memory:\n  isolation: user\n  deadlines: {first_prefetch_s: 0.05, prefetch_s: 0.05}\n",
    )
    released = threading.Event()

    def prefetch(self, session, query):
        if session.scope.id == "telegram:anna":
            released.wait(3)
            return SECRET
        return None

    with Memory.open(providers=[provider_class("keeper", prefetch=prefetch)]) as memory:
        with memory.session("telegram", "a", user_id="anna", on_exit="detach") as session:
            assert session.begin_turn("a long question").text == ""
            released.set()
            eventually(lambda: memory._profile.gatherer._late)
            with memory.session("telegram", "b", user_id="ben") as other:
                assert SECRET not in other.begin_turn("another long question").text
            assert SECRET in session.begin_turn("and one more question").text


def test_spills_lie_apart_by_session(home):
    settings(home, "memory:\n  isolation: user\n  prefetch_spill_enabled: true\n")

    def prefetch(self, session, query):
        return f"{session.scope.id} " * 2_000

    with Memory.open(providers=[provider_class("keeper", prefetch=prefetch)]) as memory:
        for user in ("anna", "ben"):
            with memory.session("telegram", f"s-{user}", user_id=user) as session:
                session.begin_turn("what do you know of me?")
    for user, other in (("anna", "ben"), ("ben", "anna")):
        texts = [path.read_text() for path in (home / "hook_outputs" / f"s-{user}").iterdir()]
        assert texts
        assert all(f"telegram:{other}" not in text for text in texts)


# ---------------------------------------------------------------- one person, several accounts


def test_e07_linked_accounts_are_one_memory_and_others_stay_apart(home):
    settings(
        home,
        "memory:\n  isolation: user\n  identity:\n    links:\n      mei: [telegram:111, discord:222, cli]\n",
    )
    with Memory.open() as memory:
        with memory.session("telegram", user_id="111") as session:
            tool(session, "memory", action="add", target="user", content="Mei likes oolong")
            session.end_turn("oolong is my favourite", "noted")
        for source, user in (("discord", "222"), ("cli", None), ("telegram", "111")):
            with memory.session(source, user_id=user) as session:
                assert "oolong" in session.system_prompt()
                assert "oolong" in tool(session, "session_search", query="favourite oolong")
        for source, user in (("telegram", "222"), ("discord", "111"), ("cli", "x"), ("mcp", None)):
            with memory.session(source, user_id=user) as session:
                assert "oolong" not in session.system_prompt()
                assert "oolong" not in tool(session, "session_search", query="favourite oolong")


def test_a_session_begun_before_its_account_was_linked_goes_on_as_the_person(home):
    settings(home, "memory:\n  isolation: user\n")
    with (
        Memory.open() as memory,
        memory.session("telegram", "s1", user_id="111", on_exit="detach") as session,
    ):
        session.system_prompt()
    settings(
        home, "memory:\n  isolation: user\n  identity:\n    links:\n      mei: ['telegram:111']\n"
    )
    with Memory.open() as memory:
        memory.notes.add("user", "Mei likes oolong", scope=Scope("user", "mei"))
        with memory.session("telegram", "s1", user_id="111") as session:
            assert session.info.scope == Scope("user", "mei")
            assert "oolong" in session.system_prompt()


# ---------------------------------------------------------------- several people, nothing kept apart


def test_e03_several_people_in_one_shared_memory_are_told_of_once(home):
    told = []
    with Memory.open(notify=told.append) as memory:
        with memory.session("telegram", user_id="anna"):
            pass
        assert told == []
        for user in ("ben", "anna", "ben", "cleo"):
            with memory.session("telegram", user_id=user):
                pass
    assert [notice.code for notice in told] == ["several_people"]
    assert "memory.isolation user" in told[0].hint


def test_e03_the_second_person_is_noticed_in_another_process_too(home):
    with Memory.open() as memory, memory.session("telegram", user_id="anna") as session:
        session.end_turn("hello there", "hi")
    told = []
    with Memory.open(notify=told.append) as memory, memory.session("discord", user_id="ben"):
        pass
    assert [notice.code for notice in told] == ["several_people"]


@pytest.mark.parametrize(
    "text",
    [
        "memory:\n  isolation: user\n",
        "memory:\n  identity:\n    links:\n      me: [telegram:anna, discord:ben]\n",
    ],
)
def test_nobody_is_warned_who_keeps_people_apart_or_is_one_person(home, text):
    settings(home, text)
    told = []
    with Memory.open(notify=told.append) as memory:
        for source, user in (("telegram", "anna"), ("discord", "ben")):
            with memory.session(source, user_id=user):
                pass
    assert told == []


def test_ids_that_look_like_paths_stay_inside_the_home(home):
    settings(home, "memory:\n  isolation: user\n")
    with Memory.open() as memory:
        for user in ("../../evil", "/etc/passwd", "a/b", "..", "con", "x" * 500, "\u202e"):
            with memory.session("telegram", user_id=user) as session:
                tool(session, "memory", action="add", target="memory", content="a fact")
    outside = {path.name for path in home.parent.iterdir()} - {"home", "user-home"}
    assert outside == set()
    folders = [path.name for path in (home / "memories" / "user").iterdir()]
    assert len(folders) == 7
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in folders)
