"""One spelling for many disguises: text → plain lower-case text, with a map back to the original offsets.

Folding never judges. It undoes width, case, accents, invisible characters, traditional Han and lookalike letters,
so that the word tables need one spelling. Decoding and de-spacing live in ``disguise.py``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby

from hermes_memory_core.safety.threats.scripts import LOOKALIKES, SIMPLIFY, STYLED

_QUOTES = {0x2018: "'", 0x2019: "'", 0x02BC: "'", 0x201B: "'", 0x2032: "'"}
_FILLERS = frozenset((0x115F, 0x1160, 0x3164, 0xFFA0, 0x034F, 0x0640))
_COMPOSE = re.compile("[\u1100-\u11ff]{2,}|.[\u3099\u309a]", re.DOTALL)
_COMPOSING = frozenset(map(chr, (*range(0x1100, 0x1200), 0x3099, 0x309A)))
_WORD = re.compile(r"[^\W\d_]{2,}")
_EASTERN = re.compile("[\u0370-\u03ff\u0400-\u04ff\u0500-\u058f]")
_LATIN = re.compile("[a-z]")
_LATIN_ANY = re.compile("[a-zA-Z]")
_FOREIGN = re.compile("[\u0400-\u04ff\u0391-\u03a9\u03bf\u03bd\u03c1]")
_MEMO_LIMIT, _FEW = 60_000, 48
REACH = 320
"""Characters to either side that a change in a text may give another meaning: the sentences before and after it."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class View:
    """A readable form of a text. ``starts[i]`` is the original offset of character i; None means the same offset."""

    text: str
    starts: Sequence[int] | None
    length: int
    """Where the view ends in the original text."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the original text for ``text[start:end]``."""
        if self.starts is None:
            return start, end
        last = self.starts[end] if end < len(self.starts) else self.length
        return self.starts[start], max(last, self.starts[start])

    def around(self, start: int, end: int) -> View:
        """The part of the view from `REACH` characters before ``start`` to as many after ``end``."""
        low, high = max(0, start - REACH), end + REACH
        if high >= len(self.text):
            high, length = len(self.text), self.length
        else:
            length = self.starts[high] if self.starts is not None else high
        if not low and high == len(self.text):
            return self
        starts = self.starts[low:high] if self.starts is not None else range(low, high)
        return View(self.text[low:high], starts, length)


@lru_cache(_MEMO_LIMIT)
def _fold_char(code: int) -> str:
    if code in _QUOTES:
        return _QUOTES[code]
    if code in STYLED:
        return STYLED[code]
    char = chr(code)
    category = unicodedata.category(char)
    if code in (0x0A, 0x2028, 0x2029, 0x0B, 0x0C):
        return "\n"
    if category == "Zs" or code in (0x09, 0x0D, 0x2800):
        return " "
    if category in ("Cf", "Cc") or code in _FILLERS or _is_loose_mark(code, category):
        return ""
    if category == "Pd":
        return "-"
    if code in SIMPLIFY:
        return SIMPLIFY[code]
    folded = unicodedata.normalize("NFKC", char).lower()
    return "".join(_base(part) for part in folded)


def _is_loose_mark(code: int, category: str) -> bool:
    if category not in ("Mn", "Me"):
        return False
    # Marks of scripts we read as accents (Latin, Cyrillic, Greek, Hebrew, Arabic) and the symbol marks used to
    # strike letters through. Indic, Thai and kana marks are part of the letter and stay.
    return code < 0x0900 or 0x1AB0 <= code <= 0x20FF or 0xFE00 <= code <= 0xFE2F or code >= 0xE0100


def _base(char: str) -> str:
    code = ord(char)
    if code < 0x80 or not (code < 0x0590 or 0x1E00 <= code <= 0x1FFF):
        # Arabic letter forms people mix freely: one alef, one yeh, one teh.
        return _ARABIC.get(char, char)
    if unicodedata.category(char) in ("Mn", "Me"):
        return ""
    return unicodedata.normalize("NFD", char)[0]


_ARABIC = {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}


def fold(text: str) -> View:
    """Return the folded view of ``text``. Linear in its length."""
    if text.isascii() and not _CONTROL.search(text):
        return View(text.lower().replace("\t", " ").replace("\r", " "), None, len(text))
    odd = odd_characters(text)
    if not _COMPOSING.isdisjoint(odd) and _COMPOSE.search(text):
        source, places = _compose(text)
        inner = _fold_plain(source, odd_characters(source))
        starts = [places[inner.starts[i] if inner.starts else i] for i in range(len(inner.text))]
        return View(_unmask(inner.text), starts, len(text))
    view = _fold_plain(text, odd)
    return View(_unmask(view.text), view.starts, view.length)


