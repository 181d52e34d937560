"""Helpers of the import tests: writing input files, and reading them into two lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hermes_memory_sessions.importers import ImportedConversation, read_conversations

DATA = Path(__file__).parents[2] / "data" / "importers"


class Result:
    """What reading a path gave."""

    def __init__(self, records):
        self.conversations = [item for item in records if isinstance(item, ImportedConversation)]
        self.skipped = [item for item in records if not isinstance(item, ImportedConversation)]

    @property
    def reasons(self):
        counts = {}
        for item in self.skipped:
            counts[item.reason] = counts.get(item.reason, 0) + item.count
        return counts

    @property
    def one(self):
        assert len(self.conversations) == 1, (self.conversations, self.skipped)
        return self.conversations[0]

    @property
    def texts(self):
        return [(message.role, message.content) for message in self.one.messages]


@pytest.fixture
def read():
    def run(path, **options):
        return Result(list(read_conversations(path, **options)))

    return run


@pytest.fixture
def data():
    return DATA


@pytest.fixture
def write(tmp_path):
    """Write a file of JSON lines (list of objects, or raw strings as they are) or of one JSON value."""

    def run(name, value, *, lines=True, encoding="utf-8"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            path.write_bytes(value)
            return path
        if isinstance(value, str):
            text = value
        elif lines:
            rows = [row if isinstance(row, str) else json.dumps(row) for row in value]
            text = "".join(row + "\n" for row in rows)
        else:
            text = json.dumps(value)
        path.write_bytes(text.encode(encoding, "surrogatepass"))
        return path

    return run
