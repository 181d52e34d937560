"""Full-text search over ``history.db``: segmenter, index, query parser, ranking.

Works on a ``sqlite3.Connection`` alone: it opens no files, knows no transcripts and no sessions API.
Writers use ``Index``; readers call ``search``.
"""

from __future__ import annotations

from .engine import SearchResult, search
from .filters import Filters
from .index import Index, MessageRow
from .parser import Query, parse
from .segmenter import TOKENISER_VERSION, segment

__all__ = [
    "TOKENISER_VERSION",
    "Filters",
    "Index",
    "MessageRow",
    "Query",
    "SearchResult",
    "parse",
    "search",
    "segment",
]
