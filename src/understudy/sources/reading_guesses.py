"""How the values of a column are written, guessed from them for a draft: marks of numbers, orders of dates, odd codes.

Guesses are made from the distinct values of a column, or from examples of every shape where there are very many; the
draft then reads the whole column by them and keeps only what fits. Where a guess could be wrong, the person who drafts
is told, with examples.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from understudy.codebook.encode import day_of, number_of
from understudy.codebook.readings import BLANKS, PLAIN, Reading, tidy

MOST_CODES = 12
"""So many texts among numbers may be codes; where there are more, the column is no number."""

CURRENCIES = ("US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "CAD", "AUD", "SEK",
              "NOK", "DKK", "PLN", "CZK", "kr", "zł", "Fr.", "Rs.")  # fmt: skip
_CURRENCY = "|".join(re.escape(text) for text in sorted(CURRENCIES, key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?P<open>[(])?[+-]?\s*(?P<front>{_CURRENCY})?\s*[+-]?"
    r"(?P<body>[0-9][0-9.,' \u2019]*|[.,][0-9]+)(?P<power>[eE][+-]?[0-9]+)?"
    rf"\s*(?P<behind>%|{_CURRENCY}|[A-Za-zµ°/]{{1,8}})?\s*(?P<close>[)])?"
)
_BOUND = re.compile(
    r"(?:>=|<=|>|<|≥|≤|over|under)?\s*([+-]?[0-9][0-9.,]*)\s*"
    r"(?:\+|plus|and over|and above|and older|or more|or older|or over|or above|\*)?",
    re.IGNORECASE,
)
_MISSING_WORDS = frozenset(
    ("unknown", "unk", "missing", "not available", "not recorded", "not known", "no data", "n.a.", "k.a.", "#n/a",
     "#value!", "#div/0!", "#ref!", "#name?", "#num!", "-", "--", "---", "\u2013", "\u2014", "*", "(blank)", "nil",
     "unbekannt", "inconnu", "undefined", "00/00/0000", "0000-00-00", "00.00.0000")
)  # fmt: skip
_HIGH = re.compile("9{2,}|9+[678]|8{2,}|7{2,}")
_LOW = re.compile("-(?:[1-9]|9{2,}|9+[678]|8{2,}|7{2,})")
_NAMED_DATE = re.compile("(?i)(^|[^a-z])(date|datum|dates|dob|dod|dt|fecha|dato|datetime)([^a-z]|$)|[a-z]Date|_dt$")
_NAMED_CODE = re.compile("(?i)(^|[^a-z])(zip|postal|postcode|plz|code|codes|icd|drg|id|nr|no|key|number|num)([^a-z]|$)")
_SEPARATED = ("{0}/{1}/{2}", "{0}-{1}-{2}", "{0}.{1}.{2}")
_NAMED_ORDERS = ("DDMONYYYY", "DD-MON-YYYY", "DD MON YYYY", "DD.MON.YYYY", "DD/MON/YYYY", "MON DD, YYYY", "MON DD YYYY",
                 "MON-DD-YYYY", "YYYY-MON-DD", "DDMONYY", "DD-MON-YY", "DD MON YY", "DD/MON/YY")  # fmt: skip
_YEAR_FIRST = tuple(form.format("YYYY", "MM", "DD") for form in _SEPARATED)


@dataclass(frozen=True, kw_only=True)
class GuessedReading:
    """A guessed reading with its special codes, or why the values cannot be read one way."""

    reading: Reading = PLAIN
    special: tuple[str, ...] = ()
    why_not: str = ""
    """Said where the column has to be left out."""
    doubts: tuple[str, ...] = ()
    """What a person must look at: sentences about what else the values could mean."""
    is_date: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nothing is to be read in another way than the plain convention."""
        return self.reading.is_plain and not self.special

    swapped: tuple[str, ...] = ()
    """The orders of dates to take if other columns show that days come first, or months."""


PLAINLY = GuessedReading()


@dataclass(frozen=True, kw_only=True)
class Clues:
    """What the rest of the file says about how people wrote it."""

    days_first: bool | None = None


