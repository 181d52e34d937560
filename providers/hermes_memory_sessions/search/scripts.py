"""Which characters belong to which kind of writing, and how characters are folded; no tokens, no query words."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources
from typing import Final

from .patterns import lazy

HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA: Final = "\u3041-\u3096\u309d-\u309f"
KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
SOUTHEAST: Final = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
"""Thai, Lao, Myanmar and Khmer letters with their marks: written without spaces."""

UNSPACED: Final = HAN + HIRAGANA + KATAKANA + "\u3105-\u312f" + HANGUL + SOUTHEAST
"""Indexed as overlapping pairs of characters, since no blank says where a word ends."""

MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a51"
    "\u0a81-\u0acd\u0b01-\u0b57\u0b82-\u0bcd\u0c00-\u0c56\u0c81-\u0cd6\u0d00-\u0d57\u0d81-\u0df3"
)
"""Signs that belong to the letter before them though Python's ``\\w`` does not take them."""

EMOJI: Final = (
    "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2934\u2935\u2b00-\u2bff\U0001f000-\U0001f3fa"
    "\U0001f400-\U0001faff"
)
"""Pictures as tokens of their own; skin tones, joiners and variation selectors are left out."""

WORD: Final = rf"(?:[^\W_{UNSPACED}]|[{MARKS}])"
"""One character of a word in a script that puts blanks between words."""

_DROPPED = lazy(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u0640\u064b-\u065f\u0670]"
)
_MARKED = lazy("[\u00c0-\u024f\u0370-\u03ff\u0401\u0451\u1e00-\u1fff]")
_SURROGATE = lazy("[\ud800-\udfff]")
_HAN = lazy(f"[{HAN}]")
_QUOTES = ("\u2019", "\u2018", "\u02bc", "\uff07")


def within(char: str, letters: str) -> bool:
    """Whether a character is in a class written as ranges, as above."""
    at = 0
    while at < len(letters):
        if letters[at + 1 : at + 2] == "-":
            if letters[at] <= char <= letters[at + 2]:
                return True
            at += 3
        else:
            if letters[at] == char:
                return True
            at += 1
    return False


def clean(text: str) -> str:
    """``text`` with lone surrogates replaced: SQLite could not store them (case B20)."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text


def compatible(text: str) -> str:
    """Full-width to half-width, ligatures apart, accents composed, one kind of apostrophe; case kept."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    for (
        quote
    ) in _QUOTES:  # a table for translate() raises and drops an error for every other character
        if quote in text:
            text = text.replace(quote, "'")
    return text


def fold(word: str) -> str:
    """Case, accents and vowel points away; traditional characters to simplified ones."""
    if word.isascii():
        return word.lower()
    word = word.casefold()
    if _HAN.search(word):
        word = word.translate(_han_table())
    if _MARKED.search(word):
        # only letters with a base of the Latin and Greek kind: й and が are letters of their own
        word = "".join(
            unicodedata.normalize("NFD", letter) if _MARKED.match(letter) else letter
            for letter in word
        )
    return _DROPPED.sub("", word)


def fold_run(run: str) -> str:
    """``fold`` for a run of an unspaced script: there only traditional characters change."""
    return run.translate(_han_table())


class _Table(dict[int, "str | int"]):
    def __missing__(self, code: int) -> int:
        self[code] = (
            code  # a character that is not in it would cost translate() an exception each time
        )
        return code


@cache
def _han_table() -> dict[int, str | int]:
    source = resources.files(__package__).joinpath("data/han_fold.txt").read_text("utf-8")
    traditional, simplified = source.split("\n")[:2]
    return _Table(zip(map(ord, traditional), simplified, strict=True))


class _OneToOne(dict[int, str]):
    """Folding of single characters, those that would become none or several left alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = fold(compatible(char)) if not 0xD800 <= code <= 0xDFFF else char
        self[code] = folded if len(folded) == 1 else char
        return self[code]


_IN_PLACE: Final = _OneToOne()


def folded_in_place(text: str) -> str:
    """``text`` folded so that every character keeps its offset; marks that stand apart stay."""
    return text.lower() if text.isascii() else text.translate(_IN_PLACE)
