"""What a host passes beside a conversation's texts (ids, names, choices), checked before anything is done."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from hermes_memory_core.errors import UsageError

_ID = re.compile(r"[^\x00-\x1f\x7f/\\\ud800-\udfff]{1,128}")


def word(value: Any, name: str) -> str | None:
    """A short value of a session (source, ids, cwd …) as every store can hold it; "" counts as None.

    Raises:
        UsageError: It is neither text, a number, nor a path.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # chat services number their users and chats
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise UsageError(f"`{name}` must be text, not {type(value).__name__}; nothing was changed.")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_of(value: Any, words: Sequence[str], name: str) -> None:
    """Refuse a value that is none of the words.

    Raises:
        UsageError: It is none of them; nothing was changed.
    """
    if value not in words:
        raise UsageError(
            f"`{name}` cannot be {value!r:.40}: it is one of {', '.join(words)}; nothing was changed."
        )


def checked_id(session_id: Any) -> str:
    """A session id that can be a file name.

    Raises:
        UsageError: It is empty, too long, or has a separator or control character in it.
    """
    if (
        not isinstance(session_id, str)
        or not _ID.fullmatch(session_id)
        or session_id.strip(". ") == ""
    ):
        raise UsageError(
            f"{session_id!r:.80} cannot be a session id: 1 to 128 characters without /, \\ or control "
            "characters.",
            hint="leave `session_id` out to get a new one",
        )
    return session_id
