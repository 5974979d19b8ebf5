"""The queries of a priced codebook draft: kinds of values, levels, numbers and days, each counted in secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import numpy.typing as npt

from understudy.privacy.secret import Secret
from understudy.sources.benches import fetched
from understudy.sources.expressions import as_date, as_number, as_text, is_whole, present
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened
from understudy.sources.tables import CountTable

LOOKS = ("missing", "whole", "decimal", "date", "text")
"""What a value may look like."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """Every text that occurs and how often; missing values left out."""

    texts: tuple[str, ...]
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """Every number that occurs, rising, and how often; what is no number is left out."""

    values: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


def _look(value: Any) -> Any:
    """Which of LOOKS a value has; a number with a leading zero is a name, such as a ZIP code."""
    value = present(value)
    text, number = as_text(value), as_number(value)
    padded = text.strip().re_search(r"^[+-]?0[0-9]")
    code = {name: ibis.literal(place, "int64") for place, name in enumerate(LOOKS)}
    return ibis.cases(
        (value.isnull() | (text.strip() == ""), code["missing"]),
        (as_date(value).notnull(), code["date"]),
        (number.isnull() | padded, code["text"]),
        (is_whole(number), code["whole"]),
        else_=code["decimal"],
    )


def look_at_kinds(opened: Opened, names: Sequence[str]) -> dict[str, Secret[CountTable]]:
    """How many values of each column look like what."""
    kinds = {}
    for name in names:
        rows = _counted(opened, opened.table.select(look=_look(opened.value(name))), "look")
        grid = np.zeros(len(LOOKS), dtype=np.int64)
        grid[rows["look"].to_numpy()] = rows["n"].to_numpy()
        kinds[name] = Secret(CountTable.dense([name], grid))
    return kinds


def look_at_levels(opened: Opened, name: str) -> Secret[Levels]:
    """Every level of a column."""
    value = present(opened.value(name))
    texts = opened.table.select(text=as_text(value)).filter(lambda t: t.text.notnull() & (t.text != ""))
    rows = _counted(opened, texts, "text")
    return Secret(Levels(texts=tuple(rows["text"].to_pylist()), counts=rows["n"].to_numpy().astype(np.int64)))


def look_at_numbers(opened: Opened, name: str) -> Secret[Numbers]:
    """Every number of a column."""
    return _numbers(opened, as_number(present(opened.value(name))))


def look_at_days(opened: Opened, name: str) -> Secret[Numbers]:
    """Every year in which a day of the column lies."""
    return _numbers(opened, as_date(present(opened.value(name))).year().cast("float64"))


def _numbers(opened: Opened, number: Any) -> Secret[Numbers]:
    rows = _counted(opened, opened.table.select(number=number).filter(lambda t: t.number.notnull()), "number")
    values = rows["number"].to_numpy().astype(np.float64)
    order = np.argsort(values)
    return Secret(Numbers(values=values[order], counts=rows["n"].to_numpy().astype(np.int64)[order]))


def _counted(opened: Opened, table: Any, key: str) -> Any:
    with engine_errors(repr(opened.label)):
        return fetched(opened.connection, table.group_by(key).aggregate(n=table.count()))
