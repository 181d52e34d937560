"""Which of the many gate strings a text has; a rule whose gate is absent is not tried at all.

Gates are sorted by how cheaply they are looked for. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import filterfalse


class Gates:
    """The gate strings of all rules of a set."""

    __slots__ = ("_anywhere", "_ascii", "_odd")

    def __init__(self, gates: Iterable[str]) -> None:
        """Take the gates of every rule, in any order."""
        unique = sorted({gate for gate in gates if gate})
        self._anywhere = [gate for gate in unique if not gate.isascii()]
        plain = [gate for gate in unique if gate.isascii()]
        # A gate without spaces that is not all letters ("id_rsa") stands in a word that is not all letters either.
        self._odd = [gate for gate in plain if len(gate.split()) == 1 == len(gate.split(" "))]
        self._odd = [gate for gate in self._odd if not gate.isalpha()]
        self._ascii = [gate for gate in plain if gate not in self._odd]

    def open(self, text: str) -> set[str]:
        """The gates that occur in the folded ``text``."""
        found: list[str] = []
        if text.isascii():
            plain = text
        else:
            found += [gate for gate in self._anywhere if gate in text]
            plain = text.encode("ascii", "replace").decode("ascii")
        odd = " ".join(filterfalse(str.isalpha, plain.split()))
        found += [gate for gate in self._odd if gate in odd]
        found += [gate for gate in self._ascii if gate in plain]
        return set(found)