def guess_dates(texts: Sequence[str], clues: Clues) -> GuessedReading | None:
    """The orders in which all texts are dates; None where most are none."""
    left = [text for text in map(tidy, texts) if text.lower() not in _MISSING_WORDS]
    if not left or not all(re.search("[0-9]", text) for text in left):
        return None
    orders: list[str] = []
    doubts: list[str] = []
    swapped: tuple[str, ...] = ()
    candidates = ["YYYY-MM-DD", *_YEAR_FIRST, *_NAMED_ORDERS, "YYYYMMDD"]
    rest = _unread(left, orders := _cover(left, candidates))
    for form in _SEPARATED:
        for year in ("YYYY", "YY"):
            own = [text for text in rest if _looks(text, form, year)]
            if not own:
                continue
            day_first, month_first = form.format("DD", "MM", year), form.format("MM", "DD", year)
            bad = {order: [text for text in own if _read(text, [order]) is None] for order in (day_first, month_first)}
            if bad[day_first] and bad[month_first]:
                if not [text for text in own if _read(text, [day_first, month_first]) is None]:
                    return GuessedReading(
                        is_date=True,
                        why_not=f"its dates are written in two orders, such as {bad[month_first][0]!r} and "
                        f"{bad[day_first][0]!r}, so that nobody can tell which of the others are which; write them all "
                        "in one order",
                    )
                return None
            chosen = day_first if not bad[day_first] else month_first
            if not bad[day_first] and not bad[month_first]:
                wants = clues.days_first if clues.days_first is not None else "/" not in form
                chosen, other = (day_first, month_first) if wants else (month_first, day_first)
                swapped = (other,)
                doubts.append(
                    f"no day is above 12, so that {own[0]!r} may be read in two ways; it is taken as {chosen}, and "
                    f"{other} is the other way"
                )
            if year == "YY":
                doubts.append(f"years have two digits; {own[0]!r} is taken as {_read(own[0], [chosen])}")
            orders.append(chosen)
            rest = _unread(rest, [chosen])
    if not orders:
        return None
    codes = tuple(dict.fromkeys(text for text in map(tidy, texts) if text.lower() in _MISSING_WORDS))
    if len(rest) > 0:
        return None
    reading = Reading(dates=() if orders == ["YYYY-MM-DD"] else tuple(orders), missing=codes)
    return GuessedReading(reading=reading, doubts=tuple(doubts), is_date=True, swapped=swapped)


def _looks(text: str, form: str, year: str) -> bool:
    mark = form[3]
    digits = "4" if year == "YYYY" else "2"
    return re.match(f"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{{digits}}}(?![0-9])", text) is not None


def _read(text: str, orders: Sequence[str]) -> object:
    return day_of(text, Reading(dates=tuple(orders)))


def _unread(texts: Sequence[str], orders: Sequence[str]) -> list[str]:
    return [text for text in texts if not orders or _read(text, orders) is None]


