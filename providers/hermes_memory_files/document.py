"""One notes file as bytes, text and entries: read it, parse it, serialise it. Decides nothing, writes nothing.

The format is Hermes Agent's (spec/builtin.md section 1.2): entries joined by a line holding only ``§``, no
newline at either end. What other programs make of it (BOM, CRLF, UTF-16, bad bytes) is read as far as
possible and named in ``Document.oddities``, so that the caller can keep a backup before rewriting.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.errors import StoreUnreadableError
from hermes_memory_core.storage.atomic import read_bytes
from hermes_memory_core.types import Target

MARK = "§"
DELIMITER = f"\n{MARK}\n"
TARGETS: tuple[Target, ...] = ("memory", "user")
FILE_NAMES: dict[Target, str] = {"memory": "MEMORY.md", "user": "USER.md"}

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LATIN1_MARK_LINE = re.compile(rb"(?m)^\xa7(?=\r?$)")
_MARKDOWN_LINE = re.compile(r"(?m)^(?:#{1,6} |[-*+] |\d+[.)] )")


@dataclass(frozen=True, slots=True)
class Document:
    """The state of one notes file at one moment."""

    raw: bytes | None
    """The bytes on disk; None when there is no file."""
    entries: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    """Why writing the entries back would not give the same file, beyond white space; in words."""

    @property
    def sha(self) -> str:
        """SHA-256 of the bytes, "" when there is no file."""
        return sha_of(self.raw)


def sha_of(raw: bytes | None) -> str:
    """SHA-256 in hex; "" for a file that does not exist."""
    return "" if raw is None else hashlib.sha256(raw).hexdigest()


def note_id(text: str) -> str:
    """First 8 hex digits of the text's SHA-256 (``Note.id``)."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def read_document(path: Path, known: Document | None = None) -> Document:
    """The file as it is now; ``known`` saves parsing when the bytes are the same.

    Raises:
        StoreUnreadableError: Something is there that cannot be read as a file. Never taken for empty.
    """
    _refuse_irregular(path)
    raw = read_bytes(path)
    if known is not None and known.raw == raw:
        return known
    if raw is None:
        return Document(None)
    text, oddities = decode(raw)
    entries = parse(text)
    if len(entries) == 1 and MARK not in text and len(_MARKDOWN_LINE.findall(text)) > 1:
        oddities = (*oddities, "plain Markdown without § lines")
    return Document(raw, entries, oddities)


def _refuse_irregular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # missing or unreachable: reading it says which
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise StoreUnreadableError(
            f"`{path}` is {what}, so the notes cannot be read; it was left untouched.",
            hint=f"move `{path}` out of the way",
            details={"path": str(path)},
        )


def decode(raw: bytes) -> tuple[str, tuple[str, ...]]:
    """Text with LF line ends, and what was odd about the bytes."""
    oddities: list[str] = []
    if raw.startswith(_UTF16_MARKS):
        oddities.append("UTF-16 encoding")
        text = raw.decode("utf-16", "replace")
    else:
        if raw.startswith(codecs.BOM_UTF8):
            oddities.append("a byte order mark")
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            oddities.append("bytes that are not UTF-8")
            text = _LATIN1_MARK_LINE.sub(MARK.encode(), raw).decode("utf-8", "replace")
    if "\r" in text:
        oddities.append("CRLF line ends")
    if "\0" in text:
        oddities.append("NUL characters")
    return tidy(text), tuple(oddities)


def tidy(text: str) -> str:
    """The text as it can stand in the file: LF only, no NUL, no lone surrogate (those become U+FFFD)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parse(text: str) -> tuple[str, ...]:
    """Entries in file order, stripped, without empty ones and exact repeats.

    Unlike a plain split on the delimiter, a § line at the very start or end of the text, or right after
    another one, separates too, so that parsing what was serialised always gives the same entries.
    """
    entries = _split(text)
    while any(holds_mark_line(entry) for entry in entries):  # stripping can lay a § line bare
        entries = _split(DELIMITER.join(entries))
    return tuple(dict.fromkeys(entries))


def _split(text: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line == MARK:
            pieces.append([])
        else:
            pieces[-1].append(line)
    stripped = ("\n".join(lines).strip() for lines in pieces)
    return [piece for piece in stripped if piece]


def holds_mark_line(text: str) -> bool:
    """True when the text has a line that would be read back as a delimiter."""
    return MARK in text and MARK in text.split("\n")


def serialise(entries: Iterable[str]) -> str:
    """The file's text; counting its characters is counting what the limit counts."""
    return DELIMITER.join(entries)


def count(entries: Iterable[str]) -> int:
    """Code points of the joined entries, delimiters included (spec/builtin.md section 1.3)."""
    return len(serialise(entries))
