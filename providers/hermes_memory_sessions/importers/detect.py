"""Telling what a file is by what is in it; names and extensions are never asked. Reads only the beginning."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import StoreUnreadableError, UsageError
from hermes_memory_core.storage.sqlite import error_from

from . import chatgpt, hermes_db
from .records import DESCRIPTIONS, Format
from .textfile import HEAD_BYTES, decode, encoding_of

LINES_ASKED = 40
"""A session file may begin with bookkeeping lines that do not tell its format."""

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NEXT = re.compile(r'["{}\[\],:]')
_VALUE = re.compile(r"\s*(?:(true|false|null)|(-?\d+(?:\.\d+)?)|([{\[]))")
_CLAUDE_ALONE = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
_CODEX = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_CODEX_BARE = {"message", "reasoning", "function_call", "function_call_output", "local_shell_call"}


def detect(path: Path) -> Format:
    """The format of a file, or ``Format.DIRECTORY``.

    Raises:
        UsageError: There is no such file, it is empty, or it is none of the formats.
        StoreUnreadableError: It cannot be opened.
        StoreError: It is a database that another program has locked, or a damaged one.
    """
    if path.is_dir():
        return Format.DIRECTORY
    if not path.exists():
        raise UsageError(
            f"There is no file `{path}`; nothing was imported.", hint=f"ls {path.parent}"
        )
    try:
        found = sniff(path)
        empty = found is None and path.stat().st_size == 0
    except OSError as error:
        raise StoreUnreadableError(
            f"`{path}` cannot be read ({error.strerror or error}); nothing was imported.",
            hint=f"ls -l {path}",
            details={"path": str(path)},
        ) from error
    except sqlite3.Error as error:
        raise error_from(error, path, "close the program that uses it, then try again") from error
    if found is None:
        raise unknown(path, empty=empty)
    return found


def unknown(path: Path, *, empty: bool = False) -> UsageError:
    """The error for a file that is none of the formats, naming them all."""
    accepted = "; ".join(DESCRIPTIONS.values())
    what = "is empty" if empty else "is no conversation file that can be read"
    return UsageError(
        f"`{path}` {what}; nothing was imported. Its content was compared with: {accepted}.",
        hint=f"name the format: --format {'|'.join(kind for kind in Format if kind != Format.DIRECTORY)}",
        details={"path": str(path), "formats": [str(kind) for kind in Format]},
    )


def sniff(path: Path) -> Format | None:
    """The format by content, None when it is no conversation file.

    Raises:
        OSError: The file cannot be read.
        sqlite3.Error: It is a database that cannot be asked.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(hermes_db.MAGIC):
        return Format.HERMES_STATE_DB if hermes_db.is_state_db(path) else None
    if head.startswith(b"PK\x03\x04"):
        return Format.CHATGPT if _holds_conversations(path) else None
    text = head.decode(encoding_of(head[:4]), "replace").lstrip("\ufeff\x00 \t\r\n")
    if not text.startswith(("{", "[")):
        # a torn first line may hide what the next ones say
        return _by_lines(text) if "\n{" in text else None
    if text.startswith("["):
        return _of_array(text)
    return _by_lines(text)


def _holds_conversations(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(chatgpt.MEMBER.search(name) for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _of_array(text: str) -> Format | None:
    first = text[1:].lstrip()
    if first.startswith("]"):
        return Format.OPENAI  # an empty list: nothing to import, and nothing wrong
    while first.startswith("null"):
        first = first[4:].lstrip(", \t\r\n")
    if first.startswith("["):
        first = first[1:].lstrip()
    found = classify(keys_of(first)) if first.startswith("{") else None
    # the formats below come one object per line or file, never as a list
    return found if found in (Format.CHATGPT, Format.OPENAI, Format.HERMES_JSONL) else None


def _by_lines(text: str) -> Format | None:
    for line in text.split("\n")[:LINES_ASKED]:
        line = line.strip()
        if not line.startswith(("{", "[")):
            continue
        if line.startswith("["):
            found = _of_array(line)
        else:
            found = classify(keys_of(line))
        if found:
            return found
    return classify(keys_of(text))  # one value over many lines


def classify(row: dict[str, Any]) -> Format | None:
    """The format whose line, list item or document has these top-level keys."""
    kind = row.get("type")
    keys = row.keys()
    if {"v", "type", "at"} <= keys or (kind == "session" and "v" in keys):
        return Format.HERMES_TRANSCRIPT
    if "mapping" in keys and keys & {"current_node", "title", "create_time", "conversation_id"}:
        return Format.CHATGPT
    if isinstance(kind, str):
        marker = _CLAUDE_ALONE.get(kind, "")
        if ("sessionId" in keys and keys & {"uuid", "message", "timestamp"}) or marker in keys:
            return Format.CLAUDE_CODE
        if kind in _CODEX and "payload" in keys:
            return Format.CODEX
        if kind in _CODEX_BARE and keys & {"role", "call_id", "summary", "encrypted_content"}:
            return Format.CODEX
    if "sessionId" in keys and kind is not None:
        return Format.CLAUDE_CODE
    return _classify_plain(keys, row)


def _classify_plain(keys: Any, row: dict[str, Any]) -> Format | None:
    if "record_type" in keys or {"session", "items"} <= keys:
        return Format.CODEX
    if {"id", "timestamp", "instructions"} <= keys and "role" not in keys:
        return Format.CODEX
    if isinstance(row.get("messages"), list):
        ours = keys & {"id", "session_id"} and keys & {"started_at", "message_count"}
        return Format.HERMES_JSONL if ours else Format.OPENAI
    if keys & {"role", "from"} and keys & {"content", "tool_calls", "value", "parts"}:
        return Format.OPENAI
    if isinstance(row.get("conversations"), list):
        return Format.OPENAI
    return None


def keys_of(text: str) -> dict[str, Any]:
    """Top-level keys of the object that ``text`` begins with, even when its end is missing.

    Values are given where they are strings or constants; objects are ``{}`` and lists ``[]``.
    """
    whole, _ = decode(text)
    if isinstance(whole, dict):
        return {str(key): _shape(value) for key, value in whole.items()}
    found: dict[str, Any] = {}
    depth, key, place = 0, None, 0
    while match := _NEXT.search(text, place):
        char, place = match.group(), match.end()
        if char == '"':
            quoted = _STRING.match(text, match.start())
            if quoted is None:
                break  # the text ends inside a string
            place = quoted.end()
            if depth == 1:
                if key is None:
                    key = quoted.group(1)
                else:
                    found[key] = quoted.group(1)
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth < 1:
                break
        elif depth == 1 and char == ":" and key is not None:
            value = _VALUE.match(text, place)
            found.setdefault(key, _empty(value.group(3)) if value else None)
        elif depth == 1 and char == ",":
            key = None
    return found


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else value


def _empty(bracket: str | None) -> Any:
    return {"{": {}, "[": []}.get(bracket or "")
