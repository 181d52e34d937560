"""The text of a ``.env`` file: which names it sets, and the same text with one of them changed.

Reads what python-dotenv and shells write: ``NAME=value``, ``export``, single and double quotes (also over several
lines), comments. ``${NAME}`` is never expanded. Lines that make no sense are kept as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(
    r"""[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*
    (?:'(?P<single>(?:[^'\\]|\\.)*)'(?P<after_single>[ \t]*(?:\#[^\n]*)?)
      |"(?P<double>(?:[^"\\]|\\.)*)"(?P<after_double>[ \t]*(?:\#[^\n]*)?)
      |(?P<bare>[^\n]*?))[ \t]*\r?(?:\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One ``NAME=value`` and the piece of text it stands in."""

    name: str
    value: str
    start: int
    end: int


def parse(text: str) -> tuple[list[Assignment], list[int]]:
    """All assignments in order, and the numbers of lines that are neither that nor blank nor a comment."""
    found: list[Assignment] = []
    strange: list[int] = []
    position = 0
    while position < len(text):
        match = _ASSIGNMENT.match(text, position)
        if match and match.end() > position and not _broken_quote(match):
            found.append(Assignment(match["name"], _value(match), position, match.end()))
            position = match.end()
            continue
        end = text.find("\n", position)
        end = len(text) if end < 0 else end + 1
        line = text[position:end].strip()
        if line and not line.startswith("#"):
            strange.append(text.count("\n", 0, position) + 1)
        position = end
    return found, strange


def with_value(text: str, name: str, value: str | None) -> str:
    """The text with ``name`` set to ``value`` (None: taken out); every other line as it was.

    Where the name is set more than once, only the place that counted, the last, stays.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    places = [assignment for assignment in parse(text)[0] if assignment.name == name]
    line = None if value is None else f"{name}={quote(value)}{newline}"
    for place in reversed(places):
        text = text[: place.start] + (line or "") + text[place.end :]
        line = ""
    if line:
        if text and not text.endswith("\n"):
            text += newline
        text += line
    return text


def quote(value: str) -> str:
    """A value as both python-dotenv and this module read it back."""
    if _BARE.fullmatch(value):
        return value
    if not re.search(r"['\\\r\n\t]", value):
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f'"{escaped}"'


def _broken_quote(match: re.Match[str]) -> bool:
    """A bare value that opens a quote and never closes it: no value anybody meant."""
    return match["bare"] is not None and match["bare"][:1] in ("'", '"')


def _value(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return re.sub(r"\\([\\'])", r"\1", match["single"])
    if match["double"] is not None:
        return re.sub(
            r"\\(.)",
            lambda found: _ESCAPES.get(found[1], found[0]),
            match["double"],
            flags=re.DOTALL,
        )
    return _COMMENT.sub("", match["bare"]).strip()
