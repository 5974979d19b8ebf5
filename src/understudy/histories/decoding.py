"""Codes of linked tables back to values, with fresh keys.

Numbers that rules compare, in one row or across rows and tables, are drawn one after the other, each within what its
bin and those that stand already leave. Keys are made from randomness alone. A table whose siblings are ordered by a
column that is only read gets it again as a plain sequence number.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column
from understudy.codebook.decode import BelowEach, decode_column, order_steps, values_of_steps
from understudy.codebook.linked_rules import PREVIOUS, table_of
from understudy.codebook.numbers import Number
from understudy.codebook.pseudonyms import pseudonyms
from understudy.codebook.views import View
from understudy.histories.drawing import Measured, by_rank
from understudy.histories.rows import Codes, LinkedRows, Places, TableRows
from understudy.mechanisms.stream import Stream
from understudy.synth.details import DetailTable, draw_details, smooth_shapes

Steps = dict[str, npt.NDArray[np.int64]]


def decode_rows(rows: LinkedRows, measured: Sequence[Measured], stream: Stream) -> dict[str, pa.Table]:
    """One Arrow table for each table, siblings together and in their order."""
    steps = compared_steps(rows, [one.view for one in measured], stream.below_each)
    keys: dict[str, pa.Array] = {}
    tables: dict[str, pa.Table] = {}
    for one in measured:
        table, held = one.view.table, rows.tables[one.view.table.name]
        arrays: dict[str, pa.Array] = {}
        if table.key is not None:
            keys[table.name] = arrays[table.key] = _keys(held, stream.below_each)
        if table.parent is not None and table.parent_key is not None:
            arrays[table.parent_key] = keys[table.parent].take(pa.array(held.parent))
        if table.order is not None and table.order not in table.book.names and table.order not in arrays:
            arrays[table.order] = pa.array(held.rank + 1, type=pa.int64())
        codes = [_small(held.codes[name]) for name in table.book.names]
        shapes = smooth_shapes(table.book, codes, known={})
        for column, values in zip(table.book.modelled, codes, strict=True):
            spelled = table.spelled(column.name)
            if spelled in steps:
                assert isinstance(column, Number)
                arrays[column.name] = values_of_steps(column, steps[spelled], values)
            else:
                weights = shapes.get(column.name)
                arrays[column.name] = decode_column(column, values, stream.below_each, weights=weights)
        if one.codes:
            arrays |= _codes(table.book, one.codes, codes, stream)
        released = [column.name for column in table.book.released]
        beside = [name for name in arrays if name not in released]
        tables[table.name] = pa.table({name: arrays[name] for name in (*beside, *released)})
    return tables


def _codes(
    book: Codebook, tables: Sequence[DetailTable], codes: Sequence[npt.NDArray[np.unsignedinteger]], stream: Stream
) -> dict[str, pa.Array]:
    """Detailed codes given their coarse level, and what they tell of the levels between."""
    drawn = draw_details(book, tables, codes, stream)
    arrays = {name: decode_column(book.column(name), each, stream.below_each) for name, each in drawn.items()}
    for level in book.code_levels:
        told = level.of_code[drawn[level.coded.name]].astype(np.uint32)
        arrays[level.name] = decode_column(level, told, stream.below_each)
    return arrays


def _keys(held: TableRows, below_each: BelowEach) -> pa.Array:
    """Fresh keys that rise among siblings: whoever sorts siblings of one date by key finds the order in which they
    were drawn."""
    keys = pseudonyms(len(held), below_each)
    if not len(held):
        return keys
    return keys.take(pa.array(np.lexsort((keys.to_numpy(zero_copy_only=False).astype(np.bytes_), held.parent))))


def _small(codes: Codes) -> npt.NDArray[np.unsignedinteger]:
    return codes.astype(np.uint32)


def compared_steps(rows: LinkedRows, views: Sequence[View], below_each: BelowEach) -> Steps:
    """Values, in steps, of the numbers that rules compare, table by table and rank by rank."""
    compared = {name for view in views for name in view.compared}
    steps: Steps = {}
    for view in views:
        held = rows.tables[view.table.name]
        own = [name for name in map(view.spelled, view.table.book.names) if name in compared]
        for name in own:
            steps[name] = np.zeros(len(held), dtype=np.int64)
        ranks = [np.arange(len(held))] if view.is_first else by_rank(held)
        for places in ranks if own else ():
            codes = rows.in_view(view, places, view.book.names)
            known = {
                name: _standing(rows, view, name, codes[name], places, steps)
                for name in view.compared
                if name not in own
            }
            drawn = order_steps(view.book, [_small(codes[name]) for name in view.book.names], below_each, {}, known)
            for name in own:
                column = view.book.column(name)
                assert isinstance(column, Number)
                steps[name][places] = drawn[name] if name in drawn else _anywhere(column, codes[name], below_each)
    return steps


def _standing(
    rows: LinkedRows, view: View, name: str, codes: Codes, places: Places, steps: Steps
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A number of a row above or of the sibling before: its value twice, and where there is one."""
    plain = name.replace(f".{PREVIOUS}.", ".", 1)
    there = codes < view.book.column(name).proper_levels
    if plain != name:
        value = steps[plain][np.maximum(places - 1, 0)]
    else:
        value = steps[plain][rows.ancestor(view.table.name, table_of(name), places)]
    return value, value, there


def _anywhere(column: Column, codes: Codes, below_each: BelowEach) -> npt.NDArray[np.int64]:
    """Any value of the bin."""
    assert isinstance(column, Number)
    inside = np.where(codes < column.proper_levels, codes, 0)
    first = np.array([start for start, _ in column.grids], dtype=np.int64)
    width = np.array([count for _, count in column.grids], dtype=np.uint64)
    return first[inside] + below_each(width[inside]).astype(np.int64)
