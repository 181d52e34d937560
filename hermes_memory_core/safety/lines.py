"""Somebody's text as one short line in a sentence, list or receipt. How a terminal sets text is ``cli/output.py``."""

from __future__ import annotations


def shorten(text: str, max_chars: int) -> str:
    """The text, or its beginning and an ellipsis, in at most ``max_chars`` characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"


def one_line(text: str, max_chars: int) -> str:
    """One printable line, shortened: no line break, control or direction character survives."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return shorten(" ".join(line.split()), max_chars)
