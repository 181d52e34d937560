"""One filter, one name: the API, the command line, the tool and the page for people call it the same, and mean the same."""

from __future__ import annotations

import inspect
import json
import time
from pathlib import Path

import click
import pytest
from hermes_memory_sessions import tool

from hermes_memory_core import Memory
from hermes_memory_core.cli.sessions_read import list_sessions
from hermes_memory_core.cli.sessions_search import search
from hermes_memory_core.types import PROFILE_SCOPE, HistoryStore, SessionInfo

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOT_A_FILTER = {"self", "query", "scope"}
ONLY_API = {"exclude_sessions"}
"""What a program uses to leave its own session out; the tool and the command line do so by themselves."""


def parameters(function) -> set[str]:
    return set(inspect.signature(function).parameters) - NOT_A_FILTER


def options(command: click.Command) -> set[str]:
    """Every long spelling of every option, as a Python name."""
    return {
        spelling.removeprefix("--").replace("-", "_")
        for one in command.params
        if isinstance(one, click.Option)
        for spelling in one.opts
        if spelling.startswith("--")
    }


SEARCH = parameters(HistoryStore.search)
NOT_IN_SCHEMA = {"title", "cwd", "user_id", "chat_id", "include_subagents", "offset"}
"""Understood by the tool and not offered: the schema is part of every request."""
LIST = parameters(HistoryStore.sessions)


def test_the_api_has_every_filter_of_the_design():
    assert {
        *("limit", "offset", "sort", "source", "role", "user_id", "chat_id", "cwd", "session_id"),
        *("exclude_sessions", "since", "until", "title", "include_subagents"),
    } == SEARCH


@pytest.mark.parametrize(
    ("door", "names", "wanted"),
    [
        ("command line, search", options(search), SEARCH - ONLY_API),
        ("command line, list", options(list_sessions), LIST),
        ("tool", set(tool.SPEC.parameters["properties"]), SEARCH - ONLY_API - NOT_IN_SCHEMA),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_door_has_every_filter_under_the_same_name(door, names, wanted):
    assert wanted <= names, f"{door} lacks {sorted(wanted - names)}"


def test_the_store_takes_exactly_what_the_contract_says():
    from hermes_memory_sessions import History

    assert parameters(History.search) == SEARCH
    assert parameters(History.sessions) == LIST


def test_the_page_for_people_names_every_option_of_search():
    page = (DOCS / "how-to" / "search-history.md").read_text(encoding="utf-8")
    missing = [
        one.opts[0]
        for one in search.params
        if isinstance(one, click.Option)
        and one.name in {*SEARCH, "session"}
        and one.opts[0] not in page
        and not any(spelling in page for spelling in one.opts)
    ]
    assert missing == []


# ---------------------------------------------------------------- the same name means the same

DAY = 86_400.0
SESSIONS = {
    "plain": SessionInfo("plain", "plain", source="cli"),
    "chatted": SessionInfo(
        "chatted", "chatted", source="telegram", user_id="u7", chat_id="c9", cwd="/srv/boat"
    ),
    "sub": SessionInfo("sub", "sub", source="cli", agent_context="subagent", parent_id="plain"),
    "now": SessionInfo("now", "now", source="cli"),
}
FILTERS = [
    ({}, {"plain", "chatted"}),
    ({"source": "telegram"}, {"chatted"}),
    ({"user_id": "u7"}, {"chatted"}),
    ({"chat_id": "c9"}, {"chatted"}),
    ({"cwd": "/srv"}, {"chatted"}),
    ({"title": "harbour"}, {"plain"}),
    ({"session_id": "plain"}, {"plain"}),
    ({"since": "3d"}, {"plain"}),
    ({"until": "3d"}, {"chatted"}),
    ({"since": "last month", "until": "last week"}, {"chatted"}),
    ({"since": "上个月", "until": "上周"}, {"chatted"}),
    ({"role": "user"}, {"plain", "chatted"}),
    ({"role": "tool"}, set()),
    ({"include_subagents": True}, {"plain", "chatted", "sub"}),
    ({"sort": "oldest", "limit": 1}, {"chatted"}),
    ({"sort": "newest", "limit": 1}, {"plain"}),
    ({"sort": "newest", "limit": 1, "offset": 1}, {"chatted"}),
]


def through_api(memory, named, _capsys):
    hits = memory.history.search(
        "walrus", **{"exclude_sessions": ["now"], **named}, scope=PROFILE_SCOPE
    )
    return {hit.session_id for hit in hits}


def through_tool(memory, named, _capsys):
    answer = tool.call(memory.history, SESSIONS["now"], {"query": "walrus", **named})
    assert answer["success"], answer
    return {result["session_id"] for result in answer["results"]}


def through_command_line(memory, named, capsys):
    from hermes_memory_core.cli.run import run

    words = []
    for name, value in named.items():
        option = "--" + name.replace("_", "-")
        words += [option] if value is True else [option, str(value)]
    capsys.readouterr()
    assert run(["sessions", "search", "--json", "walrus", *words], "hermes") == 0
    data = json.loads(capsys.readouterr().out)["data"]
    return {item["session"]["id"] for item in data["results"]}


@pytest.fixture
def memory(home):
    with Memory.open(home) as memory:
        at = {"plain": 0.0, "chatted": 12.0, "sub": 1.0, "now": 0.0}
        for id_, info in SESSIONS.items():
            memory.history.open_session(info)
            stamp = time.time() - at[id_] * DAY
            if id_ != "now":
                memory.history.append(id_, "user", f"the walrus of {id_}", timestamp=stamp)
        memory.history.set_title("plain", "Harbour animals")
        yield memory


@pytest.mark.parametrize("door", [through_api, through_tool, through_command_line])
@pytest.mark.parametrize(
    ("named", "wanted"), FILTERS, ids=[json.dumps(named) for named, _ in FILTERS]
)
def test_a_filter_means_the_same_at_every_door(memory, door, named, wanted, capsys):
    assert door(memory, named, capsys) == wanted
