"""Reading the index: how many messages there are, which hold a token, and where. No scores."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Final

MOST_EXPANSIONS: Final = 300
"""Tokens of the index that a prefix may stand for; the most frequent ones are taken."""

Offsets = dict[int, list[int]]
"""Message id to the token's offsets in it."""


def totals(db: sqlite3.Connection) -> tuple[int, float]:
    """Messages in the index and their mean length in tokens, from FTS5's own record of averages.

    The record is two variable-length integers (rows, tokens), so it costs one read where a count(*) reads all.
    """
    row = db.execute("SELECT block FROM message_index_data WHERE id = 1").fetchone()
    numbers = _varints(row[0]) if row else []
    if not numbers or not numbers[0]:
        return 0, 1.0
    rows = numbers[0]
    return rows, max(1.0, numbers[1] / rows) if len(numbers) > 1 else 1.0


def _varints(data: bytes) -> list[int]:
    """SQLite's big-endian varints: seven bits a byte, the ninth byte whole."""
    out, value, length = [], 0, 0
    for byte in data:
        length += 1
        if length == 9:
            value = value << 8 | byte
        else:
            value = value << 7 | byte & 0x7F
        if length == 9 or not byte & 0x80:
            out.append(value)
            value = length = 0
    return out


def reach(db: sqlite3.Connection, expression: str, limit: int) -> int:
    """How many messages match an FTS5 expression; counting stops just above ``limit``.

    Counting in the vocabulary table walks a token's whole list, half a million entries in a large store;
    here the walk ends where the answer no longer matters.
    """
    row = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM message_index WHERE message_index MATCH ? LIMIT ?)",
        (expression, max(0, limit) + 1),
    ).fetchone()
    return int(row[0])


def expansions(db: sqlite3.Connection, prefix: str) -> list[tuple[str, int]]:
    """Tokens of the index that begin with ``prefix``, with their frequencies, the most frequent first."""
    rows = db.execute(
        "SELECT term, doc FROM index_terms WHERE term >= ? AND term < ?",
        (prefix, prefix + "\U0010ffff"),
    ).fetchall()
    rows.sort(key=lambda row: -row[1])
    return rows[:MOST_EXPANSIONS]


def offsets(db: sqlite3.Connection, tokens: Iterable[str]) -> Offsets:
    """Where any of ``tokens`` stands, in every message that has one."""
    found: Offsets = {}
    for token in tokens:
        for message, offset in db.execute(
            "SELECT doc, offset FROM index_postings WHERE term = ?", (token,)
        ):
            if message in found:
                found[message].append(offset)
            else:
                found[message] = [offset]
    return found


def offsets_among(db: sqlite3.Connection, token: str, only: str) -> Offsets:
    """Where ``token`` stands in the messages of ``only``, a JSON array of ids."""
    found: Offsets = {}
    for message, offset in db.execute(
        "SELECT doc, offset FROM index_postings "
        "WHERE term = ? AND doc IN (SELECT value FROM json_each(?))",
        (token, only),
    ):
        found.setdefault(message, []).append(offset)
    return found


def about(db: sqlite3.Connection, expression: str, exact: int) -> int:
    """How many messages match: exact up to a number, beyond it judged by how densely the newest of them lie."""
    row: tuple[int, int, int] = db.execute(
        "SELECT count(*), min(rowid), (SELECT max(id) FROM messages) FROM (SELECT rowid "
        "FROM message_index WHERE message_index MATCH ? ORDER BY rowid DESC LIMIT ?)",
        (expression, exact + 1),
    ).fetchone()
    count, lowest, highest = row
    if count <= exact:
        return count
    return max(count, int(count * highest / max(1, highest - lowest + 1)))


def ids(db: sqlite3.Connection, expression: str, most: int, low: int, high: int) -> list[int]:
    """The newest messages that match with an id from ``low`` to ``high``, at most ``most``, newest first."""
    # one JSON array costs half of as many rows
    row = db.execute(
        "SELECT json_group_array(rowid) FROM (SELECT rowid FROM message_index "
        "WHERE message_index MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)",
        (expression, low, high, most),
    ).fetchone()
    found: list[int] = json.loads(row[0])
    return found


def among(db: sqlite3.Connection, expression: str, only: str) -> list[int]:
    """Which messages of ``only``, a JSON array of ids, match."""
    rows = db.execute(
        "SELECT rowid FROM message_index WHERE message_index MATCH ? "
        "AND +rowid IN (SELECT value FROM json_each(?))",
        (expression, only),
    )
    return [row[0] for row in rows]
