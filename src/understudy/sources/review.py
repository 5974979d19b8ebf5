"""What looks dangerous in the columns of a table, as questions to the person who holds it.

Everything found here is confidential: it goes to the holder's screen and nowhere else. The codebook keeps the answers
and who gave them, never a reason. Every column is asked about, whatever the data look like; one answer settles a panel
of columns of one kind.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.codebook import Categorical, Codebook, Coded, Column, Dates, Levelled, Number, Ordinal, Role
from understudy.codebook.encode import number_of
from understudy.errors import DataError
from understudy.pages.numbers import number
from understudy.sources.check import check_table
from understudy.sources.expressions import as_text, present
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, open_table
from understudy.texts import room_texts

_MOST_VALUES = 2000
"""Distinct values of a column that are looked at one by one; the most frequent come first."""
_FEW = 5
"""Records of a level that few people could have caused."""
_NEARLY_ALL = 0.99
_SPIKE = 0.2
_ONCE, _OFTEN = 1.01, 5.0
"""Rows of one value of a column that tells people apart, on average; places and wards have more."""
_PERSON_WORDS = re.compile(r"patient|person|member|subject|mrn|ssn", re.I)
_ID_WORDS = re.compile(
    r"(^|[^a-z])(id|ids|nr|nbr|no|num|number|key|uuid|guid)([^a-z]|$)|" + _PERSON_WORDS.pattern, re.I
)
_CODE_WORDS = re.compile(
    r"(^|[^a-z])(id|code|cd|type|class|zip|icd|drg|ccs|fips|naics|sic|category)([^a-z]|$)|[^a-z](nr|nbr|no|number)$",
    re.I,
)
_NAME_WORDS = re.compile(
    r"(^|[^a-z])(name|surname|firstname|lastname|street|address|email|e-mail|phone|comment|note)s?([^a-z]|$)", re.I
)
_CONTACT = re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}|[+(]?[0-9][0-9 ()/-]{7,}[0-9]", re.I)
_AMOUNT = re.compile(r"[^0-9]{0,4}[0-9][0-9,' ]*[.,][0-9]*[1-9][0-9]*[^0-9]{0,4}")
"""A number with decimals, perhaps money."""
_WORDS_FOR_MISSING = re.compile(
    r"[?.-]+|n\.?/?a\.?|null|nan|none|unk(nown)?|unknown/?invalid|missing|not (available|mapped|known|stated|recorded)",
    re.I,
)
_CODES_FOR_MISSING = {
    9.0,
    99.0,
    999.0,
    9999.0,
    99999.0,
    98.0,
    998.0,
    88.0,
    888.0,
    -1.0,
    -7.0,
    -8.0,
    -9.0,
    -99.0,
    -999.0,
}


@dataclass(frozen=True, kw_only=True)
class Looked:
    """One column of the data."""

    name: str
    rows: int
    present: int
    distinct: int
    values: tuple[tuple[str, int], ...]
    """Values with their counts, the most frequent first; not all of them where there are very many."""

    @property
    def is_complete(self) -> bool:
        """Whether every value is listed."""
        return len(self.values) == self.distinct

    @property
    def numbers(self) -> list[tuple[float, int]]:
        """Those values that are numbers, rising."""
        read = ((number_of(value), count) for value, count in self.values)
        return sorted((value, count) for value, count in read if value is not None)


def _say(*keys: str, **values: Any) -> str:
    """A sentence of ours with these values; texts of the data are among them, so none is a pattern itself."""
    words: Any = room_texts("sources", "review")
    for key in keys:
        words = words[key]
    return str(words).format(**values)


def _in_rows(value: str, rows: int) -> str:
    return _say("missing_one" if rows != 1 else "missing_once", value=value, n=f"{rows:,}")


def _told(value: float) -> str:
    """A number as people write it: short where that is exact enough, and never with an exponent.

    >>> _told(1990.0), _told(2.5), _told(2e8)
    ('1990', '2.5', '200,000,000')
    """
    short = f"{value:g}"
    return number(value) if "e" in short else short


def tie_sentence(words: str, support: int, *, never_with: str | None = None) -> str:
    """What a column has to do with another one."""
    if never_with is not None:
        return _say("never_together", column=never_with, n=f"{support:,}")
    return _say("tied", words=words, n=f"{support:,}")


@dataclass(frozen=True, kw_only=True)
class Danger:
    """Something about one column that the holder should know before saying that it is public."""

    topic: str
    sentence: str
    answer: str = ""
    """What an answer could be besides ``yes``."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question about one or several columns."""

    id: str
    asks: str
    columns: tuple[str, ...]
    sees: Mapping[str, tuple[str, ...]]
    """What was seen in each column. Confidential."""
    proposed: str
    suggested: Mapping[str, str] = field(default_factory=dict)
    """What the answer ``proposed`` stands for, column by column."""
    answers: tuple[str, ...]
    """What may be answered, for all columns of the question or for one of them."""


