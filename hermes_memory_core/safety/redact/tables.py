"""Finds secrets by place: a column headed ``password``, a row of two cells, a Kubernetes Secret.

Knows Markdown, psql and CSV tables. Names and values are judged by ``names`` and ``values``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.masks import Span
from hermes_memory_core.safety.redact.names import Secrecy, secrecy_of
from hermes_memory_core.safety.redact.shapes import is_random
from hermes_memory_core.safety.redact.values import Form, is_secret_value

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(r"[^\n]+")
_RULE = re.compile(r"[\s|+:=-]*-[\s|+:=-]*")
_BAR = re.compile(r"^\||\s\||\|\s")
_DATA = re.compile(r"(?m)^(?P<indent>[ \t]*)(?:data|stringData):[ \t]*\n")
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)[\w.-]+:[ \t]*[\"']?(?P<value>[^\s\"'«»|>#][^\s\"'«»#]*)[\"']?[ \t]*(?:#.*)?"
)
_DECORATION = " \t*_`\"'\\"

Cell = tuple[int, int]


def find_in_tables(text: str) -> Iterator[Span]:
    """Find secrets in the cells of Markdown and psql tables.

    Args:
        text: any text; one without ``|`` costs nothing.
    """
    columns: dict[int, Secrecy] = {}
    before: list[tuple[Cell, str]] = []
    for line in _LINE.finditer(text):
        row = line.group()
        if not _BAR.search(row) and not (before and "+" in row):
            columns, before = {}, []
            continue
        if _RULE.fullmatch(row):
            columns = {n: secrecy_of(name) for n, (_, name) in enumerate(before)}
            continue
        cells = _cells(text, *line.span(), "|")
        for number, (place, value) in enumerate(cells):
            secrecy = columns.get(number, Secrecy.NONE)
            yield from _judge(place, value, secrecy)
        if len(cells) >= 2 and columns.get(1, Secrecy.NONE) is Secrecy.NONE:
            yield from _pair(text, line.end(), cells)
        before = cells


def find_in_csv(text: str) -> Iterator[Span]:
    """Find secrets in comma, semicolon or tab separated lines below a line of column names."""
    head, _, _ = text.lstrip("\n").partition("\n")
    for sign in (",", "\t", ";"):
        if sign not in head or not re.fullmatch(rf"[\w .\"-]+(?:{sign}[\w .\"-]+)+\r?", head):
            continue
        columns = [secrecy_of(name.strip(' "\r')) for name in head.split(sign)]
        if max(columns) < Secrecy.TOKEN:
            return
        for line in list(_LINE.finditer(text))[1:]:
            cells = _cells(text, *line.span(), sign)
            if len(cells) != len(columns):
                return
            for (place, value), secrecy in zip(cells, columns, strict=True):
                yield from _judge(place, value, secrecy)


def find_in_manifests(text: str) -> Iterator[Span]:
    """Find the values under ``data:`` of a Kubernetes Secret."""
    if not re.search(r"(?m)^[ \t]*kind:[ \t]*[\"']?(?:Sealed)?Secret\b", text):
        return
    for data in _DATA.finditer(text):
        depth = len(data["indent"])
        for line in _LINE.finditer(text, data.end()):
            item = _ITEM.fullmatch(line.group())
            if item is None or len(item["indent"]) <= depth:
                break
            if len(item["value"]) >= 3:
                at = line.start() + item.start("value")
                value = item["value"]
                yield Span(at, at + len(value), "secret", sure=is_random(value))


def _cells(text: str, start: int, end: int, sign: str) -> list[tuple[Cell, str]]:
    row = text[start:end]
    if sign == "|":
        row = row.rstrip(" \t\r|")
        lead = len(row) - len(row.lstrip(" \t>"))
        if row[lead : lead + 1] == "|":
            lead += 1
        start, row = start + lead, row[lead:]
    cells = []
    for cell in row.split(sign):
        body = cell.strip(_DECORATION + "\r")
        at = start + (cell.find(body) if body else 0)
        cells.append(((at, at + len(body)), body))
        start += len(cell) + 1
    return cells


def _pair(text: str, end: int, cells: list[tuple[Cell, str]]) -> Iterator[Span]:
    """``| password | value |``: the first cell names the second, unless this is a head row."""
    following = _LINE.match(text, end + 1)
    if following is not None and _RULE.fullmatch(following.group()):
        return
    (_, name), (place, value) = cells[0], cells[1]
    if len(name) <= 60:
        yield from _judge(place, value, secrecy_of(name))


def _judge(place: Cell, value: str, secrecy: Secrecy) -> Iterator[Span]:
    if secrecy is not Secrecy.NONE and is_secret_value(value, secrecy, Form.CELL):
        kind = "password" if secrecy is Secrecy.PASSWORD else "secret"
        yield Span(*place, kind, sure=len(value) >= 8 and is_random(value))
