"""From whatever a model sends to a checked call of the ``memory`` tool. Touches no store.

Model layers rename, drop, quote and nest arguments; what can be understood in one way only is taken, everything
else gets one error that names the received keys and shows a valid call. The target is checked before all else:
nothing is written or staged for a call whose target is not certain (design.md D2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from hermes_memory_core.errors import NoteError
from hermes_memory_core.types import NoteOperation, Target
from hermes_memory_files import messages, operations

ACTIONS = ("add", "patch", "replace", "remove")
CONTENT_NAMES = ("content", "new_text", "new_string", "new_content", "text")
OLD_NAMES = ("old_text", "old_string", "old_content", "fragment")
ACTION_NAMES = {"delete": "remove"}
_WRAPPERS = ("arguments", "args", "input", "parameters")


@dataclass(frozen=True, slots=True)
class Call:
    """A checked call: ``read``, or operations on one target."""

    target: Target
    steps: tuple[NoteOperation, ...] = ()
    batch: bool = False

    @property
    def read(self) -> bool:
        """True when nothing is to be written."""
        return not self.steps


def parse_call(arguments: object, enabled: Sequence[Target]) -> Call:
    """Check a call; raises NoteError with the received keys and an example for anything unclear."""
    given = _unwrapped(arguments)
    target = _target(given, enabled)
    batch = _listed(given)
    if batch:
        if _action(given) in ACTIONS and (_text(given, CONTENT_NAMES) or _text(given, OLD_NAMES)):
            raise _wrong("Give either one action or `operations`, not both.", given, "batch")
        return Call(target, _batch(batch, target, given), batch=True)
    if _action(given) == "read":
        return Call(target)
    if batch is not None and not _action(given):
        raise _wrong("`operations` is an empty list; give at least one.", given, "batch")
    return Call(target, (_single(given),))


def _unwrapped(arguments: object) -> Mapping[str, Any]:
    given = _from_json(arguments)
    if isinstance(given, Mapping) and len(given) == 1:
        (name, inner), *_ = given.items()
        inner = _from_json(inner)
        if name in _WRAPPERS and isinstance(inner, Mapping):
            given = inner
    if not isinstance(given, Mapping):
        raise _wrong("The arguments must be one JSON object.", {}, "add")
    return cast("Mapping[str, Any]", given)


def _from_json(value: object) -> object:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _target(given: Mapping[str, Any], enabled: Sequence[Target]) -> Target:
    target = given.get("target")
    allowed = " or ".join(f'"{one}"' for one in enabled)
    if target is None:
        raise _wrong(f"`target` is missing: {allowed}.", given, _example(given))
    if target not in get_args(Target):
        raise _wrong(f"`target` is {target!r}; it must be {allowed}.", given, _example(given))
    if target not in enabled:
        raise NoteError(
            f'The target "{target}" is switched off in this profile; nothing was changed. Use {allowed}.'
        )
    return cast("Target", target)


def _listed(given: Mapping[str, Any]) -> list[Any] | None:
    """The operations as a list, [] for an empty one, None when there are none."""
    if given.get("operations") in (None, ""):
        return None
    value = _from_json(given["operations"])
    if not isinstance(value, list):
        raise _wrong("`operations` must be a list of objects.", given, "batch")
    return value


def _batch(items: list[Any], target: Target, given: Mapping[str, Any]) -> tuple[NoteOperation, ...]:
    steps: list[NoteOperation] = []
    for number, raw in enumerate(items, 1):
        item = _from_json(raw)
        if not isinstance(item, Mapping):
            error = _wrong("it is not an object.", given, "batch")
            raise operations.in_batch(error, number, "", len(items))
        if item.get("target") not in (None, target):
            error = _wrong(
                f'its target {item["target"]!r} is not the call\'s "{target}"; one call changes one '
                "target, make two calls.",
                item,
                "batch",
            )
            raise operations.in_batch(error, number, str(item.get("action") or ""), len(items))
        try:
            steps.append(_single(item))
        except NoteError as error:
            raise operations.in_batch(error, number, _action(item), len(items)) from error
    return tuple(steps)


def _single(given: Mapping[str, Any]) -> NoteOperation:
    action = _action(given)
    if action not in ACTIONS:
        what = f"`action` is {action!r}" if action else "`action` is missing"
        raise _wrong(f"{what}; it must be {', '.join(ACTIONS)}.", given, _example(given))
    content = _text(given, CONTENT_NAMES)
    old_text = _text(given, OLD_NAMES)
    if action == "remove" and old_text is None:
        old_text = content  # only the entry can be meant
    if action != "add" and not (old_text or "").strip():
        raise _wrong(
            f"{action} needs `old_text`: a fragment of the entry meant.",
            given,
            action,
            needs_entries=True,
        )
    if action == "remove":
        return NoteOperation("remove", None, old_text)
    if content is None or (action != "patch" and not content.strip()):
        way = " To take an entry away use action remove." if action == "replace" else ""
        raise _wrong(f"{action} needs `content` that is not empty.{way}", given, action)
    return NoteOperation(cast("Any", action), content, None if action == "add" else old_text)


def _action(given: Mapping[str, Any]) -> str:
    value = given.get("action")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong("`action` must be text.", given, _example(given))
    name = value.strip().lower()
    return ACTION_NAMES.get(name, name)


def _text(given: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The text under any of the names; several that differ are an error, not a guess."""
    found = {name: given[name] for name in names if given.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, str):
            raise _wrong(
                f"`{name}` must be text, not {type(value).__name__}.", given, _example(given)
            )
    if len(set(found.values())) > 1:
        said = " and ".join(f"`{name}`" for name in found)
        raise _wrong(
            f"{said} say different things; give `{names[0]}` only.", given, _example(given)
        )
    return next(iter(found.values()), None)


def _example(given: Mapping[str, Any]) -> str:
    if given.get("operations") is not None:
        return "batch"
    action = given.get("action")
    return action if isinstance(action, str) and action in ACTIONS else "add"


def _wrong(
    problem: str, given: Mapping[str, Any], example: str, *, needs_entries: bool = False
) -> NoteError:
    keys = sorted(map(str, given))
    received = ", ".join(keys[:20]) if keys else "nothing"
    return NoteError(
        f"{problem} Nothing was changed. Received: {received}. Example: {messages.EXAMPLES[example]}",
        details={"received": keys[:20], **({"needs_entries": True} if needs_entries else {})},
    )
