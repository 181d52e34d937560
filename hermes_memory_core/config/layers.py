"""Sorting what a file, the environment or a caller gives into our settings, others' keys, and mistakes.

A home may be shared with Hermes Agent, so its keys are kept and ignored; only sections nobody else owns are
strict (design.md section 7). Values are not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_core.config.defaults import (
    AGENT_KEYS,
    DEFAULTS,
    OPEN,
    SETTINGS,
    STRICT,
    is_section,
    is_setting,
    lookup,
)
from hermes_memory_core.types import Notice

ENV_PREFIX = "HERMES_MEMORY_"
ENVIRONMENT = "environment variable"
"""How the source of such a value begins; its name follows."""
NEAR = 0.8
"""difflib ratio from which an unknown key is taken for a misspelling."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that cannot be used: the dotted key, and what is wrong with it."""

    key: str
    message: str
    source: str = ""


@dataclass(slots=True)
class Layer:
    """One source of settings, sorted."""

    source: str
    values: dict[str, Any] = field(default_factory=dict)
    """Dotted key to value as given."""
    sources: dict[str, str] = field(default_factory=dict)
    """Dotted key to a more exact source than the layer's."""
    ignored: list[str] = field(default_factory=list)
    warnings: list[Notice] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def sort_mapping(data: Mapping[Any, Any], source: str, *, closed: bool = False) -> Layer:
    """Sort nested data, as a file or a caller gives it.

    Args:
        data: Sections as nested mappings; keys may be dotted as well.
        source: Where it comes from, for messages.
        closed: Unknown keys are mistakes everywhere (a caller's overrides), not only in strict sections.
    """
    layer = Layer(source)
    _sort(data, "", layer, closed)
    return layer


def sort_environment(environ: Mapping[str, str]) -> Layer:
    """Pick ``HERMES_MEMORY_<SECTION>__<KEY>`` out of the environment.

    A double underscore is the dot: ``HERMES_MEMORY_MEMORY__DEADLINES__PREFETCH_S``. Names without one are switches
    of the program and none of our business here.
    """
    layer = Layer("environment")
    for name in sorted(environ):
        rest = name.removeprefix(ENV_PREFIX)
        if rest == name or "__" not in rest:
            continue
        dotted = ".".join(part for part in rest.lower().split("__"))
        if not is_setting(dotted):
            layer.warnings.append(_unknown_notice(dotted, f"{ENVIRONMENT} {name}"))
        elif environ[name] or isinstance(SETTINGS.get(dotted), str):
            layer.values[dotted] = from_text(dotted, environ[name])
            layer.sources[dotted] = f"{ENVIRONMENT} {name}"
    return layer


def from_text(dotted: str, text: str) -> Any:
    """What a person typed for a setting: left to the setting's own kind, or read as YAML where it has none."""
    if dotted in SETTINGS and dotted not in OPEN:
        if isinstance(SETTINGS[dotted], list) and text.lstrip().startswith("["):
            return _yaml_value(text)
        return text
    return _yaml_value(text)


def _yaml_value(text: str) -> Any:
    """A YAML scalar, quoted text, ``[list]`` or ``{mapping}``; everything else is the text itself."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    bare = text.strip()
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return text
    if bare[:1] in ("[", "{", "'", '"') and value is not None:
        return value
    if isinstance(value, bool) or (value is None and bare in ("null", "~")):
        return value
    if isinstance(value, (int, float)) and str(value) == bare:
        return value
    return text  # 007 is a name, not seven; a date stays as typed


def suggest(dotted: str) -> str | None:
    """The setting or section that was probably meant, or None."""
    import difflib

    parent, _, last = dotted.rpartition(".")
    siblings = lookup(DEFAULTS, parent) if parent else DEFAULTS
    if isinstance(siblings, Mapping) and siblings:
        near = difflib.get_close_matches(last, list(siblings), 1, NEAR)
        if near:
            return f"{parent}.{near[0]}" if parent else near[0]
    near = difflib.get_close_matches(dotted, list(SETTINGS), 1, NEAR)
    return near[0] if near else None


def _sort(data: Mapping[Any, Any], prefix: str, layer: Layer, closed: bool) -> None:
    for key, value in _undotted(data, closed):
        dotted = f"{prefix}{key}"
        section = prefix.rstrip(".")
        if is_section(dotted):
            if isinstance(value, Mapping):
                _sort(value, f"{dotted}.", layer, closed)
            elif value is not None:  # `memory:` with only comments below is null
                layer.problems.append(
                    Problem(dotted, "must be a section with settings below it", layer.source)
                )
        elif dotted in OPEN or is_setting(dotted):
            _take(dotted, value, layer)
        elif closed or section in STRICT:
            layer.problems.append(Problem(dotted, _unknown(dotted), layer.source))
        else:
            layer.ignored.append(dotted)
            if dotted not in AGENT_KEYS and suggest(dotted):
                layer.warnings.append(_unknown_notice(dotted, layer.source))


def _undotted(data: Mapping[Any, Any], dotted_allowed: bool) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if dotted_allowed and isinstance(key, str) and "." in key:
            first, _, rest = key.partition(".")
            yield (key, value) if is_setting(key) else (first, {rest: value})
        else:
            yield str(key), value


def _take(dotted: str, value: Any, layer: Layer) -> None:
    default = SETTINGS.get(dotted)
    if value is None and default is not None and dotted in SETTINGS:
        return  # an empty value means: not set
    if dotted in OPEN and not isinstance(value, Mapping):
        layer.problems.append(Problem(dotted, "must be a mapping", layer.source))
        return
    layer.values[dotted] = value


def _unknown(dotted: str) -> str:
    near = suggest(dotted)
    return f"is no setting{f'; did you mean `{near}`?' if near else ''}"


def _unknown_notice(dotted: str, source: str) -> Notice:
    near = suggest(dotted)
    return Notice(
        code="config_unknown_key",
        message=f"`{dotted}` ({source}) {_unknown(dotted)} It is ignored."
        if near
        else f"`{dotted}` ({source}) is no setting. It is ignored.",
        hint=f"`hermes config explain {near}`"
        if near
        else "`hermes config explain` lists them all",
        key=f"config_unknown_key:{dotted}",
    )
