"""Hypothesis strategies for codebooks, columns and the values people put into tables."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from understudy.codebook import (
    Attestation,
    Categorical,
    Codebook,
    Column,
    Continuous,
    Dates,
    Generalisation,
    Grain,
    Integer,
    Ordinal,
    Origin,
    Role,
    Text,
)

AWKWARD = (
    "a,b", 'say "hi"', "two\nlines", "\r\n", "😀", "=1+1", "@cmd", "'", "\\", "#", " space ", "\t", "NA", "null",
    "1", "1.0", "true", "2020-01-01", "ß", "e\u0301", "\u200b", "{}", "[[columns]]", "\x01", "\x7f", '"""', "%s", "-0",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8),
)
dates = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
attestations = st.builds(Attestation, by=texts.filter(str.strip), source=texts.filter(str.strip), on=dates)


@st.composite
def edges(draw: st.DrawFn, digits: int) -> tuple[Fraction, ...]:
    """Rising numbers with at most ``digits`` decimals, never closer than one step apart."""
    steps = draw(st.lists(st.integers(-(10**7), 10**7), min_size=3, max_size=6, unique=True))
    return tuple(Fraction(step, 10**digits) for step in sorted(steps))


def columns(name: str, *, plain: bool = False) -> st.SearchStrategy[Column]:
    """A modelled column of any kind; ``plain`` leaves out what has nothing to do with codes."""
    return _columns(name, plain=plain).filter(lambda column: not column.faults())


@st.composite
def _columns(draw: st.DrawFn, name: str, *, plain: bool) -> Column:
    common: dict[str, Any] = {"name": name}
    kind = draw(st.sampled_from(["categorical", "ordinal", "integer", "continuous", "date"]))
    levels = draw(st.lists(texts, min_size=2, max_size=5, unique=True))
    common["missing"] = draw(st.none() | st.just("") | texts.filter(lambda text: text not in levels))
    if not plain:
        common["role"] = draw(st.sampled_from([role for role in Role if role is not Role.IDENTIFIER]))
        common["description"] = draw(st.just("") | texts)
        common["origin"] = draw(st.sampled_from([Origin.DECLARED, Origin.DRAFTED]))
        common["attestation"] = draw(st.none() | attestations)
    if kind in ("categorical", "ordinal"):
        common["other"] = draw(st.none() | st.sampled_from(levels))
        if not plain and draw(st.booleans()):
            groups = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
            lots = [draw(st.sampled_from(groups)) for _ in levels]
            members = tuple((g, tuple(v for v, lot in zip(levels, lots, strict=True) if lot == g)) for g in groups)
            common["hierarchy"] = (Generalisation(name=draw(texts), groups=members),)
        return (Categorical if kind == "categorical" else Ordinal)(levels=tuple(levels), **common)
    if kind == "date":
        start = draw(st.dates(dt.date(1900, 1, 1), dt.date(2050, 1, 1)))
        grain = draw(st.sampled_from(Grain))
        width = {Grain.DAY: 1, Grain.WEEK: 7, Grain.MONTH: 31, Grain.YEAR: 366}[grain]
        return Dates(grain=grain, start=start, end=start + dt.timedelta(days=width * draw(st.integers(1, 9))), **common)
    common["closed"] = draw(st.sampled_from(["left", "right"]))
    common["clip"] = draw(st.booleans())
    if kind == "integer":
        return Integer(edges=draw(edges(0)), **common)
    precision = draw(st.integers(0, 4))
    return Continuous(edges=draw(edges(precision)), precision=precision, **common)


@st.composite
def codebooks(draw: st.DrawFn, *, plain: bool = False, most: int = 4) -> Codebook:
    """A codebook of a few columns, ``plain`` with names an engine takes without ado."""
    number = draw(st.integers(1, most))
    if plain:
        names = [f"c{position}" for position in range(number)]
    else:
        names = draw(st.lists(texts, min_size=number, max_size=number, unique=True))
    made = [draw(columns(name, plain=plain)) for name in names]
    if not plain:
        if draw(st.booleans()):
            others = tuple(draw(st.lists(st.sampled_from(names[1:]), unique=True))) if names[1:] else ()
            made[0] = replace(made[0], parents=others)
        if draw(st.booleans()) and "the id" not in names:
            made.append(Text(name="the id", role=Role.IDENTIFIER))
    return Codebook(columns=tuple(made), title=draw(st.just("") | texts), description=draw(st.just("") | texts))


def text_values(column: Column) -> st.SearchStrategy[str | None]:
    """Texts that lie in, at the edge of, or outside a column."""
    near = [
        *column.labels,
        "NA",
        "",
        " ",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "0x10",
        "1_0",
        "1,5",
        "٣",
        "５",
        ".",
        "+",
        "1e",
        "e1",
    ]
    near += ["+1", "-0", "1.", ".5", " 7 ", "\u00a07", "1e3", "1E-3", "--1", "2020-1-1", "2020/01/01", "2020-02-30"]
    near += ["2020-01-01 10:00", "2020-01-01T10:00:00Z", "2020-01-01 x", "20200101", "2020-01-01\n"]
    if isinstance(column, Integer | Continuous):
        near += [str(float(edge)) for edge in column.edges] + [f" {float(edge)!r}\t" for edge in column.edges]
    if isinstance(column, Dates):
        near += [str(day) for day in _around(column)]
    return st.one_of(
        st.none(), st.sampled_from(near), texts, st.integers(-(10**8), 10**8).map(str), st.floats().map(repr)
    )


def typed_values(column: Column) -> st.SearchStrategy[list[Any]]:
    """A list of values of one type, as a typed engine column holds them."""
    whole = [int(edge) for edge in column.edges] if isinstance(column, Integer | Continuous) else [0, 1]
    broken = [float(edge) for edge in column.edges] if isinstance(column, Integer | Continuous) else [1.0, 2.5]
    days = st.sampled_from(_around(column)) if isinstance(column, Dates) else dates
    kinds = (
        st.sampled_from(whole) | st.integers(-(2**53), 2**53),
        st.sampled_from(broken) | st.floats(),
        days | dates,
        (days | dates).map(lambda day: dt.datetime(day.year, day.month, day.day, 23, 59, 59)),
        st.booleans(),
    )
    return st.sampled_from(kinds).flatmap(lambda kind: st.lists(st.none() | kind, min_size=1, max_size=12))


def _around(column: Dates) -> list[dt.date]:
    days = [column.start, column.end, *column.firsts]
    return [day + dt.timedelta(days=shift) for day in days for shift in (-1, 0, 1)]
