"""The demo's scenes: a person, an agent, five weeks. Only the public API is used, nothing shown is prepared.

The words of the person and of the agent are written here, since there is no model; what the memory answers,
keeps, finds and refuses is computed.
"""

from __future__ import annotations

import inspect
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_memory_core.cli import output
from hermes_memory_core.cli.demo_paper import Paper
from hermes_memory_core.cli.sessions_common import ago
from hermes_memory_core.cli.status import render
from hermes_memory_core.memory import Memory
from hermes_memory_core.session import Receipt, Session
from hermes_memory_core.types import Notice

DAY_S = 86_400.0
WEEKS_AGO = 35
FULL_AFTER = 40
"""Notes after which a store must have been full: 40 of them are far more than 2,200 characters."""

LESSONS = (
    "The report script in tools/weekly.py needs Python 3.12; the system Python is 3.11, so use the project's venv.",
    "Staging deploys go through the `release` branch; the main branch deploys to nothing since the move in spring.",
    "Invoices are numbered by year and month, for example 2026-05-014; a missing number must be explained to the tax office.",
    "Lin's team meets on Tuesdays at 10:00 Lisbon time; notes belong in docs/meetings, one file per meeting.",
    "The photo archive is on the NAS under /volume1/photos; originals are never edited, copies go to /volume1/edited.",
    "新加坡办公室的联系人是陈静,她只在周一和周四回复邮件,急事请打电话。",
)


class Stage:
    """Where the scenes play: the home, a clock that can be turned, the paper."""

    def __init__(self, home: Path, paper: Paper) -> None:
        self.home = home
        self.paper = paper
        self.shift = 0.0
        self.told: list[Notice] = []

    def clock(self) -> float:
        """Now, moved by ``shift`` seconds."""
        return time.time() + self.shift

    @contextmanager
    def memory(self, *providers: type) -> Iterator[Memory]:
        """The memory of the demo's home, opened anew as another run of a program would."""
        with Memory.open(
            home=self.home,
            profile="default",
            providers=providers,
            notify=self._tell,
            clock=self.clock,
        ) as memory:
            yield memory

    def _tell(self, notice: Notice) -> None:
        self.told.append(notice)
        self.paper.notice(notice.message, notice.hint)

    def _file(self, target: str) -> str:
        """The notes as they are on the disk now."""
        path = self.home / "memories" / f"{target.upper()}.md"
        return path.read_text("utf-8") if path.is_file() else ""

    def turn(self, session: Session, user: str, reply: str, *calls: Mapping[str, Any]) -> Receipt:
        """One turn: the person speaks, the agent calls ``memory`` with each of ``calls``, then answers."""
        paper = self.paper
        paper.said("user", user)
        session.begin_turn(user)
        messages: list[dict[str, Any]] = []
        for number, arguments in enumerate(calls):
            text = session.call_tool("memory", arguments, call_id=f"call_{number}")
            answer = json.loads(text)
            paper.call("memory", arguments)
            paper.answer(answer, "success", "usage", "message", "error")
            paper.expect(
                answer["success"], "the note is on the disk before the call answers", answer
            )
            function = {"name": "memory", "arguments": json.dumps(arguments, ensure_ascii=False)}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            messages += [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {
                    "role": "tool",
                    "tool_call_id": f"call_{number}",
                    "name": "memory",
                    "content": text,
                },
            ]
        messages.append({"role": "assistant", "content": reply})
        receipt = session.end_turn(user, reply, messages=messages)
        paper.said("assistant", reply)
        if not receipt.saved:
            paper.expect(False, "the turn is saved", receipt.error)
        return receipt


def play(home: Path, paper: Paper, *, no_plugins: bool = False) -> None:
    """All scenes in order.

    Raises:
        DemoFailedError: A statement does not hold.
    """
    stage = Stage(home, paper)
    stage.shift = -WEEKS_AGO * DAY_S
    five_weeks_ago(stage)
    stage.shift = 0.0
    today(stage)
    full(stage)
    search(stage)
    if not no_plugins:
        external(stage)
    on_disk(stage)
    status(stage)


def five_weeks_ago(stage: Stage) -> None:
    """Two conversations, one in English, one in Chinese."""
    paper = stage.paper
    day = output.moment(stage.clock())[:10]
    paper.scene("Five weeks ago", f"Two conversations on {day} (the demo turns the clock back).")
    with stage.memory() as memory:
        with memory.session(title="A week in Lisbon") as session:
            stage.turn(
                session,
                "Hi, I'm Lin. Keep answers short please, and give prices in euros.",
                "Hello Lin. Short answers, prices in euros: noted.",
                {
                    "action": "add",
                    "target": "user",
                    "content": "Name: Lin. Wants short answers and prices in euros.",
                },
            )
            stage.turn(
                session,
                "What should a week in Lisbon in May cost the two of us?",
                "1,240 euros: 380 for flights, 560 for the flat in Alfama, 300 for food and trams.",
            )
        paper.gap()
        with memory.session(source="telegram", title="厨房装修") as session:
            stage.turn(
                session,
                "厨房装修的预算,我们最后定了多少?",
                "预算定在三万两千元,其中橱柜占一半。",
                {
                    "action": "add",
                    "target": "memory",
                    "content": "厨房装修由王师傅负责,周末不施工。",
                },
            )


