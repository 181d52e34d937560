"""One hook asked of all providers for text, and their answers as one text. Recall has a way of its own (``recall``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hermes_memory_core.engine.calls import Provider


def ask_all(providers: Iterable[Provider], hook: str, timeout_s: float, **arguments: Any) -> str:
    """What the providers answer, in their order, a blank line between; "" when none has anything to say.

    One that fails or is late is left out here and shown by ``status``.

    Args:
        providers: Whom to ask.
        hook: The hook's name; it answers ``str | None``.
        timeout_s: Seconds for each external one.
        arguments: What the hook takes.
    """
    texts = []
    for provider in providers:
        outcome = provider.call(hook, timeout_s, **arguments)
        if outcome.ok and isinstance(outcome.value, str) and outcome.value.strip():
            texts.append(outcome.value.strip())
    return "\n\n".join(texts)
