"""Area C of the reported faults: a provider's life, from being chosen to being closed."""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

import base64
import json

import pytest
from helpers import Clock, eventually, instance_of, provider_class, recorder
from helpers.distributions import site  # noqa: F401

from hermes_memory_core import Memory
from hermes_memory_core.cli.run import run
from hermes_memory_core.hookspecs import HOOK_NAMES, ProviderSpec
from hermes_memory_core.types import ForgetReceipt, Health, NoteOperation, ToolSpec


@pytest.fixture
def hermes(capsys):
    def run_it(*arguments):
        capsys.readouterr()
        code = run(list(arguments), "hermes")
        return code, *capsys.readouterr()

    return run_it


def layer(memory):
    return next(one for one in memory.status()["layers"] if one["kind"] == "external")


def names(session):
    return [tool["function"]["name"] for tool in session.tools()]


def _noting(called, hook):
    def noted(self):
        called.append(hook)

    return noted


def test_c01_a_provider_that_fails_to_start_is_out_altogether(home):
    called = []
    noted = ("tools", "prefetch", "sync_turn", "start_session", "end_session", "close")
    HalfBuilt = provider_class("half", **{hook: _noting(called, hook) for hook in noted})

    def broken(self, context):
        raise RuntimeError("no room for the index")

    HalfBuilt.__init__ = broken
    with Memory.open(home, providers=[HalfBuilt]) as memory:
        with memory.session() as session:
            assert "half" not in " ".join(names(session))
            turn = session.begin_turn("what do you know")
            assert [one for one in turn.recalls if one.provider == "half"] == []
            assert session.end_turn("it runs", "all the same").saved
        found = layer(memory)
    assert found["state"] == "failed"
    assert found["why"] == "construct: RuntimeError: no room for the index"
    assert called == []


def test_c02_a_library_that_is_missing_later_is_told_once_and_shown_as_not_working(home, caplog):
    def prefetch(self):
        import a_library_nobody_has  # type: ignore[import-not-found]

        return a_library_nobody_has

    def health(self):
        return Health(False, "the library is not installed", "pip install it")

    kind = provider_class("sdk", prefetch=prefetch, health=health)
    with Memory.open(home, providers=[kind]) as memory, memory.session() as session:
        for number in range(3):
            turn = session.begin_turn(f"what do you know about number {number}")
            assert [one.state for one in turn.recalls if one.provider == "sdk"] == ["failed"]
        told = [one for one in caplog.records if "a_library_nobody_has" in one.getMessage()]
        assert len(told) == 1
        assert "a_library_nobody_has" in layer(memory)["last_error"]["message"]
        found = next(one for one in memory.status(check=True)["layers"] if one["name"] == "sdk")
        assert found["state"] != "on"
        assert found["health"]["message"] == "the library is not installed"


def test_c03_c04_what_is_offered_can_be_called_and_by_itself(home):
    def tools(self):
        return [ToolSpec("sea_one", "One."), ToolSpec("sea_two", "Two.")]

    def call_tool(self, session, name, arguments):
        return {"success": True, "ran": name}

    kind = provider_class("sea", tools=tools, call_tool=call_tool)
    with Memory.open(home, providers=[kind]) as memory, memory.session() as session:
        offered = names(session)
        assert {"sea_one", "sea_two", "memory"} <= set(offered)
        for order in (["sea_one"], ["sea_two", "sea_one"]):
            assert [json.loads(session.call_tool(name, {}))["ran"] for name in order] == order
        for name in offered:
            answer = json.loads(session.call_tool(name, {}))
            assert "unknown" not in json.dumps(answer).lower().replace("unknown argument", "")
        refused = json.loads(session.call_tool("sea_three", {}))
        assert refused["success"] is False


def test_c05_a_turn_with_an_image_reaches_the_provider_as_text_without_the_picture(home):
    picture = "data:image/png;base64," + base64.b64encode(b"picture" * 100).decode()
    parts = [
        {"type": "text", "text": "What colour is this?"},
        {"type": "image_url", "image_url": {"url": picture}},
    ]
    with Memory.open(home, providers=[recorder()]) as memory:
        with memory.session() as session:
            session.begin_turn(parts)
            assert session.end_turn(parts, "It is blue.").saved
            instance = instance_of(memory)
        assert memory.flush(5.0)
        (said,) = [one[2] for one in instance.seen if one[0] == "turn"]
    assert "What colour is this?" in said
    assert "[1 image]" in said
    for path in home.rglob("*"):
        assert not path.is_file() or picture[40:80].encode() not in path.read_bytes(), path


