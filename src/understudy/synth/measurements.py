"""The measurements of a release as one public table: what was paid for, with its noise and before any shrinkage.

Rows made from noisy tables do not show how noisy these were. Whoever asks how far a figure of the rows may lie from the
truth needs the tables as they were measured (:mod:`understudy.infer`). Everything in this file is the outcome of a paid
mechanism or follows from one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.blocks.measured import Groups, Known, MarginalFit
from understudy.codebook import Codebook, Dates, Number, Ordinal
from understudy.errors import ReleaseError
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, squared_sensitivity

MEASUREMENTS = "measurements.parquet"
"""The name of the file in the folder of a release."""
_FORMAT = b"1"
_STEPS = 16
"""Numbers are kept in sixteenths of their noise's deviation: rounding adds a 3000th to its variance."""
_SCHEMA = pa.schema(
    [
        ("columns", pa.list_(pa.string())),
        ("groups", pa.list_(pa.int32())),
        ("score", pa.float64()),
        ("score_error", pa.float64()),
        ("variance", pa.float64()),
        ("values", pa.list_(pa.int64())),
    ]
)


def attached(measurements: pa.Table | None) -> dict[str, pa.Table]:
    """The measurements among the tables that go with a release, if there are any."""
    return {} if measurements is None else {MEASUREMENTS: measurements}


def measurements_table(fit: MarginalFit, book: Codebook) -> pa.Table:
    """One line for every table: the number of records (without columns), columns, pairs and triples.

    ``groups`` says of a column which levels were measured together in its pairs. ``score`` is the dependence of a pair
    in records, as measured, and ``score_error`` how well that is known. ``values`` are in sixteenths of the deviation
    of their noise; of several columns they hold what the margins leave open. A pair without values was not measured.
    """
    assert fit.records is not None
    names = book.names
    lines = [_line((), fit.records)]
    groups = [part.of.tolist() for part in fit.groups] or [None] * len(names)
    lines += [_line((name,), known, groups=of) for name, known, of in zip(names, fit.raw, groups, strict=True)]
    for pair, score in fit.gains.items():
        scored = {"score": score, "score_error": fit.score_error(pair)}
        lines.append(_line([names[column] for column in pair], fit.pairs.get(pair), **scored))
    lines += [_line([names[column] for column in triple], known) for triple, known in fit.triples.items()]
    return pa.Table.from_pylist(lines, schema=_SCHEMA.with_metadata({b"format": _FORMAT}))


def _line(columns: Sequence[str], known: Known | None, **more: Any) -> dict[str, Any]:
    line = {"columns": list(columns), **more}
    if known is not None:
        line["variance"] = known.variance
        line["values"] = np.rint(known.values.ravel() * _STEPS / math.sqrt(known.variance)).astype(np.int64)
    return line


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


def read_measurements(table: pa.Table, book: Codebook) -> Measurements:
    """What :func:`measurements_table` wrote; a table that does not belong to the codebook is refused."""
    if (table.schema.metadata or {}).get(b"format") != _FORMAT or table.schema.names != _SCHEMA.names:
        raise ReleaseError(f"{MEASUREMENTS} is not of format {_FORMAT.decode()}; use the version that wrote it.")
    try:
        return _read(_lines(table), book)
    except (LookupError, ValueError, TypeError) as reason:
        raise ReleaseError(
            f"{MEASUREMENTS} does not fit the codebook of its release ({reason}); take the folder again from where it "
            "was published."
        ) from None


def _lines(table: pa.Table) -> dict[tuple[str, ...], dict[str, Any]]:
    lines = {tuple(line["columns"]): line for line in table.to_pylist()}
    if len(lines) != table.num_rows:
        raise ValueError("two lines are about the same columns")
    return lines


def units_needed(table: pa.Table, book: Codebook, event: GaussianMeasurements) -> float:
    """Of the units that such an event pays for, what the stated noise took at least; the scores took more."""
    lines, measured = _lines(table), read_measurements(table, book)
    total = max(1.0, float(measured.records.values[0]))
    units: float = count_sensitivity(event.neighbours) / lines[()]["variance"]
    for known in measured.tables.values():
        shape = known.values.shape
        moved = squared_sensitivity(shape, event.neighbours) / math.prod(shape) ** 2
        units += moved / (known.variance * total**2)
    return units * float(event.variance)


def _read(lines: Mapping[tuple[str, ...], Mapping[str, Any]], book: Codebook) -> Measurements:
    sizes = dict(zip(book.names, book.sizes, strict=True))
    for columns, line in lines.items():
        if line["values"] is None and len(columns) != 2:
            raise ValueError(f"{' x '.join(columns) or 'the number of records'} has no values")
        if line["values"] is not None and not 0 < line["variance"] < math.inf:
            raise ValueError(f"a variance of {line['variance']}")
    groups = {
        name: np.arange(size) if lines[name,]["groups"] is None else Groups(of=np.array(lines[name,]["groups"])).of
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
            dependence[columns] = math.hypot(line["score"], line["score_error"]) / total
        elif columns:
            tables[columns] = _known(line, shape, total)
    ordered = frozenset(column.name for column in book.modelled if isinstance(column, Number | Ordinal | Dates))
    return Measurements(records=records, groups=groups, tables=tables, dependence=dependence, ordered=ordered)


def _known(line: Mapping[str, Any], shape: tuple[int, ...], total: float) -> Known:
    values = np.array(line["values"], dtype=np.float64) * (math.sqrt(line["variance"]) / _STEPS)
    return Known(values=values.reshape(shape) / total, variance=line["variance"] / total**2)
