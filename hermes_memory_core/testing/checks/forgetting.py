# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of ``forget``: looking changes nothing, forgetting leaves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.recall import recall_text
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.checks.turns import deliver, ended
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.subject import Subject
from hermes_memory_core.types import ForgetReceipt, Scope

HOOKS = ("forget", "sync_turn")


@check("`forget` on trial changes nothing", hooks=HOOKS)
def a_trial_changes_nothing(h: Harness) -> str | None:
    subject, word = _told(h)
    before = h.must_see(subject, word)
    receipts = _forget(subject, word, dry_run=True)
    if any(receipt.removed for receipt in receipts) or h.must_see(subject, word) != before:
        raise CheckFailed("A trial removed something.", "look at `dry_run` before removing")
    return None


@check("`forget` removes what it found, or says why not", hooks=HOOKS)
def what_is_forgotten_is_gone(h: Harness) -> str | None:
    subject, word = _told(h)
    receipts = _forget(subject, word, dry_run=False)
    matched = sum(receipt.matched for receipt in receipts)
    removed = sum(receipt.removed for receipt in receipts)
    reasons = [receipt.reason for receipt in receipts if receipt.reason]
    if matched > removed and not reasons:
        raise CheckFailed(
            f"{matched} were found, {removed} removed, and no receipt says why.", "fill in `reason`"
        )
    left = h.stored(subject, word)
    if left and not reasons:
        raise CheckFailed(
            f"After `forget` {left} things with the word are still kept, and no receipt says why."
        )
    if not reasons and "prefetch" in subject.hooks:
        session = inputs.session_info()
        if word in recall_text(h.start(), session, "who holds the deposit?"):
            raise CheckFailed(
                "What was forgotten still comes up in `prefetch`.", "drop caches as well"
            )
    return "; ".join(reasons) or f"{removed} removed"


@check("`forget` leaves everything else where it is", hooks=HOOKS)
def forgetting_is_narrow(h: Harness) -> str | None:
    subject, word = _told(h)
    session, other = inputs.session_info(), inputs.marker()
    deliver(subject, session, f"The mast is with {other}.")
    ended(subject, session)
    before = h.must_see(subject, other)
    _forget(subject, word, dry_run=False)
    if h.must_see(subject, other) != before:
        raise CheckFailed("`forget` took along what did not contain the query.")
    return None


@check("`forget` of something unknown finds nothing", hooks=("forget",))
def forgetting_the_unknown(h: Harness) -> str | None:
    subject = h.start()
    for query in (
        inputs.marker(),
        *(f"{inputs.marker()} {text}" for text in inputs.TEXTS.values()),
    ):
        found = [receipt for receipt in _forget(subject, query, dry_run=False) if receipt.matched]
        if found:
            raise CheckFailed(
                f"For {query[:60]!r}, which it was never told, it found {found[0].matched} in "
                f"{found[0].place}.",
                "compare the text itself, not its likeness or its single words",
            )
    return None


@check("`forget` of a blank query removes nothing", hooks=HOOKS)
def a_blank_query_forgets_nothing(h: Harness) -> str | None:
    subject, word = _told(h)
    before = h.must_see(subject, word)
    for query in ("", "  "):
        answer = subject.attempt("forget", query=query, dry_run=False)
        if answer.error is not None and not isinstance(answer.error, HermesMemoryError):
            raise subject.verdict("forget", answer.error) from answer.error
    if h.must_see(subject, word) != before:
        raise CheckFailed(
            "A blank query removed something.",
            "answer a blank query with an empty list of receipts",
        )
    return None


@check("`forget` in one scope leaves the others alone", hooks=HOOKS)
def forgetting_respects_the_scope(h: Harness) -> str | None:
    subject, word = h.start(), inputs.marker()
    ada = inputs.session_info(user="ada", scope=Scope("user", "ada"))
    deliver(subject, ada, f"My deposit is with {word}.")
    ended(subject, ada)
    before = h.must_see(subject, word)
    _forget(subject, word, dry_run=False, scope=Scope("user", "bo"))
    if h.must_see(subject, word) != before:
        raise CheckFailed(
            "`forget` in one user's scope removed another's.", "filter by `scope.key`"
        )
    return None


def _told(h: Harness) -> tuple[Subject, str]:
    subject, session, word = h.start(), inputs.session_info(), inputs.marker()
    deliver(subject, session, f"The deposit is held by {word}.")
    ended(subject, session)
    if not h.must_see(subject, word):
        raise Skip("nothing of a turn is kept that could be seen")
    return subject, word


def _forget(
    subject: Subject, query: str, *, dry_run: bool, scope: Scope | None = None
) -> Sequence[ForgetReceipt]:
    receipts = list(subject.call("forget", scope=scope, query=query, dry_run=dry_run) or ())
    for receipt in receipts:
        if not isinstance(receipt, ForgetReceipt):
            raise CheckFailed(
                f"`forget` answered with a {type(receipt).__name__}.", "return `ForgetReceipt`s"
            )
        if receipt.removed > receipt.matched:
            raise CheckFailed(f"It removed {receipt.removed} of {receipt.matched} found.")
    return receipts
