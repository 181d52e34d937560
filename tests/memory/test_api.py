"""The public API as a host uses it: receipts, tools that never raise, content of every shape, asyncio."""

from __future__ import annotations

import asyncio
import json

import pytest
from helpers import instance_of, recorder

from hermes_memory_core import AsyncMemory, Memory
from hermes_memory_core.errors import HermesMemoryError, StoreFullError, UsageError


@pytest.fixture
def memory(home):
    with Memory.open(home) as memory:
        yield memory


@pytest.fixture
def session(memory):
    with memory.session() as session:
        yield session


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "what colour"}, IMAGE], "what colour\n[1 image]"),
        ([IMAGE, IMAGE], "[2 images]"),
        ([{"type": "input_audio"}, "words"], "words\n[1 audio clip]"),
        ({"type": "text", "text": "one part"}, "one part"),
    ],
)
def test_c05_content_of_every_shape_is_flattened_and_base64_never_stored(
    memory, session, content, stored
):
    assert session.end_turn(content, "seen").saved
    messages = memory.history.messages(session.id)
    assert messages[0].content == stored
    assert "base64" not in (memory.profile.path / "sessions" / f"{session.id}.jsonl").read_text()


@pytest.mark.parametrize(("user", "assistant"), [(None, None), ("", ""), ([], None)])
def test_an_empty_turn_is_told_and_not_stored(memory, session, user, assistant):
    receipt = session.end_turn(user, assistant)
    assert not receipt.saved
    assert "empty" in receipt.error
    assert memory.history.messages(session.id) == []


def test_a_turn_with_tool_calls_keeps_all_messages_in_order_once(memory, session):
    calls = [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "上海"}'},
        }
    ]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "sunny"},
        {"role": "assistant", "content": "It is sunny."},
    ]
    session.end_turn("weather?", "It is sunny.", messages=messages)
    stored = memory.history.messages(session.id)
    assert [(one.role, one.content) for one in stored] == [
        ("user", "weather?"),
        ("assistant", ""),
        ("tool", "sunny"),
        ("assistant", "It is sunny."),
    ]
    assert stored[1].tool_calls[0]["function"]["name"] == "weather"
    assert memory.history.search("上海"), "arguments of tool calls can be found"


@pytest.mark.parametrize("messages", ["text", [1], [None], [{"content": "no role"}], [["role"]]])
def test_messages_of_the_wrong_shape_are_misuse_and_say_so(session, messages):
    with pytest.raises(UsageError, match="role"):
        session.end_turn("a", "b", messages=messages)
    assert session.end_turn("a", "b").saved, "the session goes on"


def test_d05_recalled_blocks_never_reach_a_store_or_a_provider(home):
    with Memory.open(home, providers=[recorder()]) as memory:
        with memory.session() as session:
            block = "<memory-context>\nold secret fact\n</memory-context>"
            session.end_turn(
                f"my words\n\n{block}",
                f"{block}\nmy answer",
                messages=[
                    {"role": "tool", "content": f"x {block}"},
                    {"role": "assistant", "content": "my answer"},
                ],
            )
            assert memory.flush()
            assert [item[2] for item in instance_of(memory).seen if item[0] == "turn"] == [
                "my words"
            ]
        text = "".join(
            path.read_text(errors="replace") for path in (home / "sessions").glob("*.jsonl")
        )
        assert "old secret fact" not in text
        assert not memory.history.search("old secret fact")


def test_f02_a_key_pasted_in_chat_is_nowhere_on_the_disk(home):
    key = "sk-" + "proj-" + "Ab3dEf6hIj9kLmN0pQrStUvWxYz12345678901234567890"
    with Memory.open(home, providers=[recorder()]) as memory, memory.session() as session:
        session.end_turn(
            f"here is my key {key}",
            "got it",
            messages=[
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"function": {"name": "call", "arguments": json.dumps({"key": key})}}
                    ],
                },
                {"role": "assistant", "content": "got it"},
            ],
        )
        memory.flush()
        assert key not in str(instance_of(memory).seen)
        memory.history.stats()
    for path in home.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_tools_and_calls_agree_and_calls_never_raise(session):
    names = [tool["function"]["name"] for tool in session.tools()]
    assert names == ["memory", "session_search"]
    for name in [*names, "no_such_tool", "", None, 7]:
        for arguments in (
            None,
            {},
            "",
            "{}",
            "[]",
            "nonsense",
            "null",
            [1],
            5,
            {"action": None},
            b"{}",
            '"{}"',
        ):
            answer = json.loads(session.call_tool(name, arguments))
            assert isinstance(answer, dict)
            if name not in names:
                assert answer["success"] is False
    assert "did you mean `memory`" in session.call_tool("memori")


def test_a_full_disk_is_in_the_receipt_and_told_once(memory, monkeypatch):
    notices = []
    memory._profile.notices._notify = notices.append
    with memory.session() as session:
        session.end_turn("before", "it was fine")
        history = memory.history

        def full(*_arguments):
            raise StoreFullError("No room on the disk.", hint="free some space")

        with monkeypatch.context() as patch:
            patch.setattr(type(history), "commit_turn", full)
            receipts = [session.end_turn("during", "it was full") for _ in range(3)]
        assert [receipt.saved for receipt in receipts] == [False] * 3
        assert "No room" in receipts[0].error
        assert len(notices) == 1
        assert session.end_turn("after", "fine again").saved
        assert session.turn_number == 2


