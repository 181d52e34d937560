"""Weighing: hits of the lexicon → clusters → scores per rule. Knows concepts, not words, and no language but its scope.

An order aimed at the assistant needs an action (``dismiss``, ``send`` …) and an object (``rules``, ``secret`` …) near
each other. Standing orders, secrecy, urgency and destinations add to the score; quotation, defence, conditions,
narration and technical nouns take away. The numbers stand in ``tables/evidence.toml``.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermes_memory_core.safety.threats.lexicon import Hit

ACTIONS = frozenset(
    [
        "dismiss",
        "follow",
        "tell",
        "reveal",
        "send",
        "read",
        "write",
        "run",
        "fetch",
        "disable",
        "act",
        "ask",
        "approve",
        "delete",
        "steer",
        "hide",
        "know",
        "valid",
    ]
)
# A clause ends at sentence punctuation, after a closing bracket ("[SAFE] ignore …"), at a blank line and before a list
# item; a single line break is only wrapping.
# Written so that every match starts with a character of one set, which the regex engine looks for quickly.
_BOUNDARY = re.compile(
    r"[.!?。\n\]](?:(?<=[.!?])(?=\s|$|[^\x00-\x7f])|(?<=。)|(?<=\n)(?=[^\S\n]*(?:\n|[-*#>•]|\d+[.)]))|(?<=\])(?=\s))"
)
_QUOTED = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|「[^」\n]{3,400}」|『[^』\n]{3,400}』|«[^»\n]{3,400}»"
    r"|„[^“”\n]{3,400}[“”]|`[^`\n]{3,400}`|‹[^›\n]{3,400}›|《[^》\n]{3,400}》"
    r"|'(?<!\w')(?:[^'\n]|'(?=\w)){6,300}'(?!\w)"
)
_JOINER = re.compile(
    r"\b(?:or|nor|and|ou|o|oder|noch|ni|или|и|ни|e|y|et|und|أو|ولا)\b|[,/、或和及與与]"
)
_NEGATES_BEHIND = frozenset(("de", "ko", "ja"))
_NEGATES_AHEAD = frozenset(("ja", "ko"))
_TIGHT = frozenset(("zh", "ja"))
_MAX_GAP = 64
_MAX_CLUSTER = 48
_COMPANY = 0.7
_LEAST = 1.5
# A clause with none of these is no order, whatever else it says.
_CORE = ACTIONS | {
    *("conceal", "kept", "serve", "excuse", "admin", "stock", "alertme", "silent", "unrestricted"),
    *("system_override", "forged", "persist", "c2", "void", "vanish", "you_are_now"),
}
# What an action means when it is negated; actions not listed here are then no order at all.
NEGATED = {"tell": "conceal", "follow": "dismiss", "ask": "disable"}
_NOT = frozenset(("not", "mustnot"))
# Without one of these every action stands as it is.
_TURNING = _NOT | {"narrator", "actor"}
# What happens to somebody or something rather than what is done; it neither narrates nor shields a later negation.
_PASSIVE = frozenset(("know", "valid"))


@dataclass(frozen=True, slots=True)
class EvidenceRule:
    """One way in which concepts add up. Scores are in the units of ``REVIEW`` and ``BLOCK``."""

    id: str
    need: tuple[frozenset[str], ...]
    score: float
    more: dict[str, float]
    less: dict[str, float]
    reasons: dict[str, str]
    examples_for: tuple[str, ...] = ()
    examples_against: tuple[str, ...] = ()
    masks: tuple[int, ...] = field(init=False, default=())
    """``need`` as bit masks, so that the many rules a clause does not meet cost next to nothing."""
    first: int = field(init=False, default=0)
    """The mask that is met most rarely."""
    wanted: frozenset[str] = field(init=False, default=frozenset())
    """All concepts of ``need``."""

    def __post_init__(self) -> None:
        masks = tuple(sum(_bit(concept) for concept in group) for group in self.need)
        object.__setattr__(self, "masks", masks)
        object.__setattr__(self, "wanted", frozenset().union(*self.need))
        object.__setattr__(self, "first", min(masks, key=int.bit_count, default=-1))


_BITS: dict[str, int] = {}


def _bit(concept: str) -> int:
    return _BITS.setdefault(concept, 1 << len(_BITS))


@dataclass(slots=True)
class Cluster:
    """Hits of one clause that stand close together, with what they mean after negation."""

    hits: list[Hit]
    clause: int
    concepts: set[str] = field(default_factory=set)
    lang: str = "en"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule satisfied by one cluster, with offsets in the folded text."""

    rule: EvidenceRule
    score: float
    start: int
    end: int
    cluster: int
    lang: str


