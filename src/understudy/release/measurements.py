"""The measurements that go with a release, as read: what was paid for, with its noise and before any shrinkage.

Rows made from noisy tables do not show how noisy these were. Whoever asks how far a figure of the rows may lie from the
truth needs the tables as they were measured (:mod:`understudy.infer`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

from understudy.blocks.known import Known
from understudy.codebook import Codebook, Dates, Number, Ordinal
from understudy.errors import ReleaseError

MEASUREMENTS = "measurements.parquet"
"""The name of the file in the folder of a release."""
FORMAT = b"2"
STEPS = 16
"""Numbers are kept in sixteenths of their noise's deviation: rounding adds a 3000th to its variance."""
SCHEMA = pa.schema(
    [
        ("columns", pa.list_(pa.string())),
        ("groups", pa.list_(pa.int32())),
        ("score", pa.float64()),
        ("score_error", pa.float64()),
        ("by_chance", pa.float64()),
        ("variance", pa.float64()),
        ("values", pa.list_(pa.int64())),
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurements:
    """What was measured of a table, as shares of its records."""

    records: Known
    """The number of records itself."""
    groups: Mapping[str, npt.NDArray[np.int64]]
    """By column: the group in which each level was measured in pairs."""
    tables: Mapping[tuple[str, ...], Known]
    """By columns, in the order of the codebook; every axis sums to nothing."""
    dependence: Mapping[tuple[str, ...], float]
    """Of pairs that nobody measured: how large their dependence may be, as a sum of absolute shares."""
    ordered: frozenset[str]
    """Columns whose groups have an order, along which dependence usually grows or falls."""


_MOST_NUMBERS, _MOST_LINES = 1 << 27, 1 << 24
"""Where the domain of a codebook is larger than any file."""
_TAKE_AGAIN = "Take the folder again from where it was published."


def most_measured(book: Codebook) -> tuple[int, int]:
    """How many numbers, and how many lines, the measurements over a codebook hold at most: up to three columns each."""
    numbers, lines = [1, 0, 0, 0], [1, 0, 0, 0]  # of no column, of one, two and three
    for column in book.counted:
        for order in (3, 2, 1):
            numbers[order] += numbers[order - 1] * column.size
            lines[order] += lines[order - 1]
    most = min(sum(lines), _MOST_LINES)
    return min(sum(numbers), _MOST_NUMBERS) + 3 * most, most  # a list without numbers counts as one


def bounded_table(content: Path | pa.BufferReader, book: Codebook) -> pa.Table:
    """The lines of a file, which is not larger than its codebook lets it be: some bytes may stand for any number."""
    numbers, lines = most_measured(book)
    facts = pyarrow.parquet.read_metadata(content)
    held: dict[str, int] = {}
    for group in range(facts.num_row_groups):
        for leaf in map(facts.row_group(group).column, range(facts.num_columns)):
            held[leaf.path_in_schema] = held.get(leaf.path_in_schema, 0) + leaf.num_values
    most = max(held.values(), default=0)
    if facts.num_rows > lines or most > numbers:
        raise ReleaseError(f"{MEASUREMENTS} has {most:,} numbers, more than its codebook allows. {_TAKE_AGAIN}")
    texts = [leaf for leaf in held if leaf.partition(".")[0] == SCHEMA.names[0]]
    if not isinstance(content, Path):
        content.seek(0)
    table = pyarrow.parquet.read_table(content, read_dictionary=texts)  # a name once, however often it is meant
    _refuse_others(table)
    known = {column.name for column in book.counted}
    for chunk in table.column(0).chunks:
        named = chunk.flatten()
        if not pa.types.is_dictionary(named.type) or not set(named.dictionary.to_pylist()) <= known:
            raise ReleaseError(f"{MEASUREMENTS} names other columns than its codebook. {_TAKE_AGAIN}")
    return table.cast(SCHEMA.with_metadata(table.schema.metadata))


def read_measurements(table: pa.Table, book: Codebook) -> Measurements:
    """What :mod:`understudy.synth.measurements` wrote; a table that does not belong to the codebook is refused."""
    _refuse_others(table)
    try:
        return _read(lines_of(table), book)
    except (LookupError, ValueError, TypeError) as reason:
        raise ReleaseError(
            f"{MEASUREMENTS} does not fit the codebook of its release ({reason}). {_TAKE_AGAIN}"
        ) from None


def _refuse_others(table: pa.Table) -> None:
    if (table.schema.metadata or {}).get(b"format") != FORMAT or table.schema.names != SCHEMA.names:
        raise ReleaseError(f"{MEASUREMENTS} is not of format {FORMAT.decode()}; use the version that wrote it.")


def lines_of(table: pa.Table) -> dict[tuple[str, ...], dict[str, Any]]:
    """The lines by their columns."""
    lines = {tuple(line["columns"]): line for line in table.to_pylist()}
    if len(lines) != table.num_rows:
        raise ValueError("two lines are about the same columns")
    return lines


def _read(lines: Mapping[tuple[str, ...], Mapping[str, Any]], book: Codebook) -> Measurements:
    sizes = dict(zip(book.names, book.sizes, strict=True))
    for columns, line in lines.items():
        if line["values"] is None and len(columns) != 2:
            raise ValueError(f"{' x '.join(columns) or 'the number of records'} has no values")
        if line["values"] is not None and not 0 < line["variance"] < math.inf:
            raise ValueError(f"a variance of {line['variance']}")
    groups = {
        name: np.arange(size) if lines[name,]["groups"] is None else np.array(lines[name,]["groups"])
        for name, size in sizes.items()
    }
    widths = {name: int(of.max()) + 1 for name, of in groups.items()}
    for name, of in groups.items():
        if len(of) != sizes[name] or set(of.tolist()) != set(range(widths[name])):
            raise ValueError(f"the groups of {name!r} are not those of its levels")
    records = _known(lines[()], (1,), 1.0)
    total = max(1.0, float(records.values[0]))
    tables, dependence = {}, {}
    for columns, line in lines.items():
        shape = tuple((widths if len(columns) == 2 else sizes)[name] for name in columns)
        if line["values"] is None:
            dependence[columns] = _most_dependent(line["score"], line["score_error"], line["by_chance"]) / total
        elif columns:
            tables[columns] = _known(line, shape, total)
    ordered = frozenset(column.name for column in book.modelled if isinstance(column, Number | Ordinal | Dates))
    return Measurements(records=records, groups=groups, tables=tables, dependence=dependence, ordered=ordered)


def _most_dependent(distance: float, deviation: float, by_chance: float) -> float:
    """How large the dependence of a pair may well be, from its measured distance to independence.

    Dependence, chance and noise add up in squares. To what is left after both are taken off comes what noise of one
    deviation hides, and half of the chance, which is an average.
    """
    distance = max(distance, 0.0)
    left = max(distance**2 - deviation**2 - by_chance**2, 0.0)
    return math.sqrt(left + 2 * max(distance, by_chance) * deviation + deviation**2 + by_chance**2 / 4)


def _known(line: Mapping[str, Any], shape: tuple[int, ...], total: float) -> Known:
    values = np.array(line["values"], dtype=np.float64) * (math.sqrt(line["variance"]) / STEPS)
    return Known(values=values.reshape(shape) / total, variance=line["variance"] / total**2)
