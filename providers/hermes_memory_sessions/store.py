"""``memory.history``: the ``HistoryStore`` of one profile, put together from its parts."""

from __future__ import annotations

from .care import CareMixin
from .export import ExportMixin
from .for_people import PeopleMixin
from .prune import PruneMixin
from .store_write import WriteMixin


class History(PeopleMixin, WriteMixin, ExportMixin, CareMixin, PruneMixin):
    """All conversations of one profile; see ``hermes_memory_core.types.HistoryStore`` for the contract.

    Beyond the Protocol: ``session_info``, ``search_filtered``, ``search_explained``, ``lineage_ids``,
    ``next_title``, ``archive``, ``pin``, ``import_session``, ``import_path``, ``export``, ``transcript_sizes``,
    ``trashed``, ``restore_session``, ``empty_trash``, ``forget``, ``plan_prune``, ``prune``, ``auto_prune``,
    ``repair``, ``restore_backup``, ``optimise``, ``flush``, ``close``.
    """
