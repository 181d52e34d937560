"""The part of a message that shows why it was found, its terms marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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


class Marker:
    """Finds a query's terms in texts."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._stems: set[str] = set()
        self._prefixes: set[str] = set()
        words: set[str] = set()
        runs: set[str] = set()
        for term in terms:
            self._learn(term, words, runs)
        self._words = _alternatives(words)
        self._runs = _alternatives(runs)
        self._run_texts = runs

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
        if self._runs:
            found.extend(match.span() for match in islice(self._runs.finditer(folded), _MOST_MARKS))
        return _merged(sorted(found))

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
        for match in self._words.finditer(folded) if self._words else ():
            start = match.start()
            if start and _INSIDE.match(folded[start - 1]):
                continue
            tail = _TAIL.match(folded, start)
            end = tail.end() if tail else match.end()
            word = folded[start:end]
            if self._is_term(word):
                yield start, end, word

    def _is_term(self, word: str) -> bool:
        if word in self._stems:
            return True
        tokens, parts = word_tokens(word.rstrip("+#'"))
        if any(token in self._stems for token in (*tokens, *parts)):
            return True
        return any(word.startswith(prefix) for prefix in self._prefixes)


def _alternatives(words: set[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


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
