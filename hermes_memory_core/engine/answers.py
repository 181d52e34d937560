"""What a hook may answer, enforced inside the guard: what passes is of the promised kind, the rest is a failure.

Runs where the hook ran, under its deadline, so a generator without end or text whose methods raise costs a failed
call and nothing else. Knows kinds and bounds; what an answer means is the caller's business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from hermes_memory_core.errors import ProviderBadResponseError
from hermes_memory_core.types import Recall, ToolResult, ToolSpec

MAX_TOOLS = 128
"""Most tools one provider may offer: what the large backends take for all together."""
MAX_DEPTH = 64
"""Levels of a tool's answer; anything deeper is a structure that holds itself."""


def checked(hook: str, value: Any) -> Any:
    """The answer, in plain built-in types where that matters.

    Raises:
        ProviderBadResponseError: It is of a kind that this hook may not return.
    """
    check = _CHECKS.get(hook)
    return value if check is None or value is None else check(hook, value)


def _text(hook: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(hook, value, "text or None")
    # a subclass may bite: from here on it is a plain str
    return value if type(value) is str else str.__str__(value)


def _recall(hook: str, value: Any) -> Recall | str:
    if isinstance(value, str):
        return _text(hook, value)
    if not isinstance(value, Recall):
        raise _wrong(hook, value, "text, a Recall or None")
    at: Any = value.found_at
    if at is not None and not (isinstance(at, int | float) and math.isfinite(at)):
        raise _wrong(hook, at, "epoch seconds as `found_at`")
    return Recall(_text(hook, value.text), _text(hook, value.source), at)


def _tools(hook: str, value: Any) -> tuple[ToolSpec, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(hook, value, "a list of ToolSpec")
    specs = tuple(islice(value, MAX_TOOLS + 1))
    if len(specs) > MAX_TOOLS:
        raise ProviderBadResponseError(f"`{hook}` offers more than {MAX_TOOLS} tools.")
    return tuple(_tool(hook, spec) for spec in specs)


def _tool(hook: str, spec: Any) -> ToolSpec:
    if not isinstance(spec, ToolSpec):
        raise _wrong(hook, spec, "a list of ToolSpec")
    name = _text(hook, spec.name)
    if not isinstance(spec.parameters, Mapping):
        raise _wrong(hook, spec.parameters, f"a JSON Schema as the parameters of `{name}`")
    try:
        parameters = json.loads(json.dumps(dict(spec.parameters), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderBadResponseError(
            f"The parameters of `{name}` cannot be written as JSON."
        ) from error
    return ToolSpec(name, _text(hook, spec.description), parameters)


def _tool_result(hook: str, value: Any) -> ToolResult | dict[str, Any]:
    data = value.data if isinstance(value, ToolResult) else value
    if not isinstance(data, Mapping):
        raise _wrong(hook, data, "one mapping or a ToolResult")
    plain: dict[str, Any] = _plain(data, 0)
    return ToolResult(plain, bool(value.ok)) if isinstance(value, ToolResult) else plain


def _plain(value: Any, depth: int) -> Any:
    """The value in words JSON has; what it has no word for becomes text."""
    if depth > MAX_DEPTH:
        raise ProviderBadResponseError(
            f"The tool's answer is nested {MAX_DEPTH} levels deep or more."
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    return str(value)


def _wrong(hook: str, value: Any, wanted: str) -> ProviderBadResponseError:
    return ProviderBadResponseError(
        f"`{hook}` answered with a {type(value).__name__} instead of {wanted}.",
        hint="tell the provider's author: hermes plugins check NAME shows it",
    )


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "system_block": _text,
    "before_compression": _text,
    "prefetch": _recall,
    "tools": _tools,
    "call_tool": _tool_result,
}
