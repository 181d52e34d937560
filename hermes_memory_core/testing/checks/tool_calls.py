# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``call_tool``: whatever a model sends, one JSON object comes back or a ``ProviderError`` is raised."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, check
from hermes_memory_core.testing.harness import Harness, in_threads
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import SessionInfo, ToolResult, ToolSpec

MEND = (
    "check the arguments first and answer "
    'ToolResult({"error": "…", "hint": "…"}, ok=False), or raise a ProviderError'
)
HOOKS = ("tools", "call_tool")


@check("a tool called with no arguments answers", hooks=HOOKS)
def tools_take_no_arguments(h: Harness) -> str | None:
    return _each(h, lambda _tool: [{}])


@check("a tool called with unknown arguments answers", hooks=HOOKS)
def tools_take_unknown_arguments(h: Harness) -> str | None:
    return _each(h, lambda tool: [{"no_such_argument": 1, **_filled(tool, "tea")}])


@check("a tool called with values of the wrong types answers", hooks=HOOKS)
def tools_take_wrong_types(h: Harness) -> str | None:
    wrong: tuple[Any, ...] = (None, 7, -1.5, True, [], ["a", 2], {"a": 1}, "")
    return _each(
        h,
        lambda tool: (
            [dict.fromkeys(_names(tool), value) for value in wrong] if _names(tool) else []
        ),
    )


@check("a tool called with JSON inside strings answers", hooks=HOOKS)
def tools_take_json_in_strings(h: Harness) -> str | None:
    values = ('{"query": "tea"}', '["tea"]', "null", "{broken")
    return _each(h, lambda tool: [_filled(tool, value) for value in values])


@check("a tool called with long text answers", hooks=HOOKS)
def tools_take_long_text(h: Harness) -> str | None:
    return _texts(h, "10,000 characters", "one word of 5,000 characters")


@check("a tool called with any script answers", hooks=HOOKS)
def tools_take_every_script(h: Harness) -> str | None:
    return _texts(
        h, "Chinese", "Japanese and Korean", "right to left", "combining", "emoji sequences"
    )


@check("a tool called with NUL, control characters or half an emoji answers", hooks=HOOKS)
def tools_take_broken_text(h: Harness) -> str | None:
    return _texts(h, "NUL", "control characters", "lone surrogate", "blank")


@check("a tool called with the syntax of a database answers", hooks=HOOKS)
def tools_take_query_syntax(h: Harness) -> str | None:
    return _texts(h, "SQL", "search syntax", "JSON", "markup")


@check("a tool called with fence tags answers", hooks=HOOKS)
def tools_take_fence_tags(h: Harness) -> str | None:
    return _texts(h, "fence")


@check("an unknown tool is told, not run", hooks=("call_tool",))
def an_unknown_tool_is_told(h: Harness) -> str | None:
    subject = h.start()
    answer = _run(subject, inputs.session_info(), "no_such_tool_at_all", {})
    if answer is not None and answer.get("success") is not False and "error" not in answer:
        raise CheckFailed(
            f"`call_tool` for an unknown name answered {str(answer)[:100]} as if all were well.",
            'end `call_tool` with `return ToolResult({"error": f"unknown tool {name}"}, ok=False)`',
        )
    return None


@check("a tool leaves its arguments as they were", hooks=HOOKS)
def tools_leave_arguments_alone(h: Harness) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for tool in subject.tools():
        given = {**_filled(tool, "tea"), "extra": {"list": [1, 2]}}
        before = copy.deepcopy(given)
        _run(subject, session, tool.name, given)
        if given != before:
            raise CheckFailed(
                f"`{tool.name}` changed the arguments it was given.", "work on `dict(arguments)`"
            )
    return None


@check("four tools may run at once", hooks=HOOKS)
def tools_run_in_threads(h: Harness) -> str | None:
    subject = h.start()
    tools = subject.tools()

    def work(number: int) -> None:
        session = inputs.session_info()
        for tool in tools:
            _run(subject, session, tool.name, _filled(tool, f"tea {number}"))

    in_threads(work, 4)
    return None


def _each(h: Harness, make: Any) -> str | None:
    subject, session = h.start(), inputs.session_info()
    for tool in subject.tools():
        for arguments in make(tool):
            _run(subject, session, tool.name, arguments)
    return None


def _texts(h: Harness, *names: str) -> str | None:
    texts = {**inputs.TEXTS, **inputs.BROKEN_TEXTS}
    return _each(h, lambda tool: [_filled(tool, texts[name]) for name in names])


def _run(
    subject: Subject, session: SessionInfo, name: str, arguments: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The answer as a mapping; None when it raised an error of our tree."""
    shown = repr(dict(arguments))[:120]
    answer = subject.attempt("call_tool", session=session, name=name, arguments=arguments)
    if isinstance(answer.error, HermesMemoryError):
        return None
    if answer.error is not None:
        raise CheckFailed(
            f"`{name}` with {shown} raised {type(answer.error).__name__}: {answer.error}", MEND
        ) from answer.error
    data = answer.value.data if isinstance(answer.value, ToolResult) else answer.value
    if not isinstance(data, Mapping):
        raise CheckFailed(
            f"`{name}` with {shown} answered with a {type(data).__name__}.",
            "return one mapping or a ToolResult",
        )
    try:
        json.dumps(dict(data), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailed(
            f"The answer of `{name}` with {shown} cannot be written as JSON: {error}",
            "turn dates, sets and objects into text or lists first",
        ) from error
    return (
        {**data, "success": False}
        if isinstance(answer.value, ToolResult) and not answer.value.ok
        else data
    )


def _names(tool: ToolSpec) -> list[str]:
    return list(tool.parameters.get("properties", {}))


def _filled(tool: ToolSpec, text: str) -> dict[str, Any]:
    """Arguments of the right types, with the text wherever text may stand."""
    filled: dict[str, Any] = {}
    for name, schema in tool.parameters.get("properties", {}).items():
        kind = schema.get("type")
        if "enum" in schema:
            filled[name] = schema["enum"][0]
        elif kind in ("integer", "number"):
            filled[name] = 3
        elif kind == "boolean":
            filled[name] = False
        elif kind == "array":
            filled[name] = [text]
        elif kind == "object":
            filled[name] = {"text": text}
        else:
            filled[name] = text
    return filled
