"""``memory.history``: the ``HistoryStore`` of one profile, put together from its parts."""

from __future__ import annotations

from .care import CareMixin
from .store_read import ReadMixin
from .store_write import WriteMixin


class History(WriteMixin, ReadMixin, CareMixin):
    """All conversations of one profile; see ``hermes_memory_core.types.HistoryStore`` for the contract.

    Beyond the Protocol: ``session_info``, ``search_filtered``, ``lineage_ids``, ``next_title``, ``archive``,
    ``pin``, ``plan_prune``, ``prune``, ``trash``, ``restore``, ``empty_trash``, ``forget``, ``optimise``,
    ``repair``, ``restore_backup``, ``export``, ``import_session``, ``flush``, ``close``.
    """
