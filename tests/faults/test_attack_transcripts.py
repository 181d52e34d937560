"""Lines nobody of us wrote: valid JSON of the wrong kinds. One of them must never keep the others from being read."""

from __future__ import annotations

import json

import pytest

from hermes_memory_core import Memory

WRONG = [
    None,
    True,
    -1,
    2**70,
    1.5,
    float("nan"),
    "",
    "a\ud83db",
    "\x00",
    [],
    ["x"],
    {},
    {"a": [1]},
]
FIELDS = {
    "session": ["session", "reason", "at"],
    "turn": ["turn", "messages", "at"],
    "message": ["message"],
    "title": ["title"],
    "update": ["fields"],
    "undo": ["message_ids"],
    "compact": ["message_ids"],
    "delete": ["message_ids"],
    "end": ["reason", "at"],
    "import": ["origin", "count"],
}
INNER = {
    "session": [
        "id",
        "lineage",
        "profile",
        "source",
        "title",
        "user_id",
        "chat_id",
        "cwd",
        "model",
        "parent_id",
        "agent_context",
        "scope",
        "started_at",
    ],
    "turn": ["id", "number", "interrupted", "user", "assistant"],
    "message": ["id", "role", "content", "name", "tool_name", "tool_call_id", "tool_calls", "ts"],
    "fields": ["archived", "pinned", "model", "source", "input_tokens", "output_tokens"],
}


def odd_lines(kind: str, number: int) -> list[dict]:
    """Every field of one kind of line with every wrong value, at the top and one level in."""
    message = {"id": 900_000 + number, "role": "user", "content": "odd", "ts": 1.0}
    good = {
        "session": {"id": "victim", "source": "cli"},
        "turn": {"id": "t", "number": 1},
        "messages": [message],
        "message": message,
        "fields": {"archived": False},
    }
    lines = []
    for field in FIELDS[kind]:
        rest = {name: good[name] for name in FIELDS[kind] if name in good and name != field}
        lines += [{**rest, field: value} for value in WRONG]
        for inner in INNER.get(field.removesuffix("s") if field == "messages" else field, ()):
            for value in WRONG:
                if field == "session" and inner == "id":
                    continue  # the id names the file; another one is another file
                inside = {**(message if field == "messages" else good[field]), inner: value}
                lines.append({**rest, field: [inside] if field == "messages" else inside})
    return [{"v": 1, "type": kind, "at": 1.0, **line} for line in lines]


@pytest.mark.parametrize("kind", FIELDS)
def test_no_line_of_the_wrong_kind_keeps_history_from_being_read(home, kind):
    with Memory.open() as memory, memory.session(session_id="victim") as session:
        assert session.end_turn("the first pelican", "noted").saved
    path = home / "sessions" / "victim.jsonl"
    with path.open("a") as file:
        for line in odd_lines(kind, 7):
            line = json.loads(json.dumps(line))
            file.write(json.dumps(line) + "\n")
    with Memory.open() as memory:
        with memory.session(session_id="other") as session:
            assert session.end_turn("the second pelican", "noted").saved
        found = {hit.session_id for hit in memory.history.search("pelican")}
        assert "other" in found
        if kind not in ("undo", "delete"):
            assert "victim" in found
        with memory.session(session_id="victim") as session:
            assert session.end_turn("the third pelican", "noted").saved
        assert len(memory.history.search("third pelican")) >= 1
        assert list(memory.history.turns_after("victim", 0))
        assert memory.history.messages("victim")
        memory.history.sessions(limit=-1)
        memory.history.rebuild()
        assert len(memory.history.search("third pelican")) >= 1
