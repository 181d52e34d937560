"""Words and phrases that carry evidence, and the index that finds them in a folded text.

A phrase belongs to one *concept* (``dismiss``, ``rules``, ``person`` …). What concepts mean together is decided in
``evidence.py``; the words themselves are data in ``tables/words/*.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

from hermes_memory_core.safety.threats.fold import fold
from hermes_memory_core.safety.threats.phrases import (
    GAP,
    STEM,
    AtPairs,
    Entry,
    Memo,
    Phrase,
    append,
    entry_of,
    starts,
    unpacked,
)

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
TOKEN = re.compile(rf"[^\W_{_CJK}]+(?:'[^\W_{_CJK}]+)?")
# The same for text without other scripts, faster.
_ASCII_TOKEN = re.compile(r"[a-zA-Z0-9]+(?:'[a-zA-Z0-9]+)?")
_ARABIC_PREFIX = re.compile("^(?:وال|بال|فال|كال|لل|ال|و|ف|ب|ل|ك|س)(?=..)")
_IS_CJK = re.compile(f"[{_CJK}]")
_SENTENCE = re.compile(r"[^。.!?\n]+")
_KANA = re.compile("[\u3041-\u30fa]")
# Phrases of this concept are found on top of the words they are made of; all others hide what they contain.
OVERLAY = "stock"
# Not a concept: "a=b" pairs; a phrase with "a" is also looked for with "b" (服务器=伺服器).
VARIANTS = "variants"
_GAP_WORDS = 3
_GAP_CHARS = 10


class Hit(NamedTuple):
    """One phrase found: offsets in the folded text, its concept, the language whose table has it."""

    start: int
    end: int
    concept: str
    lang: str


class Lexicon:
    """Index over every phrase of every language; treat as read-only.

    The index is packed (see ``phrases.py``), so that loading costs no more than reading its strings.
    """

    def __init__(self, index: Mapping[str, Any] | None = None) -> None:
        """Take an index as `packed` gives it, or start empty."""
        given = index or {"pairs": {"zh": {}, "ja": {}}}
        self.exact: dict[str, str] = given.get("exact", {})
        self.stems: dict[str, str] = given.get("stems", {})
        self.pairs: dict[str, dict[str, str]] = given["pairs"]
        self.fuzzy: dict[str, str] = given.get("fuzzy", {})
        self.shapes: set[str] = set(given.get("shapes", ()))
        self.stem_sizes: tuple[int, ...] = ()
        self._seal()

    def _seal(self) -> None:
        self.stem_sizes = tuple(sorted(set(map(len, self.stems)), reverse=True))
        self._words: Memo[str, Entry | None] = Memo(self._candidates)
        self._starts = {
            lang: AtPairs(partial(starts, packed)) for lang, packed in self.pairs.items()
        }

    def packed(self) -> dict[str, Any]:
        """The index as JSON values, for the compiled tables."""
        return {
            "exact": self.exact,
            "stems": self.stems,
            "pairs": self.pairs,
            "fuzzy": self.fuzzy,
            "shapes": sorted(self.shapes),
        }

    @classmethod
    def from_tables(cls, tables: Mapping[str, Mapping[str, str]]) -> Lexicon:
        """Build from ``{language: {concept: "word, phrase, stem*, two ~ parts"}}``."""
        return cls().with_tables(tables)

    def with_tables(
        self,
        tables: Mapping[str, Mapping[str, str]],
        variants: Mapping[str, str] | None = None,
    ) -> Lexicon:
        """Return a lexicon with the phrases of ``tables`` added.

        Args:
            tables: As for `from_tables`.
            variants: Per language, the "a=b" pairs the new phrases are spelled with on top of their own.
        """
        wider = Lexicon(
            {
                "exact": dict(self.exact),
                "stems": dict(self.stems),
                "pairs": {lang: dict(packed) for lang, packed in self.pairs.items()},
                "fuzzy": dict(self.fuzzy),
                "shapes": self.shapes,
            }
        )
        for lang, concepts in tables.items():
            pairs = _pairs((variants or {}).get(lang, "")) + _pairs(concepts.get(VARIANTS, ""))
            for concept, words in concepts.items():
                if concept == VARIANTS:
                    continue
                # One fold for the whole list: folding phrase by phrase would cost most of the loading time.
                for plain in fold(" ".join(words.split())).text.split(","):
                    for spelling in _spellings(plain.strip(), pairs):
                        wider._add(spelling, concept, lang)
        wider._learn_typos(tables.get("en", {}))
        wider._seal()
        return wider

    def _add(self, phrase: str, concept: str, lang: str) -> None:
        if _IS_CJK.match(phrase):
            head = phrase.partition("~")[0].strip()
            append(self.pairs["ja" if lang == "ja" else "zh"], head[:2], f"{concept} {phrase}")
            return
        first, *rest = phrase.replace("-", " ").split() or [""]
        if not first:
            return
        # A gap needs a word after it.
        after = [*rest[1:], "~"]
        rest = [part for part, follower in zip(rest, after) if {part, follower} != {"~"}]  # noqa: B905
        target = self.stems if first[-1] == "*" else self.exact
        append(target, first.rstrip("*"), " ".join([concept, lang, *rest]))

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
        return self._words[word] is not None

    def find(self, text: str) -> list[Hit]:
        """Every phrase in the folded ``text``, in order. Linear in its length."""
        hits = self._find_words(text)
        if not text.isascii() and _IS_CJK.search(text):
            hits += self._find_chars(text)
            hits.sort()
        return hits

    def _find_words(self, text: str) -> list[Hit]:
        hits: list[Hit] = []
        matches = list((_ASCII_TOKEN if text.isascii() else TOKEN).finditer(text))
        words = [match[0] for match in matches]
        entries = list(map(self._words.__getitem__, words))
        letters = [word[0] for word in words]
        skip = 0
        for index in compress(range(len(words)), entries):
            if index < skip:
                continue
            entry = entries[index]
            assert entry is not None  # noqa: S101 - compress leaves them out
            # Nearly always no phrase goes on after the word; these looks are cheaper than trying.
            tries: Sequence[Phrase] = ()
            last = index + 2 + _GAP_WORDS
            if not entry.heads.isdisjoint(words[index + 1 : last]) or (
                entry.letters
                and ("" in entry.letters or not entry.letters.isdisjoint(letters[index + 1 : last]))
            ):
                tries = _tries(entry, words, index)
            if not tries:
                if entry.seen:
                    start, end = matches[index].span()
                    hits += [Hit(start, end, concept, lang) for concept, lang in entry.seen]
                continue
            best, found = _longest(entry, tries, words, index)
            for last, phrase, solid in found:
                if solid and phrase.size < best:
                    continue
                if solid:
                    skip = max(skip, last + 1)
                if phrase.concept != "none":
                    start, end = matches[index].start(), matches[last].end()
                    hits.append(Hit(start, end, phrase.concept, phrase.lang))
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
        # The index is asked for all pairs in one go; only places where something may start are walked.
        starts = self._starts[lang].along(text[start:end])
        skip = start
        for offset in compress(range(len(starts)), starts):
            place = start + offset
            if place < skip:
                continue
            known = starts[offset]
            assert known is not None  # noqa: S101 - compress leaves them out
            best = 0
            for size, head, length, tail, concept in known.get(
                text[place + 2 : place + 3], known[""]
            ):
                if size < best:
                    break
                stop = place + length
                if length > 3 and not text.startswith(head, place):
                    continue
                if concept == OVERLAY:
                    hits.append(Hit(place, stop, concept, lang))
                    continue
                if stop > skip:
                    skip = stop
                if tail:
                    after = text.find(tail, stop, min(stop + _GAP_CHARS + len(tail), end))
                    if after < 0:
                        continue
                    stop = after + len(tail)
                else:
                    best = size
                if concept != "none" and stop <= end:
                    hits.append(Hit(place, stop, concept, lang))

    def _candidates(self, word: str) -> Entry | None:
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
        return entry_of(map(unpacked, found)) if found else None

    def _lookup(self, word: str) -> list[str]:
        found = self.exact.get(word, "")
        packed = [found] if found else []
        size = len(word)
        packed += [
            self.stems[word[:length]]
            for length in self.stem_sizes
            if length <= size and word[:length] in self.stems
        ]
        return ",".join(packed).split(",") if packed else []

    def _lookup_typo(self, word: str) -> list[str]:
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


def _tries(entry: Entry, words: Sequence[str], index: int) -> list[Phrase]:
    """The phrases of ``entry`` whose second word may be there; the rest of each is still to be followed."""
    after = words[index + 1 : index + 2]
    if not after:
        return []
    following = after[0]
    tries = list(entry.next_word.get(following, ()))
    stems = [*entry.next_stem.get(following[:1], ()), *entry.next_stem.get("", ())]
    if entry.after_gap or entry.gap_stem:
        near = words[index + 1 : index + 2 + _GAP_WORDS]
        if not entry.after_gap.keys().isdisjoint(near):
            for word in near:
                tries += entry.after_gap.get(word, ())
        if entry.gap_stem:
            for letter in {"", *(word[:1] for word in near)}:
                stems += entry.gap_stem.get(letter, ())
    if stems:
        stems.sort()
        tries += [phrase for _, phrase in stems]
    return tries


def _longest(
    entry: Entry, tries: Iterable[Phrase], words: Sequence[str], index: int
) -> tuple[int, list[tuple[int, Phrase, bool]]]:
    """The phrases that go on at ``index``, each with its last word and whether it has no gap."""
    found = [(index, phrase, True) for phrase in entry.alone]
    best = 1 if found else 0
    for phrase in tries:
        last = _follow(words, index, phrase.rest)
        if last >= 0:
            solid = phrase.concept != OVERLAY and all(kind != GAP for _, kind in phrase.rest)
            found.append((last, phrase, solid))
            if solid:
                best = max(best, phrase.size)
    return best, found


def _follow(words: Sequence[str], index: int, rest: Iterable[tuple[str, int]]) -> int:
    """Index of the last word when the phrase continues at ``index``, or -1."""
    slack = 0
    count = len(words)
    for part, kind in rest:
        if kind == GAP:
            slack = _GAP_WORDS
            continue
        for place in range(index + 1, min(index + slack + 2, count)):
            word = words[place]
            if word == part or (kind == STEM and word.startswith(part)):
                index = place
                break
        else:
            return -1
        slack = 0
    return index
