"""The same façade for asyncio: the names of ``Memory`` and ``Session`` as coroutines, run in threads.

Cancelling an await does not cancel the write behind it: a turn that was handed over is saved or its receipt says why.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from hermes_memory_core.engine.fence import FenceScrubber
from hermes_memory_core.memory import Memory
from hermes_memory_core.session import Receipt, Session, TurnContext
from hermes_memory_core.types import (
    EndReason,
    ForgetReceipt,
    Health,
    HistoryStore,
    NotesStore,
    Scope,
    SessionInfo,
)

if TYPE_CHECKING:
    from hermes_memory_core.config import LoadedConfig
    from hermes_memory_core.engine.approval import Pending
    from hermes_memory_core.engine.moving import Moved
    from hermes_memory_core.profiles import Profile

P = ParamSpec("P")
R = TypeVar("R")


async def _run(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    # shielded: a call that is cancelled before its thread has started is made all the same
    return await asyncio.shield(asyncio.to_thread(functools.partial(function, *args, **kwargs)))


class AsyncSession:
    """A session whose calls are awaited. Made by ``AsyncMemory.session``; use it in an ``async with`` block."""

    def __init__(self, begin: Callable[[], Session]) -> None:
        self._begin = begin
        self._session: Session | None = None

    @property
    def sync(self) -> Session:
        """The session behind it.

        Raises:
            RuntimeError: Before ``async with`` has begun it.
        """
        if self._session is None:
            raise RuntimeError("use `async with memory.session(...) as session`")
        return self._session

    @property
    def id(self) -> str:
        """See ``Session.id``."""
        return self.sync.id

    @property
    def info(self) -> SessionInfo:
        """See ``Session.info``."""
        return self.sync.info

    async def system_prompt(self) -> str:
        """See ``Session.system_prompt``."""
        return await _run(self.sync.system_prompt)

    async def tools(self) -> list[dict[str, Any]]:
        """See ``Session.tools``."""
        return await _run(self.sync.tools)

    async def begin_turn(self, text: Any) -> TurnContext:
        """See ``Session.begin_turn``."""
        return await _run(self.sync.begin_turn, text)

    async def call_tool(
        self, name: str, arguments: Any = None, *, call_id: str | None = None
    ) -> str:
        """See ``Session.call_tool``."""
        return await _run(self.sync.call_tool, name, arguments, call_id=call_id)

    async def end_turn(
        self,
        user: Any,
        assistant: Any,
        *,
        messages: Iterable[Mapping[str, Any]] | None = None,
        interrupted: bool = False,
    ) -> Receipt:
        """See ``Session.end_turn``."""
        return await _run(
            self.sync.end_turn, user, assistant, messages=messages, interrupted=interrupted
        )

    async def before_compression(self, messages: Iterable[Mapping[str, Any]]) -> str:
        """See ``Session.before_compression``."""
        return await _run(self.sync.before_compression, messages)

    async def compressed(self, summary: str) -> str:
        """See ``Session.compressed``."""
        return await _run(self.sync.compressed, summary)

    async def reset(self, *, reason: Literal["reset", "new"] = "reset") -> str:
        """See ``Session.reset``."""
        return await _run(self.sync.reset, reason=reason)

    async def branch(self, title: str | None = None) -> str:
        """See ``Session.branch``."""
        return await _run(self.sync.branch, title)

    async def rewind(self, turns: int = 1) -> int:
        """See ``Session.rewind``."""
        return await _run(self.sync.rewind, turns)

    async def delegation_finished(
        self, task: str, result: str, child_id: str | None = None
    ) -> bool:
        """See ``Session.delegation_finished``."""
        return await _run(self.sync.delegation_finished, task, result, child_id)

    async def set_title(self, title: str) -> str | None:
        """See ``Session.set_title``."""
        return await _run(self.sync.set_title, title)

    async def end(self, reason: EndReason = "exit") -> None:
        """See ``Session.end``."""
        await _run(self.sync.end, reason)

    async def detach(self) -> None:
        """See ``Session.detach``."""
        await _run(self.sync.detach)

    def scrubber(self) -> FenceScrubber:
        """See ``Session.scrubber``; no await, it does no I/O."""
        return self.sync.scrubber()

    async def __aenter__(self) -> Self:
        self._session = await _run(self._begin)
        return self

    async def __aexit__(self, *error: object) -> None:
        await _run(self.sync.__exit__)


class AsyncMemory:
    """One open profile for asyncio. ``async with AsyncMemory.open(...) as memory``."""

    def __init__(self, begin: Callable[[], Memory]) -> None:
        self._begin = begin
        self._memory: Memory | None = None

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Takes what ``Memory.open`` takes; the work is done on entering the block."""
        return cls(functools.partial(Memory.open, *args, **kwargs))

    @property
    def sync(self) -> Memory:
        """The memory behind it.

        Raises:
            RuntimeError: Before ``async with`` has opened it.
        """
        if self._memory is None:
            raise RuntimeError("use `async with AsyncMemory.open(...) as memory`")
        return self._memory

    @property
    def notes(self) -> NotesStore | None:
        """See ``Memory.notes``; its methods block, call them through ``asyncio.to_thread``."""
        return self.sync.notes

    @property
    def history(self) -> HistoryStore | None:
        """See ``Memory.history``; its methods block, call them through ``asyncio.to_thread``."""
        return self.sync.history

    @property
    def pending(self) -> Pending:
        """See ``Memory.pending``. Its methods do I/O: call them in a thread (``asyncio.to_thread``)."""
        return self.sync.pending

    @property
    def profile(self) -> Profile:
        """See ``Memory.profile``."""
        return self.sync.profile

    @property
    def settings(self) -> LoadedConfig:
        """See ``Memory.settings``."""
        return self.sync.settings

    async def export(
        self, *, providers: Sequence[str] = (), scope: Scope | None = None
    ) -> AsyncIterator[str]:
        """See ``Memory.export``; ``async for line in memory.export()``."""
        lines = self.sync.export(providers=providers, scope=scope)
        while (line := await _run(lambda: next(lines, None))) is not None:
            yield line

    async def import_export(
        self, file: IO[str], *, to: str | None = None, dry_run: bool = False
    ) -> dict[str, Moved]:
        """See ``Memory.import_export``."""
        return await _run(self.sync.import_export, file, to=to, dry_run=dry_run)

    async def migrate(self, source: str, target: str, *, dry_run: bool = False) -> Moved:
        """See ``Memory.migrate``."""
        return await _run(self.sync.migrate, source, target, dry_run=dry_run)

    async def check_provider(self, name: str) -> Health:
        """See ``Memory.check_provider``."""
        return await _run(self.sync.check_provider, name)

    async def forget(self, query: str, **kwargs: Any) -> list[ForgetReceipt]:
        """See ``Memory.forget``."""
        return await _run(self.sync.forget, query, **kwargs)

    def session(self, *args: Any, **kwargs: Any) -> AsyncSession:
        """Takes what ``Memory.session`` takes; begins on entering the ``async with`` block."""
        return AsyncSession(lambda: self.sync.session(*args, **kwargs))

    def resume(self, text: str, **kwargs: Any) -> AsyncSession:
        """Takes what ``Memory.resume`` takes; begins on entering the block."""
        return AsyncSession(lambda: self.sync.resume(text, **kwargs))

    async def flush(self, timeout_s: float = 5.0) -> bool:
        """See ``Memory.flush``."""
        return await _run(self.sync.flush, timeout_s)

    async def status(self, *, check: bool = False) -> dict[str, Any]:
        """See ``Memory.status``."""
        return await _run(self.sync.status, check=check)

    async def slash(self, text: str, session: AsyncSession | None = None) -> str:
        """See ``Memory.slash``."""
        return await _run(self.sync.slash, text, session.sync if session else None)

    async def close(self) -> None:
        """See ``Memory.close``."""
        await _run(self.sync.close)

    async def __aenter__(self) -> Self:
        self._memory = await _run(self._begin)
        return self

    async def __aexit__(self, *error: object) -> None:
        await _run(self.sync.close)
