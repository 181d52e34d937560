"""Text to index tokens: the one segmenter for messages and queries."""

from __future__ import annotations

from typing import Final

TOKENISER_VERSION: Final = 1
"""Raised whenever ``segment`` gives other tokens for some text: the index must then be rebuilt."""


def segment(text: str) -> str:
    """Tokens of ``text``, parted by single spaces, as the index takes them."""
    raise NotImplementedError


def count(tokens: str) -> int:
    """Number of tokens in what ``segment`` gave."""
    return tokens.count(" ") + 1 if tokens else 0


def traits(text: str) -> int:
    """``schema.QUESTION`` and ``schema.TEMPORAL`` bits of a message."""
    raise NotImplementedError
