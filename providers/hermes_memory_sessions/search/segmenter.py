"""Text to index tokens: the one segmenter for messages and queries. No SQL, no stop words, no ranking.

Words become stems, one position each. Runs of unspaced scripts become overlapping pairs of characters and the
run's last character. A camelCase word stands as a whole at its place; its parts follow after the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from operator import add
from typing import Final, NamedTuple

from hermes_memory_core.storage import memos
from hermes_memory_sessions import schema

from .languages import guess
from .patterns import lazy
from .scripts import EMOJI, UNSPACED, WORD, clean, compatible, fold, fold_run
from .stems import stem
from .vocabulary import Vocabulary

TOKENISER_VERSION: Final = 2
"""Raised whenever ``segment`` gives other tokens for some text: the index must then be rebuilt."""

LONGEST_TOKEN: Final = 64
"""Characters of a word that count: keys and encoded data do not fill the index."""

LONGEST_TEXT: Final = 1_000_000
"""Characters of one message that are indexed."""

_PIECE: Final = lazy(
    rf"(?P<run>[{UNSPACED}]+)"
    rf"|(?P<signed>[A-Za-z]+\+\+(?![\w+])|(?<![\w])[A-Za-z]\#(?![\w\#]))"
    rf"|(?P<word>{WORD}+(?:'{WORD}+)*)"
    rf"|(?P<emoji>[{EMOJI}])"
)
_ASCII: Final = lazy(
    r"[A-Za-z]+\+\+(?![\w+])|(?<!\w)[A-Za-z]\#(?![\w\#])|[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*", re.ASCII
)
_ASCII_WORD: Final = lazy(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
_PART: Final = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ENDINGS: Final = frozenset({"s", "re", "ve", "ll", "d", "m"})


class Piece(NamedTuple):
    """One stretch of text that the index sees as a unit, and its tokens."""

    start: int
    end: int
    kind: str
    """``run`` (unspaced script), ``word``, ``signed`` (C++) or ``emoji``."""
    tokens: tuple[str, ...]
    parts: tuple[str, ...]
    """Tokens of the parts of a camelCase word, else empty."""


def pieces(text: str) -> Iterator[Piece]:
    """The units of ``text`` in order; ``start`` and ``end`` are offsets into ``compatible(text)``."""
    for match in _PIECE.finditer(compatible(text)):
        kind = match.lastgroup or "word"
        tokens, parts = _tokens(kind, match.group())
        if tokens:
            yield Piece(match.start(), match.end(), kind, tokens, parts)


class Entry(NamedTuple):
    """What the index keeps of one message."""

    tokens: str
    """Parted by single spaces."""
    traits: int
    """``schema.QUESTION`` and ``schema.TEMPORAL`` bits."""
    language: str
    """What its words in Latin letters were stemmed as."""


def segment(text: str) -> str:
    """Tokens of ``text``, parted by single spaces, as the index takes them."""
    return entry(text).tokens


def entry(content: str, more: str = "") -> Entry:
    """All the index keeps of a message; ``more`` is what can be found beside its text."""
    global _known
    if _known.full:
        _known = Vocabulary(_word)  # in one step: another thread goes on with the old one
    known = _known
    text = f"{content}\n{more}" if more else content
    text = compatible(clean(text[:LONGEST_TEXT]))
    if text.isascii():
        words = (_ASCII if "+" in text or "#" in text else _ASCII_WORD).findall(text)
        main = [known[word] for word in words]
    else:
        words, main = _pieces(text, known)
    language = "english" if known.foreign.isdisjoint(words) else guess(text)
    if language != "english":
        return Entry(_in_language(text, language), traits(content), language)
    if not known.parts.keys().isdisjoint(words):
        extra = dict.fromkeys(known.parts[word] for word in words if word in known.parts)
        main.extend(token for parts in extra for token in parts)
    return Entry(" ".join(main), _traits(content, known, words), language)


def _pieces(text: str, known: Vocabulary) -> tuple[list[str], list[str]]:
    """The words of a text in any script, and all its tokens."""
    words: list[str] = []
    main: list[str] = []
    for run, signed, word, emoji in _PIECE.findall(text):
        if run:
            main.extend(pairs(fold_run(run)))
        elif emoji:
            main.append(emoji)
        else:
            words.append(word or signed)
            main.append(known[word or signed])
    return words, [tokens for tokens in main if tokens]


def _in_language(text: str, language: str) -> str:
    main: list[str] = []
    extra: dict[tuple[str, ...], None] = {}
    for match in _PIECE.finditer(text):
        tokens, parts = _tokens(match.lastgroup or "word", match.group(), language)
        main.extend(tokens)
        if parts:
            extra[parts] = None
    for parts in extra:
        main.extend(parts)
    return " ".join(main)


def count(tokens: str) -> int:
    """Number of tokens in what ``segment`` gave."""
    return tokens.count(" ") + 1 if tokens else 0


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a folded run, then its last character alone."""
    return [*map(add, run, run[1:]), run[-1]] if run else []


