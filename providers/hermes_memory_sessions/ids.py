"""Message ids for this process, taken in blocks from the counter in ``history.db``. Nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

BLOCK: Final = 1024


class MessageIds:
    """Hands out ids, each once. The next block is usually brought by the indexer before it is needed.

    Args:
        reserve: Takes so many ids from the database, for good.
    """

    def __init__(self, reserve: Callable[[int], range]) -> None:
        self._reserve = reserve
        self.forget()

    def forget(self) -> None:
        """Drop what is left (after a fork, or when the database was replaced)."""
        self._lock = threading.Lock()
        self._next, self._end = 0, 0
        self._spare: range | None = None

    def take(self, count: int) -> list[int]:
        """``count`` ids, growing.

        Raises:
            StoreError: The counter cannot be reached.
        """
        taken: list[int] = []
        with self._lock:
            while len(taken) < count:
                if self._next >= self._end:
                    block, self._spare = self._spare, None
                    if block is None:
                        block = self._reserve(max(BLOCK, count - len(taken)))
                    self._next, self._end = block.start, block.stop
                end = min(self._end, self._next + count - len(taken))
                taken.extend(range(self._next, end))
                self._next = end
        return taken

    def wanted(self) -> int:
        """How many ids to bring along now; 0 when there are enough."""
        with self._lock:
            low = self._end > 0 and self._end - self._next < BLOCK // 2
            return BLOCK if low and self._spare is None else 0

    def offer(self, block: range) -> None:
        """Take a block that was reserved ahead."""
        with self._lock:
            if self._spare is None:
                self._spare = block
