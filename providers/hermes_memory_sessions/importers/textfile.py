"""Opening text of unknown encoding and reading it line by line in bounded memory. Knows no format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .content import SURROGATE, clean
from .records import Tally

HEAD_BYTES = 256 * 1024
"""How much of a file is looked at to tell its format."""
MAX_LINE_CHARS = 64 * 1024 * 1024
"""A line longer than this is skipped: no conversation program writes one, and it must fit in memory."""

NOTE_BYTES = "bytes that are not valid text replaced by U+FFFD"

_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


@dataclass(slots=True)
class Meter:
    """How many bytes were read so far; given to the progress callback."""

    done: int = 0
    total: int = 0


class _CountingRaw(io.RawIOBase):
    """A raw file that adds what is read to a meter."""

    def __init__(self, path: Path, meter: Meter) -> None:
        super().__init__()
        self._file = io.FileIO(path)
        self._meter = meter

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int | None:
        got = self._file.readinto(buffer)
        self._meter.done += got or 0
        return got

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(slots=True)
class Source:
    """One file on its way through a reader: where it is, how far, and what time it would give."""

    path: Path
    name: str
    """As it stands in reasons: the path below the directory that was asked for."""
    mtime: float
    now: float
    meter: Meter = field(default_factory=Meter)

    def open(self) -> io.BufferedReader:
        """The bytes; reading them moves the meter."""
        return io.BufferedReader(_CountingRaw(self.path, self.meter), 1 << 16)


def encoding_of(head: bytes) -> str:
    """UTF-8, unless a byte order mark or the place of the zero bytes says UTF-16 or UTF-32."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if head[:1] and head[1:2] == b"\x00" and head[0:1] != b"\x00":
        return "utf-16-le"
    if head[:1] == b"\x00" and head[1:2] not in (b"\x00", b""):
        return "utf-16-be"
    return "utf-8"


@contextmanager
def text_of(binary: io.BufferedReader[Any]) -> Iterator[io.TextIOWrapper]:
    """The text of an open file. Undecodable bytes arrive as lone surrogates, see ``mend``."""
    encoding = encoding_of(binary.peek(4)[:4])
    # UTF-16 has no room for surrogateescape: there the damage shows as U+FFFD at once
    errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"
    text = io.TextIOWrapper(binary, encoding=encoding, errors=errors, newline="\n")
    try:
        yield text
    finally:
        text.close()


def mend(text: str) -> tuple[str, bool]:
    """The text without the lone surrogates that stand for undecodable bytes, and whether there were any."""
    if SURROGATE.search(text):
        return clean(text), True
    return text, False


def lines(text: io.TextIOWrapper, tally: Tally) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines; blank ones and those over the limit are left out, the latter counted."""
    number = 0
    while line := text.readline(MAX_LINE_CHARS):
        number += 1
        if len(line) >= MAX_LINE_CHARS and not line.endswith("\n"):
            tally.add(f"line longer than {MAX_LINE_CHARS} characters", number)
            while line and not line.endswith("\n"):
                line = text.readline(MAX_LINE_CHARS)
            continue
        line = line.strip("\ufeff\x00 \t\r\n")
        if line:
            yield number, line


def json_values(source: Source, tally: Tally) -> Iterator[tuple[int, Any, bool]]:
    """The JSON objects and lists of a JSONL file: line number, value, whether bytes were replaced in it.

    Everything else is counted in the tally; so is a last line that was still being written.
    """
    with text_of(source.open()) as text:
        rows = lines(text, tally)
        row = next(rows, None)
        while row is not None:
            following = next(rows, None)
            number, line = row
            line, damaged = mend(line)
            value, reason = decode(line, last=following is None)
            if isinstance(value, dict | list):
                yield number, value, damaged
            else:
                tally.add(reason or "line is not a JSON object", number)
            row = following


def json_lines(
    source: Source, tally: Tally, note: Callable[[str], None]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSONL file with their line numbers; ``note`` hears of replaced bytes."""
    for number, value, damaged in json_values(source, tally):
        if not isinstance(value, dict):
            tally.add("line is not a JSON object", number)
            continue
        if damaged:
            note(NOTE_BYTES)
        yield number, value


def is_jsonl(head: str) -> bool:
    """Whether a text that begins like this has one JSON value per line.

    The first line is a value by itself, or it is torn and the second one is (and is not indented, as the lines of
    a pretty-printed value are).
    """
    first, _, rest = head.lstrip("\ufeff\x00 \t\r\n").partition("\n")
    if isinstance(decode(first)[0], dict | list):
        # a list that fills the only line is an array of elements, not a line of JSONL
        return not first.startswith("[") or rest.lstrip()[:1] in ("[", "{")
    second = rest.partition("\n")[0]
    return (
        first[:1] == "{"
        and len(first.strip()) > 1
        and isinstance(decode(second)[0], dict)
        and (second[:1] == "{")
    )


def decode(text: str, *, last: bool = False) -> tuple[Any, str]:
    """A JSON value and "", or None and why it is none."""
    try:
        return json.loads(text, strict=False), ""
    except RecursionError:
        return None, "nested too deeply"
    except ValueError:
        return (
            None,
            "torn last line (the file was still being written)" if last else "not valid JSON",
        )


def head_of(source: Source) -> str:
    """The beginning of the text, for telling what it is; does not move the meter."""
    with source.path.open("rb") as binary:
        raw = binary.read(HEAD_BYTES)
    text = raw.decode(encoding_of(raw[:4]), "replace")
    return text.lstrip("\ufeff\x00 \t\r\n")
