"""Undoing disguises that need words to be recognised: letter spacing, leetspeak, run-together and reversed phrases.

Each function returns another `View` of the same text, or nothing when there is nothing to undo.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from hermes_memory_core.safety.threats.fold import View
from hermes_memory_core.safety.threats.lexicon import Lexicon

_COMMON = frozenset(
    [
        "a",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "before",
        "by",
        "do",
        "don't",
        "dont",
        "every",
        "for",
        "from",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "just",
        "let",
        "me",
        "my",
        "no",
        "not",
        "now",
        "of",
        "on",
        "or",
        "our",
        "out",
        "own",
        "she",
        "so",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "who",
        "will",
        "with",
        "without",
        "you",
        "your",
        "yours",
        "youre",
        "please",
        "must",
        "should",
        "can",
        "will",
        "shall",
        "about",
        "after",
        "also",
        "been",
        "only",
        "into",
        "over",
        "such",
        "than",
        "very",
        "via",
        "them",
        "user",
        "to",
        "it's",
        "here",
        "above",
        "below",
    ]
)
# One visible character, then one to three separators, at least four times: "i g n o r e", "忽 略 之 前".
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W_][ \t.\-_*|/·,+~•‧・:]{1,3}){3,}[^\W_](?![^\W_])")
# What every such run contains; starts with a separator, of which there are few, so that it is looked for quickly.
_SPACED_GATE = re.compile(
    r"[ \t.\-_*|/·,+~•‧・:]{1,3}[^\W_][ \t.\-_*|/·,+~•‧・:]{1,3}[^\W_][ \t.\-_*|/·,+~•‧・:]"
)
_FEWEST_LETTERS = 3
_WIDE = re.compile(r"[ \t]{2,3}|[/|,]\s")
_LEET_CHARS = "0134578@$!|+"
_LEET_SET = frozenset(_LEET_CHARS)
_LEET_WORD = re.compile(r"[a-z0-9@$!|+]{2,40}")
_LEET = str.maketrans("0134578@$!|+", "oieastbasilt")
_LEET_L = str.maketrans("0134578@$!|+", "oleastbasilt")
_ASCII_WORD = re.compile(r"[a-z]+")
_RUN_TOGETHER = re.compile(
    r"(?:ignore|disregard|forget|override|overlook|bypass|dismiss)(?:all|any|every|the|your|of|these|those|my|its)*"
    r"(?:previous|prior|earlier|preceding|above|existing|original|former|safety|system)?(?:given|and|or)?"
    r"(?:instruction|rules|guideline|directive|prompt|commands|orders|restriction|safeguard|filters)"
    r"|(?:reveal|print|show|repeat|output|leak|dump|display)(?:me|the|your|us|full|entire|initial|hidden|whole)*"
    r"(?:systemprompt|initialprompt|hiddenprompt|instructions|apikey|password|secret)"
    r"|(?:donot|dont|never|without)(?:tell|inform|notify|alert|telling|informing|notifying|alerting)(?:the|your)?"
    r"(?:user|owner|human|customer)"
    r"|youarenow(?:dan|unrestricted|jailbroken|free|an?unrestricted|in?developermode)"
    r"|(?:send|post|upload|forward|email|leak)(?:all|the|your|my|every|user|users)*"
    r"(?:password|secret|apikey|token|credential|conversation|chathistory|memories|memory)"
    r"|developermodeenabled|systempromptoverride|norestrictionsapply|youhavenorestriction|enabledevelopermode"
)
# Every alternative above contains one of these; looking for them first is much cheaper.
_RUN_CORES = (
    "instruction", "rules", "guideline", "directive", "prompt", "commands", "orders", "restriction", "safeguard",
    "filters", "apikey", "password", "secret", "user", "owner", "human", "customer", "youarenow", "token",
    "credential", "conversation", "chathistory", "memories", "memory", "developermode",
)  # fmt: skip
# Every alternative starts with one of these; the pattern is tried only there.
_RUN_STARTS = (
    "ignore", "disregard", "forget", "override", "overlook", "bypass", "dismiss", "reveal", "print", "show", "repeat",
    "output", "leak", "dump", "display", "donot", "dont", "never", "without", "youarenow", "send", "post", "upload",
    "forward", "email", "developermodeenabled", "systempromptoverride", "norestrictionsapply", "youhavenorestriction",
    "enabledevelopermode",
)  # fmt: skip
_ROT13 = frozenset(
    [
        "vtaber",
        "qvfertneq",
        "vafgehpgvba",
        "vafgehpgvbaf",
        "cebzcg",
        "cebzcgf",
        "flfgrz",
        "cnffjbeq",
        "cnffjbeqf",
        "erirny",
        "sbetrg",
        "bireevqr",
        "cerivbhf",
        "frperg",
        "gbxra",
        "gbxraf",
        "hfre",
        "ehyrf",
        "nffvfgnag",
        "fraq",
    ]
)
_REVERSED = frozenset(
    [
        "erongi",
        "dragersid",
        "snoitcurtsni",
        "tpmorp",
        "metsys",
        "sdrowssap",
        "drowssap",
        "laever",
        "tegrof",
        "edirrevo",
        "suoiverp",
        "resu",
        "terces",
        "tnatsissa",
        "selur",
        "dnes",
    ]
)
_REVERSED_HAN = ("略忽", "视无", "令指", "则规", "词示提", "户用诉告", "示指")


def unleet(text: str, lexicon: Lexicon) -> str:
    """Return ``text`` with leetspeak words replaced by the known words they stand for, same length."""
    if not any(char in text for char in _LEET_CHARS):
        return text
    known: dict[str, str] = {}
    for piece in set(text.split()):
        if piece.isalpha() or piece.isdigit() or _LEET_SET.isdisjoint(piece):
            continue
        for word in _LEET_WORD.findall(piece):
            plain = _unleet_word(word, lexicon)
            if plain != word:
                known[word] = plain
    if not known:
        return text
    return _LEET_WORD.sub(lambda match: known.get(match[0], match[0]), text)


def _unleet_word(word: str, lexicon: Lexicon) -> str:
    if word.isalpha() or word.isdigit() or _LEET_SET.isdisjoint(word):
        return word
    core = word.rstrip("!|+$@")
    for table in (_LEET, _LEET_L):
        for candidate in (core, word):
            guess = candidate.translate(table)
            if len(guess) > 1 and guess.isalpha() and (guess in _COMMON or lexicon.knows(guess)):
                return guess + word[len(candidate) :]
    return word


def despace(view: View, lexicon: Lexicon) -> View | None:
    """Letter-spaced runs closed up, divided into words where possible, with the text around them."""
    text = view.text
    if _SPACED_GATE.search(text) is None:
        return None
    pieces: list[str] = []
    starts: list[int] = []
    first = -1
    position = 0
    for match in _SPACED.finditer(text):
        if sum(map(str.isalpha, match[0])) < _FEWEST_LETTERS:
            continue  # an address, a version, a date
        letters, places = _close(text, match.start(), match.end(), lexicon)
        first = match.start() if first < 0 else first
        pieces.append(text[position : match.start()])
        starts.extend(range(position, match.start()))
        pieces.append(letters)
        starts.extend(places)
        position = match.end()
    if not pieces:
        return None
    last = len(starts)
    pieces.append(text[position:])
    starts.extend(range(position, len(text)))
    mapped = starts if view.starts is None else [view.starts[place] for place in starts]
    return View("".join(pieces), mapped, view.length).around(first, last)


def _close(text: str, start: int, end: int, lexicon: Lexicon) -> tuple[str, list[int]]:
    letters: list[str] = []
    places: list[int] = []
    for part in re.finditer(r"[^\W_]|_?[ \t]{2,3}", text[start:end]):
        char = part.group()
        letters.append(" " if char.isspace() else char)
        places.append(start + part.start())
    joined = "".join(letters)
    if " " not in joined and joined.isascii() and len(joined) > 6:
        cuts = _divide(joined.translate(_LEET), lexicon)
        joined, places = _spread(joined, places, cuts)
    return joined, places


def _spread(joined: str, places: list[int], cuts: list[int]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    spread: list[int] = []
    last = 0
    for cut in [*cuts, len(joined)]:
        if cut <= last:
            continue
        if pieces:
            pieces.append(" ")
            spread.append(places[last])
        pieces.append(joined[last:cut])
        spread.extend(places[last:cut])
        last = cut
    return "".join(pieces), spread


def _divide(letters: str, lexicon: Lexicon) -> list[int]:
    """Cut positions that cover ``letters`` with the fewest unknown characters; words of up to 16 letters."""
    size = min(len(letters), 600)
    best: list[tuple[float, int]] = [(0.0, 0)] + [(1e9, 0)] * size
    for end in range(1, size + 1):
        best[end] = (best[end - 1][0] + 1.5, end - 1)
        for start in range(max(0, end - 16), end):
            word = letters[start:end]
            if word in _COMMON or (len(word) > 2 and word in lexicon.exact):
                cost = best[start][0] + 0.1 + 0.4 / len(word)
                if cost < best[end][0]:
                    best[end] = (cost, start)
    cuts: list[int] = []
    position = size
    while position > 0:
        cuts.append(position)
        position = best[position][1]
    return cuts[::-1]


def latin_words(view: View) -> list[str]:
    """The runs of Latin letters, as `run_together` and `mirrored` want them."""
    return _ASCII_WORD.findall(view.text)


def run_together(view: View, words: list[str], lexicon: Lexicon) -> list[tuple[int, int]]:
    """Spans (original offsets) where a stock attack appears once everything but letters is taken out.

    Ordinary spelling is left to the clause scan: a span counts only when its pieces are not words.
    """
    squeezed = "".join(words)
    starts = _run_starts(squeezed)
    if not starts:
        return []
    ends = list(accumulate(map(len, words)))
    places: list[tuple[int, int]] | None = None
    spans = []
    done = 0
    for start in starts:
        match = _RUN_TOGETHER.match(squeezed, start) if start >= done else None
        if match is None:
            continue
        done = match.end()
        first, last = bisect_right(ends, match.start()), bisect_left(ends, match.end())
        if match.start() != (ends[first - 1] if first else 0):
            continue  # starts inside a word: "unforget", "mis-send"
        if all(word in _COMMON or lexicon.knows(word) for word in words[first : last + 1]):
            continue
        if places is None:
            places = [found.span() for found in _ASCII_WORD.finditer(view.text)]
        spans.append(view.span(places[first][0], places[last][1]))
    return spans


def _run_starts(squeezed: str) -> list[int]:
    """Places at which a stock attack may start, in order; none when nothing in the text could end one."""
    places: list[int] = []
    for begin in _RUN_STARTS:
        place = squeezed.find(begin)
        while place >= 0:
            places.append(place)
            place = squeezed.find(begin, place + 1)
    if not places or not any(core in squeezed for core in _RUN_CORES):
        return []
    return sorted(set(places))


def mirrored(view: View, latin: Iterable[str]) -> list[str]:
    """The text turned around, or shifted by rot13, when it shows at least two words that way."""
    candidates = []
    words = set(latin)
    if len(words & _ROT13) >= 2:
        candidates.append(codecs.decode(view.text, "rot13"))
    if len(words & _REVERSED) >= 2 or (
        not view.text.isascii() and sum([word in view.text for word in _REVERSED_HAN]) >= 2
    ):
        candidates.append(view.text[::-1])
    return candidates
