"""Names that people search a map by: a Census crosswalk as it comes, and areas that only serve to find and to show.

A column such as ``zip`` beside ``zip_name`` groups places for the map. Nothing is measured for it, so it costs nothing,
and it need not nest in anything: a postal area may cross a town's border.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.commute.levels import Level

CENSUS = {
    "tabblk2010": "place", "tabblk2020": "place", "blklatdd": "latitude", "blklondd": "longitude",
    "cty": "county", "ctyname": "county_name", "ctycsub": "town", "ctycsubname": "town_name",
    "trct": "tract", "trctname": "tract_name", "bgrp": "block group", "bgrpname": "block group_name",
    "zcta": "zip area", "zctaname": "zip area_name",
}  # fmt: skip
"""Columns of the geography crosswalk of the US Census Bureau (LODES), and what they are here."""
_NOWHERE = "^9{5,}$"
"""The code of a crosswalk for a block that lies in no area of a kind."""
_TAIL = re.compile(r" \([^()]*\)$|, [A-Z]{2}$")


def as_places_table(table: pa.Table) -> pa.Table:
    """A Census crosswalk with the columns of a table of places; any other table as it is."""
    if not any(name in table.column_names for name in ("tabblk2010", "tabblk2020")):
        return table
    kept = [name for name in CENSUS if name in table.column_names]
    renamed = table.select(kept).rename_columns([CENSUS[name] for name in kept])
    for called in ("county", "town", "tract", "block group", "zip area"):
        name = f"{called}_name"
        if called in renamed.column_names and name in renamed.column_names:
            nowhere = pc.match_substring_regex(renamed.column(called).cast(pa.string()), _NOWHERE)
            labels = pc.if_else(nowhere, f"no {called}", _shorter(renamed.column(called), renamed.column(name)))
            renamed = renamed.set_column(renamed.column_names.index(name), name, labels)
    return renamed


def _shorter(codes: Any, names: Any) -> Any:
    """Names without the county and state behind them, where areas can still be told apart."""
    long = names.to_pylist()
    short = [None if name is None else _TAIL.sub("", name) for name in long]
    areas = {code for code, name in zip(codes.to_pylist(), long, strict=True) if name is not None}
    return pa.array(short if len({name for name in short if name is not None}) == len(areas) else long, pa.string())


def areas_beside(table: pa.Table, levels: Sequence[Level]) -> tuple[Level, ...]:
    """Every further column that has one with names beside it; a place without a code lies in no area (-1)."""
    taken = {"place", *(level.name for level in levels)}
    names = [name for name in table.column_names if f"{name}_name" in table.column_names and name not in taken]
    return tuple(_area_level(table, name) for name in names if table.column(name).null_count < len(table))


def _area_level(table: pa.Table, name: str) -> Level:
    """Areas of one column, sorted by code, with the names of the column beside it.

    >>> town = _area_level(pa.table({"zip": ["2", "1", None], "zip_name": ["B", None, None]}), "zip")
    >>> town.codes, town.labels, town.of.tolist()
    (('1', '2'), ('1', 'B'), [1, 0, -1])
    """
    words = [None if value is None else str(value) for value in table.column(name).to_pylist()]
    codes = sorted({word for word in words if word is not None})
    number = {code: area for area, code in enumerate(codes)}
    labels = dict(zip(codes, codes, strict=True))
    beside = table.column(f"{name}_name").to_pylist()
    labels |= {code: str(label) for code, label in zip(words, beside, strict=True) if code and label is not None}
    of = np.array([-1 if word is None else number[word] for word in words], dtype=np.int64)
    return Level(name=name, codes=tuple(codes), labels=tuple(labels[code] for code in codes), of=of)


def per_place(level: Level, words: Sequence[str]) -> pa.Array:
    """A word for each place; nothing for one that lies in no area."""
    return pa.array([None if area < 0 else words[area] for area in level.of.tolist()], type=pa.string())
