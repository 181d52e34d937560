"""Words for a day, week, month or year to a span of time, in the person's time zone. No SQL, no ranking."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from .patterns import lazy

_DAY: Final = 86_400.0
_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_MONTH: Final = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS: Final = {
    "h": "hour", "hour": "hour", "d": "day", "day": "day", "w": "week", "week": "week", "mo": "month",
    "month": "month", "y": "year", "year": "year", "小时": "hour", "小時": "hour", "時間": "hour", "天": "day",
    "日": "day", "周": "week", "週": "week", "星期": "week", "週間": "week", "月": "month", "个月": "month",
    "個月": "month", "か月": "month", "ヶ月": "month", "年": "year", "일": "day", "주": "week", "달": "month",
    "개월": "month", "년": "year", "시간": "hour",
}  # fmt: skip
_RELATIVE: Final = {
    ("day", 0): "today tonight 今天 今日 오늘",
    ("day", -1): "yesterday 昨天 昨日 어제",
    ("day", -2): "前天 一昨日 그저께",
    ("week", 0): "this_week 本周 这周 這周 这个星期 今週 이번_주 이번주",
    (
        "week",
        -1,
    ): "last_week past_week previous_week 上周 上週 上个星期 上個星期 上星期 先週 지난_주 지난주",
    ("month", 0): "this_month 本月 这个月 這個月 今月 이번_달 이번달",
    ("month", -1): "last_month past_month previous_month 上个月 上個月 上月 先月 지난_달 지난달",
    ("year", 0): "this_year 今年 올해",
    ("year", -1): "last_year past_year previous_year 去年 昨年 작년",
}
_WORDS: Final = {
    word.replace("_", " "): unit for unit, words in _RELATIVE.items() for word in words.split()
}


def _word(text: str) -> str:
    return rf"\b{text}\b" if text.isascii() else text


_NAMED: Final = lazy(
    "|".join(_word(word) for word in sorted(_WORDS, key=len, reverse=True)), re.IGNORECASE
)
_AGO: Final = lazy(
    r"\b(?P<n>\d{1,4}|an?|one|two|three|four|five|six|seven|a few)\s*(?P<unit>hour|day|week|month|year)s?\s+ago\b"
    r"|(?P<n2>\d{1,4}|[一两兩二三四五六七])\s*(?P<unit2>小时|小時|天|日|周|週間|週|星期|个月|個月|か月|ヶ月|年|時間|일|주|개월|달|년|시간)\s*(?:之?前|전)",
    re.IGNORECASE,
)
_NUMBERS: Final = {
    **{w: i for i, w in enumerate(["a", "one", "two", "three", "four", "five", "six", "seven"]) if i},
    "a": 1, "an": 1, "a few": 3, "一": 1, "两": 2, "兩": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
}  # fmt: skip
_LAST_UNITS: Final = lazy(
    r"(?:the\s+)?(?:last|past)\s+(?P<n>\d{1,4}|two|three|four|five|six|seven)\s+(?P<unit>hour|day|week|month|year)s?"
    r"|(?:最近|过去|過去)(?P<n2>\d{1,4}|[一两兩二三四五六七])(?P<unit2>小时|小時|天|日|周|週|个月|個月|月|年)"
)
_WEEKDAY: Final = lazy(rf"\b(?:last\s+|on\s+)?(?P<day>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_ISO: Final = lazy(r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/](?P<m>\d{1,2})(?:[-/](?P<d>\d{1,2}))?(?!\d)")
_CJK: Final = lazy(
    r"(?:(?P<y>(?:19|20)\d\d)\s*[年년]\s*)?(?P<m>\d{1,2})\s*[月월]\s*(?:(?P<d>\d{1,2})\s*[日号號일])?"
)
_CJK_YEAR: Final = lazy(r"(?P<y>(?:19|20)\d\d)\s*[年년](?!\s*\d)")
_ENGLISH: Final = lazy(
    rf"(?:\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b{_MONTH}"
    r"(?:\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?(?:,?\s+(?P<y>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_YEAR: Final = lazy(r"(?<![\d\w./:-])(?P<y>(?:19|20)\d\d)(?![\d\w/:-])")
_SHORT: Final = lazy(r"(?P<n>\d{1,5})\s*(?P<unit>h|d|w|mo|y)")
_MAY_IS_MONTH: Final = lazy(
    r"\b(?:in|of|during|since|by|until|from|last|this|early|late)\s+(?:may|march)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time somebody named. Without a year, month and day come round every year."""

    words: str
    """As it was said."""
    start: float = 0.0
    """Epoch seconds of its first moment; 0 when it comes round every year."""
    end: float = 0.0
    """Epoch seconds just past it."""
    month: int = 0
    day: int = 0

    def contains(self, ts: float) -> bool:
        """Whether a moment lies inside; never for one that comes round every year."""
        return self.start <= ts < self.end

    def closeness(self, moment: datetime) -> float:
        """How much a moment speaks for being meant, 0 to 1.

        A day says more than a month or a year, and people tell of a day on the days after it.
        """
        if not self.end:
            if moment.month != self.month:
                return 0.0
            return _near_day(moment.day - self.day) if self.day else 0.8
        length = (self.end - self.start) / _DAY
        at = moment.timestamp()
        if length <= 2:
            return _near_day((at - self.start) // _DAY)
        worth = 0.8 if length < 40 else 0.3
        if self.contains(at):
            return worth
        return worth / 2 if 0 <= at - self.end < 7 * _DAY else 0.0


def _near_day(days: float) -> float:
    if 0 <= days <= 2:
        return 1.0 if days < 1 else 0.95
    if -1 <= days <= 8:
        return 0.6
    return 0.3 if -30 < days < 30 else 0.0


def spans(text: str, now: float, tz: tzinfo | None) -> list[Span]:
    """Every stretch of time named in ``text``, at most ten, none twice."""
    text = text[:2000]
    found: list[Span] = []
    taken: list[tuple[int, int]] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            span = read(match, text, now, tz)
            if span is not None:
                taken.append(match.span())
                found.append(span)
    return found[:10]


def moment(value: str | float, now: float, tz: tzinfo | None) -> tuple[float, float] | None:
    """First and one-past-last epoch second of a filter's value; None when it cannot be understood.

    A number is epoch seconds; ``3d``, ``2w``, ``5h``, ``1mo``, ``1y`` count back from now.
    """
    if isinstance(value, int | float):
        return float(value), float(value)
    text = value.strip()
    short = _SHORT.fullmatch(text.lower())
    if short:
        back = _back(_local(now, tz), _UNITS[short["unit"]], int(short["n"]))
        return back.timestamp(), back.timestamp()
    if re.fullmatch(r"(?:19|20)\d{6}", text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    if re.fullmatch(r"-?\d{5,}(?:\.\d+)?", text):
        return float(text), float(text)
    try:
        exact = datetime.fromisoformat(text)
    except ValueError:
        exact = None
    if exact is not None and len(text) > 10:
        at = (exact if exact.tzinfo else exact.replace(tzinfo=tz)).timestamp()
        return at, at
    counted = _LAST_UNITS.fullmatch(text.lower())
    if counted:
        unit = _UNITS[counted["unit"] or counted["unit2"]]
        number = counted["n"] or counted["n2"]
        count = int(number) if number.isdigit() else _NUMBERS[number]
        return _back(_local(now, tz), unit, count).timestamp(), now
    for span in spans(text, now, tz) or spans(f"in {text}", now, tz):
        rest = text.lower().replace(span.words.lower(), " ", 1)
        if re.sub(r"\b(?:in|on|at|the|of|since|from|until|during)\b", "", rest).strip(" ,.'\""):
            return None  # half understood is not understood
        return (span.start, span.end) if span.end else _recurring(span, now, tz)
    return None


# ---------------------------------------------------------------- readers of one pattern each


def _named(match: re.Match[str], _text: str, now: float, tz: tzinfo | None) -> Span | None:
    unit, shift = _WORDS[match.group().lower()]
    return _unit_span(match.group(), unit, shift, now, tz)


def _ago(match: re.Match[str], _text: str, now: float, tz: tzinfo | None) -> Span | None:
    number = (match["n"] or match["n2"]).lower()
    count = int(number) if number.isdigit() else _NUMBERS[number]
    unit = _UNITS[(match["unit"] or match["unit2"]).lower()]
    day = _back(_local(now, tz), unit, count)
    if unit == "hour":
        return Span(match.group(), day.timestamp() - 1800, day.timestamp() + 1800)
    return _unit_span(match.group(), unit, 0, day.timestamp(), tz)


def _weekday(match: re.Match[str], _text: str, now: float, tz: tzinfo | None) -> Span | None:
    today = _midnight(_local(now, tz))
    back = (today.weekday() - _WEEKDAYS.index(match["day"].lower())) % 7 or 7
    return _days(match.group(), today - timedelta(days=back), 1)


def _date(match: re.Match[str], text: str, _now: float, tz: tzinfo | None) -> Span | None:
    part = match.groupdict()
    year = int(part.get("y") or 0)
    day = int(part.get("d") or part.get("d2") or 0)
    if name := part.get("month"):
        month = _MONTHS.index(name[:3].lower()) + 1
        verb = name == "may" or (name == "march" and name.islower())
        if verb and not year and not day and not _MAY_IS_MONTH.search(text):
            return None
    else:
        month = int(part.get("m") or 0)
    if not year:
        ok = 1 <= month <= 12 and day <= 31
        return Span(match.group(), month=month, day=day) if ok else None
    return _calendar(match.group(), year, month, day, tz)


_Reader = Callable[[re.Match[str], str, float, tzinfo | None], Span | None]
_READERS: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = (
    (_ISO, _date), (_AGO, _ago), (_CJK, _date), (_CJK_YEAR, _date), (_ENGLISH, _date), (_NAMED, _named),
    (_WEEKDAY, _weekday), (_YEAR, _date),
)  # fmt: skip


# ---------------------------------------------------------------- calendar


def _local(now: float, tz: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(now, tz)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _days(words: str, start: datetime, count: int) -> Span:
    # days are added on the wall clock, so that a day with a clock change is whole
    return Span(words, start.timestamp(), (start + timedelta(days=count)).timestamp())


def _calendar(words: str, year: int, month: int, day: int, tz: tzinfo | None) -> Span | None:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=tz)
    except ValueError:
        return None
    if day:
        return _days(words, start, 1)
    end = _back(start, "month" if month else "year", -1)
    return Span(words, start.timestamp(), end.timestamp())


def _unit_span(words: str, unit: str, shift: int, now: float, tz: tzinfo | None) -> Span:
    today = _midnight(_local(now, tz))
    if unit == "day":
        return _days(words, today + timedelta(days=shift), 1)
    if unit == "week":
        return _days(words, today - timedelta(days=today.weekday() - 7 * shift), 7)
    first = today.replace(day=1) if unit == "month" else today.replace(day=1, month=1)
    start = _back(first, unit, -shift)
    return Span(words, start.timestamp(), _back(start, unit, -1).timestamp())


def _back(at: datetime, unit: str, count: int) -> datetime:
    """``count`` units before ``at``; the day of the month is cut to the month's length."""
    try:
        if unit in ("hour", "day", "week"):
            return at - timedelta(**{f"{unit}s": count})
        months = at.year * 12 + at.month - 1 - count * (12 if unit == "year" else 1)
        year, month = divmod(months, 12)
        for day in (at.day, 30, 29, 28):
            try:
                return at.replace(year=year, month=month + 1, day=day)
            except ValueError:
                continue
    except (ValueError, OverflowError):
        pass
    return at.replace(year=1970, month=1, day=2)


def _recurring(span: Span, now: float, tz: tzinfo | None) -> tuple[float, float] | None:
    """The latest such month or day that has begun."""
    this_year = _local(now, tz).year
    for year in (this_year, this_year - 1):
        found = _calendar(span.words, year, span.month, span.day, tz)
        if found and found.start <= now:
            return found.start, found.end
    return None