@dataclass(frozen=True, slots=True)
class Weighed:
    """What weighing a text gave: verdicts, and the clusters and clause borders they rest on."""

    verdicts: list[Verdict]
    clusters: list[Cluster]
    cuts: list[int]
    quotes: list[tuple[int, int]]


def weigh(
    text: str, hits: Sequence[Hit], rules: Sequence[EvidenceRule], less: dict[str, float]
) -> Weighed:
    """Score every cluster of ``hits`` against every rule.

    Args:
        text: The folded text the hits were found in.
        hits: In order of their start.
        rules: The evidence rules.
        less: Counter-evidence that lowers every rule, concept → score.

    Returns:
        Verdicts with a positive score, raised by the company of others in the same clause or the next.
    """
    cuts = [match.end() for match in _BOUNDARY.finditer(text)]
    cuts.append(_FAR)
    clusters = _clusters(text, hits, cuts)
    quotes = [match.span() for match in _QUOTED.finditer(text)] if hits else []
    found: list[Verdict] = []
    for index, cluster in enumerate(clusters):
        met = [] if cluster.concepts.isdisjoint(_CORE) else _met(cluster, rules)
        if met:
            near = _neighbours(clusters, index)
            for rule in met:
                start, end = _span(cluster, rule)
                score = _gain(rule, cluster.concepts, near)
                if score >= _LEAST:
                    score -= _doubt(cluster, near, rule, less, _inside(quotes, start, end))
                if score > 0:
                    found.append(Verdict(rule, score, start, end, index, cluster.lang))
    return Weighed(_in_company(found), clusters, cuts, quotes)


def _met(cluster: Cluster, rules: Sequence[EvidenceRule]) -> list[EvidenceRule]:
    mask = 0
    for concept in cluster.concepts:
        mask |= _BITS.get(concept, 0)
    met = []
    for rule in [rule for rule in rules if mask & rule.first]:
        for needed in rule.masks:
            if not mask & needed:
                break
        else:
            met.append(rule)
    return met


def _gain(rule: EvidenceRule, concepts: set[str], near: set[str]) -> float:
    score = rule.score
    for concept, gain in rule.more.items():
        if concept in concepts or (concept == "conceal" and "hide" in concepts):
            score += gain
        elif concept in near:
            score += gain / 2
    return score


def _neighbours(clusters: Sequence[Cluster], index: int) -> set[str]:
    near: set[str] = set()
    if index:
        near |= clusters[index - 1].concepts
    if index + 1 < len(clusters):
        near |= clusters[index + 1].concepts
    return near


def _doubt(
    cluster: Cluster, near: set[str], rule: EvidenceRule, less: dict[str, float], quoted: bool
) -> float:
    doubt = 0.0
    concepts = cluster.concepts
    for concept, loss in less.items():
        if concept in concepts:
            doubt += rule.less.get(concept, loss)
    for concept, loss in rule.less.items():
        if concept in concepts and concept not in less:
            doubt += loss
    if quoted:
        about = {"defence", "condition", "frame"}
        doubt += 3.0 if about & cluster.concepts or about & near else 1.2
    return doubt


def _in_company(found: list[Verdict]) -> list[Verdict]:
    """Different rules met in one clause or the next make each other likelier."""
    by_cluster: dict[int, set[str]] = {}
    for verdict in found:
        if verdict.score >= 1.8:
            by_cluster.setdefault(verdict.cluster, set()).add(verdict.rule.id)
    result = []
    for verdict in found:
        others: set[str] = set()
        for index in (verdict.cluster - 1, verdict.cluster, verdict.cluster + 1):
            others |= by_cluster.get(index, set())
        company = len(others - {verdict.rule.id})
        if company:
            score = verdict.score + _COMPANY * min(company, 2)
            verdict = Verdict(
                verdict.rule, score, verdict.start, verdict.end, verdict.cluster, verdict.lang
            )
        result.append(verdict)
    return result


