"""An error in words, whatever it is made of: plugins' exceptions may have no message, or one that raises."""

from __future__ import annotations

from hermes_memory_core.errors import HermesMemoryError


def describe(error: BaseException | None) -> str:
    """One line about an error, for people; empty only for None. Never raises."""
    if error is None:
        return ""
    if isinstance(error, HermesMemoryError):
        message = getattr(error, "message", None)  # a subclass may have forgotten to call its base
        if isinstance(message, str) and message.strip():
            return message
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - the error's own __str__ is a plugin's code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def hint_of(error: BaseException | None) -> str:
    """The error's hint, where it has one that is text: SDKs use the same name for other things."""
    hint = getattr(error, "hint", "")
    return hint if isinstance(hint, str) else ""
