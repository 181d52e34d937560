"""The shape of one row in the tables of vendor keys, and the rows' common bodies.

The rows themselves are in ``rules_models`` (models, search, agents), ``rules_code`` (hosting of
code, packages, delivery, monitoring), ``rules_cloud`` (clouds, data, identity) and ``rules_saas``
(payment, mail, chat, work). Code that reads the rows is in ``vendors``.
"""

from __future__ import annotations

from dataclasses import dataclass

BODY = r"[A-Za-z0-9_-]{16,}"
ALNUM = r"[A-Za-z0-9]{16,}"
SHORT = r"[A-Za-z0-9_-]{10,}"
HEX = r"[0-9a-f]{24,}"
LOWER = r"[a-z0-9]{20,}"
B64 = r"[A-Za-z0-9+/_-]{16,}={0,2}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of key that its own prefix gives away, wherever it stands.

    Lengths are lower bounds kept under the vendors' own, for keys get longer with the years.
    """

    id: str
    """Names the kind in the mask: ``«redacted:<id>»``."""
    title: str
    """What it is, for people."""
    prefixes: tuple[str, ...]
    """Literal beginnings, three characters or more: the cheap look-up before the pattern."""
    body: str = BODY
    """Pattern of what follows the prefix."""
    certain: bool = False
    """The prefix is so telling that the body need not look random (placeholders never count)."""

    def __post_init__(self) -> None:
        if any(len(prefix) < 3 for prefix in self.prefixes):
            message = f"rule {self.id!r}: a prefix has three characters or more"
            raise ValueError(message)
