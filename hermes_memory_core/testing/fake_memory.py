"""A Memory that is none: calls one provider's hooks in the right order, on the caller's thread, nothing in between.

For a provider's own unit tests: what the provider raises reaches the test, there is no deadline, no outbox, no
file but the provider's. The names are those of the real ``Memory`` and ``Session``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from hermes_memory_core.errors import UsageError
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.subject import Subject, implementations
from hermes_memory_core.types import (
    EndReason,
    Message,
    NoteWrite,
    Recall,
    SessionInfo,
    ToolResult,
    ToolSpec,
    Turn,
)


class FakeMemory:
    """One provider, constructed in a temporary profile. Use it in a ``with`` block.

    Args:
        provider: The provider's class.
        config: The ``providers.NAME`` section.
        secrets: Secrets by field name.
        root: Directory for the profile; None for a temporary one. The same directory again is a restart.
        name: The provider's name.

    Raises:
        ConfigError: The configuration is not valid.
        PluginLoadError: A hook is not one the core can call.
    """

    def __init__(
        self,
        provider: type,
        *,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        root: Path | None = None,
        name: str | None = None,
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory() if root is None else None
        self._harness = Harness(
            provider,
            root or Path(self._temporary.name if self._temporary else ""),
            name=name,
            config=config,
            secrets=secrets,
        )
        self._subject: Subject = self._harness.construct()
        self.provider: Any = self._subject.instance
        """The live instance."""

    @property
    def clock(self) -> Any:
        """The provider's clock; turn it with ``forward``."""
        return self._harness.clock

    @property
    def data_dir(self) -> Path:
        """The provider's own directory."""
        return self._harness.data_dir()

    def session(self, session_id: str | None = None, **fields: Any) -> FakeSession:
        """Begin a session; ``fields`` as ``inputs.session_info`` takes them (user, chat, scope …)."""
        session = FakeSession(self, inputs.session_info(session_id, **fields))
        self.call("start_session", session=session.info, reason="new", previous=None)
        return session

    def notes_written(self, write: NoteWrite) -> None:
        """Hand over a note that was committed outside a conversation."""
        self.call("notes_written", session=None, write=write)

    def call(self, hook: str, **arguments: Any) -> Any:
        """Call one hook; None when it is not implemented. Whatever it raises is raised."""
        if hook not in implementations(self.provider):
            return None
        answer = self._subject.attempt(hook, **arguments)
        if answer.error is not None:
            raise answer.error
        return answer.value

    def close(self) -> None:
        """Close the provider, and remove the temporary profile."""
        self._subject.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class FakeSession:
    """One conversation with one provider."""

    def __init__(self, memory: FakeMemory, info: SessionInfo) -> None:
        self._memory = memory
        self.info = info
        self._turns = 0

    @property
    def id(self) -> str:
        """The session's id."""
        return self.info.id

    def system_prompt(self) -> str:
        """What the provider adds to the system prompt."""
        return self._memory.call("system_block", session=self.info) or ""

    def tools(self) -> list[ToolSpec]:
        """Its tools."""
        return list(self._memory.call("tools", session=self.info) or ())

    def begin_turn(self, text: str) -> str:
        """The bare recalled text, without fence."""
        value = self._memory.call(
            "prefetch", session=self.info, query=text, turn_number=self._turns + 1
        )
        return value.text if isinstance(value, Recall) else value or ""

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run one of its tools; the answer's data.

        Raises:
            UsageError: It offers no such tool.
        """
        if name not in [tool.name for tool in self.tools()]:
            raise UsageError(f"The provider offers no tool `{name}`.")
        value = self._memory.call(
            "call_tool", session=self.info, name=name, arguments=dict(arguments or {})
        )
        return dict(value.data) if isinstance(value, ToolResult) else dict(value)

    def end_turn(
        self, user: str, assistant: str = "Noted.", *, between: Sequence[Message] = ()
    ) -> Turn:
        """Hand a completed turn over; the turn, so that a test can deliver it again."""
        self._turns += 1
        turn = inputs.turn(self.info, user, assistant, number=self._turns, between=between)
        self.deliver(turn)
        self._memory.call("queue_prefetch", session=self.info, query=user, turn_number=self._turns)
        return turn

    def deliver(self, turn: Turn) -> None:
        """Deliver a turn, also one that was delivered before."""
        self._memory.call("sync_turn", session=self.info, turn=turn)

    def before_compression(self, messages: Sequence[Message]) -> str:
        """Text the provider wants kept."""
        return (
            self._memory.call("before_compression", session=self.info, messages=tuple(messages))
            or ""
        )

    def delegation_finished(self, task: str, result: str, child: str | None = None) -> None:
        """A sub-agent came back."""
        self._memory.call(
            "delegation_finished", session=self.info, task=task, result=result, child=child
        )

    def end(self, reason: EndReason = "exit") -> None:
        """End the session."""
        self._memory.call("end_session", session=self.info, reason=reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
