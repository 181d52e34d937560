"""A name for a conversation out of its own words: the matter of the first message, without a model.

Pure functions over text that is redacted already. When a name is wanted, and where it goes, stands in ``titles``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

from hermes_memory_core.learning import phrases
from hermes_memory_core.safety.redact.masks import MASK

MAX_CHARS: Final = 80
"""Spec section 5.6."""
MOST_WORDS: Final = 7
DENSE_CHARS: Final = 20
"""At most, where words are not spaced or a character says as much as a syllable."""
READ: Final = 2_000
"""Characters of a message that are looked at."""
SENTENCES: Final = 8
LONG_TOKEN: Final = 40
"""Longer runs without a space are data, not words."""

_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
_PLACEHOLDER = re.compile(r"\[\d{1,4} [a-z ]{2,30}\]")
_TAG = re.compile(r"<[/!a-zA-Z][^<>]{0,200}>")
_URL = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]{1,15}://|www\.)[!-~]+")
_MAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}")
_PATH = re.compile(
    r"(?<![\w./\\@+-])(?:[A-Za-z]:)?(?:~|\.{1,2})?"
    r"(?:(?:[/\\][A-Za-z0-9_.@+-]{1,80}){1,16}[/\\]?"
    r"|[A-Za-z0-9_.@+-]{1,80}(?:[/\\][A-Za-z0-9_.@+-]{1,80}){0,16}"
    r"[/\\][A-Za-z0-9_@+-]{0,80}\.[A-Za-z0-9]{1,8}(?![\w.]))"
)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}|[-*+>]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_END = re.compile(r"[\r\n]+|(?<=[.!?…])[\"'”’)\]]?\s+|[。！？؟।]+")
_CLAUSE = re.compile(r"\s*[,;:，、；：،—–(（「『]\s*|\s+-\s+")
_EDGES = " \t,.;:!?¿¡…。，、；：！？،؟·•*_~`|=<>/\\-–—\"'“”‘’„«»「」『』¿¡()[]{}（）【】《》"
_OPENERS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "「": "」",
    "『": "』",
    "【": "】",
    "《": "》",
    "“": "”",
}
_THAI_LEADING = "เแโใไ"


def extract_title(text: str) -> str | None:
    """A name of 3 to 7 words (20 characters where words are not spaced); None when nothing says what it is about.

    Args:
        text: What a person wrote, redacted. Code, addresses and folders are left out.
    """
    plain = _plain(text)
    best, most = "", 0
    for sentence in [part for part in _END.split(plain) if part.strip()][:SENTENCES]:
        core = _core(sentence)
        weight = _weight(core)
        if weight > most:
            best, most = core, weight
        if weight >= (4 if _is_dense(core) else 3):
            break
    if most < 2:
        return None
    if _is_dense(best):
        title = _dense_title(best)
    else:  # what stood between quotes or brackets may have become words of its own
        title = " ".join(_spaced_title(best).split()[:MOST_WORDS])
    return title if _weight(title) else None


def is_dense(text: str) -> bool:
    """Whether a text is mostly Chinese, Japanese, Korean or of another script clipped by characters."""
    return _is_dense(text[:READ])


# ---------------------------------------------------------------- cleaning


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFC", text[:READ]).replace("’", "'")
    text = _CODE.sub("\n", MASK.sub(" ", text))
    text = _LINK.sub(r"\1", text)
    for pattern in (_PLACEHOLDER, _TAG, _URL, _MAIL):
        text = pattern.sub(" ", text)
    text = _PATH.sub(_last_part, text)
    text = _MARKUP.sub("", text).replace("`", "").replace("**", "")
    text = "".join(character if _is_text(character) else " " for character in text)
    return re.sub(rf"[!-~]{{{LONG_TOKEN + 1},}}", " ", text)


def _last_part(match: re.Match[str]) -> str:
    parts = [part for part in re.split(r"[/\\]", match[0]) if part.strip(".~@+-")]
    return f" {parts[-1]} " if parts and not parts[-1].endswith(":") else " "


def _is_text(character: str) -> bool:
    if character == "\n":
        return True
    kind = unicodedata.category(character)
    pictures = kind in ("So", "Sk") and ord(character) >= 0x2190
    return kind[0] != "C" and not pictures and not "\ufe00" <= character <= "\ufe0f"


# ---------------------------------------------------------------- the matter


@cache
def _leading() -> re.Pattern[str]:
    spaced = [
        re.escape(entry) + (r"(?![\w'])" if entry[-1] != "'" else "")
        for entry in _entries(phrases.LEADING)
    ]
    dense = [re.escape(entry) for entry in _entries(phrases.LEADING_DENSE)]
    return re.compile("|".join(spaced + dense), re.IGNORECASE)


@cache
def _trailing() -> re.Pattern[str]:
    spaced = [r"(?<!\w)" + re.escape(entry) for entry in _entries(phrases.TRAILING)]
    dense = [re.escape(entry) for entry in _entries(phrases.TRAILING_DENSE)]
    return re.compile(f"(?:{'|'.join(dense + spaced)})$", re.IGNORECASE)


def _entries(table: str) -> list[str]:
    """Longest first, so that a whole phrase goes before the half of it."""
    return sorted({entry.replace("_", " ") for entry in table.split()}, key=len, reverse=True)


def _core(sentence: str) -> str:
    """The sentence without greetings and requests around it; "" when it is nothing else."""
    text = " ".join(sentence.split()).strip(_EDGES)
    while (match := _leading().match(text)) is not None:
        text = text[match.end() :].strip(_EDGES)
    while (match := _trailing().search(text)) is not None:
        text = text[: match.start()].strip(_EDGES)
    return text


def _weight(text: str) -> int:
    """How much a text says: its characters where it is dense, else its words, function words not counted."""
    if _is_dense(text):
        return sum(character.isalnum() for character in text)
    words = [word for word in _words(text) if word not in phrases.WEAK]
    long_enough = sum(character.isalnum() for word in words for character in word) >= 3
    # one plain word of its own ("Docker") is a name where nothing better is found
    return (len(_words(text)) if len(words) > 1 else 2 * len(words)) if long_enough else 0


def _words(text: str) -> list[str]:
    return [word for word in (part.strip(_EDGES).lower() for part in text.split()) if word]


def _is_dense(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    dense = sum(_is_dense_letter(character) for character in letters)
    return dense > 0 and 2 * dense >= 0.4 * (len(letters) + dense)


def _is_dense_letter(character: str) -> bool:
    code = ord(character)
    return (
        0x0E00 <= code <= 0x0EFF  # Thai, Lao
        or 0x1000 <= code <= 0x109F  # Burmese
        or 0x1100 <= code <= 0x11FF
        or 0x1780 <= code <= 0x17FF  # Khmer
        or 0x2E80 <= code <= 0x9FFF
        or 0xA960 <= code <= 0xD7FF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )


# ---------------------------------------------------------------- the length


def _spaced_title(text: str) -> str:
    words = text.split()
    if len(words) > MOST_WORDS:
        words = _first_clause(text).split()
    if len(words) > MOST_WORDS:
        words = _before_a_break(_from_first_strong(words))[:MOST_WORDS]
        while len(words) > 2 and words[-1].strip(_EDGES) in phrases.WEAK:  # May is none, may is
            words.pop()
    while len(words) > 1 and len(" ".join(words)) > MAX_CHARS:
        words.pop()
    title = _balanced(" ".join(words)[:MAX_CHARS]).strip(_EDGES)
    first = title.split(" ", 1)[0]
    # numpy.array and iPhone are written as they are
    return title[:1].upper() + title[1:] if first.isalpha() and first.islower() else title


def _first_clause(text: str) -> str:
    for clause in _CLAUSE.split(text):
        if len(_words(clause)) >= 3 and _weight(clause) >= 3:
            return _core(clause) or clause
    return text


def _from_first_strong(words: list[str]) -> list[str]:
    for index, word in enumerate(words):
        if word.strip(_EDGES).lower() not in phrases.WEAK:
            return words[index:] if len(words) - index >= 3 else words
    return words


def _before_a_break(words: list[str]) -> list[str]:
    for index, word in enumerate(words):
        if index >= 3 and word.lower() in phrases.BREAKS:
            return words[:index]
    return words


def _dense_title(text: str) -> str:
    title = text
    if len(title) > DENSE_CHARS:
        clause = next((part for part in _CLAUSE.split(title) if _weight(part) >= 4), title)
        title = _core(clause) or clause
    if len(title) > DENSE_CHARS:
        title = _clipped(title)
    return _balanced(title).strip(_EDGES)


def _clipped(text: str) -> str:
    """At most 20 characters, not in the middle of a Latin word or of a letter with its marks."""
    end = DENSE_CHARS
    space = text.rfind(" ", 8, end + 1)
    if space > 0:
        return text[:space]
    if _is_latin(text[end]) and _is_latin(text[end - 1]):
        start = end
        while start > 0 and _is_latin(text[start - 1]):
            start -= 1
        end = start if start >= 4 else end
    while end > 4 and unicodedata.category(text[end]) in ("Mn", "Mc"):
        end -= 1
    head = text[:end].rstrip(_THAI_LEADING)
    cut = head.rstrip(phrases.PARTICLES)
    return cut if len(cut) >= 4 else head


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _balanced(text: str) -> str:
    """Without brackets and quotes whose other half was cut away."""
    for opener, closer in _OPENERS.items():
        if text.count(opener) != text.count(closer):
            text = text.replace(opener, " ").replace(closer, " ")
    if text.count('"') % 2:
        text = text.replace('"', " ")
    return " ".join(text.split())