def look_at_columns(what: Any, book: Codebook, *, table: str | None = None) -> dict[str, Looked]:
    """Values and counts of every column that the codebook describes and the table has."""
    faults = [fault for fault in check_table(what, book, table=table) if fault.is_fatal and fault.kind != "broken rule"]
    if faults:
        more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
        raise DataError(
            f"the codebook does not fit the data: {faults[0].sentence}{more} A review of other columns than those of "
            "the data would say nothing; `understudy codebook check` lists every fault."
        )
    opened = open_table(what, table, file=book.file)
    if opened.connection.name != "duckdb":
        raise DataError(
            f"{opened.label}: a review shows values, and only counts leave a database through Understudy. Review a "
            "small export in a safe place, with the same codebook."
        )
    names = [column.name for column in book.columns if column.name in opened.header]
    with engine_errors(repr(opened.label)):
        return {looked.name: looked for looked in _looked_at(opened, names)}


def _looked_at(opened: Opened, names: Sequence[str]) -> Iterator[Looked]:
    """One scan into a table of texts, which is grouped column by column."""
    texts = {f"v{place}": as_text(present(opened.value(name))) for place, name in enumerate(names)}
    scan = opened.connection.compile(opened.table.select(**texts))
    run = opened.connection.raw_sql
    run(f"CREATE OR REPLACE TEMP TABLE understudy_review AS {scan}")
    try:
        rows = int(run("SELECT count(*) FROM understudy_review").fetchone()[0])
        for place, name in enumerate(names):
            seen = run(
                f"SELECT v, n, count(*) OVER (), sum(n) OVER () FROM (SELECT v{place} AS v, count(*) AS n "
                f"FROM understudy_review WHERE v{place} IS NOT NULL GROUP BY v{place}) "
                f"ORDER BY n DESC, v LIMIT {_MOST_VALUES}"
            ).fetchall()
            yield Looked(
                name=name,
                rows=rows,
                present=int(seen[0][3]) if seen else 0,
                distinct=int(seen[0][2]) if seen else 0,
                values=tuple((str(value), int(count)) for value, count, *_ in seen),
            )
    finally:
        run("DROP TABLE IF EXISTS understudy_review")


def dangers(column: Column, seen: Looked) -> list[Danger]:
    """Everything about a column that could be waved through by mistake."""
    listed = [danger for look in _LOOKS for danger in [look(column, seen)] if danger is not None]
    return listed if seen.present else [Danger(topic="empty", sentence=_say("empty"))]


def _id(column: Column, seen: Looked) -> Danger | None:
    """A value per record, or per person."""
    if seen.distinct < max(20, 0.02 * seen.rows) or not _could_be_id(column, seen):
        return None
    if seen.distinct >= 0.99 * seen.present:
        return Danger(topic="id", sentence=_say("id", n=f"{seen.distinct:,}"), answer="drop")
    each = seen.present / seen.distinct
    if each >= _ONCE and (each <= _OFTEN or _PERSON_WORDS.search(column.name)):
        return Danger(
            topic="person",
            sentence=_say("person", n=f"{seen.distinct:,}", each=f"{each:.2f}"),
            answer="drop",
        )
    return None


def _could_be_id(column: Column, seen: Looked) -> bool:
    if isinstance(column, Dates):
        return False
    amounts = sum(bool(_AMOUNT.fullmatch(value)) for value, _ in seen.values)
    if amounts > len(seen.values) / 2:
        return False
    return bool(_ID_WORDS.search(column.name)) or not column.is_modelled


def _names(column: Column, seen: Looked) -> Danger | None:
    """Names of people, addresses, free text."""
    if isinstance(column, Number | Dates) or not seen.values:
        return None
    contacts = sum(bool(_CONTACT.fullmatch(value.strip())) and not number_of(value) for value, _ in seen.values)
    lengths = [len(value.split()) for value, _ in seen.values]
    if _NAME_WORDS.search(column.name) or contacts > len(seen.values) / 2:
        example = seen.values[-1][0]
        rare = sum(count < _FEW for _, count in seen.values)
        if rare:  # the most frequent are listed, so that whatever is not is as rare
            rare += seen.distinct - len(seen.values)
        return Danger(
            topic="names",
            sentence=_say("names", example=example, rare=f"{rare:,}", n=f"{seen.distinct:,}", few=_FEW),
            answer="drop",
        )
    if sum(lengths) / len(lengths) >= 5 and seen.distinct > 0.5 * seen.present:
        return Danger(topic="names", sentence=_say("free_text", example=seen.values[0][0][:40]), answer="drop")
    return None


