"""Changing one setting in YAML text while every other character stays.

Works on the positions of the parsed nodes: a value is replaced in place, a new key gets a line of its own. Where
the text is built in a way this cannot do (flow mappings, aliases, block texts), ruamel's round trip does it: comments
survive, spacing may change. Either way the caller compares the result's data with what it wanted before writing.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_\u4e00-\u9fff][A-Za-z0-9_\u4e00-\u9fff./@+-]*")
_RESERVED = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "none"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class _Unsuited(Exception):  # noqa: N818 - a signal inside this module
    """The text cannot be changed in place."""


def candidates(text: str, path: Sequence[str], value: Any) -> Iterator[str]:
    """Texts with the value at ``path`` set, the least changed first; the caller takes the first that is right."""
    with suppress(_Unsuited):
        yield _set_in_place(text, path, value)
    yield _round_trip(text, path, value, remove=False)


def candidates_without(text: str, path: Sequence[str]) -> Iterator[str]:
    """Texts without the key at ``path``, and without sections that are empty then."""
    with suppress(_Unsuited):
        yield _remove_in_place(text, path)
    yield _round_trip(text, path, None, remove=True)


def render(value: Any) -> str:
    """A value as one line of YAML that 1.1 and 1.2 readers understand alike."""
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    if isinstance(value, float):
        shown = repr(value)
        return shown if "e" not in shown or "." in shown else shown.replace("e", ".0e")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{render(str(k))}: {render(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render(item) for item in value) + "]"
    words = str(value)
    if _PLAIN.fullmatch(words) and words.lower() not in _RESERVED:
        return words
    quoted = json.dumps(words, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


# ---------------------------------------------------------------- in place


def _set_in_place(text: str, path: Sequence[str], value: Any) -> str:
    root = _compose(text)
    if root is None:
        return _appended(text, "", path, value)
    node, depth = root, 0
    while True:
        key, child = _entry(node, path[depth], text)
        if key is None:
            _require_block(node)
            return _with_new_line(text, node, path[depth:], value)
        if depth == len(path) - 1:
            start, end = _span(text, key, child)
            gap = " " if text[start - 1] == ":" else ""
            return text[:start] + gap + render(value) + text[end:]
        if _is_empty(child):  # `memory:`, `memory: null`, `memory: {}`
            colon, end = _colon(text, key), _span(text, key, child)[1]
            _require_block(node)
            indent = " " * (key.start_mark.column + 2)
            return _insert_after(text[:colon] + text[end:], colon, indent, path[depth + 1 :], value)
        _require_mapping(child)
        node, depth = child, depth + 1


def _remove_in_place(text: str, path: Sequence[str]) -> str:
    node = _compose(text)
    chain = []
    for part in path:
        if node is None:
            raise _Unsuited
        _require_block(node)
        key, child = _entry(node, part, text)
        if key is None:
            raise _Unsuited
        chain.append((node, key, child))
        node = child
    while len(chain) > 1 and len(chain[-1][0].value) == 1:
        chain.pop()  # the section would be empty, so it goes as a whole
    _, key, child = chain[-1]
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if text[start : key.start_mark.index].strip():
        raise _Unsuited
    end = _line_end(text, _last_index(text, key, child))
    return text[:start] + text[end:]


def _compose(text: str) -> Any:
    from ruamel.yaml import YAML

    root = YAML(typ="safe", pure=True).compose(text)
    if root is None or _is_null(root):
        return None
    _require_mapping(root)
    return root


def _require_mapping(node: Any) -> None:
    """An anchor means that a change here would be a change elsewhere too."""
    if not str(node.tag).endswith(":map") or not node.value or node.anchor:
        raise _Unsuited


def _require_block(node: Any) -> None:
    """Only a block mapping gives and takes whole lines."""
    _require_mapping(node)
    if node.flow_style:
        raise _Unsuited


def _entry(mapping: Any, name: str, text: str) -> tuple[Any, Any]:
    for key, child in mapping.value:
        if key.value == name and str(key.tag).endswith(":str"):
            if text[key.end_mark.index :].lstrip(" \t")[:1] != ":":
                raise _Unsuited  # `? key` on a line of its own
            return key, child
    return None, None


def _is_null(node: Any) -> bool:
    return str(node.tag).endswith(":null")


def _is_empty(node: Any) -> bool:
    return _is_null(node) or (str(node.id) == "mapping" and not node.value)


def _colon(text: str, key: Any) -> int:
    return text.index(":", key.end_mark.index) + 1


def _span(text: str, key: Any, child: Any) -> tuple[int, int]:
    """Where the value's own characters are; an empty one is the place after the colon."""
    colon = _colon(text, key)
    if _is_null(child) and child.value == "":
        return colon, colon
    start, end = child.start_mark.index, child.end_mark.index
    single = child.style in (None, "'", '"') if str(child.id) == "scalar" else child.flow_style
    if start < colon or child.anchor or not single or text[colon:start].strip(" \t"):
        raise _Unsuited  # an alias, an anchor, a tag, a block, or a value on a line of its own
    return start, end


