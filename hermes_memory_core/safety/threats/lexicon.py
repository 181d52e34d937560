"""Words and phrases that carry evidence, and the index that finds them in a folded text.

A phrase belongs to one *concept* (``dismiss``, ``rules``, ``person`` …). What concepts mean together is decided in
``evidence.py``; the words themselves are data in ``tables/words/*.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hermes_memory_core.safety.threats.fold import fold

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
TOKEN = re.compile(rf"[^\W_{_CJK}]+(?:'[^\W_{_CJK}]+)?")
_ARABIC_PREFIX = re.compile("^(?:وال|بال|فال|كال|لل|ال|و|ف|ب|ل|ك|س)(?=..)")
_IS_CJK = re.compile(f"[{_CJK}]")
_SENTENCE = re.compile(r"[^。.!?\n]+")
_KANA = re.compile("[\u3041-\u30fa]")
# Phrases of this concept are found on top of the words they are made of; all others hide what they contain.
OVERLAY = "stock"
# Not a concept: "a=b" pairs; a phrase with "a" is also looked for with "b" (服务器=伺服器).
VARIANTS = "variants"
_MEMO_LIMIT = 50_000
_GAP_WORDS = 3
_GAP_CHARS = 10


class Hit(NamedTuple):
    """One phrase found: offsets in the folded text, its concept, the language whose table has it."""

    start: int
    end: int
    concept: str
    lang: str


class _Phrase(NamedTuple):
    rest: tuple[tuple[str, int], ...]
    concept: str
    lang: str
    size: int


_EXACT, _STEM, _GAP = 0, 1, 2
# Size, head, part after a gap or "", concept: a phrase of a script without spaces.
_Chars = tuple[int, str, str, str]


class _Entry(NamedTuple):
    """What may start at one word: phrases sorted by how they go on, so that few are tried."""

    alone: tuple[_Phrase, ...]
    next_word: dict[str, list[_Phrase]]
    after_gap: dict[str, list[_Phrase]]
    loose: tuple[_Phrase, ...]


def _entry(phrases: Iterable[_Phrase]) -> _Entry | None:
    alone: list[_Phrase] = []
    loose: list[_Phrase] = []
    next_word: dict[str, list[_Phrase]] = {}
    after_gap: dict[str, list[_Phrase]] = {}
    for phrase in phrases:
        rest = phrase.rest
        if not rest:
            if phrase.concept not in {other.concept for other in alone}:
                alone.append(phrase)
        elif rest[0][1] == _EXACT:
            next_word.setdefault(rest[0][0], []).append(phrase)
        elif rest[0][1] == _GAP and rest[1][1] == _EXACT:
            after_gap.setdefault(rest[1][0], []).append(phrase)
        else:
            loose.append(phrase)
    if not (alone or loose or next_word or after_gap):
        return None
    return _Entry(tuple(alone), next_word, after_gap, tuple(loose))


@dataclass(slots=True)
class Lexicon:
    """Index over every phrase of every language. Build with `from_tables`; treat as read-only."""

    exact: dict[str, list[_Phrase]] = field(default_factory=dict)
    stems: dict[str, list[_Phrase]] = field(default_factory=dict)
    pairs: dict[str, dict[str, list[_Chars]]] = field(default_factory=lambda: {"zh": {}, "ja": {}})
    stem_sizes: tuple[int, ...] = ()
    fuzzy: dict[str, str] = field(default_factory=dict)
    shapes: set[str] = field(default_factory=set)
    _memo: dict[str, _Entry | None] = field(default_factory=dict)

    @classmethod
    def from_tables(cls, tables: Mapping[str, Mapping[str, str]]) -> Lexicon:
        """Build from ``{language: {concept: "word, phrase, stem*, two ~ parts"}}``."""
        lexicon = cls()
        for lang, concepts in tables.items():
            pairs = _pairs(concepts.get(VARIANTS, ""))
            for concept, words in concepts.items():
                if concept == VARIANTS:
                    continue
                # One fold for the whole list: folding phrase by phrase would cost most of the loading time.
                for plain in fold(" ".join(words.split())).text.split(","):
                    for spelling in _spellings(plain.strip(), pairs):
                        lexicon._add(spelling, concept, lang)
        lexicon.stem_sizes = tuple(sorted({len(stem) for stem in lexicon.stems}, reverse=True))
        for index in lexicon.pairs.values():
            for pair, entries in index.items():
                if len(pair) == 2:
                    entries += index.get(pair[0], ())
                entries.sort(key=lambda entry: -entry[0])
        lexicon._learn_typos(tables.get("en", {}))
        return lexicon

    def _add(self, phrase: str, concept: str, lang: str) -> None:
        if _IS_CJK.match(phrase):
            head, _, tail = phrase.partition("~")
            head, tail = head.strip(), tail.strip()
            entries = self.pairs["ja" if lang == "ja" else "zh"]
            entries.setdefault(head[:2], []).append((len(head) + len(tail), head, tail, concept))
            return
        parts = [
            ("~", _GAP) if part == "~" else (part.rstrip("*"), _STEM if part[-1] == "*" else _EXACT)
            for part in phrase.replace("-", " ").split()
        ]
        (first, kind), rest = parts[0], tuple(parts[1:])
        entry = _Phrase(rest, concept, lang, len(parts))
        (self.stems if kind == _STEM else self.exact).setdefault(first, []).append(entry)

    def _learn_typos(self, english: Mapping[str, str]) -> None:
        """Let long English words be found with letters swapped inside or one letter missing."""
        for concept in _TYPO_CONCEPTS:
            for word in english.get(concept, "").replace("\n", " ").split(","):
                plain = word.strip()
                if plain.isalpha() and plain.isascii() and len(plain) >= 6:
                    self.fuzzy[_jumble(plain)] = plain
                    self.shapes.add(plain[0] + plain[-1] + str(len(plain)))
                    for index in range(1, len(plain)):
                        self.fuzzy.setdefault(plain[:index] + plain[index + 1 :], plain)

    def knows(self, word: str) -> bool:
        """True when the folded word starts or is a phrase of any table."""
        return self._candidates(word) is not None

    def find(self, text: str) -> list[Hit]:
        """Every phrase in the folded ``text``, in order. Linear in its length."""
        hits = self._find_words(text)
        if _IS_CJK.search(text):
            hits += self._find_chars(text)
            hits.sort()
        return hits

    def _find_words(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        memo = self._memo
        matches = list(TOKEN.finditer(text))
        words = [match[0] for match in matches]
        skip = 0
        for index, word in enumerate(words):
            if index < skip:
                continue
            entry = memo[word] if word in memo else self._candidates(word)
            if entry is None:
                continue
            after = words[index + 1] if index + 1 < len(words) else ""
            if after not in entry.next_word and not entry.after_gap and not entry.loose:
                start, end = matches[index].span()
                hits += [
                    Hit(start, end, phrase.concept, phrase.lang)
                    for phrase in entry.alone
                    if phrase.concept != "none"
                ]
                continue
            best, found = _longest(entry, words, index)
            for last, phrase, solid in found:
                if solid and phrase.size < best:
                    continue
                if solid:
                    skip = max(skip, last + 1)
                if phrase.concept != "none":
                    hits.append(
                        Hit(
                            matches[index].start(), matches[last].end(), phrase.concept, phrase.lang
                        )
                    )
        return hits

    def _find_chars(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        if _KANA.search(text) is None:
            self._find_in_stretch(text, 0, len(text), "zh", hits)
            return hits
        for sentence in _SENTENCE.finditer(text):
            # Chinese and Japanese share characters but not meanings (不要): kana decides, sentence by sentence.
            lang = "ja" if len(_KANA.findall(sentence[0])) > 1 else "zh"
            self._find_in_stretch(text, sentence.start(), sentence.end(), lang, hits)
        return hits

    def _find_in_stretch(self, text: str, start: int, end: int, lang: str, hits: list[Hit]) -> None:
        index = self.pairs[lang]
        stretch = text[start:end]
        pairs = list(map(str.__add__, stretch, stretch[1:] + " "))
        # The dictionary is asked for all pairs in one go; only places where something may start are walked.
        found = list(map(index.get, pairs))
        if None in found:
            for pair in {
                pair for pair, entries in zip(pairs, found, strict=True) if entries is None
            }:
                index[pair] = self._entries(index, pair)
            found = list(map(index.get, pairs))
        skip = start
        for offset, entries in enumerate(found):
            if not entries or start + offset < skip:
                continue
            place = start + offset
            best = 0
            for size, head, tail, concept in entries:
                if size < best:
                    break
                if len(head) > 2 and not text.startswith(head, place):
                    continue
                stop = place + len(head)
                if concept == OVERLAY:
                    hits.append(Hit(place, stop, concept, lang))
                    continue
                skip = max(skip, stop)
                if tail:
                    after = text.find(tail, stop, min(stop + _GAP_CHARS + len(tail), end))
                    if after < 0:
                        continue
                    stop = after + len(tail)
                else:
                    best = size
                if concept != "none" and stop <= end:
                    hits.append(Hit(place, stop, concept, lang))

    @staticmethod
    def _entries(index: dict[str, list[_Chars]], pair: str) -> list[_Chars]:
        """Phrases starting with ``pair`` and one-character phrases; remembered, as pairs repeat."""
        if len(index) > _MEMO_LIMIT:
            for stale in [key for key, entries in index.items() if not entries]:
                del index[stale]
        return index.get(pair[0], [])

    def _candidates(self, word: str) -> _Entry | None:
        if word in self._memo:
            return self._memo[word]
        found = self._lookup(word)
        if not found and "'" in word:
            head, _, tail = word.partition("'")
            found = self._lookup(tail if len(head) <= 2 else head)
        if not found and "\u0600" <= word[0] <= "\u06ff":
            shorter = _ARABIC_PREFIX.sub("", word)
            if shorter != word:
                found = self._lookup(shorter) or self._lookup(_ARABIC_PREFIX.sub("", shorter))
        if not found and len(word) >= 5 and self.fuzzy:
            found = self._lookup_typo(word)
        result = _entry(found)
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        self._memo[word] = result
        return result

    def _lookup(self, word: str) -> list[_Phrase]:
        found = list(self.exact.get(word, ()))
        for size in self.stem_sizes:
            if size <= len(word):
                found += self.stems.get(word[:size], ())
        return found

    def _lookup_typo(self, word: str) -> list[_Phrase]:
        intended = self.fuzzy.get(word)
        if intended is None and word[0] + word[-1] + str(len(word)) in self.shapes:
            intended = self.fuzzy.get(_jumble(word))
        return self._lookup(intended) if intended else []


_TYPO_CONCEPTS = ("dismiss", "rules", "rules_own", "prior", "system_prompt", "reveal", "secret")


def _jumble(word: str) -> str:
    return word[0] + "".join(sorted(word[1:-1])) + word[-1] + "~"


def _pairs(variants: str) -> list[tuple[str, str]]:
    folded = fold(" ".join(variants.split())).text.split(",")
    halves = [pair.strip().partition("=") for pair in folded]
    return [(ours, theirs) for ours, sign, theirs in halves if sign]


def _spellings(phrase: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The phrase and the phrase as people elsewhere write it."""
    spellings = [phrase] if phrase else []
    for ours, theirs in pairs:
        if ours in phrase:
            spellings += [known.replace(ours, theirs) for known in spellings]
    return spellings