def _codes(column: Column, seen: Looked) -> Danger | None:
    """Numbers that are names: bins and orders say nothing about them."""
    numbers = seen.numbers
    if not isinstance(column, Number | Ordinal) or not numbers or not seen.is_complete:
        return None
    if not all(value.is_integer() for value, _ in numbers) or not _CODE_WORDS.search(column.name):
        return None
    if isinstance(column, Number):
        sentence = _say("codes_in_bins", n=f"{seen.distinct:,}", bins=column.proper_levels)
    else:
        sentence = _say("codes_in_order", n=f"{seen.distinct:,}")
    return Danger(topic="codes", sentence=sentence, answer="levels")


def _missing(column: Column, seen: Looked) -> Danger | None:
    """Values that say that there is none."""
    if isinstance(column, Levelled):
        words = [v for v, _ in seen.values if v != column.missing and _WORDS_FOR_MISSING.fullmatch(v.strip())]
        counts = dict(seen.values)
        shown = ", ".join(_in_rows(repr(word), counts[word]) for word in words[:4])
        return (
            Danger(topic="missing", sentence=_say("missing", values=shown), answer=f"missing={','.join(words)}")
            if words
            else None
        )
    numbers = seen.numbers
    if not isinstance(column, Number) or len(numbers) < 3:
        return None
    for end, beside in ((numbers[-1], numbers[-2]), (numbers[0], numbers[1])):
        spread = max(1.0, abs(numbers[-2][0] - numbers[1][0]))
        lonely = abs(end[0] - beside[0]) > 0.2 * spread
        if end[0] in _CODES_FOR_MISSING and lonely and f"{end[0]:g}" != column.missing:
            sentence = _say("missing", values=_in_rows(_told(end[0]), end[1]))
            return Danger(topic="missing", sentence=sentence, answer=f"missing={end[0]:g}")
    return None


def _spikes(column: Column, seen: Looked) -> Danger | None:
    """One value that many records share among numbers."""
    if not isinstance(column, Number) or seen.distinct <= 20:
        return None
    value, count = seen.values[0]
    read = number_of(value)
    if read is None or count < _SPIKE * seen.present or any(float(s) == read for s in column.spikes):
        return None
    return Danger(topic="spike", sentence=_say("spike", value=value, share=f"{count / seen.present:.0%}"), answer="")


def _last_bin(column: Column, seen: Looked) -> Danger | None:
    """Values far beyond the others: they stretch the last bin, and are seen in it."""
    numbers = seen.numbers
    if not isinstance(column, Number) or not seen.is_complete or len(numbers) < 10:
        return None
    total, below = sum(count for _, count in numbers), 0
    quantile: dict[float, float] = {}
    for value, count in numbers:
        below += count
        for share in (0.5, 0.99):
            if below >= share * total:
                quantile.setdefault(share, value)
    reach = quantile[0.99] - quantile[0.5]
    largest = numbers[-1][0]
    beyond = sum(count for value, count in numbers if value > quantile[0.99] + 2 * reach)
    if reach <= 0 or largest <= quantile[0.99] + 3 * reach:
        return None
    return Danger(
        topic="outlier",
        sentence=_say(
            "outlier" if beyond != 1 else "outlier_one",
            n=f"{beyond:,}",
            largest=_told(largest),
            end=_told(quantile[0.99]),
        ),
    )


def _constant(column: Column, seen: Looked) -> Danger | None:
    """Nearly one value only: the others are few people."""
    if not column.is_modelled or not seen.values:
        return None
    value, count = seen.values[0]
    if seen.distinct == 1:
        return Danger(topic="constant", sentence=_say("always", value=value))
    if count >= _NEARLY_ALL * seen.present:
        others = seen.present - count
        words = "nearly" if others != 1 else "nearly_one"
        return Danger(topic="constant", sentence=_say(words, value=value, n=f"{others:,}"))
    return None


def _spelling(column: Column, seen: Looked) -> Danger | None:
    """Levels that differ by case or blanks."""
    if not isinstance(column, Levelled):
        return None
    alike: dict[str, list[str]] = {}
    for level in column.levels:
        alike.setdefault(" ".join(level.split()).casefold(), []).append(level)
    twins = [levels for levels in alike.values() if len(levels) > 1]
    if not twins:
        return None
    return Danger(topic="spelling", sentence=_say("spelling", values=", ".join(map(repr, twins[0]))), answer="merge")


def _rare(column: Column, seen: Looked) -> Danger | None:
    """Levels that one person could have caused."""
    if not isinstance(column, Levelled) or not column.is_modelled or not seen.is_complete:
        return None
    rare = [value for value, count in seen.values if count < _FEW]
    if not rare:
        return None
    shown = ", ".join(map(repr, rare[:3])) + (", ..." if len(rare) > 3 else "")
    words = "rare" if len(rare) > 1 else "rare_one"
    return Danger(topic="rare", sentence=_say(words, n=f"{len(rare):,}", few=_FEW, values=shown))


