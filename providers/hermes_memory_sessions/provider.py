"""The provider ``sessions``: which hook answers with which part of the package. No logic of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_memory_core.hookspecs import hookimpl
from hermes_memory_core.types import ProviderContext

from .store import History


class SessionsProvider:
    """Built-in history: transcripts, search, the tool ``session_search``, recall of past conversations."""

    def __init__(self, context: ProviderContext) -> None:
        self.context = context
        self.history = History(context)

    @hookimpl
    def stores(self) -> Mapping[str, Any]:
        """The history store."""
        return {"history": self.history}

    @hookimpl
    def close(self) -> None:
        """Index what waits; let files, connections and the thread go."""
        self.history.close()
