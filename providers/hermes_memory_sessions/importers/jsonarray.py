"""Decoding a JSON array element by element, however large the file, skipping what is broken. No format here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from .content import SURROGATE
from .records import Tally
from .textfile import Source, head_of, is_jsonl, json_values, text_of

CHUNK = 1 << 16
MAX_ELEMENT_CHARS = 64 * 1024 * 1024
"""An element larger than this is passed over instead of being held in memory."""

_BLANK = re.compile(r"[\s,\ufeff]*")
_TOKEN = re.compile(r'["{}\[\],]')
_IN_STRING = re.compile(r'["\\]')
_DECODER = json.JSONDecoder(strict=False)


class ArrayReader:
    """The elements of a top-level JSON array; without one, the values that stand one after the other.

    ``raw_decode`` is tried again only when the buffer has doubled, so an element of n characters costs O(n).
    A broken element ends at its matching bracket and is counted in the tally; the rest is still read.
    """

    def __init__(self, stream: TextIO, tally: Tally) -> None:
        self._stream = stream
        self._tally = tally
        self._buffer = ""
        self._start = 0
        self._ended = False
        self._torn = False
        self.damaged = False
        """Whether undecodable bytes were replaced in the element that was yielded last."""

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The elements of the array, or top-level values one after the other."""
        self._skip_blank()
        if self._peek() != "[":
            yield from self._one_by_one()
            return
        self._start += 1
        index = 0
        while True:
            self._skip_blank()
            char = self._peek()
            if char in ("", "]"):
                if char == "" and not self._torn:
                    self._tally.add("file ends before the list does", index)
                return
            found, value = self._element(index)
            if found:
                yield index, value
            index += 1

    def _one_by_one(self) -> Iterator[tuple[int, Any]]:
        index = 0
        while True:
            self._skip_blank()
            if self._peek() == "":
                return
            found, value = self._element(index)
            if found:
                yield index, value
            index += 1

    # -- the buffer ----------------------------------------------------------
    def _peek(self) -> str:
        if self._start >= len(self._buffer):
            self._more(CHUNK)
        return self._buffer[self._start : self._start + 1]

    def _more(self, chars: int) -> bool:
        if self._ended:
            return False
        piece = self._stream.read(chars)
        if len(piece) < chars:
            self._ended = True
        self._buffer = self._buffer[self._start :] + piece
        self._start = 0
        return bool(piece)

    def _skip_blank(self) -> None:
        while True:
            match = _BLANK.match(self._buffer, self._start)
            self._start = match.end() if match else self._start
            if self._start < len(self._buffer) or not self._more(CHUNK):
                return

    # -- one element ---------------------------------------------------------
    def _element(self, index: int) -> tuple[bool, Any]:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._start)
            except RecursionError:
                return self._pass_over("nested too deeply", index)
            except json.JSONDecodeError as error:
                held = len(self._buffer) - self._start
                if held > MAX_ELEMENT_CHARS:
                    reason = f"larger than {MAX_ELEMENT_CHARS} characters"
                    return self._pass_over(reason, index)
                if not self._may_be_cut(error) or not self._more(max(CHUNK, held)):
                    return self._pass_over("not valid JSON", index)
            except ValueError:  # a number of thousands of digits
                return self._pass_over("not valid JSON", index)
            else:
                number = not isinstance(value, dict | list | str)
                if number and end >= len(self._buffer) - 24 and self._more(CHUNK):
                    continue  # it may go on in the next chunk
                self.damaged = bool(SURROGATE.search(self._buffer, self._start, end))
                self._start = end
                return True, value

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more text could mend it: the error is at the buffer's end, or a string has no end yet."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - 16

    def _pass_over(self, reason: str, index: int) -> tuple[bool, None]:
        """Go to the end of the element by counting brackets outside strings, keeping nothing."""
        if self._peek() in "}]":
            self._start += 1  # a bracket nobody opened: without this step it would be met for ever
        elif not self._find_end():
            self._torn = True
            reason = "file ends in the middle of an item"
        self._tally.add(reason, index)
        return False, None

    def _find_end(self) -> bool:
        depth = 0
        in_string = False
        while True:
            match = (_IN_STRING if in_string else _TOKEN).search(self._buffer, self._start)
            if match is None:
                self._start = len(self._buffer)
                if not self._more(CHUNK):
                    return False
                continue
            char = match.group()
            self._start = match.end()
            if char == "\\":
                self._peek()  # the escaped character may be in the next chunk
                self._start += 1
            elif char == '"':
                in_string = not in_string
            elif char in "{[":
                depth += 1
            elif depth == 0:
                self._start -= 1  # the list's own comma or bracket
                return True
            elif char != ",":
                depth -= 1


def documents(source: Source, tally: Tally) -> Iterator[tuple[int, Any, bool]]:
    """The values of a JSON file, whatever way they are written: lines, elements of a list, or one after another.

    Gives line number or place in the list, the value, and whether undecodable bytes were replaced in it.
    """
    if is_jsonl(head_of(source)):
        yield from json_values(source, tally)
        return
    with text_of(source.open()) as text:
        reader = ArrayReader(text, tally)
        for index, value in reader:
            yield index, value, reader.damaged