def _tokens(kind: str, raw: str, latin: str = "english") -> tuple[tuple[str, ...], tuple[str, ...]]:
    if kind == "run":
        return tuple(pairs(fold(raw))), ()
    if kind == "word":
        return word_tokens(raw, latin)
    return (raw.lower(),), ()


@lru_cache(maxsize=1 << 13)
def word_tokens(raw: str, latin: str = "english") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Stems of one word as written (apostrophes inside), and those of its camelCase parts."""
    if "'" in raw:
        return tuple(stem(part[:LONGEST_TOKEN], latin) for part in _apart(fold(raw))), ()
    folded = fold(raw)[:LONGEST_TOKEN]
    if not folded:
        return (), ()
    parts: tuple[str, ...] = ()
    if not (raw.islower() or raw.isupper() or raw[1:].islower()) and len(raw) <= LONGEST_TOKEN:
        found = _PART.findall(raw)
        if len(found) > 1 and sum(map(len, found)) == len(raw) and any(len(p) > 1 for p in found):
            parts = tuple(stem(part.lower()) for part in found)
    return (stem(folded, latin),), parts


memos.register(word_tokens.cache_clear)


def _word(raw: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return word_tokens.__wrapped__(raw) if raw[-1] not in "+#" else ((raw.lower(),), ())


_known = Vocabulary(_word)


def _forget_words() -> None:
    global _known
    _known = Vocabulary(_word)


memos.register(_forget_words)


def _apart(word: str) -> list[str]:
    """``don't`` is one word, ``sister's`` loses its ending, ``l'eau`` is two words."""
    head, *rest = word.split("'")
    out = [head]
    for part in rest:
        if part == "t":
            out[-1] += "t"
        elif part not in _ENDINGS:
            out.append(part)
    return [part for part in out if part]


# ---------------------------------------------------------------- what kind of message

_ASKS: Final = lazy(r"[?？؟](?![\w/&=])|[吗嗎呢][。！\s]*$|ですか|ますか|습니까|나요\b|까요\b")
_MONTHS: Final = "january|february|march|april|june|july|august|september|october|november|december"
_DAYS: Final = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_TEMPORAL: Final = lazy(
    rf"\b(?:{_MONTHS}|{_DAYS}|yesterday|today|tonight|tomorrow|ago|weekend|(?:last|next|this|past|every)"
    r"\s+(?:few\s+)?(?:night|week|month|year|summer|winter|spring|fall|autumn|mon|tues?|wed|thurs?|fri|satur|sun)\w*"
    r"|since|recently|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|o'clock|\d{1,2}:\d\d|[ap]m)\b",
    re.IGNORECASE,
)
_TEMPORAL_UNSPACED: Final = lazy(
    "[昨今明前后後]天|[上下这這本][周週个個]|[去今明前]年|月|[0-9]日|[0-9][号號]|昨日|今日|明日|先[週月]|来[週月]"
    "|어제|오늘|내일|지난|다음"
)
_FAR: Final = 20_000


def traits(text: str) -> int:
    """``schema.QUESTION`` and ``schema.TEMPORAL`` bits of a message; only its first 20,000 characters count."""
    return _traits(text)


def _traits(text: str, known: Vocabulary | None = None, words: list[str] | None = None) -> int:
    """With its words known, a text without a word of time is not read again."""
    head = text[:_FAR]
    plain = head.isascii()
    bits = 0
    if (not plain or "?" in head) and _ASKS.search(head):
        bits = schema.QUESTION
    if known is None or words is None or not known.timely.isdisjoint(words):
        timely = bool(_TEMPORAL.search(head))
    else:
        timely = False
    if timely or not (plain or _TEMPORAL_UNSPACED.search(head) is None):
        bits |= schema.TEMPORAL
    return bits
