"""The part of a message that shows why it was found, its terms marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final

from .patterns import lazy
from .scripts import UNSPACED, WORD, compatible, fold, folded_in_place
from .segmenter import word_tokens
from .syntax import Term

OPEN: Final = ">>>"
CLOSE: Final = "<<<"
LENGTH: Final = 300
"""Code points of a snippet, marks aside; a shorter message is shown whole."""

_FAR: Final = 200_000
_UNSPACED: Final = lazy(f"[{UNSPACED}]")
_INSIDE: Final = lazy(WORD)
_TAIL: Final = lazy(rf"(?:{WORD}|')*(?:\+\+|\#)?")
_MOST_MARKS: Final = 500
_FEW: Final = 8
"""Words up to which looking for each on its own is faster than one pattern."""


class Marker:
    """Finds a query's terms in texts."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._stems: set[str] = set()
        self._prefixes: set[str] = set()
        words: set[str] = set()
        runs: set[str] = set()
        for term in terms:
            self._learn(term, words, runs)
        self._find_starts = _finder(_outermost(words))
        self._find_runs = _finder(sorted(runs, key=len, reverse=True))
        self._run_texts = runs
        self._known: dict[str, bool] = {}

    def _learn(self, term: Term, words: set[str], runs: set[str]) -> None:
        for reading in term.readings:
            for token in reading:
                if _UNSPACED.match(token):
                    runs.add(token)
                elif token:
                    self._stems.add(token)
                    words.add(token[: max(3, len(token) - 2)])
        for typed in re.findall(r"[^\W_]+", fold(compatible(term.text))):
            if _UNSPACED.match(typed):
                runs.add(typed)
            elif term.prefix:
                self._prefixes.add(typed)
                words.add(typed)
            else:
                words.add(typed[: max(3, len(typed) - 2)])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where terms stand in ``text``, in order, none overlapping."""
        folded = folded_in_place(text[:_FAR])
        found = [(start, end) for start, end, _ in islice(self._hits(folded), _MOST_MARKS)]
        if self._find_runs:
            found.extend(islice(self._find_runs(folded), _MOST_MARKS))
        return _merged(sorted(found)) if len(found) > 1 else found

    def frequencies(self, text: str) -> dict[str, int]:
        """How often each single token of the terms stands in ``text``."""
        folded = folded_in_place(text[:_FAR])
        found = {run: folded.count(run) for run in self._run_texts if run in folded}
        for _, _, word in self._hits(folded):
            tokens, parts = word_tokens(word)
            for token in (*tokens, *parts):
                found[token] = found.get(token, 0) + 1
        return found

    def _hits(self, folded: str) -> Iterator[tuple[int, int, str]]:
        """Words that are terms: start, end, the word."""
        if self._find_starts is None:
            return
        known = self._known
        done = -1
        for start, end in self._find_starts(folded):
            if start < done or (start and _INSIDE.match(folded[start - 1])):
                continue
            tail = _TAIL.match(folded, start)
            end = tail.end() if tail else end
            word = folded[start:end]
            is_term = known.get(word)
            if is_term is None:
                is_term = known[word] = self._is_term(word)
            if is_term:
                yield start, end, word
            done = end

    def _is_term(self, word: str) -> bool:
        if word in self._stems:
            return True
        tokens, parts = word_tokens(word.rstrip("+#'"))
        if any(token in self._stems for token in (*tokens, *parts)):
            return True
        return any(word.startswith(prefix) for prefix in self._prefixes)


_Finder = Callable[[str], Iterator[tuple[int, int]]]


def _outermost(words: Iterable[str]) -> list[str]:
    """Words without those that begin with another one of them, which is found wherever they are."""
    out: list[str] = []
    for word in sorted(words):
        if word and not (out and word.startswith(out[-1])):
            out.append(word)
    return out


def _finder(words: list[str]) -> _Finder | None:
    """Finds where any of the words stands: to compile a pattern costs as much as to read a hundred texts."""
    if not words:
        return None
    if len(words) == 1:
        return partial(_each, words[0])
    if len(words) <= _FEW:
        return lambda text: iter(sorted(place for word in words for place in _each(word, text)))
    pattern = re.compile("|".join(map(re.escape, words)))
    return lambda text: (match.span() for match in pattern.finditer(text))


def _each(word: str, text: str) -> Iterator[tuple[int, int]]:
    size = len(word)
    at = text.find(word)
    while at >= 0:
        yield at, at + size
        at = text.find(word, at + size)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1] and (start < out[-1][1] or start == end):
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        elif out and start == out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def snippet(text: str, marker: Marker) -> str:
    """At most ``LENGTH`` code points of ``text`` where its terms are densest, each term marked."""
    spans = marker.spans(text)
    start, end = _window(text, spans)
    out: list[str] = ["…" if start else ""]
    at = start
    for low, high in spans:
        if low < start or high > end:
            continue
        out += [text[at:low], OPEN, text[low:high], CLOSE]
        at = high
    out += [text[at:end], "…" if end < len(text) else ""]
    return "".join(out)


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if len(text) <= LENGTH:
        return 0, len(text)
    best, first = -1, 0
    for i, (low, _) in enumerate(spans[:200]):
        inside = [text[a:b].lower() for a, b in spans[i : i + 40] if b <= low + LENGTH - 60]
        worth = 10 * len(set(inside)) + len(inside)
        if worth > best:
            best, first = worth, low
    start = max(0, min(first - 60, len(text) - LENGTH))
    end = min(len(text), start + LENGTH)
    # not in the middle of a word, where a blank is near
    blank = text.find(" ", start, start + 15) if start else -1
    return (blank + 1 if 0 <= blank < first else start), end