def odd_characters(text: str) -> set[str]:
    """The characters of ``text`` that folding may change; everyday letters are not among them."""
    return set(_odd().findall(text))


@cache
def _odd() -> re.Pattern[str]:
    """Everything but ASCII without capitals, Han in simplified form, kana, Hangul and plain Cyrillic."""
    same = [0x0A, *range(0x20, 0x41), *range(0x5B, 0x7F), *range(0x4E00, 0x9FFF)]
    same += [*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), *range(0xAC00, 0xD7A4)]
    same += [*range(0x0430, 0x0439), *range(0x043A, 0x0450), 0x3001, 0x3002]
    kept = sorted(set(same) - SIMPLIFY.keys() - STYLED.keys())
    ranges = []
    for _, group in groupby(enumerate(kept), lambda item: item[1] - item[0]):
        codes = [code for _, code in group]
        ranges.append(f"{re.escape(chr(codes[0]))}-{re.escape(chr(codes[-1]))}")
    return re.compile(f"[^{''.join(ranges)}]")


def _fold_plain(text: str, odd: set[str]) -> View:
    pairs = [(char, _fold_char(ord(char))) for char in odd]
    changed = {char: plain for char, plain in pairs if len(plain) == 1 and plain != char}
    if len(changed) > _FEW or not changed.keys().isdisjoint(changed.values()):
        folded = text.translate({ord(char): plain for char, plain in changed.items()})
    else:
        # Replacing each odd character everywhere is several times faster than looking at every character.
        folded = text
        for char, plain in changed.items():
            folded = folded.replace(char, plain)
    moving = {char: plain for char, plain in pairs if len(plain) != 1}
    return _moved(text, folded, moving) if moving else View(folded, None, len(text))


def _moved(text: str, folded: str, moving: dict[str, str]) -> View:
    """Put in what folds to no or several characters, and note the offsets that moves."""
    places: list[int] = []
    for char in moving:
        place = text.find(char)
        while place >= 0:
            places.append(place)
            place = text.find(char, place + 1)
    pieces: list[str] = []
    starts: list[int] = []
    position = 0
    for place in sorted(places):
        pieces.append(folded[position:place])
        starts.extend(range(position, place))
        piece = moving[text[place]]
        pieces.append(piece)
        starts.extend([place] * len(piece))
        position = place + 1
    pieces.append(folded[position:])
    starts.extend(range(position, len(text)))
    return View("".join(pieces), starts, len(text))


def _compose(text: str) -> tuple[str, list[int]]:
    """Join Hangul jamo and kana marks into whole characters, keeping where each came from."""
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for match in _COMPOSE.finditer(text):
        pieces.append(text[position : match.start()])
        places.extend(range(position, match.start()))
        whole = unicodedata.normalize("NFC", match.group())
        pieces.append(whole)
        step = len(match.group()) / max(len(whole), 1)
        places.extend(match.start() + int(step * i) for i in range(len(whole)))
        position = match.end()
    pieces.append(text[position:])
    places.extend(range(position, len(text)))
    return "".join(pieces), places


def _unmask(text: str) -> str:
    """Replace lookalike letters in words that mix scripts, or that stand alone in a mostly Latin text."""
    if not (_EASTERN.search(text) and _LATIN.search(text)):
        return text
    latin_text = 2 * len(_EASTERN.findall(text)) < len(_LATIN.findall(text))

    def plain(match: re.Match[str]) -> str:
        word = match.group()
        if not _EASTERN.search(word):
            return word
        changed = word.translate(LOOKALIKES)
        mixed = _LATIN.search(word) is not None
        if mixed or (latin_text and changed.isascii()):
            return changed
        return word

    return _WORD.sub(plain, text)


def disguised_words(text: str) -> list[tuple[int, int]]:
    """Spans of words that mix Latin letters with Cyrillic or Greek lookalikes, in ``text`` itself."""
    if text.isascii() or not (_FOREIGN.search(text) and _LATIN_ANY.search(text)):
        return []
    return [
        match.span()
        for match in _WORD.finditer(text)
        if len(match[0]) > 3 and _LATIN_ANY.search(match[0]) and _FOREIGN.search(match[0])
    ]
