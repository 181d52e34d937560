"""Asking the auxiliary model a host lent: in the background, with a time limit, never in the way of an exit.

What is asked, and what is done with the answer, stands with each task.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hermes_memory_core.errors import UsageError
from hermes_memory_core.types import LLM

IN_FLIGHT: Final = 4
"""Requests at once, hung ones included: a model that never answers costs four threads, not one a conversation."""


class ModelFailure(Exception):  # noqa: N818 - never leaves this package
    """The model gave nothing that can be used; the text says why, in a few words."""


class FunctionLLM:
    """A plain function as an ``LLM``; it gets the messages, and ``task`` and ``max_tokens`` if it takes them."""

    def __init__(self, function: Callable[..., str]) -> None:
        self._function = function
        self._takes = _keywords(function)

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, task: str, max_tokens: int = 500
    ) -> str:
        """One completion as plain text."""
        known = {"task": task, "max_tokens": max_tokens}
        return self._function(messages, **{name: known[name] for name in self._takes})


def as_llm(given: Any) -> LLM | None:
    """What a host passed as ``llm``, as one; None stays None.

    Raises:
        UsageError: It has no ``complete`` and cannot be called, or is a coroutine function.
    """
    if given is None:
        return None
    complete = getattr(given, "complete", None)
    target = complete if callable(complete) else given
    if not callable(target):
        raise UsageError(
            f"`llm` is {type(given).__name__}: neither a function nor an object with `complete`.",
            hint="llm=lambda messages: my_client.answer(messages)",
        )
    if inspect.iscoroutinefunction(target):
        raise UsageError(
            "`llm` is asynchronous; it is called on a thread of its own, so it may simply block.",
            hint="pass a function that returns the text",
        )
    model: LLM = given if target is complete else FunctionLLM(given)
    return model


class Asker:
    """One model, asked on daemon threads."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._slots = threading.BoundedSemaphore(IN_FLIGHT)

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        task: str,
        max_tokens: int,
        timeout_s: float,
    ) -> str:
        """The answer's text. Blocks its caller: call it from a thread nobody waits for.

        Raises:
            ModelFailure: Too many requests hang already, the time passed, the model raised, or gave no text.
        """
        if not self._slots.acquire(blocking=False):
            raise ModelFailure(f"{IN_FLIGHT} earlier requests have not been answered yet")
        done = threading.Event()
        found: list[Any] = []

        def run() -> None:
            try:
                found.append(self._llm.complete(messages, task=task, max_tokens=max_tokens))
            except BaseException as error:  # noqa: BLE001 - a host's code, also one that calls sys.exit
                found.append(error)
            finally:
                self._slots.release()
                done.set()

        threading.Thread(target=run, name=f"hermes-llm-{task}", daemon=True).start()
        if not done.wait(timeout_s):
            raise ModelFailure(f"no answer in {timeout_s:g} s")
        answer = found[0]
        if isinstance(answer, BaseException):
            raise ModelFailure(f"{type(answer).__name__}: {answer}") from answer
        if not isinstance(answer, str):
            raise ModelFailure(f"it returned {type(answer).__name__} instead of text")
        return answer


def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Which of our keywords the function takes; none where Python cannot tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return ("task", "max_tokens")
    names = {
        one.name
        for one in list(parameters)
        if one.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    }
    return tuple(name for name in ("task", "max_tokens") if name in names)
