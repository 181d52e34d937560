"""Full-text search over ``history.db``: segmenter, index, query parser, ranking.

Works on a ``sqlite3.Connection`` alone: it opens no files, knows no transcripts and no sessions API.
Writers use ``Index``; readers call ``search``. Each name is imported when it is first used: a command that
neither writes nor searches does not pay for either half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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

_WHERE: Final = {
    "TOKENISER_VERSION": "segmenter",
    "Filters": "filters",
    "Index": "index",
    "MessageRow": "index",
    "Query": "parser",
    "SearchResult": "engine",
    "parse": "parser",
    "search": "engine",
    "segment": "segmenter",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
