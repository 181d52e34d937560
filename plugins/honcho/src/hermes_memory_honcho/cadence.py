"""When to refresh the base layer, when to ask the dialectic, what is too old. Counts turns; no clock, no threads.

The three knobs (``context_cadence``, ``dialectic_cadence``, ``injection_frequency``) do not touch each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_memory_honcho.settings import Injection

BACK_OFF = 8
"""After empty answers the cadence grows by one turn each, up to so many times itself."""


@dataclass(slots=True)
class Cadence:
    """The state of one session. Turn 0 is its start."""

    context_cadence: int
    dialectic_cadence: int
    injection: Injection
    last_base: int = 0
    last_dialectic: int = 0
    """The turn the last question was fired on, whatever came of it: the back-off counts from there."""
    empty_streak: int = 0
    base_shown: bool = False

    @property
    def effective(self) -> int:
        """Turns between two questions now."""
        return min(self.dialectic_cadence + self.empty_streak, self.dialectic_cadence * BACK_OFF)

    def base_due(self, turn: int) -> bool:
        """After this turn the base layer is fetched anew."""
        if self.injection == "first-turn" and self.base_shown:
            return False
        return turn - self.last_base >= self.context_cadence

    def dialectic_due(self, turn: int) -> bool:
        """After this turn a question is asked."""
        return turn - self.last_dialectic >= self.effective

    def base_fetched(self, turn: int) -> None:
        """It was, with the message of this turn."""
        self.last_base = max(self.last_base, turn)

    def fired(self, turn: int) -> None:
        """A question goes out after this turn."""
        self.last_dialectic = max(self.last_dialectic, turn)

    def answered(self, useful: bool) -> None:
        """What came of it: only a useful answer ends the back-off."""
        self.empty_streak = 0 if useful else self.empty_streak + 1

    def shows_base(self) -> bool:
        """Whether this turn shows the base layer."""
        return self.injection == "every-turn" or not self.base_shown

    def stale(self, fired: int, turn: int) -> bool:
        """A find fired on turn ``fired`` is too old for this one."""
        return turn - fired > 2 * self.dialectic_cadence
