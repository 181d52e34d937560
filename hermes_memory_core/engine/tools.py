"""The tools of one session: collected once, names unique, each call routed to its owner.

One routing table: what is listed can be called, what is not listed cannot.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_memory_core.engine.calls import Outcome, Provider, describe
from hermes_memory_core.types import (
    CallInfo,
    Notice,
    Origin,
    SessionInfo,
    ToolResult,
    ToolSpec,
)

MAX_NAME = 64
"""Longest tool name the large backends take."""


class Toolbox:
    """The fixed tools of one session.

    Args:
        providers: In order; the first to name a tool owns it.
        session: The session.
        timeout_s: Deadline for each provider's list.
        tell: Where a refused tool is reported.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        session: SessionInfo,
        timeout_s: float,
        tell: Callable[[Notice], None],
    ) -> None:
        self._owners: dict[str, Provider] = {}
        self._specs: list[ToolSpec] = []
        for provider in providers:
            outcome = provider.call("tools", timeout_s, session=session)
            for spec in outcome.value if outcome.ok and outcome.value else ():
                self._add(provider, spec, tell)

    @property
    def names(self) -> list[str]:
        """Tool names in order."""
        return [spec.name for spec in self._specs]

    def as_openai(self) -> list[dict[str, Any]]:
        """The list a chat completion takes, newly built so that a host may change its copy."""
        return [
            {
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": json.loads(json.dumps(spec.parameters)),
                },
            }
            for spec in self._specs
        ]

    def call(
        self,
        session: SessionInfo,
        name: str,
        arguments: Any,
        timeout_s: float,
        *,
        origin: Origin,
        call_id: str | None = None,
    ) -> str:
        """Run a tool. Always one JSON object, never a raise.

        Args:
            session: The session.
            name: The tool.
            arguments: A mapping, the JSON text of one, or None.
            timeout_s: Deadline of the call.
            origin: Who calls.
            call_id: The model's id of the call.
        """
        wanted: Any = name  # models send all sorts of things
        name = wanted if isinstance(wanted, str) else f"({type(wanted).__name__})"
        owner = self._owners.get(name)
        if owner is None:
            near = difflib.get_close_matches(name[:MAX_NAME], self._owners, n=1, cutoff=0.5)
            hint = f"did you mean `{near[0]}`?" if near else f"tools: {', '.join(self._owners)}"
            return failure(f"There is no tool `{name:.{MAX_NAME}}`.", hint)
        parsed = parse_arguments(arguments)
        if isinstance(parsed, str):
            return failure(parsed, "send the arguments as one JSON object")
        info = CallInfo(
            deadline=time.monotonic() + timeout_s,
            turn_id=origin.turn_id,
            call_id=call_id,
            origin=origin,
        )
        outcome = owner.call(
            "call_tool", timeout_s, session=session, name=name, arguments=parsed, call=info
        )
        return _render(name, owner, outcome)

    def _add(self, provider: Provider, spec: ToolSpec, tell: Callable[[Notice], None]) -> None:
        problem = ""
        name = str(getattr(spec, "name", spec))
        if (
            not spec.name
            or len(spec.name) > MAX_NAME
            or not spec.name.replace("-", "_").isidentifier()
        ):
            problem = f"`{spec.name}` is not a name that models can call"
        elif spec.name in self._owners:
            other = self._owners[spec.name]
            problem = (
                f"`{spec.name}` belongs to `{other.name}` ({other.distribution}) already; "
                f"`{provider.name}` ({provider.distribution}) offers one of the same name"
            )
        elif spec.parameters.get("type") != "object":
            problem = f"the parameters of `{spec.name}` are not the JSON Schema of an object"
        if problem:
            tell(
                Notice(
                    "tool_refused",
                    f"A tool was left out: {problem}.",
                    hint=f"hermes plugins info {provider.name}",
                    key=f"tool_refused:{provider.name}:{name:.80}",
                )
            )
            return
        self._owners[spec.name] = provider
        self._specs.append(spec)


def parse_arguments(arguments: Any) -> dict[str, Any] | str:
    """A mapping from what a model layer hands over, or the complaint."""
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str | bytes):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            return f"The arguments are not JSON ({error}); nothing was done."
        if isinstance(arguments, str):  # some layers encode twice
            return (
                parse_arguments(arguments)
                if arguments.lstrip().startswith("{")
                else _not_object(arguments)
            )
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        return _not_object(arguments)
    return {str(key): value for key, value in arguments.items()}


def _not_object(value: object) -> str:
    return f"The arguments are a {type(value).__name__}, not a JSON object; nothing was done."


def _render(name: str, owner: Provider, outcome: Outcome) -> str:
    if not outcome.ok:
        hint = str(getattr(outcome.error, "hint", "")) or "hermes memory status"
        return failure(describe(outcome.error) or f"`{name}` gave no answer.", hint)
    value = outcome.value
    if isinstance(value, ToolResult):
        data: dict[str, Any] = dict(value.data)
        if not value.ok:
            data.setdefault("success", False)
    elif isinstance(value, Mapping):
        data = {str(key): item for key, item in value.items()}
    else:
        return failure(
            f"`{name}` of `{owner.name}` answered with a {type(value).__name__}, not an object.",
            f"hermes plugins check {owner.name}",
        )
    try:
        text = json.dumps(data, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError):  # values JSON has no word for, or lone surrogates
        try:
            text = json.dumps(data, ensure_ascii=True, default=str, skipkeys=True)
        except (ValueError, RecursionError) as error:  # it holds itself, or nests without end
            return failure(f"The answer of `{name}` is no JSON: {error}.", "")
    except RecursionError as error:
        return failure(f"The answer of `{name}` is no JSON: {error}.", "")
    return text


def failure(message: str, hint: str) -> str:
    """The JSON object of a call that did nothing."""
    data = {"success": False, "error": message}
    if hint:
        data["hint"] = hint
    return json.dumps(data, ensure_ascii=True)
