"""Reading ``config.yaml`` as text and as plain data, with errors that name line and column.

Only whole files are read here; nothing is written and no setting is known. ruamel is imported when there is
something to parse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import ConfigError
from hermes_memory_core.storage.atomic import read_bytes

FILE_NAME = "config.yaml"
MAX_BYTES = 4 * 1024 * 1024
MAX_NODES = 200_000
"""Values a file may expand to: aliases of aliases can make a small file endless."""
MAX_DEPTH = 60
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ConfigText:
    """A config file's text, without its byte order mark."""

    path: Path
    text: str
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """The bytes of a changed text, with the mark if there was one."""
        return ((_BOM if self.bom else "") + text).encode("utf-8")


def read_config(path: Path) -> ConfigText | None:
    """The file's text, or None when there is none.

    Raises:
        StoreUnreadableError: It is there and cannot be read.
        ConfigError: It is too large or not UTF-8.
    """
    data = read_bytes(path)
    if data is None:
        return None
    if len(data) > MAX_BYTES:
        raise _unusable(
            path, f"has {len(data):,} bytes, more than the {MAX_BYTES:,} a config may have"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unusable(path, f"is not UTF-8 text (line {line})", line=line) from error
    return ConfigText(path, text.removeprefix(_BOM), text.startswith(_BOM))


def parse_mapping(text: str, path: Path) -> dict[str, Any]:
    """The text as plain data; {} when it holds nothing but comments.

    Raises:
        ConfigError: Not YAML, not a mapping, a key given twice, or aliases without end; with line and column.
    """
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        # the pure loader reads every file the same way, with or without the C extension
        data = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = {"line": mark.line + 1, "column": mark.column + 1} if mark else {}
        reason = (error.problem or error.context or "it is not YAML").split("\n")[0]
        at = f" at line {where['line']}, column {where['column']}" if where else ""
        # the parser quotes values of doubled keys, which may be secrets
        raise _unusable(
            path, f"cannot be understood{at}: {reason.split(' with value')[0]}", **where
        ) from None
    except (YAMLError, ValueError, RecursionError) as error:
        reason = (
            "it is nested too deeply" if isinstance(error, RecursionError) else "it is not YAML"
        )
        raise _unusable(path, f"cannot be understood: {reason}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise _unusable(
            path, "holds no settings: `section:` lines with `key: value` below are expected"
        )
    _check_size(data, path)
    unshared: dict[str, Any] = _unshared(data)
    return unshared


def _check_size(data: Mapping[Any, Any], path: Path) -> None:
    waiting: list[tuple[Any, int]] = [(data, 0)]
    seen = 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if depth > MAX_DEPTH or seen > MAX_NODES:
            raise _unusable(path, "is nested too deeply, or its aliases go on without end")
        if isinstance(node, Mapping):
            waiting += [(child, depth + 1) for child in node.values()]
        elif isinstance(node, (list, tuple, set)):
            waiting += [(child, depth + 1) for child in node]


def _unshared(node: Any) -> Any:
    """A copy in which an aliased value is a value of its own, so that changing one changes no other."""
    if isinstance(node, Mapping):
        return {key: _unshared(child) for key, child in node.items()}
    if isinstance(node, list):
        return [_unshared(child) for child in node]
    return node


def _unusable(path: Path, what: str, **details: Any) -> ConfigError:
    line = f" and look at line {details['line']}" if "line" in details else ""
    return ConfigError(
        f"`{path}` {what}. It was left as it is, and no setting was guessed.",
        hint=f"open it with `hermes config edit`{line}",
        details={"path": str(path), **details},
    )