def _longest(
    entry: _Entry, words: Sequence[str], index: int
) -> tuple[int, list[tuple[int, _Phrase, bool]]]:
    """The phrases that go on at ``index``, each with its last word and whether it has no gap."""
    found = [(index, phrase, True) for phrase in entry.alone]
    best = 1 if found else 0
    tries: list[_Phrase] = []
    if index + 1 < len(words):
        if entry.next_word:
            tries += entry.next_word.get(words[index + 1], ())
        if entry.after_gap:
            for word in words[index + 1 : index + 2 + _GAP_WORDS]:
                tries += entry.after_gap.get(word, ())
        tries += entry.loose
    for phrase in tries:
        last = _follow(words, index, phrase.rest)
        if last >= 0:
            solid = phrase.concept != OVERLAY and all(kind != _GAP for _, kind in phrase.rest)
            found.append((last, phrase, solid))
            if solid:
                best = max(best, phrase.size)
    return best, found


def _follow(words: Sequence[str], index: int, rest: Iterable[tuple[str, int]]) -> int:
    """Index of the last word when the phrase continues at ``index``, or -1."""
    slack = 0
    count = len(words)
    for part, kind in rest:
        if kind == _GAP:
            slack = _GAP_WORDS
            continue
        for place in range(index + 1, min(index + slack + 2, count)):
            word = words[place]
            if word == part or (kind == _STEM and word.startswith(part)):
                index = place
                break
        else:
            return -1
        slack = 0
    return index
