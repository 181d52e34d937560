"""Regular expressions compiled on first use: the big character classes of this package take 0.2 s at import."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands in for a pattern and turns into its methods as they are used."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiled = re.compile(self._source, self._flags)
        method = getattr(compiled, name)
        # found on the instance from now on: the second call costs no more than on a real pattern
        setattr(self, name, method)
        return method


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """Like ``re.compile``, later."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
