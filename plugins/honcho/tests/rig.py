"""A provider as the core builds it, with a clock to turn by hand, and the values its hooks take."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from hermes_memory_honcho import HonchoProvider
from honcho_stub import HonchoStub

from hermes_memory_core.types import CallInfo, NoteWrite, ProviderContext, Scope, SessionInfo, Turn

START = 1_800_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class Rig:
    """One profile."""

    def __init__(self, stub: HonchoStub, root: Path) -> None:
        self.stub = stub
        self.home = root / "home"
        self.home.mkdir(exist_ok=True)
        self.clock = Clock()
        self.notices: list[Any] = []
        self.made: list[HonchoProvider] = []
        self.count = 0

    def provider(self, llm: Any = None, **settings: Any) -> HonchoProvider:
        settings.setdefault("base_url", self.stub.url)
        config = HonchoProvider.Config(**settings)
        context = ProviderContext(
            name="honcho",
            home=self.home,
            data_dir=self.home / "providers" / "honcho",
            profile="default",
            config=config,
            settings={},
            secrets={},
            logger=logging.getLogger("hermes_memory.providers.honcho"),
            llm=llm,
            clock=self.clock,
            notify=self.notices.append,
        )
        made = HonchoProvider(context)
        self.made.append(made)
        return made

    def close(self) -> None:
        for one in self.made:
            one.close()

    def turn(self, session: SessionInfo, user: str, assistant: str = "Noted.", **more: Any) -> Turn:
        self.count += 1
        self.clock.now += 1
        values = {
            "id": f"turn-{self.count:05d}",
            "number": self.count,
            "at": self.clock.now,
            **more,
        }
        return Turn(session_id=session.id, user=user, assistant=assistant, **values)


def session(name: str = "s1", **more: Any) -> SessionInfo:
    return SessionInfo(id=name, lineage=more.pop("lineage", name), **more)


def user_scope(user: str) -> dict[str, Any]:
    return {"user_id": user, "scope": Scope("user", user)}


def recall(provider: HonchoProvider, info: SessionInfo, query="hello there", turn=1, seconds=5.0):
    found = provider.prefetch(info, query, turn, time.monotonic() + seconds)
    return found.text if found else ""


def call(
    provider: HonchoProvider, info: SessionInfo, name: str, **arguments: Any
) -> dict[str, Any]:
    result = provider.call_tool(info, name, arguments, CallInfo(time.monotonic() + 20))
    return {**result.data, "ok": result.ok}


def note(action: str, before=(), after=(), target="user", ident="w1", **more: Any) -> NoteWrite:
    return NoteWrite(
        id=ident,
        at=START,
        target=target,
        action=action,
        before=tuple(before),
        after=tuple(after),
        **more,
    )


def settle(provider: HonchoProvider, info: SessionInfo, seconds: float = 5.0) -> None:
    """Wait until nothing is being fetched for a session."""
    state = provider.recaller._states.get(info.id)
    until = time.monotonic() + seconds
    for job in list(state.jobs.values()) if state else []:
        assert job.wait(until - time.monotonic()), "a job hangs"
