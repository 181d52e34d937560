"""The value kinds settings are made of: what a person may write for a switch, a number, a list.

Strict where guessing hurts ("false" in quotes is never true, 2k is not a number), lenient where the meaning is
plain ("2200" in quotes is 2200). No setting is named here.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)")


def switch(value: Any) -> bool:
    """True or false from a YAML boolean or one of the eight words; nothing else."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("must be true or false (on, off, yes and no work too)")


def whole_number(value: Any) -> int:
    """An integer, also when quoted; never a boolean, never a rounded fraction."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number, not true or false")
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    raise ValueError("must be a whole number such as 2200")


def number(value: Any) -> float:
    """A finite number, also when quoted; never a boolean."""
    if not isinstance(value, bool):
        if isinstance(value, (int, float)) and abs(value) < float("inf"):
            return float(value)
        if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
            return float(value)
    raise ValueError("must be a number such as 2.5")


def text(value: Any) -> str:
    """One string; surrounding blanks are dropped."""
    if isinstance(value, str):
        return value.strip()
    raise ValueError("must be text")


def optional_text(value: Any) -> str | None:
    """One string, or None for null and for an empty one."""
    return None if value is None else text(value) or None


def text_list(value: Any) -> list[str]:
    """A list of strings; one string is split at commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return list(value)
    raise ValueError("must be a list of texts")


def word(value: Any) -> Any:
    """Lower-case; the booleans YAML 1.1 makes of a bare ``on`` and ``off`` are turned back into words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.strip().lower() if isinstance(value, str) else value


Switch = Annotated[bool, BeforeValidator(switch)]
Count = Annotated[int, Field(ge=0, le=10**15), BeforeValidator(whole_number)]
Positive = Annotated[int, Field(ge=1, le=10**15), BeforeValidator(whole_number)]
Seconds = Annotated[float, Field(gt=0, le=86_400), BeforeValidator(number)]
PositiveNumber = Annotated[float, Field(gt=0, le=10**6), BeforeValidator(number)]
Text = Annotated[str, BeforeValidator(text)]
OptionalText = Annotated[str | None, BeforeValidator(optional_text)]
TextList = Annotated[list[str], BeforeValidator(text_list)]
Word = BeforeValidator(word)
