"""Faults on the way to a live provider: the conversation goes on without it, and status says why."""

from __future__ import annotations

import time

import pytest

from faults.reference.bad import HalfMadeError, UnprintableError, released
from hermes_memory_core import Memory, hookimpl
from hermes_memory_core.errors import ConfigError


@pytest.fixture(autouse=True)
def let_go():
    released.clear()
    yield
    released.set()


def broken(work):
    class Broken:
        name = "broken"

        def __init__(self, context):
            work()

        @hookimpl
        def prefetch(self, query):
            return "never"

    return Broken


def failing(error):
    def work():
        raise error

    return work


def missing_sdk():
    import there_is_no_such_sdk  # noqa: F401


CONSTRUCT = {
    "an exception": failing(ValueError("no")),
    "SystemExit": failing(SystemExit(1)),
    "GeneratorExit": failing(GeneratorExit()),
    "a missing SDK": missing_sdk,
    "an unprintable error": failing(UnprintableError()),
    "a half-made error": failing(HalfMadeError()),
    "a missing setting": failing(
        ConfigError("`providers.broken.api_key` is missing", hint="set it")
    ),
}


@pytest.mark.parametrize("fault", CONSTRUCT)
def test_a_provider_that_cannot_be_constructed(fault, home):
    with Memory.open(home, providers=[broken(CONSTRUCT[fault])]) as memory:
        memory.notes.add("memory", "The harbour master is called Ines.")
        with memory.session() as session:
            assert "Ines" in session.system_prompt()
            assert "broken" not in [
                report.provider for report in session.begin_turn("hello there").recalls
            ]
            assert session.end_turn("hello there", "hi").saved
        layer = next(one for one in memory.status()["layers"] if one["name"] == "broken")
        assert layer["state"] == "failed"
        assert layer["why"].startswith("construct: ") and len(layer["why"]) > len("construct: ")
        assert layer["hint"]


IMPORT = {
    "an exception": "1 / 0",
    "SystemExit": "raise SystemExit('bye')",
    "a missing SDK": "import there_is_no_such_sdk",
    "a syntax error": "def",
    "no such attribute": "x = 1",
    "an unprintable error": "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E",
    "it deletes itself": "import sys\ndel sys.modules[__name__]\nclass Provider: pass",
}


@pytest.mark.parametrize("fault", IMPORT)
def test_a_provider_that_cannot_be_imported(fault, home, site):
    site.add("breaks", IMPORT[fault])
    home.mkdir()
    (home / "config.yaml").write_text("memory: {provider: breaks}\n", encoding="utf-8")
    with Memory.open(home) as memory, memory.session() as session:
        session.begin_turn("hello there")
        assert session.end_turn("hello there", "hi").saved
        layer = next(one for one in memory.status()["layers"] if one["name"] == "breaks")
        assert layer["state"] == "failed" and layer["hint"]


@pytest.mark.parametrize("where", ["construct", "import"])
def test_d02_a_provider_that_hangs_while_it_is_loaded_costs_a_limited_time(
    home, site, monkeypatch, where
):
    monkeypatch.setattr("hermes_memory_core.engine.roster.LOAD_TIMEOUT_S", 0.2)
    home.mkdir()
    (home / "config.yaml").write_text("memory: {provider: broken}\n", encoding="utf-8")
    site.add(
        "broken",
        "import faults.reference.bad as bad\nbad.released.wait(3)\nclass Provider:\n    pass\n",
    )
    classes = [broken(lambda: released.wait(3))] if where == "construct" else []
    with Memory.open(home, providers=classes) as memory:
        began = time.monotonic()
        with memory.session() as session:
            session.begin_turn("hello there")
            assert session.end_turn("hello there", "hi").saved
        assert time.monotonic() - began < 2.0
        layer = next(one for one in memory.status()["layers"] if one["name"] == "broken")
        assert layer["state"] == "failed"
        assert "still loading" in layer["why"]


def test_a_note_from_outside_a_conversation_imports_no_provider_and_is_delivered_later(home, site):
    import sys

    from helpers import instance_of

    module = site.add(
        "late",
        """
        from hermes_memory_core import hookimpl
        class Provider:
            def __init__(self, context):
                self.seen = []
            @hookimpl
            def notes_written(self, write):
                self.seen.append(write.after)
        """,
    )
    home.mkdir()
    (home / "config.yaml").write_text("memory: {provider: late}\n", encoding="utf-8")
    with Memory.open(home) as memory:
        memory.notes.add("user", "Has a boat.")
        assert module not in sys.modules
        assert memory.status()["outbox"]["pending"] == 1
    with Memory.open(home) as memory:
        assert memory.flush()
        assert instance_of(memory).seen == [("Has a boat.",)]
