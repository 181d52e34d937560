"""Message ids for this process, taken in blocks from the counter in ``history.db``. Nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

BLOCK: Final = 1024


class MessageIds:
    """Hands out ids, each once. The next block is usually brought by the indexer before it is needed.

    The lock is never held while the database is asked: whoever holds the database may ask here.

    Args:
        reserve: Takes so many ids from the database, for good.
    """

    def __init__(self, reserve: Callable[[int], range]) -> None:
        self._reserve = reserve
        self.forget()

    def forget(self) -> None:
        """Drop what is left (after a fork, or when the database was replaced)."""
        self._lock = threading.Lock()
        self._blocks: list[range] = []
        self._used = False

    def take(self, count: int) -> list[int]:
        """``count`` ids, growing.

        Raises:
            StoreError: The counter cannot be reached.
        """
        with self._lock:
            block = self._blocks[0] if self._blocks else range(0)
            if len(block) > count:  # nearly always
                self._used = True
                self._blocks[0] = block[count:]
                return list(block[:count])
        taken: list[int] = []
        while True:
            with self._lock:
                self._used = True
                while self._blocks and len(taken) < count:
                    block = self._blocks[0]
                    missing = count - len(taken)
                    taken.extend(block[:missing])
                    if missing < len(block):
                        self._blocks[0] = block[missing:]
                    else:
                        self._blocks.pop(0)
            if len(taken) >= count:
                return sorted(taken)
            self.offer(self._reserve(max(BLOCK, count - len(taken))))

    def wanted(self) -> int:
        """How many ids to bring along now; 0 when there are enough."""
        with self._lock:
            low = sum(map(len, self._blocks)) < BLOCK // 2
            return BLOCK if self._used and low else 0

    def offer(self, block: range) -> None:
        """Take a block that was reserved."""
        with self._lock:
            self._blocks.append(block)
