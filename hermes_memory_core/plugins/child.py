"""A question put to a process of its own and answered with one line of JSON, so that no plugin can hurt who asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn


class NoAnswer(Exception):  # noqa: N818 - not an error of ours: what the plugin did instead is the answer
    """The process said nothing that can be read.

    Args:
        how: ``late``, ``not started`` or ``ended``.
        why: The system's words when it was not started.
        code: Its exit code when it ended.
        said: The last lines it wrote to standard error.
    """

    def __init__(
        self, how: str, *, why: str = "", code: int = 0, said: tuple[str, ...] = ()
    ) -> None:
        super().__init__(how)
        self.how = how
        self.why = why
        self.code = code
        self.said = said


def ask(module: str, argument: str, *, timeout_s: float, python: str = sys.executable) -> Any:
    """Run ``python -m module argument`` and read its answer.

    Args:
        module: It calls ``answer_with``.
        argument: The question.
        timeout_s: Seconds; then it is stopped.
        python: The interpreter.

    Raises:
        NoAnswer: It took too long, did not start, or ended without an answer.
    """
    try:
        done = subprocess.run(
            [python, "-P", "-m", module, argument],
            capture_output=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer("late") from None
    except OSError as error:
        raise NoAnswer("not started", why=str(error)) from error
    try:
        return json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
        raise NoAnswer("ended", code=done.returncode, said=tuple(said)) from None


def answer_with(find: Callable[[], Any]) -> NoReturn:
    """The other side: find the answer, print it, end. What a plugin prints meanwhile goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        out.write("\n" + json.dumps(find(), default=str) + "\n")
    sys.stderr.flush()
    os._exit(0)  # threads a plugin started must not keep this process
