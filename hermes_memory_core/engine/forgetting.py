"""Forgetting one text everywhere it is kept: providers, the core's own places, and then a look at the bytes.

Each place gives a receipt: found, removed, and why something stayed. Providers do their part in their ``forget``
hook; the core's own places are ``runtime.db``, pending writes, spills, logs and drafts. The order matters: the
outbox goes first, so that nothing is delivered meanwhile, and the external provider last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_memory_core.engine import bytecheck
from hermes_memory_core.engine.calls import Provider, describe
from hermes_memory_core.engine.forget_files import Files
from hermes_memory_core.engine.forget_runtime import RuntimeRows
from hermes_memory_core.errors import HermesMemoryError, ScopeRequired, UsageError
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES
from hermes_memory_core.safety.spellings import holder
from hermes_memory_core.storage import memos
from hermes_memory_core.types import ForgetReceipt, Scope
from hermes_memory_core.types.moving import FORGET_LAYERS

if TYPE_CHECKING:
    from hermes_memory_core.engine.open_profile import OpenProfile

FORGET_TIMEOUT_S = 120.0
"""For the external provider: it may have to look through everything it holds."""
IN_FLIGHT_WAIT_S = 3.0
"""For deliveries under way when the outbox is emptied: what they carry arrives before the provider is asked."""

_LAYER_OF = {"files": "notes", "sessions": "history", "skills": "skills"}

Progress = Callable[[str], None]


def matcher(query: str) -> Callable[[str], bool]:
    """Does a text hold the query? See ``safety/spellings.py``.

    Raises:
        UsageError: The query is blank: it would be in everything.
    """
    given: object = query
    if not isinstance(given, str) or not query.strip():
        raise UsageError("Forget needs some text to look for; nothing was removed.")
    return holder(query.strip())


class Forgetting:
    """One run, over one open profile.

    Args:
        profile: The open profile.
        query: The text.
        scope: Whose memory; None where nobody is kept apart. The profile's own scope means everybody's, and is
            the owner's to give.
        dry_run: Only look.
        layers: Names of ``FORGET_LAYERS``; None for all.
        progress: Told what is being looked at.
    """

    def __init__(
        self,
        profile: OpenProfile,
        query: str,
        *,
        scope: Scope | None,
        dry_run: bool,
        layers: Collection[str] | None = None,
        progress: Progress = lambda _text: None,
    ) -> None:
        unknown = sorted(set(layers or ()) - set(FORGET_LAYERS))
        if unknown:
            raise UsageError(
                f"There is no layer {unknown[0]!r}; nothing was removed.",
                hint=f"layers: {', '.join(FORGET_LAYERS)}",
            )
        isolation = profile.settings["memory"]["isolation"]
        if scope is None and isolation != "profile":
            raise ScopeRequired(
                f"Memory is kept per {isolation} in this profile; say whose is meant. Nothing was removed.",
                hint=f"hermes memory forget TEXT --{isolation} SOURCE:ID, or --all",
            )
        self.holds = matcher(query)
        self._profile = profile
        self._query = query.strip()
        self._scope = None if scope is None or scope.kind == "profile" else scope
        self._dry_run = dry_run
        self._layers = frozenset(layers or FORGET_LAYERS)
        self._progress = progress
        self._rows = RuntimeRows(profile.runtime, self.holds, self._scope)
        self._files = Files(profile.place.path, profile.spill, self.holds)

    def run(self) -> list[ForgetReceipt]:
        """Find, and unless ``dry_run`` remove; one receipt per place that holds or held the text.

        A place that fails says so in its receipt and the others go on.
        """
        try:
            receipts = [receipt for step in self._steps() for receipt in self._guarded(*step)]
            if not self._dry_run:
                receipts += self._look_at_bytes()
        finally:
            if not self._dry_run:
                memos.clear_all()
        return [one for one in receipts if one.matched or one.removed or one.reason]

    def _steps(self) -> Iterator[tuple[str, str, Callable[[], Sequence[ForgetReceipt]]]]:
        dry = self._dry_run
        yield "outbox", "outbox", lambda: [self._rows.outbox(dry_run=dry)]
        for provider in self._profile.roster.built_ins:
            layer = _LAYER_OF.get(provider.name, "external")
            yield layer, layer, lambda provider=provider: self._ask(provider)  # type: ignore[misc]
        yield "prompts", "frozen prompts", lambda: [self._prompts()]
        yield "prompts", "notices", lambda: [self._rows.news(dry_run=dry)]
        yield "pending", "pending", self._pending
        yield "spills", "spills", lambda: [self._files.spills(self._sessions(), dry_run=dry)]
        yield "notes", "drafts", lambda: [self._files.drafts(self._scope, dry_run=dry)]
        if self._scope is None:
            yield "logs", "logs", lambda: self._files.logs(dry_run=dry)
            yield "logs", "temporary files", lambda: [self._files.temporaries(dry_run=dry)]
        yield "external", "external provider", self._external

    def _guarded(
        self, layer: str, place: str, step: Callable[[], Sequence[ForgetReceipt]]
    ) -> Sequence[ForgetReceipt]:
        if layer not in self._layers:
            return ()
        self._progress(place)
        try:
            return step()
        except HermesMemoryError as error:
            return (
                ForgetReceipt(place, 0, reason=f"could not be looked through: {error.message}"),
            )
        except OSError as error:  # a file that vanished or refuses must not stop the other places
            return (ForgetReceipt(place, 0, reason=f"could not be looked through: {error}"),)

    # ------------------------------------------------------------ providers

    def _ask(self, provider: Provider) -> Sequence[ForgetReceipt]:
        outcome = provider.call(
            "forget",
            FORGET_TIMEOUT_S,
            probe=True,
            scope=self._scope,
            query=self._query,
            dry_run=self._dry_run,
        )
        if outcome.state == "absent":
            return (
                ForgetReceipt(
                    provider.name,
                    0,
                    reason=f"`{provider.name}` has no way to forget by text; what it holds is unchanged. "
                    "Remove it with its own tools",
                ),
            )
        if not outcome.ok:
            return (
                ForgetReceipt(
                    provider.name,
                    0,
                    reason=f"it failed: {describe(outcome.error)} What it holds may be unchanged; "
                    "run the command again",
                ),
            )
        return [_receipt(provider, one) for one in outcome.value or ()]

    def _external(self) -> Sequence[ForgetReceipt]:
        profile = self._profile
        external = profile.roster.external
        receipts: list[ForgetReceipt] = []
        named = str(profile.settings["memory"]["provider"])
        if external is not None:
            if not self._dry_run:
                self._let_deliveries_end()
            receipts += self._ask(external)
        elif named:
            receipts.append(
                ForgetReceipt(named, 0, reason="it could not be loaded, so it was not asked")
            )
        active = {external.name if external is not None else named, *BUILT_IN_NAMES}
        for name, delivered in self._rows.others(active):
            receipts.append(
                ForgetReceipt(
                    name,
                    0,
                    reason=f"`{name}` was used before and took {delivered:,} items; it is not active, so it was "
                    f"not asked (hermes memory use {name}, then forget again)",
                )
            )
        return receipts

    def _let_deliveries_end(self) -> None:
        """What is on its way to the provider has to arrive before it is asked to forget."""
        deadline = time.monotonic() + IN_FLIGHT_WAIT_S
        while self._rows.under_way() and time.monotonic() < deadline:
            time.sleep(0.02)

    # ------------------------------------------------------------ the core's own

    def _prompts(self) -> ForgetReceipt:
        receipt = self._rows.prompts(dry_run=self._dry_run)
        if self._dry_run:
            return receipt
        late = self._profile.gatherer.forget(self.holds)
        return replace(receipt, matched=receipt.matched + late, removed=receipt.removed + late)

    def _pending(self) -> Sequence[ForgetReceipt]:
        items, lines = self._profile.waiting.forget(
            self.holds, scope=self._scope, dry_run=self._dry_run
        )
        done = not self._dry_run
        shown = tuple(item.summary for item in items[:5])
        return (
            ForgetReceipt("pending", len(items), len(items) if done else 0, shown),
            ForgetReceipt("decisions log", lines, lines if done else 0),
        )

    def _sessions(self) -> set[str] | None:
        """Ids of the scope's sessions; None for all."""
        if self._scope is None:
            return None
        key = self._scope.key
        ids = {
            row.info.id for row in self._profile.open_sessions.all() if row.info.scope.key == key
        }
        history = self._profile.history
        if history is not None:
            every = getattr(
                history, "all_ids", None
            )  # beyond the Protocol: older parts of lineages too
            ids |= (
                set(every(key))
                if callable(every)
                else {one.id for one in history.sessions(limit=-1, scope=self._scope)}
            )
        return ids

    # ------------------------------------------------------------ bytes

    def _look_at_bytes(self) -> list[ForgetReceipt]:
        """Clean free pages and logs of the databases, then search every file for what is left."""
        receipts: list[ForgetReceipt] = []
        if self._scope is None:
            receipts += self._guarded("outbox", "runtime.db", lambda: [self._rows.scrub()])
            left = self._left()
            if any(one.path.name.startswith("history.db") for one in left):
                self._guarded("history", "history.db", self._optimise)
                left = self._left()
        else:
            left = self._left()
        return receipts + [self._files.leftover(one) for one in left]

    def _left(self) -> list[bytecheck.Left]:
        return bytecheck.search(
            self._files.to_check(self._scope, self._sessions()),
            self._query,
            lambda path: self._progress(f"checking {path.name}"),
        )

    def _optimise(self) -> Sequence[ForgetReceipt]:
        optimise = getattr(self._profile.history, "optimise", None)
        if callable(optimise):
            optimise(vacuum=True)
        return ()


def _receipt(provider: Provider, value: Any) -> ForgetReceipt:
    """What a provider answered; anything but a receipt is said to be one that nobody can read."""
    if not isinstance(value, ForgetReceipt):
        return ForgetReceipt(provider.name, 0, reason="its answer makes no sense")
    if provider.built_in or value.place.startswith(provider.name):
        return value
    return replace(value, place=f"{provider.name}: {value.place}")
