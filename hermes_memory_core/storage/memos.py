"""What a process keeps of texts it has lately seen, in one registry: forgetting a text clears all of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_CLEARS: Final[list[Callable[[], object]]] = []


def register(clear: Callable[[], object]) -> None:
    """Have ``clear`` called by `clear_all`; for memos as long-lived as the module they are in."""
    _CLEARS.append(clear)


def clear_all() -> None:
    """Empty every memo, that of ``re`` too: searched words stand in patterns. What is needed again is made again."""
    for clear in _CLEARS:
        clear()
    re.purge()