_ROLES = ("sensitive", "quasi-identifier")
_LOOKS = (_id, _names, _codes, _missing, _spikes, _last_bin, _constant, _spelling, _rare)

_PANELS = (
    ("left out", ("yes",)),
    ("ids", ("drop", "yes")),
    ("names", ("drop", "yes")),
    ("codes", ("levels", "yes", "drop")),
    ("mend", ("proposed", "yes", "drop", "missing=CODE")),
    ("numbers", ("yes", "drop", "levels", "missing=CODE")),
    ("dates", ("yes", "drop")),
    ("levels", ("yes", "drop", "missing=CODE", "merge")),
)
"""Every column stands in one of them. The first answer is the one that is proposed."""


def questions(
    book: Codebook, looked: Mapping[str, Looked], tied: Mapping[str, Sequence[str]] | None = None
) -> list[Question]:
    """Who is a person first, then every column once, in panels of one kind.

    ``tied`` are sentences about columns that fix each other or are never both present.
    """
    found = {c.name: dangers(c, looked[c.name]) for c in book.columns if c.name in looked}
    panels: dict[str, list[Column]] = {}
    for column in book.written:
        panels.setdefault(_panel(column, found.get(column.name, [])), []).append(column)
    asked = [*_person(book, found)]
    for name, answers in _PANELS:
        own = sorted(panels.get(name, ()), key=lambda column: -len(found.get(column.name, ())))
        if own:
            sees = {
                c.name: (_described(c), *_sentences(found.get(c.name, ()), (tied or {}).get(c.name, ()))) for c in own
            }
            suggested = {c.name: _suggested(found.get(c.name, ())) for c in own} if name == "mend" else {}
            # codes such as a race from 1 to 9 are drafted with an order
            unordered = ("levels",) if name == "levels" and any(isinstance(column, Ordinal) for column in own) else ()
            asked.append(
                Question(
                    id=name,
                    asks=_say("asks", name),
                    columns=tuple(sees),
                    sees=sees,
                    proposed=answers[0],
                    suggested=suggested,
                    answers=(*answers, *unordered, *_ROLES),
                )
            )
    return asked


def _suggested(found: Sequence[Danger]) -> str:
    return "; ".join(danger.answer for danger in found if danger.topic in ("missing", "spelling"))


def _panel(column: Column, found: Sequence[Danger]) -> str:
    topics = {danger.topic for danger in found}
    if not column.is_modelled and column.role is Role.IDENTIFIER:
        return "left out"
    if topics & {"id", "person"}:
        return "ids"
    if "names" in topics:
        return "names"
    if "codes" in topics:
        return "codes"
    if topics & {"missing", "spelling"}:
        return "mend"
    return "numbers" if isinstance(column, Number) else "dates" if isinstance(column, Dates) else "levels"


def _described(column: Column) -> str:
    if column.role is Role.IDENTIFIER:
        return _say("described", "left_out")
    kinds: dict[type, str] = {Categorical: "levels", Ordinal: "ordered"}
    if isinstance(column, Number):
        low, high = column.bounds
        words = "bins" if column.proper_levels != 1 else "bins_one"
        return _say("described", words, n=f"{column.proper_levels:,}", low=_told(low), high=_told(high))
    words = "coded" if isinstance(column, Coded) else kinds.get(type(column), "other")
    if words == "levels" and column.proper_levels == 1:
        words = "levels_one"
    shown = ", ".join(map(repr, column.labels[: min(4, column.proper_levels)]))  # a word for missing is no level
    more = ", ..." if column.proper_levels > 4 else ""
    return _say("described", words, n=f"{column.proper_levels:,}", kind=column.kind, labels=shown + more)


def _sentences(found: Sequence[Danger], tied: Sequence[str]) -> tuple[str, ...]:
    return (*(f"{d.sentence}" + (f" [{d.answer}]" if d.answer else "") for d in found), *tied)


def _person(book: Codebook, found: Mapping[str, Sequence[Danger]]) -> Iterator[Question]:
    """Asked of every table without a unit: whether several records can belong to one person."""
    if book.unit is not None:
        return
    candidates = {
        name: tuple(danger.sentence for danger in own if danger.topic == "person")
        for name, own in found.items()
        if any(danger.topic == "person" for danger in own)
    }
    names = tuple(candidates)
    yield Question(
        id="person",
        asks=_say("asks", "person"),
        columns=(),
        sees=candidates,
        proposed=f"{names[0]} CAP" if names else "no",
        answers=("no", "COLUMN CAP"),
    )