def today(stage: Stage) -> None:
    """A new program, a new session: it knows what was noted, and what it knows does not move under it."""
    paper = stage.paper
    paper.scene(
        "Today, another program", "The same home is opened again. This is in its system prompt:"
    )
    with stage.memory() as memory, memory.session(title="Monday morning") as session:
        prompt = session.system_prompt()
        start = prompt.find("═")
        paper.block(prompt[max(0, start) :], most=14)
        paper.expect("Wants short answers" in prompt, "it knows how Lin wants to be answered")
        paper.expect("王师傅" in prompt, "and who does the kitchen, in Chinese")
        used = memory.notes.usage("user") if memory.notes else None
        header = f"[{used.percent}% — {used.chars:,}/{used.limit:,} chars]" if used else "?"
        paper.expect(header in prompt, f"the header counts what is used: {header}")
        paper.gap()
        stage.turn(
            session,
            "From now on I work from Porto.",
            "Porto it is.",
            {"action": "add", "target": "user", "content": "Works from Porto since this week."},
        )
        paper.expect(
            session.system_prompt() == prompt,
            f"the prompt of this session stays the same to the byte ({len(prompt):,} characters), "
            "so its cache stays warm",
        )
        with memory.session(title="Monday noon") as later:
            paper.expect(
                "Works from Porto" in later.system_prompt(), "the next session knows about Porto"
            )


def full(stage: Stage) -> None:
    """A store that is full says by how much, and one call sets it right."""
    paper = stage.paper
    paper.scene("A full store", "The agent goes on noting until MEMORY.md takes no more.")
    with stage.memory() as memory, memory.session(title="Housekeeping") as session:
        refused, arguments, added = _fill(session)
        paper.text(f"{added} notes later:")
        told = [notice for notice in stage.told if notice.code == "notes_full"]
        paper.call("memory", arguments)
        paper.answer(refused, "success", "error", "over_by", "current", "limit")
        over = int(refused.get("over_by", 0))
        paper.expect(over > 0, f"the error says by how much: over_by = {over}", refused)
        paper.expect(len(told) == 1, "the person was told as well, once", stage.told)
        paper.gap()
        fix = _one_batch(memory, str(arguments["content"]), over)
        answer = json.loads(session.call_tool("memory", fix))
        paper.call("memory", fix)
        paper.answer(answer, "success", "usage", "message")
        paper.expect(answer["success"], "one batch frees the room and adds the note", answer)
        texts = [note.text for note in memory.notes.list("memory")] if memory.notes else []
        paper.expect(arguments["content"] in texts, "the new note is in MEMORY.md")
        with memory.session(title="After lunch") as later:
            paper.expect(
                str(arguments["content"]) in later.system_prompt(),
                "and a new session knows what this one learned",
            )


