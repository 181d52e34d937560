"""RedactingFilter: masks secrets in log records before a handler writes them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hermes_memory_core.safety.redact.redactor import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_memory_core.safety.redact.redactor import Redactor


class RedactingFilter(logging.Filter):
    """Masks the message of a record, its traceback and its stack.

    Add it to handlers, not to loggers: a logger's filter does not see the records of its
    children. The record is changed in place, so later handlers get the masked text as well.

    Args:
        redactor: the profile's, to mask remembered values too; None masks by rules only.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        super().__init__()
        self._redact: Callable[[str], str] = redact if redactor is None else redactor.redact

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; every record passes."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # Arguments that do not fit their format: keep all the parts, for logging's own
            # report of the mistake would print them unmasked.
            message = f"{record.msg} {record.args!r}"
        record.msg = self._redact(message)
        record.args = None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._redact(record.exc_text)
        if record.stack_info:
            record.stack_info = self._redact(record.stack_info)
        return True
