"""Words and phrases that carry evidence, and the index that finds them in a folded text.

A phrase belongs to one *concept* (``dismiss``, ``rules``, ``person`` …). What concepts mean together is decided in
``evidence.py``; the words themselves are data in ``tables/words/*.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hermes_memory_core.safety.threats.fold import fold

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[^\W_{_CJK}]+(?:'[^\W_{_CJK}]+)?")
_ARABIC_PREFIX = re.compile("^(?:وال|بال|فال|كال|لل|ال|و|ف|ب|ل|ك|س)(?=..)")
_IS_CJK = re.compile(f"[{_CJK}]")
_SENTENCE = re.compile(r"[^。.!?\n]+")
_KANA = re.compile("[\u3041-\u30fa]")
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


@dataclass(slots=True)
class Lexicon:
    """Index over every phrase of every language. Build with `from_tables`; treat as read-only."""

    exact: dict[str, list[_Phrase]] = field(default_factory=dict)
    stems: dict[str, list[_Phrase]] = field(default_factory=dict)
    pairs: dict[str, dict[str, list[tuple[str, str, str]]]] = field(
        default_factory=lambda: {"zh": {}, "ja": {}}
    )
    stem_sizes: tuple[int, ...] = ()
    letters: set[str] = field(default_factory=set)
    fuzzy: dict[str, str] = field(default_factory=dict)
    shapes: set[str] = field(default_factory=set)
    _memo: dict[str, tuple[_Phrase, ...]] = field(default_factory=dict)
    _starters: re.Pattern[str] | None = None

    @classmethod
    def from_tables(cls, tables: Mapping[str, Mapping[str, str]]) -> Lexicon:
        """Build from ``{language: {concept: "word, phrase, stem*, two ~ parts"}}``."""
        lexicon = cls()
        for lang, concepts in tables.items():
            for concept, words in concepts.items():
                for phrase in words.split(","):
                    plain = fold(" ".join(phrase.split())).text
                    if plain:
                        lexicon._add(plain, concept, lang)
        lexicon.stem_sizes = tuple(sorted({len(stem) for stem in lexicon.stems}, reverse=True))
        for pairs in lexicon.pairs.values():
            for entries in pairs.values():
                entries.sort(key=lambda entry: -len(entry[0]) - len(entry[1]))
        if lexicon.letters:
            letters = "".join(sorted(lexicon.letters))
            lexicon._starters = re.compile(f"[{re.escape(letters)}]")
        lexicon._learn_typos(tables.get("en", {}))
        return lexicon

    def _add(self, phrase: str, concept: str, lang: str) -> None:
        if _IS_CJK.match(phrase):
            head, _, tail = phrase.partition("~")
            head, tail = head.strip(), tail.strip()
            entries = self.pairs["ja" if lang == "ja" else "zh"]
            entries.setdefault(head[:2], []).append((head, tail, concept))
            self.letters.add(head[0])
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
        return bool(self._candidates(word))

    def find(self, text: str) -> list[Hit]:
        """Every phrase in the folded ``text``, in order. Linear in its length."""
        hits = self._find_words(text)
        if self._starters is not None and _IS_CJK.search(text):
            hits += self._find_chars(text)
            hits.sort()
        return hits

    def _find_words(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        memo = self._memo
        matches = list(_TOKEN.finditer(text))
        skip = 0
        for index, match in enumerate(matches):
            if index < skip:
                continue
            word = match[0]
            candidates = memo.get(word)
            if candidates is None:
                candidates = self._candidates(word)
            if not candidates:
                continue
            best = 0
            for phrase in candidates:
                if phrase.size < best:
                    break
                last = _follow(matches, index, phrase.rest) if phrase.rest else index
                if last < 0:
                    continue
                best = phrase.size
                gap = any(kind == _GAP for _, kind in phrase.rest)
                if not gap:
                    skip = max(skip, last + 1)
                if phrase.concept != "none":
                    hits.append(Hit(match.start(), matches[last].end(), phrase.concept, phrase.lang))
        return hits

    def _find_chars(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        for sentence in _SENTENCE.finditer(text):
            # Chinese and Japanese share characters but not meanings (不要): kana decides, sentence by sentence.
            lang = "ja" if len(_KANA.findall(sentence[0])) > 1 else "zh"
            self._find_in_sentence(text, sentence.start(), sentence.end(), lang, hits)
        return hits

    def _find_in_sentence(self, text: str, start: int, end: int, lang: str, hits: list[Hit]) -> None:
        pairs, skip = self.pairs[lang], start
        starters = self._starters
        assert starters is not None  # noqa: S101 - find() checked
        for match in starters.finditer(text, start, end):
            place = match.start()
            if place < skip:
                continue
            entries = pairs.get(text[place : place + 2])
            single = pairs.get(text[place])
            if entries is None and single is None:
                continue
            best = 0
            for head, tail, concept in (entries or []) + (single or []):
                size = len(head) + len(tail)
                if size < best:
                    break
                if not text.startswith(head, place):
                    continue
                stop = place + len(head)
                skip = max(skip, stop)
                if tail:
                    found = text.find(tail, stop, min(stop + _GAP_CHARS + len(tail), end))
                    if found < 0:
                        continue
                    stop = found + len(tail)
                else:
                    best = size
                if concept != "none":
                    hits.append(Hit(place, stop, concept, lang))

    def _candidates(self, word: str) -> tuple[_Phrase, ...]:
        known = self._memo.get(word)
        if known is not None:
            return known
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
        result = tuple(sorted(found, key=lambda phrase: -phrase.size))
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


def _follow(matches: list[re.Match[str]], index: int, rest: Iterable[tuple[str, int]]) -> int:
    """Index of the last token when the phrase continues at ``index``, or -1."""
    slack = 0
    for part, kind in rest:
        if kind == _GAP:
            slack = _GAP_WORDS
            continue
        for step in range(1, slack + 2):
            if index + step >= len(matches):
                return -1
            word = matches[index + step][0]
            if word == part or (kind == _STEM and word.startswith(part)):
                index += step
                break
        else:
            return -1
        slack = 0
    return index
