"""Is this object a provider? Says at registration what pluggy would only show as a hook that never fires."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator
from typing import Any

from hermes_memory_core.errors import PluginLoadError
from hermes_memory_core.hookspecs import HOOK_NAMES, PROJECT, ProviderSpec

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(getattr(ProviderSpec, name)).parameters)[1:]
    for name in HOOK_NAMES
}


def validate(provider: object, name: str) -> frozenset[str]:
    """The hooks the object implements.

    Raises:
        PluginLoadError: The first thing that would make a hook silently not work, with what to write
            instead.
    """
    if inspect.isclass(provider):
        raise _error(name, f"`{provider.__name__}` is a class; an instance is registered.", "")
    implemented = set()
    for attribute, function, options in _members(provider):
        if options is None:
            if attribute in HOOK_NAMES:
                raise _error(
                    name,
                    f"`{attribute}` has the name of a hook and no `@hookimpl`, so it would never be called.",
                    f"put `@hookimpl` above `def {attribute}`, or rename it",
                )
            continue
        hook = options.get("specname") or attribute
        _check_marker(name, attribute, hook, options)
        _check_signature(name, attribute, hook, function)
        implemented.add(hook)
    return frozenset(implemented)


def _members(provider: object) -> Iterator[tuple[str, Any, dict[str, Any] | None]]:
    kind = type(provider)
    for attribute in dir(kind):
        if attribute.startswith("__"):
            continue
        found = inspect.getattr_static(kind, attribute)
        function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        if inspect.isroutine(function):
            yield attribute, function, getattr(function, f"{PROJECT}_impl", None)


def _check_marker(name: str, attribute: str, hook: str, options: dict[str, Any]) -> None:
    if hook not in HOOK_NAMES:
        near = difflib.get_close_matches(hook, HOOK_NAMES, n=1, cutoff=0.5)
        raise _error(
            name,
            f"`{hook}` is not a hook of this version.",
            f"did you mean `{near[0]}`?" if near else "see the list of hooks in docs/plugin/hooks",
        )
    refused = [key for key in ("hookwrapper", "wrapper", "tryfirst", "trylast") if options.get(key)]
    if refused:
        raise _error(
            name,
            f"`{attribute}` asks for `{refused[0]}`; providers are called one at a time, so there is "
            "nothing to wrap or to come before.",
            "use a plain `@hookimpl`",
        )


def _check_signature(name: str, attribute: str, hook: str, function: Any) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise _error(
            name,
            f"`{attribute}` is `async def`; hooks are plain functions on threads of the core.",
            "run the coroutine inside, for example with `asyncio.run`",
        )
    known = _ARGUMENTS[hook]
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if position == 0 and parameter.name in ("self", "cls"):
            continue
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise _error(
                name,
                f"`{attribute}` takes `{parameter}`; arguments are handed over by name, one by one.",
                f"name the ones you need of: {', '.join(known) or 'none'}",
            )
        if parameter.name not in known:
            near = difflib.get_close_matches(parameter.name, known, n=1, cutoff=0.5)
            raise _error(
                name,
                f"`{attribute}` asks for `{parameter.name}`, which the hook `{hook}` does not hand over.",
                f"did you mean `{near[0]}`?"
                if near
                else f"it hands over: {', '.join(known) or 'nothing'}",
            )


def _error(name: str, message: str, hint: str) -> PluginLoadError:
    return PluginLoadError(
        f"Provider `{name}`: {message}", hint=hint, details={"phase": "validate", "provider": name}
    )
