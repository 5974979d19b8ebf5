"""Tables that cannot be compared are refused in one sentence each, before anything is measured."""

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError
from understudy.evaluate.holdout import check_holdout
from understudy.sources.base import Report, Source

__all__ = ["Counts", "check_choice", "check_holdout", "check_target", "one_way"]

Counts = npt.NDArray[np.int64]
_LEAST_ROWS = 2


def one_way(source: Source, *, role: str, report: Report | None = None) -> dict[str, Counts]:
    """Counts of every column; whatever is wrong with the file is said with its role."""
    names = source.codebook.names
    try:
        tables = source.count([[name] for name in names], report)
    except DataError as reason:
        raise DataError(f"{role}: {reason}") from None
    counts = {name: table.open().to_grid() for name, table in zip(names, tables, strict=True)}
    rows = int(counts[names[0]].sum())
    if rows < _LEAST_ROWS:
        raise DataError(
            f"{role} has {rows} row{'' if rows == 1 else 's'}; shares and associations need at least {_LEAST_ROWS}. "
            "Give the whole table."
        )
    return counts


def check_choice(book: Codebook, name: str | None, *, option: str) -> None:
    """A column that an option names must be one of the codebook's."""
    if name is not None and name not in book.names:
        raise ParameterError(
            f"`{option}` is {name!r}, which is no column to be compared; choose {', '.join(book.names)}."
        )


def check_target(book: Codebook, counts: dict[str, Counts], target: str | None, *, role: str) -> None:
    """A classifier needs two classes to tell apart."""
    check_choice(book, target, option="target")
    if target is None:
        return
    seen = np.flatnonzero(counts[target])
    if len(seen) < 2:
        only = book.column(target).labels[int(seen[0])]
        raise ParameterError(
            f"`target` is {target!r}, which is {only!r} in every row of {role}; a classifier needs at least two "
            "classes. Choose another column."
        )