def _inside(quotes: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    index = bisect_right(quotes, (start, _FAR)) - 1
    return index >= 0 and quotes[index][0] <= start and end <= quotes[index][1] + 1


_FAR = 1 << 60


def _span(cluster: Cluster, rule: EvidenceRule) -> tuple[int, int]:
    used = [hit for hit in cluster.hits if hit.concept in rule.wanted]
    return min([hit.start for hit in used]), max([hit.end for hit in used])


def _clusters(text: str, hits: Sequence[Hit], cuts: Sequence[int]) -> list[Cluster]:
    clusters: list[Cluster] = []
    clause = 0
    last: Cluster | None = None
    end = 0
    for hit in hits:
        start, stop = hit[0], hit[1]
        while start >= cuts[clause]:
            clause += 1
        if (
            last is not None
            and last.clause == clause
            and start - end <= _MAX_GAP
            and len(last.hits) < _MAX_CLUSTER
        ):
            last.hits.append(hit)
        else:
            last = Cluster([hit], clause)
            clusters.append(last)
        end = stop
    for cluster in clusters:
        concepts = {hit.concept for hit in cluster.hits}
        if len(cluster.hits) > 1:
            if ACTIONS.isdisjoint(concepts):
                cluster.hits.sort()
            else:
                cluster.hits = _settle(text, cluster.hits)
                concepts = {hit.concept for hit in cluster.hits}
        cluster.concepts = concepts
        cluster.lang = cluster.hits[0].lang if cluster.hits else "en"
    # Counter-evidence holds for the whole clause, even where a long gap divides its hits.
    for first, second in itertools.pairwise(clusters):
        if first.clause == second.clause:
            second.concepts |= first.concepts & _CARRIED
            first.concepts |= second.concepts & _CARRIED
    return clusters


_CARRIED = frozenset(("defence", "condition", "frame", "standing", "silent", "trigger"))


def _settle(text: str, hits: list[Hit]) -> list[Hit]:
    """Apply negation and narration: "never reveal" is no order to reveal; "don't tell" is an order to conceal."""
    if _TURNING.isdisjoint([hit.concept for hit in hits]):
        return sorted([hit for hit in hits if hit.concept not in _PASSIVE])
    settled: list[Hit] = []
    spent: set[int] = set()
    negated_before: Hit | None = None
    for index, hit in enumerate(hits):
        if hit.concept not in ACTIONS:
            settled.append(hit)
            continue
        passive = hit.concept in _PASSIVE
        if not passive and _told_about(hits, index):
            settled.append(hit._replace(concept="narrated"))
            negated_before = None
            continue
        negation = _negation(hits, index, spent)
        chained = (
            negated_before is not None
            and hit.start - negated_before.end <= 14
            and _JOINER.search(text, negated_before.end, hit.start) is not None
        )
        if hit.concept == "know":
            # Only "must not know" hides something; "they do not know" reports.
            if negation is not None and hits[negation].concept == "mustnot":
                settled.append(hit._replace(concept="kept"))
            continue
        if hit.concept == "valid":
            if negation is not None:
                settled.append(hit._replace(concept="void"))
            continue
        if negation is None and not chained:
            settled.append(hit)
            negated_before = None
            continue
        if negation is not None:
            spent.add(negation)
        negated_before = hit
        changed = NEGATED.get(hit.concept)
        if changed is not None:
            start = min(hit.start, hits[negation].start) if negation is not None else hit.start
            settled.append(hit._replace(concept=changed, start=start))
        else:
            settled.append(hit._replace(concept="refused"))
    settled.sort()
    return settled


def _negation(hits: Sequence[Hit], index: int, spent: set[int]) -> int | None:
    """Index of the negation that governs the action at ``index``."""
    action = hits[index]
    reach = 7 if action.lang in _TIGHT else 22
    if action.lang not in _NEGATES_AHEAD:
        for other in range(index - 1, -1, -1):
            hit = hits[other]
            if hit.end > action.start:
                continue
            if (
                hit.concept in ACTIONS and hit.concept not in _PASSIVE
            ) or action.start - hit.end > reach:
                break
            if hit.concept in _NOT:
                return other
    if action.lang in _NEGATES_BEHIND:
        reach = {"ja": 8, "ko": 10, "de": 48}[action.lang]
        for other in range(index + 1, len(hits)):
            hit = hits[other]
            if hit.start - action.end > reach or (
                hit.concept in ACTIONS and hit.concept not in _PASSIVE and action.lang != "de"
            ):
                break
            if hit.concept in _NOT and hit.lang == action.lang and other not in spent:
                return other
    return None


def _told_about(hits: Sequence[Hit], index: int) -> bool:
    """True when somebody else does it: "we send", "they ignore", 我们会发送."""
    action = hits[index]
    reach = 4 if action.lang in _TIGHT else 14
    for other in range(index - 1, -1, -1):
        hit = hits[other]
        if hit.end > action.start:
            continue
        if (
            (hit.concept in ACTIONS and hit.concept not in _PASSIVE)
            or hit.concept == "you"
            or action.start - hit.end > reach
        ):
            return False
        if hit.concept in ("narrator", "actor") and hit.lang == action.lang:
            return True
    return False
