# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``tools``: names, descriptions, schemas, and that they stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_memory_core.engine.tools import MAX_NAME
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.types import ToolSpec

TAKEN = ("memory", "session_search", "skills_list", "skill_view", "skill_manage")
"""Names of the built-ins' tools."""


@check("`tools` answers a list of ToolSpec", hooks=("tools",))
def tools_are_specs(h: Harness) -> str | None:
    value = h.start().call("tools", session=inputs.session_info())
    if value is not None and not isinstance(value, list | tuple):
        raise CheckFailed(
            f"`tools` returned a {type(value).__name__}.", "return a list of ToolSpec"
        )
    for item in value or ():
        if not isinstance(item, ToolSpec):
            raise CheckFailed(
                f"`tools` holds a {type(item).__name__}.",
                "build each with `ToolSpec(name, description, parameters)`",
            )
    return ", ".join(tool.name for tool in value or ()) or "none"


@check("tools have names that models can call, each once", hooks=("tools",))
def tool_names_are_legal_and_unique(h: Harness) -> str | None:
    names = [tool.name for tool in h.start().tools()]
    for name in names:
        legal = name.isascii() and name.replace("-", "_").isidentifier() and len(name) <= MAX_NAME
        if not legal:
            raise CheckFailed(
                f"{name!r} is not a tool name.",
                f"use at most {MAX_NAME} letters, digits and underscores, not beginning with a digit",
            )
    double = {name for name in names if names.count(name) > 1}
    if double:
        raise CheckFailed(f"Offered twice: {', '.join(sorted(double))}.", "one spec per name")
    return None


@check("tools leave the built-ins' names alone", hooks=("tools",))
def tool_names_are_not_taken(h: Harness) -> str | None:
    if h.built_in:
        raise Skip("it is the built-in")
    taken = [tool.name for tool in h.start().tools() if tool.name in TAKEN]
    if taken:
        raise CheckFailed(
            f"Belongs to a built-in and would be refused: {', '.join(taken)}.",
            f"begin the name with `{h.name}_`",
        )
    return None


@check("tools and their parameters are described", hooks=("tools",))
def tools_are_described(h: Harness) -> str | None:
    for tool in h.start().tools():
        if not tool.description.strip():
            raise CheckFailed(
                f"`{tool.name}` has no description.", "say when to call it and what comes back"
            )
        for name, schema in _properties(tool).items():
            described = isinstance(schema, Mapping) and (
                schema.get("description") or "enum" in schema
            )
            if not described and name not in tool.description:
                raise CheckFailed(
                    f"`{name}` of `{tool.name}` is described nowhere.", "one sentence for the model"
                )
    return None


@check("parameters are the JSON Schema of an object that every backend takes", hooks=("tools",))
def tool_parameters_are_json_schema(h: Harness) -> str | None:
    for tool in h.start().tools():
        schema = tool.parameters
        _serialisable(tool)
        if schema.get("type") != "object" or not isinstance(schema.get("properties", {}), Mapping):
            raise CheckFailed(
                f"The parameters of `{tool.name}` are not the schema of an object.",
                'begin with {"type": "object", "properties": {…}}',
            )
        refused = [key for key in ("oneOf", "anyOf", "allOf", "not", "enum") if key in schema]
        if refused:
            raise CheckFailed(
                f"`{tool.name}` has `{refused[0]}` at the top of its schema; some backends refuse that.",
                "say it in the description and check the arguments in `call_tool`",
            )
        missing = [name for name in schema.get("required", ()) if name not in _properties(tool)]
        if missing:
            raise CheckFailed(f"`{tool.name}` requires `{missing[0]}`, which is no property.")
        for name, part in _properties(tool).items():
            if not set(part) & {"type", "enum", "anyOf", "oneOf", "$ref", "const"}:
                raise CheckFailed(f"`{name}` of `{tool.name}` has no type.", 'add "type"')
    return None


@check("tools are the same every time, also after a restart", hooks=("tools",))
def tools_never_change(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    lists = [subject.call("tools", session=session) for _ in range(3)]
    if "sync_turn" in subject.hooks:
        subject.call("sync_turn", session=session, turn=inputs.turn(session, "Remember the ferry."))
        lists.append(subject.call("tools", session=session))
    lists.append(h.start().call("tools", session=session))
    if any(list(one or ()) != list(lists[0] or ()) for one in lists):
        raise CheckFailed(
            "`tools` answered differently for the same session.",
            "the list is fixed when a session begins; make it depend on the configuration only",
        )
    return None


@check("a provider with tools can run them", hooks=("tools",))
def tools_come_with_call_tool(h: Harness) -> str | None:
    subject = h.start()
    if subject.tools() and "call_tool" not in subject.hooks:
        raise CheckFailed("It offers tools and has no `call_tool`.", "implement `call_tool`")
    return None


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tool.parameters.get("properties", {})
    return found


def _serialisable(tool: ToolSpec) -> None:
    try:
        json.dumps(dict(tool.parameters))
    except (TypeError, ValueError) as error:
        raise CheckFailed(
            f"The parameters of `{tool.name}` cannot be written as JSON: {error}",
            "use only dict, list, str, numbers, True, False and None",
        ) from error
