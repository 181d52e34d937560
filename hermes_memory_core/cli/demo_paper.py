"""What the demo is printed on: headings, speech, tool calls, blocks, and statements that must hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.sessions_search import wrap
from hermes_memory_core.errors import HermesMemoryError

WIDEST = 96
MOST_LINES = 200
_COLOURS = {"user": "cyan", "assistant": "green"}
_NAMES = {"user": "Lin", "assistant": "agent"}


class DemoFailedError(HermesMemoryError):
    """A statement of the demo does not hold."""

    code = "demo_failed"


class Paper:
    """Prints on standard output, at most as wide as the terminal; keeps what was stated.

    Args:
        quiet: Print nothing; statements are checked all the same.
        named: Makes the commands in a text typeable as they stand.
    """

    def __init__(
        self, *, quiet: bool = False, named: Callable[[str], str] = lambda text: text
    ) -> None:
        self.facts: list[dict[str, Any]] = []
        self._quiet = quiet
        self._named = named
        self._scene = ""
        self._number = 0
        self.width = min(WIDEST, output.terminal_width())

    def scene(self, title: str, about: str = "") -> None:
        """A new scene."""
        self._number += 1
        self._scene = title
        head = f"{self._number}  {title} "
        rule = "─" * max(0, self.width - output.cells(head))
        self._print("\n" + click.style(head, bold=True) + click.style(rule, dim=True))
        if about:
            self.text(about)
        self._print("")

    def text(self, text: str) -> None:
        """A remark."""
        for line in wrap(text, self.width, MOST_LINES):
            self._print(click.style(line, dim=True))

    def said(self, role: str, text: str) -> None:
        """What somebody says."""
        name = output.pad(_NAMES.get(role, role), 7)
        self._hanging(click.style(name, fg=_COLOURS.get(role), bold=True), 7, text)

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """A tool call."""
        text = f"{name}({json.dumps(arguments, ensure_ascii=False)})"
        self._hanging(click.style("  → ", fg="yellow"), 4, text)

    def answer(self, answer: Mapping[str, Any], *keys: str) -> None:
        """A tool's answer: the named fields of it."""
        shown = {key: answer[key] for key in keys if key in answer}
        self._hanging(click.style("  ← ", fg="yellow"), 4, json.dumps(shown, ensure_ascii=False))

    def block(self, text: str, *, most: int = 24) -> None:
        """A text as it is, behind a bar; the middle is left out when it is long."""
        lines = [
            piece
            for line in text.splitlines()
            for piece in wrap(line, self.width - 4, MOST_LINES) or [""]
        ]
        if len(lines) > most:
            left = len(lines) - most + 1
            lines = [*lines[: most - 1], f"… {output.count(left, 'more line')}"]
        for line in lines:
            self._print(click.style("  │ ", fg="blue") + line)

    def plain(self, text: str) -> None:
        """Lines that are laid out already."""
        for line in self._named(text).splitlines():
            self._print(f"  {line}".rstrip())

    def notice(self, message: str, hint: str) -> None:
        """What the memory itself tells the person."""
        arrow = f"  → {self._named(hint)}" if hint else ""
        self._hanging(click.style("  ! ", fg="yellow", bold=True), 4, message + arrow)

    def expect(self, holds: bool, statement: str, found: Any = None) -> None:
        """A statement about what was just computed.

        Raises:
            DemoFailedError: It does not hold.
        """
        self.facts.append({"scene": self._scene, "statement": statement, "holds": bool(holds)})
        if not holds:
            seen = "" if found is None else f" Found: {output.cut(str(found), 300)}"
            raise DemoFailedError(
                f"Scene {self._number} ({self._scene}): this should be so and is not: {statement}{seen}",
                hint="hermes doctor",
                details={"facts": self.facts},
            )
        self._hanging(click.style("  ✓ ", fg="green", bold=True), 4, statement)

    def gap(self) -> None:
        """An empty line."""
        self._print("")

    def _hanging(self, lead: str, indent: int, text: str) -> None:
        lines: Sequence[str] = wrap(text, self.width - indent, MOST_LINES) or [""]
        self._print(lead + lines[0])
        for line in lines[1:]:
            self._print(" " * indent + line)

    def _print(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)
