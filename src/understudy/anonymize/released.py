"""Cells back to a table and a codebook that describes it."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from understudy.anonymize.cells import STAR, Cells, as_levels, base_texts
from understudy.codebook import Codebook, Column, Dates, Number, Role, Text
from understudy.codebook.decode import BelowEach, decode_column
from understudy.errors import RefusalError


def released(
    cells: Cells, *, drawn: Collection[str], below_each: BelowEach, book: Codebook
) -> tuple[pa.Table, Codebook]:
    """One row per record, in the order of the released values, and the codebook of these rows.

    Numbers are released as their bins, unless every bin holds one value, or noise was added (``drawn``): then as
    numbers, drawn inside their bins. A column that reads ``*`` everywhere says nothing: it is described as text to be
    dropped. Title and publication are those of ``book``.
    """
    if not len(cells.counts):
        raise RefusalError("every row was suppressed, so that there is nothing to release. Ask for less.")
    rows = cells.expanded()
    arrays, columns = [], []
    for place, column in enumerate(cells.columns):
        codes = rows[:, place]
        shown = _shown(column, column.name in drawn)
        arrays.append(decode_column(shown, codes.astype(np.uint32), below_each))
        columns.append(_described(shown))
    table = pa.table(dict(zip(cells.names, arrays, strict=True)))
    if all(column.role is Role.IDENTIFIER for column in columns):
        raise RefusalError(
            "every column of the released table would read * only; that is no table. Keep more columns, or ask for "
            "less."
        )
    return table, Codebook(columns=tuple(columns), title=book.title, publication=book.publication)


def _shown(column: Column, is_drawn: bool) -> Column:
    """The column as released."""
    plain = replace(column, parents=None, hierarchy=())
    if isinstance(column, Number):
        exact = all(width == 1 for _, width in column.grids)
        return plain if is_drawn or exact else as_levels(column)
    return plain if isinstance(column, Dates) else as_levels(column)


def _described(column: Column) -> Column:
    """For the codebook. Declared levels all stay, whether they occur or not: which do is not public knowledge."""
    if column.labels != (STAR,):
        return column
    description = f"{column.description} (reads {column.labels[0]!r} in every row)".strip()
    return Text(name=column.name, role=Role.IDENTIFIER, description=description)


def table_of(cells: Cells) -> pa.Table:
    """Cells as text, for figures about a table before it was anonymised; confidential."""
    rows = cells.expanded()
    arrays = {}
    for place, column in enumerate(cells.columns):
        labels = pa.array([*base_texts(column), *([None] if column.missing is not None else [])], type=pa.string())
        arrays[column.name] = labels.take(pa.array(rows[:, place]))
    return pa.table(arrays)
