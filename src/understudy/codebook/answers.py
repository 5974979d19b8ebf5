"""Answers of a review, and what they make of a codebook. Nothing of what was seen in the data comes here but levels
that the holder asked to be listed."""

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from understudy.codebook.book import Codebook
from understudy.codebook.coded import Coded
from understudy.codebook.columns import Categorical, Column, Levelled, Origin, Review, Role, Text
from understudy.codebook.encode import number_of
from understudy.codebook.numbers import Number
from understudy.codebook.unit import PersonUnit
from understudy.errors import CodebookError, ParameterError

_ROLES = (Role.SENSITIVE, Role.QUASI_IDENTIFIER, Role.OTHER)
_VERBS = ("yes", "proposed", "drop", "levels", "merge", "missing=CODE", *(role.value for role in _ROLES))
_PERSON = re.compile(r"(.+?)\s+([0-9]+)")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What the holder answered: to whole panels, and to single columns, which come first."""

    by: str
    panels: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    person: str | None = None
    """``no``, or the id column and the cap."""


def read_answers(data: Any, by: str | None, *, codebook: Codebook) -> Answers:
    """Answers as plain data: ``{"by": ..., "person": "patient 3", "panels": {...}, "columns": {...}}``."""
    known = ("by", "person", "panels", "columns")
    if not isinstance(data, Mapping) or set(data) - set(known):
        strange = (
            ", ".join(map(str, sorted(set(data) - set(known)))) if isinstance(data, Mapping) else type(data).__name__
        )
        raise ParameterError(
            f"the answers have {strange}; they may have {', '.join(known)}, such as [panels] levels = 'yes'."
        )
    for table in ("panels", "columns"):
        own = data.get(table, {})
        if not isinstance(own, Mapping) or not all(isinstance(answer, str) for answer in own.values()):
            raise ParameterError(f"`{table}` of the answers must be a table of texts, such as {{ age = 'yes' }}.")
    who = by or data.get("by")
    if not isinstance(who, str) or not who.strip():
        raise ParameterError("`by` is missing: name the person who answers, such as 'A. Meyer, registrar'.")
    person = data.get("person")
    if person is not None and not isinstance(person, str):
        raise ParameterError(f"`person` is {person!r}; answer 'no', or the id column and a cap, such as 'patient 3'.")
    for name, answer in data.get("columns", {}).items():
        check_answer(codebook.column(name).name, answer)
    for name, answer in data.get("panels", {}).items():
        check_answer(name, answer)
    _unit(codebook, person)
    return Answers(by=who.strip(), panels=data.get("panels", {}), columns=data.get("columns", {}), person=person)


def check_answer(name: str, answer: str) -> None:
    """Whether an answer about a column or panel is one, before anything is looked at."""
    for word in (part.strip() for part in answer.split(";")):
        if word not in _VERBS and not word.startswith("missing="):
            raise ParameterError(f"the answer {word!r} about {name!r} is none of {', '.join(_VERBS)}.")


def check_panels(answers: Answers, panels: Sequence[str]) -> None:
    """Whether every panel that is answered was asked about."""
    if strange := [name for name in answers.panels if name not in panels]:
        raise ParameterError(
            f"the answers name the panel {strange[0]!r}; this review asks about {', '.join(panels) or 'none'}."
        )


def reviewed_book(
    book: Codebook,
    answers: Answers,
    *,
    panel_of: Mapping[str, str],
    levels_of: Mapping[str, Sequence[str]],
    suggested: Mapping[str, str],
    on: dt.date,
) -> Codebook:
    """The codebook with the answers in it. Columns without an answer stay as they are, not reviewed.

    ``levels_of`` are the values of a column, for the answer ``levels``; ``suggested`` is what ``proposed`` stands for.
    """
    unit = _unit(book, answers.person)
    columns = []
    for column in book.columns:
        answer = answers.columns.get(column.name) or answers.panels.get(panel_of.get(column.name, ""))
        answer = suggested.get(column.name, "yes") if answer == "proposed" else answer
        is_id = unit is not None and column.name == unit.id
        if answer is None and not is_id:
            columns.append(column)
            continue
        chosen = _left_out(column) if is_id else _answered(column, answer or "yes", levels_of.get(column.name, ()))
        columns.append(replace(chosen, review=Review(by=answers.by, on=on, of=chosen.content)))
    return replace(book, columns=tuple(columns), unit=unit)


def _unit(book: Codebook, person: str | None) -> PersonUnit | None:
    if person is None or person.strip().lower() == "no":
        return book.unit
    match = _PERSON.fullmatch(person.strip())
    if match is None:
        raise ParameterError(
            f"`person` is {person!r}; name the id column and how many records of one person take part, such as "
            "'patient 3', or answer 'no'."
        )
    return PersonUnit(id=book.column(match[1].strip()).name, cap=int(match[2]))


def _answered(column: Column, answer: str, values: Sequence[str]) -> Column:
    """One answer, or several between semicolons."""
    for word in (part.strip() for part in answer.split(";")):
        verb, equals, given = word.partition("=")
        if word == "yes":
            continue
        if word == "drop":
            column = _left_out(column)
        elif word == "levels":
            column = _listed(column, values)
        elif word == "merge":
            column = _merged(column)
        elif verb == "missing" and equals:
            column = _with_missing(column, [code.strip() for code in given.split(",") if code.strip()], values)
        elif column.role is not Role.IDENTIFIER:
            column = replace(column, role=Role(word))
    return column


def _left_out(column: Column) -> Column:
    if isinstance(column, Text):
        return column
    return Text(name=column.name, role=Role.IDENTIFIER, origin=column.origin, description="left out")


def _listed(column: Column, values: Sequence[str]) -> Column:
    """Levels without an order instead of bins."""
    if isinstance(column, Text) or not values:
        raise CodebookError(
            f"column {column.name!r} has no list of values, or too many of them; leave it out, or give it a kind of "
            "codes."
        )
    levels = tuple(sorted((value for value in values if value != column.missing), key=_by_size))
    return Categorical(
        name=column.name,
        role=column.role,
        missing=column.missing,
        parents=column.parents,
        levels=levels,
        origin=Origin.DRAFTED,
    )


def _by_size(value: str) -> tuple[int, float, str]:
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)


def _with_missing(column: Column, codes: Sequence[str], values: Sequence[str]) -> Column:
    """Codes that mean missing: the token of the missing level, or reading rules where there is one already."""
    if not codes:
        raise ParameterError(f"`missing=` of column {column.name!r} names no code; write missing=999.")
    if isinstance(column, Levelled) and not isinstance(
        column, Coded
    ):  # what is no code of a pack is none of its levels
        if strange := [code for code in codes if code not in column.levels]:
            raise ParameterError(
                f"column {column.name!r} has no level {strange[0]!r}; it has {column.shown_labels(6)}."
            )
        left = tuple(level for level in column.levels if level not in codes)
        if not left:
            raise ParameterError(f"column {column.name!r} would have no level left; leave it out with 'drop'.")
        column = replace(column, levels=left)
    elif isinstance(column, Number):
        column = _without_end(column, codes, values)
    if column.missing is None:
        column, codes = replace(column, missing=codes[0]), codes[1:]
    return _with_reading(column, missing=tuple(codes)) if codes else column


def _merged(column: Column) -> Column:
    """Levels that differ by case or blanks only become the first of them, and values are read so."""
    if not isinstance(column, Levelled):
        raise ParameterError(f"column {column.name!r} has no levels to merge; answer 'yes' or 'drop'.")
    first = {" ".join(level.split()).casefold(): level for level in reversed(column.levels)}
    kept = tuple(level for level in column.levels if level in first.values())
    return _with_reading(replace(column, levels=kept), strip=True, fold=True)


def _without_end(column: Number, codes: Sequence[str], values: Sequence[str]) -> Column:
    """Bounds that only such a code had stretched are drawn in to the other values, rounded outwards."""
    codes_read = {number_of(code) for code in codes}
    rest = [n for n in (number_of(value) for value in values) if n is not None and n not in codes_read]
    if not rest or max(rest) <= min(rest):
        return column
    unit = max(Fraction(column.step), Fraction(10) ** math.floor(math.log10(max(rest) - min(rest))))
    low = max(column.edges[0], math.floor(Fraction(min(rest)) / unit) * unit)
    high = min(column.edges[-1], math.ceil(Fraction(max(rest)) / unit) * unit)
    inner = [edge for edge in column.edges if low < edge < high]
    return replace(column, edges=(low, *inner, high))


def _with_reading(column: Column, **rules: Any) -> Column:
    """Reading rules of the column, where its kind has them."""
    reading = getattr(column, "reading", None)
    if reading is None:
        raise CodebookError(
            f"column {column.name!r} can name only one code that means missing, and has no reading rules; mend the "
            "values in the data."
        )
    if "missing" in rules:
        rules["missing"] = tuple(dict.fromkeys((*reading.missing, *rules["missing"])))
    changed: dict[str, Any] = {"reading": replace(reading, **rules)}
    return replace(column, **changed)
