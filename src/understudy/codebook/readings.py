"""How the values of a column are written, where that is not the plain convention of :mod:`understudy.codebook.encode`.

A reading turns a text into the plain spelling of a number or of a day, and nothing else: the engines are given the
same steps in :mod:`understudy.sources.dialects`, and a test holds the two against each other. All patterns keep to what
the engines have in common: ASCII digits, classes instead of escapes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Meanings = tuple[tuple[str, str], ...]
"""Texts, each with the number that it stands for."""

MISSING_TOKENS = ("NA", "N/A", "n/a", "?", "", "null", "NULL", "None", "NaN", "nan", ".")
"""Texts that usually stand for a value that was not recorded."""
SPACES = " \t\n\r\v\f"
BLANKS = "\u00a0\u2007\u2009\u202f\u3000"
"""Blanks that look like a space and are none: they are read as one."""
_AS_SPACES = str.maketrans(BLANKS, " " * len(BLANKS))

_LETTERS = [
    chr(place) for first, last in ((0x41, 0x17F), (0x386, 0x3AB), (0x400, 0x42F)) for place in range(first, last)
]
UPPER = "".join(letter for letter in _LETTERS if letter.lower() != letter and len(letter.lower()) == 1)
"""Capital letters of Latin, Greek and Cyrillic. Engines disagree about the rarer ones, so those keep their case."""
LOWER = UPPER.lower()
_AS_LOWER = str.maketrans(UPPER, LOWER)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t?(?:ember)?", "ober", "ember", "ember")
TIME = r"(?:[ T:]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
"""A time of day may follow every day; what is kept is the day as written, in whatever zone."""
EXCEL = {"excel": "1899-12-30", "excel-1904": "1904-01-01"}
"""Day 0 of the serial numbers of spreadsheets. Serials below 61 are refused: Excel has a 29 February 1900 there."""
SERIAL = "^[0-9]{1,7}([.][0-9]*)?$"
SERIALS = {"excel": (61, 2958465), "excel-1904": (1, 2957003)}


def _any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


_NAMES = "|".join(_any_case(month) + f"(?:{_any_case(rest)})?" for month, rest in zip(MONTHS, _REST, strict=True))
_PARTS = {"YYYY": "[0-9]{4}", "YY": "[0-9]{2}", "MM": "[0-9]{1,2}", "DD": "[0-9]{1,2}", "MON": f"(?:{_NAMES})[.]?"}
_PART = re.compile("|".join(_PARTS))


def tidy(text: str) -> str:
    """Odd blanks as spaces, and none around."""
    return text.translate(_AS_SPACES).strip(SPACES)


def folded(text: str) -> str:
    """In lower case."""
    return text.translate(_AS_LOWER)


def escaped(text: str) -> str:
    """A text as a part of a pattern, without any backslash: engines read those in their own ways."""
    return "".join(c if c.isalnum() or c in " -" else f"[{c}]" for c in text)


@dataclass(frozen=True)
class DayPattern:
    """One order of day, month and year, such as ``MM/DD/YYYY``, as a pattern with three parts."""

    spelled: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts in their order."""
        return tuple(_PART.findall(self.spelled))

    def faults(self, where: str) -> list[str]:
        """One year, one month, one day, and nothing that a pattern could stumble over."""
        kinds = sorted(part[0] + part[-1] for part in self.parts)
        if kinds in (["DD", "MM", "YY"], ["DD", "MN", "YY"]) and not re.search(r"[\\^\]]", self.spelled):
            return []
        return [
            f"{where} has the date order {self.spelled!r}; write it with YYYY or YY, MM or MON, and DD, such as "
            f'"DD.MM.YYYY", or one of {", ".join(EXCEL)}.'
        ]

    @cached_property
    def pattern(self) -> str:
        """With the parts as groups; a number that has no separator after it has all its digits."""
        joined = not re.search("[^A-Z]", self.spelled) and "MON" not in self.parts
        body, place = "", 0
        for match in _PART.finditer(self.spelled):
            body += escaped(self.spelled[place : match.start()]).replace(" ", " *")
            part = _PARTS[match[0]]
            body += "(" + (part.replace("{1,2}", "{2}") if joined else part) + ")"
            place = match.end()
        return "^" + body + escaped(self.spelled[place:]).replace(" ", " *") + TIME + "$"

    def group(self, kind: str) -> int:
        """Which group holds the year (Y), month (M) or day (D)."""
        return 1 + [part[0] for part in self.parts].index(kind)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """For the reference."""
        return re.compile(self.pattern)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a column's values are written; the ``[columns.reading]`` table of a codebook."""

    strip: bool = False
    """Levels: blanks around a value do not count. In numbers and dates they never do."""
    fold: bool = False
    """Levels and codes: upper and lower case are the same."""
    decimal: str = "."
    """The decimal mark of its numbers: a point or a comma."""
    thousands: str = ""
    """What stands between groups of digits: a comma, a point, a space or an apostrophe."""
    taken_off: tuple[str, ...] = ()
    """Texts before or behind a number that are taken off: "$", "EUR", "%"."""
    parentheses: bool = False
    """Whether (12.50) means -12.50, as in accounts."""
    dates: tuple[str, ...] = ()
    """Orders of a date, tried one after the other: "MM/DD/YYYY", "DDMONYYYY", "YYYYMMDD", "excel"."""
    century: int = 1930
    """The first year that two digits can mean; spreadsheets take 1930 too."""
    missing: tuple[str, ...] = ()
    """Further codes that mean missing, such as "-8" or "999"."""
    means: Meanings = ()
    """Texts among numbers that stand for a number, such as "120 +" for 120."""

    @property
    def is_plain(self) -> bool:
        """Whether values are written by the plain convention."""
        return self == PLAIN

    def tidied(self, text: str) -> str:
        """A level or code, as two of them are compared."""
        text = tidy(text) if self.strip else text
        return folded(text) if self.fold else text

    def word(self, text: str) -> str:
        """A text among numbers or days, as two of them are compared; blanks around it do not count there."""
        return folded(tidy(text)) if self.fold else tidy(text)

    @cached_property
    def meaning(self) -> Mapping[str, str]:
        """The number that each text stands for."""
        return {self.word(text): number for text, number in self.means}

    @cached_property
    def words_taken_off(self) -> tuple[str, str] | None:
        """Patterns of what is taken off in front, the sign being kept as its group, and behind."""
        if not self.taken_off:
            return None
        words = "|".join(escaped(text) for text in sorted(self.taken_off, key=len, reverse=True))
        return f"^([+-]?) *({words}) *", f" *({words})$"

    @cached_property
    def grouped(self) -> str | None:
        """Pattern of a number with marks between its thousands; lakhs and crores are grouped by two."""
        if not self.thousands:
            return None
        mark = escaped(self.thousands)
        return f"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{2,3}})*{mark}[0-9]{{3}}({escaped(self.decimal)}[0-9]*)?$"

    @cached_property
    def ungrouped(self) -> str:
        """Pattern of a number with its decimal mark."""
        mark = escaped(self.decimal)
        return f"^[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?$"

    def number_text(self, text: str) -> str | None:
        """The plain spelling of the number that a text stands for, or None.

        >>> money = Reading(thousands=",", taken_off=("$",), parentheses=True, means=(("120 +", "120"),))
        >>> [money.number_text(text) for text in ("$1,234.50", "($7)", " 120 +", "12,34", "-$5")]
        ['1234.50', '-7', '120', None, '-5']
        """
        plain = tidy(text)
        if self.means and (means := self.meaning.get(self.word(text))) is not None:
            return means
        if self.parentheses:
            plain = re.sub("^[(](.*)[)]$", r"-\1", plain)
        if self.words_taken_off is not None:
            front, behind = self.words_taken_off
            plain = re.sub(behind, "", re.sub(front, r"\1", plain))
        if self.grouped is not None and re.search(self.grouped, plain):
            plain = plain.replace(self.thousands, "")
        return plain.replace(self.decimal, ".") if re.search(self.ungrouped, plain) else None

    @cached_property
    def day_patterns(self) -> tuple[DayPattern, ...]:
        """The orders of a date that are spelled, serials aside."""
        return tuple(DayPattern(order) for order in self.dates if order not in EXCEL)

    def year_text(self, year: str) -> str:
        """A year of two digits with its century."""
        if len(year) == 4:
            return year
        start = self.century // 100
        return f"{start if int(year) >= self.century % 100 else start + 1}{year}"

    def faults(self, where: str, *, may_miss: bool) -> list[str]:
        """Everything wrong with it on its own."""
        faults = []
        if self.decimal not in (".", ","):
            faults.append(f"{where} has the decimal mark {self.decimal!r}; it must be a point or a comma.")
        if self.thousands not in ("", ",", ".", " ", "'", "\u2019", "_"):
            faults.append(
                f"{where} has the thousands mark {self.thousands!r}; it must be a comma, a point, a space or an "
                "apostrophe."
            )
        if self.thousands == self.decimal:
            faults.append(
                f"{where} has {self.decimal!r} for both the decimal and the thousands mark; they must differ."
            )
        if bad := [text for text in self.taken_off if not text.strip() or re.search(r"[0-9\\^\]\[]", text)]:
            faults.append(f"{where} takes off {bad[0]!r}; name a text without digits, brackets and backslashes.")
        if bad := [number for _, number in self.means if not re.fullmatch(PLAIN.ungrouped, number)]:
            faults.append(f'{where} has a text that means {bad[0]!r}; write a plain number in quotes, such as "120".')
        if len(self.meaning) < len(self.means):
            faults.append(f"{where} gives a text two meanings (blanks and case aside); give each one.")
        if self.missing and not may_miss:
            faults.append(
                f'{where} lists codes that mean missing, and the column has no missing level; write missing = "NA".'
            )
        if not 1000 <= self.century <= 9900:
            faults.append(f"{where} has the century {self.century}; it must be a year, such as 1930.")
        return [*faults, *(fault for pattern in self.day_patterns for fault in pattern.faults(where))]


PLAIN = Reading()
