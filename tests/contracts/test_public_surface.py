"""The names, hooks and costs that others rely on: changing one is a decision, not an accident."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import hermes_memory_core
from hermes_memory_core import errors
from hermes_memory_core.hookspecs import HOOK_NAMES, ProviderSpec

HOOKS = {
    "start_session": ("session", "reason", "previous"),
    "system_block": ("session",),
    "tools": ("session",),
    "prefetch": ("session", "query", "turn_number", "deadline"),
    "call_tool": ("session", "name", "arguments", "call"),
    "sync_turn": ("session", "turn"),
    "queue_prefetch": ("session", "query", "turn_number"),
    "before_compression": ("session", "messages"),
    "notes_written": ("session", "write"),
    "delegation_finished": ("session", "task", "result", "child"),
    "end_session": ("session", "reason"),
    "health": (),
    "stores": (),
    "export_memories": ("scope",),
    "import_memories": ("records",),
    "forget": ("scope", "query", "dry_run"),
    "backup_paths": (),
    "close": (),
}


def test_the_hooks_and_their_arguments():
    found = {
        name: tuple(inspect.signature(getattr(ProviderSpec, name)).parameters)[1:]
        for name in HOOK_NAMES
    }
    assert found == HOOKS


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_every_hook_says_when_how_long_and_what_a_failure_means(name):
    text = getattr(ProviderSpec, name).__doc__
    assert len(text) > 80
    if name in (
        "prefetch",
        "sync_turn",
        "tools",
        "call_tool",
        "system_block",
        "start_session",
        "end_session",
        "health",
        "stores",
    ):
        for word in ("When:", "Deadline:", "Failure:"):
            assert word in text, word


def test_all_is_sorted_and_complete():
    assert hermes_memory_core.__all__ == sorted(hermes_memory_core.__all__)
    for name in hermes_memory_core.__all__:
        assert getattr(hermes_memory_core, name) is not None


def test_every_error_has_a_code_of_its_own_and_survives_pickling():
    import pickle

    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.HermesMemoryError)
    ]
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in kinds:
        error = kind("what happened", hint="what next", details={"a": 1})
        again = pickle.loads(pickle.dumps(error))
        assert again.to_dict() == error.to_dict()
        assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        (
            "import hermes_memory_core",
            ("pydantic", "httpx", "rich", "ruamel", "mcp", "filelock", "pluggy", "click"),
        ),
        (
            "from hermes_memory_core import Memory",
            ("pydantic", "httpx", "rich", "ruamel", "mcp", "filelock"),
        ),
        (
            "from hermes_memory_core import hookimpl",
            ("pydantic", "httpx", "rich", "ruamel", "mcp", "filelock"),
        ),
    ],
)
def test_what_an_import_does_not_bring(statement, heavy):
    code = f"{statement}\nimport sys\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tools_and_guidance_stay_small(home):
    """At most 4,000 characters per request for the two built-in tools (spec/search.md section 5)."""
    import json

    with hermes_memory_core.Memory.open(home) as memory, memory.session() as session:
        tools = {tool["function"]["name"]: tool["function"] for tool in session.tools()}
        assert set(tools) >= {"memory", "session_search"}
        size = sum(
            len(json.dumps(tools[name], ensure_ascii=False))
            for name in ("memory", "session_search")
        )
        assert size + len(session.system_prompt()) <= 4000
        properties = set(tools["session_search"]["parameters"]["properties"])
        assert properties == {
            "query",
            "limit",
            "sort",
            "since",
            "until",
            "role",
            "source",
            "session_id",
            "around_message_id",
            "window",
        }
