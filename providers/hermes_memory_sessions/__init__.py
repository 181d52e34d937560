"""Every conversation, kept and found again: the built-in provider ``sessions``.

``provider`` is the door; ``store`` is ``memory.history``; ``search`` ranks; ``importers`` read other programs'
files. Nothing here imports another provider.
"""

from __future__ import annotations

from .provider import SessionsProvider
from .store import History

__all__ = ["History", "SessionsProvider"]