def _fill(session: Session) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Add notes until one is refused; the refusal, the call, and how many were taken."""
    arguments: dict[str, Any] = {}
    answer: dict[str, Any] = {}
    for number in range(FULL_AFTER):
        lesson = LESSONS[number % len(LESSONS)]
        text = lesson if number < len(LESSONS) else f"Week {number - len(LESSONS) + 1}: {lesson}"
        arguments = {"action": "add", "target": "memory", "content": text}
        answer = json.loads(session.call_tool("memory", arguments))
        if not answer["success"]:
            return answer, arguments, number
    return answer, arguments, FULL_AFTER


def _one_batch(memory: Memory, content: str, over: int) -> dict[str, Any]:
    """What a good agent sends next: remove the oldest weeks until there is room, and add, in one call."""
    operations: list[dict[str, Any]] = []
    freed = 0
    notes = memory.notes.list("memory") if memory.notes else []
    for note in notes:
        if freed < over and note.text.startswith("Week "):
            freed += len(note.text)
            operations.append({"action": "remove", "old_text": note.text[:48]})
    return {
        "target": "memory",
        "operations": [*operations, {"action": "add", "content": content}],
    }


def search(stage: Stage) -> None:
    """Last month's turn, asked for in a person's own words."""
    paper = stage.paper
    paper.scene(
        "Last month, one search away",
        "None of this is in the notes. What the model's tool answers:",
    )
    asked = (
        ("How much did we say the trip to Lisbon would cost?", "1,240"),
        ("预算", "三万两千元"),
        ("厨房装修要花多少钱?", "三万两千元"),
    )
    with stage.memory() as memory, memory.session(title="Evening") as session:
        known = session.system_prompt()
        paper.expect(
            not any(evidence in known for _, evidence in asked), "no answer is in the prompt"
        )
        paper.gap()
        for question, evidence in asked:
            answer = json.loads(session.call_tool("session_search", {"query": question}))
            paper.call("session_search", {"query": question})
            results = answer.get("results") or [{}]
            found = [
                message
                for message in results[0].get("messages", [])
                if evidence in str(message.get("content"))
            ]
            if found:
                paper.answer(results[0], "title", "when")
                paper.answer(found[0], "role", "content", "why")
            paper.expect(bool(found), f"the first conversation found holds “{evidence}”", answer)
            _check_age(memory, paper, stage.clock(), question, evidence)
            paper.gap()
    length = len(json.dumps(answer, ensure_ascii=False))
    paper.text(f"The last answer cost the model {length:,} characters.")


def _check_age(memory: Memory, paper: Paper, now: float, question: str, evidence: str) -> None:
    hits = memory.history.search(question, limit=5) if memory.history else []
    old = next((hit for hit in hits if evidence in hit.content), None)
    days = (now - old.timestamp) / DAY_S if old else 0.0
    when = ago(old.timestamp, now) if old else ""
    paper.expect(
        old is not None and days > WEEKS_AGO - 1,
        f"memory.history.search gives the message itself: #{old.message_id if old else '?'}, said {when}",
    )


def external(stage: Stage) -> None:
    """One external provider, and an evening on which its server is down."""
    from hermes_memory_core.cli.demo_diary import Diary, Server

    paper = stage.paper
    paper.scene("An external memory, and its bad evening", "A whole provider:")
    source = inspect.getsource(Diary)
    paper.plain(source.rstrip())
    paper.gap()
    Server.up, before = True, len(Server.turns)
    with stage.memory(Diary) as memory, memory.session(title="With a diary") as session:
        first = stage.turn(session, "Remember the blue tiles in Alfama.", "Blue tiles, Alfama.")
        paper.expect(memory.flush(3.0), "the diary took the turn", memory.status()["outbox"])
        paper.expect(first.turn_id in Server.turns, "its server has it under the turn's id")
        paper.gap()
        Server.up = False
        paper.text("Now the server is down.")
        second = stage.turn(session, "And the tram to Graça is the 28.", "Tram 28 to Graça.")
        memory.flush(0.3)
        waiting = memory.status()["outbox"]["pending"]
        paper.expect(second.saved, "the turn is saved all the same")
        paper.expect(waiting == 1, f"and waits in the outbox: {waiting} item", waiting)
        paper.gap()
        Server.up = True
        stage.shift += 600.0
        paper.text("Ten minutes later the server is up again.")
        paper.expect(memory.flush(3.0), "the outbox empties by itself", memory.status()["outbox"])
        paper.expect(
            len(Server.turns) - before == 2 and second.turn_id in Server.turns,
            "nothing was lost, nothing came twice",
            list(Server.turns.values()),
        )
        recall = session.begin_turn("What did we say about the tiles?")
        paper.text("What the next turn gets to know before the model is asked:")
        paper.block(recall.text)
        paper.expect("The diary holds" in recall.text, "the diary was asked, behind a fence")


def on_disk(stage: Stage) -> None:
    """Every file there is, with its mode and size."""
    paper = stage.paper
    paper.scene(
        "On the disk", "Plain files; the database can be built again from sessions/*.jsonl."
    )
    rows, wrong = [], []
    for path in sorted(stage.home.rglob("*")):
        found = path.lstat()
        mode = stat.S_IMODE(found.st_mode)
        folder = path.is_dir()
        name = str(path.relative_to(stage.home)) + ("/" if folder else "")
        rows.append([f"{mode:04o}", "" if folder else output.size(found.st_size), name])
        if mode & 0o077:
            wrong.append(name)
    paper.plain(
        output.table(("Mode", "Size", "File"), rows, right=(1,), flexible=2, width=paper.width - 2)
    )
    paper.gap()
    if os.name != "nt":
        paper.expect(not wrong, "nobody but you can read any of it", wrong)
    paper.expect((stage.home / "memories" / "MEMORY.md").is_file(), "MEMORY.md is there to open")
    with stage.memory() as memory:
        problems = memory.history.check() if memory.history else ["history is off"]
        paper.expect(not problems, "database, index and transcripts agree", problems)


def status(stage: Stage) -> None:
    """What ``hermes memory status`` says about this home."""
    paper = stage.paper
    paper.scene("What `hermes memory status` says")
    with stage.memory() as memory:
        report = memory.status(check=True)
        paper.plain(render(report))
        paper.gap()
        healthy = [layer["name"] for layer in report["layers"] if (layer["health"] or {}).get("ok")]
        paper.expect(
            len(healthy) == len(report["layers"]),
            f"{' and '.join(healthy)} answer a real round trip",
            report["layers"],
        )
        counted = report["history"] or {}
        stored = memory.history.stats() if memory.history else {}
        paper.expect(
            counted.get("sessions") == stored.get("sessions") and stored.get("sessions", 0) > 0,
            f"{counted.get('sessions')} conversations with {counted.get('messages')} messages are kept",
        )