def test_rewind_hides_from_search_and_prompt(memory, session):
    session.end_turn("the red boat", "noted, red")
    session.end_turn("the green boat", "noted, green")
    assert session.rewind() == 2
    assert not memory.history.search("green")
    assert memory.history.search("red")
    with pytest.raises(UsageError):
        session.rewind(0)


def test_notes_and_history_are_none_when_switched_off(home):
    home.mkdir()
    (home / "config.yaml").write_text(
        "memory: {memory_enabled: false, user_profile_enabled: false, history_enabled: false}"
    )
    with Memory.open(home, providers=[recorder()]) as memory:
        assert memory.notes is None
        assert memory.history is None
        with memory.session() as session:
            assert session.tools() == []
            assert session.system_prompt() == ""
            receipt = session.end_turn("still delivered", "yes")
            assert receipt.queued
        assert memory.flush()
        assert [item[2] for item in instance_of(memory).seen if item[0] == "turn"] == [
            "still delivered"
        ]


def test_slash_commands(memory, session):
    assert "files: on" in memory.slash("/memory", session)
    assert memory.slash("/memory add user Likes tea.", session) == "Remembered in user."
    assert "Likes tea." in memory.slash("/memory list", session)
    session.end_turn("where is the boat", "at pier four")
    assert "pier four" in memory.slash("/search where was the boat?", session)
    assert "Title: Boats" in memory.slash("/title Boats", session)
    old = session.id
    assert session.id != old or "New session" in memory.slash("/new", session)
    assert session.id != old
    assert "not a command" in memory.slash("/memory dance", session)
    assert "→" in memory.slash("/nothing", session)
    assert "open conversation" in memory.slash("/new")


def test_use_after_close_is_a_clear_error(home):
    memory = Memory.open(home)
    memory.close()
    memory.close()
    with pytest.raises(UsageError, match="closed"):
        memory.session()


def test_asyncio_has_the_same_names_and_saves_what_was_handed_over(home):
    async def main():
        async with AsyncMemory.open(home) as memory:
            async with memory.session(source="web") as session:
                assert isinstance(await session.system_prompt(), str)
                assert [tool["function"]["name"] for tool in await session.tools()] == [
                    "memory",
                    "session_search",
                ]
                turn = await session.begin_turn("where is it")
                assert turn.number == 1
                task = asyncio.create_task(session.end_turn("kept although cancelled", "yes"))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                receipts = await asyncio.gather(
                    *(session.end_turn(f"turn {n}", "yes") for n in range(20))
                )
                assert all(receipt.saved for receipt in receipts)
                assert len({receipt.turn_id for receipt in receipts}) == 20
                await session.call_tool(
                    "memory", {"action": "add", "target": "user", "content": "Async."}
                )
                identity = session.id
            assert await memory.flush()
            lines = [line async for line in memory.export()]
            assert any("Async." in line for line in lines)
            return identity

    identity = asyncio.run(main())
    with Memory.open(home) as memory:
        words = [
            message.content
            for message in memory.history.messages(identity)
            if message.role == "user"
        ]
        assert "kept although cancelled" in words
        assert len(words) == 21
        assert memory.history.session(identity).end_reason == "exit"


def test_async_and_sync_sessions_offer_the_same():
    from hermes_memory_core import AsyncSession, Session

    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(Session) - public(AsyncSession) <= {"turn_number", "ended"}
    assert public(Memory) - public(AsyncMemory) <= {"outbox", "now", "write_approval"}, (
        "the rest is reached through .sync"
    )


def test_several_profiles_in_one_process(home):
    with Memory.open(home) as default:
        from hermes_memory_core.profiles import create_profile

        create_profile(home, "work")
        with Memory.open(home, profile="work") as work:
            default.notes.add("user", "Private.")
            work.notes.add("user", "Official.")
            with default.session() as one, work.session() as two:
                one.end_turn("private words", "yes")
                two.end_turn("official words", "yes")
                assert "Official." not in one.system_prompt()
                assert "Private." not in two.system_prompt()
            assert not work.history.search("private")
            assert not default.history.search("official")


@pytest.mark.parametrize(
    "use",
    [
        lambda memory: memory.notes.add("memory", 5),
        lambda memory: memory.history.search(5),
        lambda memory: memory.history.search("tea", limit="7"),
        lambda memory: memory.history.append("s", "user", [{"type": "text", "text": "tea"}]),
        lambda memory: memory.history.append("s", "user", "tea", timestamp="noon"),
        lambda memory: memory.forget(5),
    ],
)
def test_what_is_no_text_is_a_clear_error_and_nothing_is_stored(home, use):
    with Memory.open(home) as memory:
        with pytest.raises(HermesMemoryError, match=r"text|number|nothing"):
            use(memory)
        assert memory.history.sessions() == []


def test_a_credential_that_a_model_notes_waits_for_a_person(home):
    key = "ghp_" + "Zx81kLmN0pQrStUvWxYz0123456789ABCDab"
    with Memory.open(home) as memory, memory.session() as session:
        arguments = {"action": "add", "target": "memory", "content": f"The deploy token is {key}"}
        answer = json.loads(session.call_tool("memory", arguments))
        assert answer["staged"]
        assert memory.notes.list("memory") == []
        memory.notes.add("memory", f"The deploy token is {key}")  # a person's own write is final
        assert [note.text for note in memory.notes.list("memory")] == [f"The deploy token is {key}"]
