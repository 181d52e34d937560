"""Changing ``config.yaml`` for a person: checked before it is written, comments kept, never half done.

The file's lock is held from reading to writing, so two programs that set different keys lose none. Secrets are
refused: they belong into ``.env`` (``secrets.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.config.defaults import (
    OPEN,
    SETTINGS,
    assign,
    is_section,
    is_setting,
    lookup,
)
from hermes_memory_core.config.layers import from_text, suggest
from hermes_memory_core.config.load import check_mapping, config_error, is_secret_key
from hermes_memory_core.config.secrets import secret_name
from hermes_memory_core.config.yamlfile import FILE_NAME, ConfigText, parse_mapping, read_config
from hermes_memory_core.errors import ConfigError
from hermes_memory_core.storage.atomic import refuse_symlink, write_atomic
from hermes_memory_core.storage.locks import file_lock

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Change:
    """What a set or unset did to one key of ``config.yaml``."""

    key: str
    before: Any
    """The value the file held; None when it held none."""
    after: Any
    """The value it holds now; None when it holds none."""
    changed: bool
    path: Path


def set_value(profile_dir: Path, dotted: str, value: Any) -> Change:
    """Set one setting in the profile's ``config.yaml``.

    Args:
        profile_dir: The profile's directory, made when missing.
        dotted: For example ``memory.provider`` or ``providers.honcho.workspace``.
        value: Plain data, or the text a person typed: read as the setting's own kind.

    Raises:
        ConfigError: No such setting, a secret, a value it cannot have, or a file that cannot be understood.
        StoreError: The file is a symbolic link, read-only, locked or cannot be written.
    """
    _require_setting(dotted, value)
    if isinstance(value, str):
        _require_text(dotted, value)
        value = from_text(dotted, value)
    if isinstance(value, Mapping):
        _refuse_secrets_within(dotted, value)

    def change(raw: dict[str, Any]) -> Any:
        trial = copy.deepcopy(raw)
        _assign_checked(trial, dotted, value)
        return _accepted(raw, trial, dotted, value, profile_dir / FILE_NAME)

    return _rewrite(profile_dir, dotted, change)


def unset_value(profile_dir: Path, dotted: str) -> Change:
    """Take one key out of the profile's ``config.yaml``, so that its default holds again.

    Other programs' keys are refused, as are whole sections. ``Change.changed`` is False when it was not there.
    """
    if not is_setting(dotted):
        raise _no_setting(dotted)
    return _rewrite(profile_dir, dotted, lambda _raw: _MISSING)


def text_without(text: str, parts: Sequence[str], path: Path) -> str:
    """A config's text without one key; all else says what it said before.

    Raises:
        ConfigError: That cannot be done, or the text cannot be understood. ``path`` is for the message.
    """
    from hermes_memory_core.config import rewrite

    wanted = _without(parse_mapping(text, path), parts)
    return _first_right(rewrite.candidates_without(text, parts), wanted, path, ".".join(parts))


def _rewrite(profile_dir: Path, dotted: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    from hermes_memory_core.config import rewrite

    path = profile_dir / FILE_NAME
    refuse_symlink(path)
    with file_lock(path.with_name(f"{FILE_NAME}.lock")):
        file = read_config(path) or ConfigText(path, "")
        raw = parse_mapping(file.text, path)
        before = lookup(raw, dotted, _MISSING)
        after = change(raw)
        shown = None if before is _MISSING else before
        if _same(before, after):
            return Change(dotted, shown, shown, changed=False, path=path)
        parts = dotted.split(".")
        if after is _MISSING:
            text = text_without(file.text, parts, path)
        else:
            wanted = copy.deepcopy(raw)
            assign(wanted, dotted, after)
            text = _first_right(rewrite.candidates(file.text, parts, after), wanted, path, dotted)
        _refuse_read_only(path)
        write_atomic(path, file.encode(text))
    return Change(dotted, shown, None if after is _MISSING else after, changed=True, path=path)


def _accepted(
    raw: Mapping[str, Any], trial: dict[str, Any], dotted: str, value: Any, path: Path
) -> Any:
    """The value in its own kind. Mistakes that were in the file before do not stand in the way."""
    plain, problems = check_mapping(trial, path)
    old = {(problem.key, problem.message) for problem in check_mapping(raw, path)[1]}
    new = [problem for problem in problems if (problem.key, problem.message) not in old]
    if new:
        raise config_error(new, path)
    if dotted not in SETTINGS or dotted in OPEN:
        return value
    if problems:  # the settings as a whole are not valid yet, so this one is judged alone
        alone: dict[str, Any] = {}
        assign(alone, dotted, value)
        plain, problems = check_mapping(alone, path)
        if problems:
            raise config_error(problems, path)
    return lookup(plain, dotted)


def _require_setting(dotted: str, value: Any) -> None:
    if is_secret_key(dotted):
        parts = dotted.split(".")
        owner = parts[1] if parts[0] == "providers" and len(parts) > 2 else parts[0]
        raise ConfigError(
            f"`{dotted}` is a secret and does not belong into config.yaml; nothing was changed.",
            hint=f"`hermes config secret {secret_name(owner, parts[-1])}` keeps it in .env",
        )
    if is_section(dotted):
        raise ConfigError(
            f"`{dotted}` is a section, not a setting; nothing was changed.",
            hint=f"`hermes config explain {dotted}` lists its settings",
        )
    if not is_setting(dotted) or not all(dotted.split(".")):
        raise _no_setting(dotted)
    if dotted in OPEN and not isinstance(value, (Mapping, str)):
        raise ConfigError(f"`{dotted}` must be a mapping; nothing was changed.")


def _require_text(dotted: str, value: str) -> None:
    with suppress(UnicodeEncodeError):
        value.encode("utf-8")
        return
    raise ConfigError(f"The value for `{dotted}` is no valid text; nothing was changed.")


def _refuse_secrets_within(dotted: str, value: Mapping[Any, Any]) -> None:
    for key, child in value.items():
        _require_setting(f"{dotted}.{key}", child) if is_secret_key(str(key)) else None
        if isinstance(child, Mapping):
            _refuse_secrets_within(f"{dotted}.{key}", child)


def _no_setting(dotted: str) -> ConfigError:
    near = suggest(dotted)
    return ConfigError(
        f"There is no setting `{dotted}`{f'; did you mean `{near}`?' if near else '.'} "
        "Nothing was changed.",
        hint="`hermes config explain` lists all settings; others' keys: `hermes config edit`",
    )


def _assign_checked(tree: dict[str, Any], dotted: str, value: Any) -> None:
    """Like ``assign``, but never replaces a value by a section."""
    parts = dotted.split(".")
    for depth in range(1, len(parts)):
        above = ".".join(parts[:depth])
        node = lookup(tree, above, None)
        if node is not None and not isinstance(node, Mapping):
            raise ConfigError(
                f"`{above}` holds a value in config.yaml, so `{dotted}` cannot be below it; nothing was "
                "changed.",
                hint="`hermes config edit`",
            )
    assign(tree, dotted, value)


def _without(raw: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    wanted = copy.deepcopy(dict(raw))
    chain = [wanted]
    try:
        for part in parts[:-1]:
            chain.append(chain[-1][part])
        del chain[-1][parts[-1]]
    except (KeyError, TypeError):
        raise ConfigError(
            f"`{'.'.join(parts)}` is not in the config; nothing was changed."
        ) from None
    for depth in range(len(chain) - 1, 0, -1):
        if not chain[depth]:
            del chain[depth - 1][parts[depth - 1]]
    return wanted


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


def _refuse_read_only(path: Path) -> None:
    if path.exists() and not path.stat().st_mode & 0o200:
        raise ConfigError(
            f"`{path}` is read-only; nothing was changed.",
            hint=f"chmod u+w {path}",
            details={"path": str(path)},
        )


def _first_right(texts: Iterable[str], wanted: Mapping[str, Any], path: Path, dotted: str) -> str:
    """The first text that says what was wanted, while all else says what it said before."""
    for text in texts:
        with suppress(ConfigError):
            if parse_mapping(text, path) == wanted:
                return text
    raise ConfigError(
        f"`{dotted}` cannot be changed in `{path}` without touching other settings; nothing was changed.",
        hint="`hermes config edit` opens the file",
        details={"path": str(path)},
    )
