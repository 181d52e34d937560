"""Validating complete settings with the models, and saying what is wrong in a person's words. Imports pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hermes_memory_core.config.defaults import lookup
from hermes_memory_core.config.layers import Problem
from hermes_memory_core.config.models import Settings


def validated(
    plain: dict[str, Any], sources: Mapping[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Complete settings with every value in its own kind, and what cannot be used.

    Args:
        plain: All settings, defaults filled in.
        sources: Dotted key to where its value comes from.
    """
    try:
        return Settings.model_validate(plain).model_dump(mode="python"), []
    except ValidationError as error:
        return plain, [_problem(item, plain, sources) for item in error.errors(include_url=False)]


def _problem(item: Any, plain: Mapping[str, Any], sources: Mapping[str, str]) -> Problem:
    path = [str(part) for part in item["loc"]]
    while path and lookup(plain, ".".join(path), _MISSING) is _MISSING:
        path.pop()  # pydantic adds the place inside a list or a union
    dotted = ".".join(path)
    cause = (item.get("ctx") or {}).get("error")
    reason = str(cause) if cause else item["msg"].replace("Input should be", "must be")
    value = item.get("input")
    shown = "" if isinstance(value, Mapping) else f"is {_short(value)} and "
    source = sources.get(dotted, "")
    if not source:  # a rule between two settings: name whoever gave one of them
        source = next((sources[key] for key in sources if key.startswith(f"{dotted}.")), "")
    return Problem(dotted, f"{shown}{reason}", source)


_MISSING = object()


def _short(value: Any, limit: int = 60) -> str:
    shown = repr(value)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
