"""What two tables must have in common before anything about them is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.errors import DataError, ParameterError, quoted

if TYPE_CHECKING:
    from understudy.sources.base import Source


def check_same_columns(real: Source, synthetic: Source, *, called: tuple[str, str] = ("real", "synthetic")) -> None:
    """Both tables must have the same columns with the same levels; their order does not matter."""
    first, second = real.codebook, synthetic.codebook
    if first is second:
        return
    faults = []
    for here, there, this, that in ((first, second, *called), (second, first, *called[::-1])):
        missing = [name for name in here.names if name not in there.names]
        if missing:
            faults.append(f"the {that} table lacks {quoted(missing)} of the {this} one")
    for name in first.names:
        if name in second.names and first.column(name).labels != second.column(name).labels:
            faults.append(f"column {name!r} has other levels in the {called[1]} table")
    if faults:
        raise DataError(
            f"{'; '.join(faults)}. Two tables can be compared only over the same columns and levels: open both with "
            "one codebook."
        )


def check_comparable(real: Source, synthetic: Source) -> tuple[int, int]:
    """Two tables with the same columns and enough rows; gives the numbers of rows."""
    check_same_columns(real, synthetic)
    return check_rows(real, called="real"), check_rows(synthetic, called="synthetic")


def count_rows(source: Source) -> int:
    """Number of records, which is confidential like every count."""
    smallest = min(source.codebook.modelled, key=lambda column: column.size)
    return int(source.count([[smallest.name]])[0].open().occupied()[1].sum())


def check_rows(source: Source, *, called: str, least: int = 2) -> int:
    """The number of rows of a table that has enough of them."""
    rows = count_rows(source)
    if rows < least:
        raise DataError(
            f"the {called} table has {rows} {'row' if rows == 1 else 'rows'}; a comparison needs at least {least}. "
            "Is this the right file?"
        )
    return rows


def check_column(source: Source, name: str, *, called: str) -> None:
    """A column that somebody asked for by name must be one that takes part."""
    names = source.codebook.names
    if name not in names:
        raise ParameterError(f"`{called}` is {name!r}, which is no column of the tables; choose among {quoted(names)}.")