def _cover(texts: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """The orders that read some of the texts, those that read most first; no two of them read the same text."""
    orders: list[str] = []
    left = list(texts)
    while left:
        many = {order: sum(_read(text, [order]) is not None for text in left) for order in dict.fromkeys(candidates)}
        best = max(many, key=lambda order: many[order])
        if not many[best]:
            break
        orders.append(best)
        left = _unread(left, [best])
    return orders


def guess_serials(name: str, least: float, most: float, whole: bool) -> GuessedReading | None:
    """Plain numbers that are days: 20200531, or serials of a spreadsheet in a column that is called a date."""
    if not whole:
        return None
    if 19000101 <= least < most <= 21001231:
        return GuessedReading(reading=Reading(dates=("YYYYMMDD",)), is_date=True)
    if 10000 <= least < most <= 60000 and _NAMED_DATE.search(name):
        doubt = f"numbers in a column called {name!r} are taken for days of a spreadsheet (1 is 1 January 1900)"
        return GuessedReading(reading=Reading(dates=("excel",)), is_date=True, doubts=(doubt,))
    return None


def is_called_a_code(name: str) -> bool:
    """Whether a column's name says that its numbers are names: then its texts stay levels."""
    return _NAMED_CODE.search(name) is not None


def guess_numbers(texts: Sequence[str]) -> GuessedReading | None:
    """The marks by which nearly all texts are numbers, and what the others are; None where they are none."""
    tidied = [tidy(text) for text in texts]
    amounts = {text: match for text in tidied if (match := _AMOUNT.fullmatch(text)) is not None}
    if len(amounts) < 2 or len(tidied) - len(amounts) > MOST_CODES:
        return None
    units = {match["behind"] for match in amounts.values() if match["behind"]} - {"%", *CURRENCIES}
    if units:  # a unit stands behind (nearly) all values, or it is no unit
        named = [text for text, match in amounts.items() if match["behind"] in units]
        if len(units) > 1 or len(named) < 0.5 * len(amounts):
            amounts = {text: match for text, match in amounts.items() if match["behind"] not in units}
            units = set()
    if len(amounts) < 2 or len(tidied) - len(amounts) > MOST_CODES:
        return None
    marks = _guess_marks([match["body"].strip() for match in amounts.values()])
    if marks.why_not:
        return marks
    taken = dict.fromkeys(text for match in amounts.values() for text in (match["front"], match["behind"]) if text)
    reading = replace(
        marks.reading,
        taken_off=tuple(taken),
        strip=any(blank in text for text in texts for blank in BLANKS),
        parentheses=any(match["open"] and match["close"] for match in amounts.values()),
    )
    odd = list(dict.fromkeys(text for text in tidied if reading.number_text(text) is None))
    return with_codes(replace(marks, reading=reading), odd)


def with_codes(found: GuessedReading, odd: Iterable[str]) -> GuessedReading:
    """The reading with the texts that are no numbers: bounds stand for their number, words for missing or for
    themselves.
    """
    means, missing, special = dict(found.reading.means), list(found.reading.missing), list(found.special)
    for text in odd:
        bound = _BOUND.fullmatch(text)
        number = None if bound is None else found.reading.number_text(bound[1])
        if text.lower() in _MISSING_WORDS:
            missing.append(text)
        elif number is not None:
            means[text] = number
        else:
            special.append(text)
    doubts = found.doubts
    if special:
        doubt = f"{_listed(special)} may also mean missing; then write it under missing, not under special"
        doubts = tuple(dict.fromkeys((*doubts, doubt)))
    reading = replace(found.reading, means=tuple(means.items()), missing=tuple(dict.fromkeys(missing)))
    return replace(found, reading=reading, special=tuple(dict.fromkeys(special)), doubts=doubts)


def _guess_marks(bodies: Sequence[str]) -> GuessedReading:
    """Which mark parts thousands and which decimals."""
    spaced = next((mark for mark in ("'", "\u2019", " ") if any(mark in body for body in bodies)), "")
    bare = [body.replace(spaced, "") if spaced else body for body in bodies]
    points = [body for body in bare if "." in body]
    commas = [body for body in bare if "," in body]
    both = [body for body in bare if "." in body and "," in body]
    if both:
        decimal = "." if all(body.rindex(".") > body.rindex(",") for body in both) else ","
        if decimal == "," and not all(body.rindex(",") > body.rindex(".") for body in both):
            return _mixed(both)
        return GuessedReading(reading=Reading(decimal=decimal, thousands="," if decimal == "." else "."))
    grouped = re.compile("[0-9]{1,3}(,[0-9]{2,3})*,[0-9]{3}")
    dotted = re.compile("[0-9]{1,3}([.][0-9]{3}){2,}")
    whole_commas = all(grouped.fullmatch(body) for body in commas)
    if commas and points:
        if whole_commas:  # 1,234 and 12.5
            return GuessedReading(reading=Reading(thousands=","))
        if all(re.fullmatch("[0-9]{1,3}([.][0-9]{3})+", body) for body in points):  # 1.234 and 12,5
            return GuessedReading(reading=Reading(decimal=",", thousands="."))
        return _mixed([commas[0], points[0]])
    if commas and whole_commas:
        doubts: tuple[str, ...] = ()
        if not any(body.count(",") > 1 for body in commas):
            taken = f"{commas[0]!r} is taken as {commas[0].replace(',', '')}"
            doubts = (f"every comma has three digits behind it, so {taken}; the comma may also be a decimal mark",)
        return GuessedReading(reading=Reading(thousands=","), doubts=doubts)
    if commas:
        if any(body.count(",") > 1 for body in commas):
            return _mixed(commas)
        return GuessedReading(reading=Reading(decimal=",", thousands=spaced))
    if any(dotted.fullmatch(body) for body in points):
        return GuessedReading(reading=Reading(decimal=",", thousands="."))
    return GuessedReading(reading=Reading(thousands=spaced))


def _mixed(bodies: Sequence[str]) -> GuessedReading:
    return GuessedReading(
        why_not=f"its numbers are written in two ways, such as {bodies[0]!r} and {bodies[-1]!r}, so that nobody can "
        "tell points from commas; write them all alike"
    )


def guess_sentinels(low: Sequence[tuple[float, int]], high: Sequence[tuple[float, int]]) -> tuple[str, ...]:
    """Codes such as -8 or 999 that lie far from all other numbers; given are the ends, each number with its count.

    Below: whole negative codes where nothing else is negative. Above: codes of nines (or 88, 77) that are further from
    the rest than the rest is wide. Codes that occur once may be values, and stay.

    >>> guess_sentinels([(-9.0, 4), (-8.0, 40), (0.0, 3)], [(999.0, 7), (97.0, 1), (96.0, 2)])
    ('-9', '-8', '999')
    """
    below = [(value, count) for value, count in low if value < 0]
    codes = [value for value, _ in below if value == int(value) and _LOW.fullmatch(str(int(value)))]
    if len(codes) < len(below) or len(below) == len(low) or sum(count for _, count in below) < 2:
        codes = []
    least = next((value for value, _ in low if value not in codes), 0.0)
    above: list[float] = []
    seen = 0
    for value, count in high:
        if value != int(value) or not _HIGH.fullmatch(str(int(value))):
            break
        above.append(value)
        seen += count
    while above:
        rest = next((value for value, _ in high if value < above[-1]), None)
        if rest is not None and above[-1] - rest > max(rest - least, 1) and seen > 1:
            break
        above.pop()
    return tuple(str(int(value)) for value in (*codes, *reversed(above)))


def guess_levels(counts: Mapping[str, int]) -> tuple[Reading, dict[str, tuple[str, ...]]]:
    """Whether blanks around levels and their case are slips, and the levels with all the ways they are written."""
    reading = Reading(strip=any(tidy(level) != level for level in counts))
    by_case: dict[str, list[str]] = {}
    for level in counts:
        by_case.setdefault(Reading(strip=reading.strip, fold=True).tidied(level), []).append(level)
    slips = {word: levels for word, levels in by_case.items() if len({reading.tidied(level) for level in levels}) > 1}
    # short codes may well differ by case: a and A are two genes
    if slips and all(sum(letter.isalpha() for letter in word) >= 3 for word in slips):
        reading = replace(reading, fold=True)
    groups: dict[str, list[str]] = {}
    for level in counts:
        groups.setdefault(reading.tidied(level), []).append(level)
    merged = {}
    for levels in groups.values():
        spelled = max(levels, key=lambda level: (counts[level], level))
        merged[tidy(spelled) if reading.strip else spelled] = tuple(levels)
    return reading, merged


def readings_of(texts: Iterable[str], found: GuessedReading, most: int = 5) -> tuple[tuple[str, str], ...]:
    """Examples: texts as they are written and as they are read; the odd ones first."""
    odd: list[tuple[str, str]] = []
    plain: list[tuple[str, str]] = []
    for text in texts:
        if found.is_date:
            read = str(day_of(text, found.reading) or "missing")
        elif found.reading.word(text) in {found.reading.word(code) for code in found.special}:
            read = "a value of its own"
        else:
            number = number_of(text, found.reading)
            read = "missing" if number is None or _is_code(number, found.reading) else f"{number:.12g}"
        (odd if not read[0].isdigit() or text in found.reading.meaning else plain).append((text, read))
    return tuple([*odd[: max(most - 2, 1)], *plain][:most])


def words_of(found: GuessedReading) -> str:
    """The rules in words."""
    reading, words = found.reading, []
    if reading.dates:
        words.append(f"dates are written as {' or '.join(reading.dates)}")
    elif found.is_date:
        words.append("dates are written as YYYY-MM-DD")
    if reading.decimal != ".":
        words.append("a comma is the decimal mark")
    if reading.thousands:
        words.append(f"{reading.thousands!r} stands between thousands")
    if reading.taken_off:
        words.append(f"{_listed(reading.taken_off)} beside a number is taken off")
    if reading.parentheses:
        words.append("(5) means -5")
    words += [f"{text!r} stands for {number}" for text, number in reading.means[:5]]
    if reading.missing:
        words.append(f"{_listed(reading.missing)} means missing")
    if found.special:
        words.append(f"{_listed(found.special)} is a value of its own beside the numbers")
    return "; ".join(words) + "."


def _is_code(number: float, reading: Reading) -> bool:
    return any(number == number_of(code, reading) for code in reading.missing)


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:5])) + (", ..." if len(texts) > 5 else "")