def _last_index(text: str, key: Any, child: Any) -> int:
    """The place behind the last character that belongs to an entry."""
    if str(child.id) == "mapping" and not child.flow_style and child.value:
        if child.start_mark.index < key.end_mark.index or child.anchor:
            raise _Unsuited
        last_key, last_child = child.value[-1]
        return _last_index(text, last_key, last_child)
    if str(child.id) == "sequence" and not child.flow_style:
        if child.anchor or child.start_mark.index < key.end_mark.index:
            raise _Unsuited
        last = child.value[-1]
        if str(last.id) != "scalar" or last.style in ("|", ">") or last.value == "":
            raise _Unsuited
        return int(last.end_mark.index)
    if str(child.id) == "scalar" and child.style in ("|", ">") and not child.anchor:
        if child.start_mark.index < key.end_mark.index:
            raise _Unsuited
        return len(text[: child.end_mark.index].rstrip())
    return _span(text, key, child)[1]


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _with_new_line(text: str, mapping: Any, path: Sequence[str], value: Any) -> str:
    column = mapping.value[0][0].start_mark.column
    if column == 0 and not re.search(r"^(\.\.\.|---)", text, re.MULTILINE):
        return _appended(text, "", path, value)
    for key, child in reversed(mapping.value):
        with suppress(_Unsuited):  # after the last entry whose end can be told
            return _insert_after(text, _last_index(text, key, child), " " * column, path, value)
    raise _Unsuited


def _insert_after(text: str, index: int, indent: str, path: Sequence[str], value: Any) -> str:
    end = _line_end(text, index)
    if text[index:end].strip() and not re.match(r"[ \t]*#|[ \t]+#", text[index:end]):
        raise _Unsuited
    return _appended(text[:end], indent, path, value) + text[end:]


def _appended(text: str, indent: str, path: Sequence[str], value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    for depth, part in enumerate(path):
        shown = f" {render(value)}" if depth == len(path) - 1 else ""
        text += f"{indent}{'  ' * depth}{render(part)}:{shown}{newline}"
    return text


# ---------------------------------------------------------------- round trip


def _round_trip(text: str, path: Sequence[str], value: Any, *, remove: bool) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    data = yaml.load(text) or yaml.map()
    parents = [data]
    for part in path[:-1]:
        child = parents[-1].get(part)
        if not isinstance(child, dict):
            child = parents[-1][part] = yaml.map()
        parents.append(child)
    if remove:
        parents[-1].pop(path[-1], None)
        for depth in range(len(parents) - 1, 0, -1):
            if not parents[depth]:
                parents[depth - 1].pop(path[depth - 1], None)
    else:
        parents[-1][path[-1]] = YAML(typ="safe", pure=True).load(render(value))
    out = io.StringIO(newline="")
    yaml.dump(data, out)
    changed = out.getvalue()
    return changed.replace("\n", "\r\n") if "\r\n" in text else changed
