"""Small stand-ins: a clock to turn by hand, a model with prepared answers, a provider that writes everything down."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_memory_core.hookspecs import hookimpl
from hermes_memory_core.types import (
    EndReason,
    Health,
    NoteWrite,
    ProviderContext,
    Recall,
    SessionInfo,
    StartReason,
    ToolSpec,
    Turn,
)


class FakeClock:
    """Epoch seconds that move only when told."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Epoch seconds."""
        return self.now

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class FakeLLM:
    """An auxiliary model that gives prepared answers, the last one again and again, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers) or ["A short answer."]
        self.asked: list[tuple[str, tuple[Mapping[str, str], ...]]] = []

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, task: str, max_tokens: int = 500
    ) -> str:
        """The next prepared answer."""
        self.asked.append((task, tuple(messages)))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer[: max_tokens * 4]


class RecordingProvider:
    """A well-behaved provider that keeps what it is told, for tests of hosts.

    ``events`` holds ``(hook, session id or None, what)`` in the order of arrival; ``answer`` is what ``prefetch``
    returns.
    """

    name = "recording"

    def __init__(self, context: ProviderContext) -> None:
        self.context = context
        self.answer: Recall | str | None = None
        self.events: list[tuple[str, str | None, Any]] = []
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def of(self, hook: str) -> list[Any]:
        """What came to one hook."""
        with self._lock:
            return [what for name, _, what in self.events if name == hook]

    @hookimpl
    def start_session(
        self, session: SessionInfo, reason: StartReason, previous: SessionInfo | None
    ) -> None:
        """Write it down."""
        self._note("start_session", session, (reason, previous.id if previous else None))

    @hookimpl
    def end_session(self, session: SessionInfo, reason: EndReason) -> None:
        """Write it down."""
        self._note("end_session", session, reason)

    @hookimpl
    def prefetch(self, session: SessionInfo, query: str) -> Recall | str | None:
        """Write it down; answers ``answer``."""
        self._note("prefetch", session, query)
        return self.answer

    @hookimpl
    def sync_turn(self, session: SessionInfo, turn: Turn) -> None:
        """Write it down once per turn id."""
        with self._lock:
            if turn.id in self._taken:
                return
            self._taken.add(turn.id)
        self._note("sync_turn", session, turn)

    @hookimpl
    def notes_written(self, session: SessionInfo | None, write: NoteWrite) -> None:
        """Write it down."""
        self._note("notes_written", session, write)

    @hookimpl
    def delegation_finished(
        self, session: SessionInfo, task: str, result: str, child: str | None
    ) -> None:
        """Write it down."""
        self._note("delegation_finished", session, (task, result, child))

    @hookimpl
    def tools(self) -> list[ToolSpec]:
        """One tool that echoes."""
        parameters = {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to say back."}},
        }
        return [ToolSpec("recording_echo", "Says back what it is given.", parameters)]

    @hookimpl
    def call_tool(self, session: SessionInfo, name: str, arguments: Mapping[str, Any]) -> Any:
        """The arguments."""
        self._note("call_tool", session, (name, dict(arguments)))
        return {"success": True, "arguments": dict(arguments)}

    @hookimpl
    def health(self) -> Health:
        """Always well."""
        return Health(True, "everything is kept in this process")

    def _note(self, hook: str, session: SessionInfo | None, what: Any) -> None:
        with self._lock:
            self.events.append((hook, session.id if session else None, what))
