"""How text reaches a terminal: cell widths, tables, sizes, ages, JSON. Knows no memory and no command.

Everything a person wrote or a service returned passes ``clean`` before it is shown: a note must not be able
to move the cursor, recolour the screen or reverse the reading order.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_KEPT = frozenset("\n\t")


def clean(text: str, *, one_line: bool = False) -> str:
    """Text that is safe to print: control and direction characters shown by their code."""
    if text.isprintable() and not _BIDI.intersection(text):
        return text
    shown = "".join(_visible(character) for character in text)
    return " ".join(shown.split()) if one_line else shown


def _visible(character: str) -> str:
    if character in _KEPT:
        return character
    if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character


def cells(text: str) -> int:
    """Terminal columns a single line takes: wide characters two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """One line of at most ``width`` columns, ending in … when something is missing."""
    line = clean(text, one_line=True)
    if cells(line) <= width:
        return line
    kept, used = [], 0
    for character in line:
        used += _cell(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled with spaces to ``width`` columns."""
    gap = " " * max(0, width - cells(text))
    return gap + text if right else text + gap


def terminal_width() -> int:
    """Columns to fill; 100 where there is no terminal to ask."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    flexible: int | None = None,
    width: int | None = None,
) -> str:
    """A plain table with aligned columns and no rules.

    Args:
        head: Column titles.
        rows: Cells; made safe and single-line here.
        right: Indexes of the columns set flush right (numbers).
        flexible: Index of the column that gives way when the line would be too long; None lets lines run.
        width: Columns available; None asks the terminal.
    """
    lines = [list(head), *([clean(cell, one_line=True) for cell in row] for row in rows)]
    widths = [max(cells(line[column]) for line in lines) for column in range(len(head))]
    if flexible is not None:
        over = sum(widths) + 2 * (len(widths) - 1) - (terminal_width() if width is None else width)
        if over > 0:
            widths[flexible] = max(12, widths[flexible] - over)
    return "\n".join(
        "  ".join(
            pad(cut(cell, widths[column]), widths[column], right=column in right)
            for column, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )


def fields(pairs: Sequence[tuple[str, str]]) -> str:
    """``name  value`` lines with the values in one column; further lines of a value are indented."""
    width = max((cells(name) for name, _ in pairs), default=0) + 2
    return "\n".join(
        pad(name, width) + clean(value).replace("\n", "\n" + " " * width) for name, value in pairs
    )


def number(value: float) -> str:
    """With thousands commas."""
    return f"{value:,}"


def count(value: int, noun: str, plural: str | None = None) -> str:
    """``1 session``, ``3,400 messages``."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def size(count_of_bytes: float) -> str:
    """Bytes as a person reads them, in steps of 1,000."""
    value, unit = float(count_of_bytes), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def moment(at: float | None) -> str:
    """Local date and minute of an epoch time; "" when there is none."""
    if at is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, OSError, ValueError):  # a foreign transcript may hold any number
        return f"{at:.6g}"


def age(seconds: float | None) -> str:
    """``12 s``, ``5 min``, ``3 h``, ``8 days``; "" when unknown."""
    if seconds is None:
        return ""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h" if whole < 48 * 3600 else f"{whole // 86400} days"


def to_json(schema: str, data: Any, *, field: str = "data") -> str:
    """One JSON object ``{"schema": "hermes-memory/<schema>/1", "data": …}``, ASCII only if it has to be."""
    envelope = {"schema": f"hermes-memory/{schema}/1", field: data}
    text = json.dumps(envelope, ensure_ascii=False, indent=2, default=_plain)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # a terminal without UTF-8, or half a surrogate pair in the data
        return json.dumps(envelope, indent=2, default=_plain)
    return text


def _plain(value: Any) -> Any:
    """What json does not know: dataclasses as objects, sets and tuples as lists, the rest as text."""
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)
