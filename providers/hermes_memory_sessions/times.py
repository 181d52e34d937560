"""Moments a person names, to epoch seconds; and back, in the person's own time zone."""

from __future__ import annotations

from datetime import datetime

from hermes_memory_core.errors import UsageError


def epoch(value: str | float | None, *, now: float, end: bool = False) -> float | None:
    """Epoch seconds of what a filter names; None for None.

    Args:
        value: Epoch seconds, a date, or words (``3d``, ``last week``): read as the search filters read them.
        now: Epoch seconds the words count from.
        end: True for the moment just after the named span (a day named by ``until`` is included whole).

    Raises:
        UsageError: It cannot be understood.
    """
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    from .search.when import moment

    span = moment(value, now, None)
    if span is None:
        raise UsageError(
            f"Cannot read {value!r} as a time.",
            hint="for example 2025-03-31, 3d, yesterday, last week, 上周",
        )
    return span[1] if end else span[0]


def local(at: float, form: str = "%Y-%m-%d %H:%M") -> str:
    """The moment in the machine's time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime(form)