def test_c06_a_provider_without_its_key_is_marked_and_says_which(home):
    from pydantic import BaseModel

    class Config(BaseModel):
        api_key: str

    notices = []
    kind = provider_class("keyed", config=Config)
    with (
        Memory.open(home, providers=[kind], notify=notices.append) as memory,
        memory.session() as session,
    ):
        session.begin_turn("what do you know")
        found = layer(memory)
    assert found["state"] in ("failed", "needs setup")
    assert "api_key" in found["why"]
    assert found["hint"] == "hermes memory setup keyed"
    assert [notice.hint for notice in notices] == ["hermes memory setup keyed"]


def test_c07_being_installed_is_not_being_active_and_the_one_before_is_named(home, site, hermes):
    for name in ("sea", "land"):
        site.add(
            name,
            "from hermes_memory_core import hookimpl\nclass Provider:\n    def __init__(self, c): pass\n",
        )
    with Memory.open(home) as memory, memory.session() as session:
        session.begin_turn("what do you know")
        assert not [one for one in memory.status()["layers"] if one["kind"] == "external"]
    assert hermes("memory", "use", "sea")[0] == 0
    code, out, _ = hermes("memory", "use", "land")
    assert code == 0
    assert "in place of `sea`" in out


def test_c09_the_system_prompt_is_the_same_whatever_is_recalled(home):
    def prefetch(self, query):
        return f"something new about {query}"

    kind = provider_class(
        "sea", prefetch=prefetch, system_block=lambda self: "The sea provider is on."
    )
    with Memory.open(home, providers=[kind]) as memory, memory.session() as session:
        prompts = []
        for question in ("where is the boat", "when is the tide", "who has the key"):
            text = session.begin_turn(question).text
            assert question in text
            prompts.append(session.system_prompt())
            session.end_turn(question, "I see.")
            session.call_tool("memory", {"action": "add", "target": "memory", "content": question})
        assert len(set(prompts)) == 1
        assert "something new" not in prompts[0]


HOST_ASKS = {"export_memories", "import_memories", "forget", "backup_paths", "stores"}
"""Hooks that come when a person asks for them; the rest come in any conversation."""


def test_c10_every_documented_hook_comes_in_a_conversation_or_when_a_person_asks(home):
    seen = set()

    def hook(name):
        answers = {
            "tools": [ToolSpec("all_find", "Find.")],
            "call_tool": {"success": True},
            "health": Health(True),
            "forget": [ForgetReceipt("all", 0)],
        }

        def called(self):
            seen.add(name)
            return answers.get(name)

        return called

    kind = provider_class("all", **{name: hook(name) for name in HOOK_NAMES})
    with Memory.open(home, providers=[kind], clock=Clock()) as memory:
        with memory.session() as session:
            session.system_prompt()
            session.tools()
            session.begin_turn("what do you know about boats")
            session.call_tool("all_find", {})
            memory.notes.apply("memory", [NoteOperation("add", "Boats float")])
            session.end_turn("what do you know about boats", "They float.")
            session.delegation_finished("find a boat", "found one", None)
            session.before_compression([{"role": "user", "content": "boats"}])
            session.compressed("We spoke about boats.")
        assert memory.flush(5.0)
        eventually(lambda: {"queue_prefetch", "start_session", "end_session"} <= seen)
        memory.status(check=True)
    assert seen >= HOOK_NAMES - HOST_ASKS
    for name in HOOK_NAMES:
        assert len((getattr(ProviderSpec, name).__doc__ or "").split()) > 10, name


def test_c11_the_switches_of_the_notes_have_no_say_over_the_external_provider_and_status_says_who_decided(
    home, hermes
):
    home.mkdir(parents=True)
    config = home / "config.yaml"
    config.write_text("memory: {memory_enabled: false, user_profile_enabled: false}\n")
    with Memory.open(home, providers=[recorder()]) as memory:
        with memory.session() as session:
            session.end_turn("what was said", "and heard")
        assert memory.flush(5.0)
        layers = {one["name"]: one["state"] for one in memory.status()["layers"]}
    assert layers["recorder"] == "on"
    assert layers["files"] == "off"
    code, out, _ = hermes("config", "explain", "memory.memory_enabled")
    assert code == 0
    assert str(config) in out
    assert "no say over the external provider" in out
