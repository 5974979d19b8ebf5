"""The columns of a release with the shares of their levels in the released rows, and the noise behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from understudy.codebook import Codebook, Column, Dates, Number, Ordinal
from understudy.codebook.encode import encode_value
from understudy.pages.drawings.shares import Share, share_bars
from understudy.pages.numbers import number, percent
from understudy.release.face.markup import table, text
from understudy.release.measurements import Measurements

_MOST_BARS, _MOST_DRAWN, _MOST_SHOWN_COLUMNS, _MOST_ROWS = 12, 60, 12, 8
NORMAL = 1.96
"""Deviations of noise around a figure that hold 95 of 100 times."""
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise of the shares of single columns, in parts of 1: half of an interval that holds 95 of 100 times."""

    by_column: Mapping[str, float]

    @classmethod
    def of(cls, measured: Measurements | None) -> "Noise":
        """As the release's own measurements state it."""
        tables = {} if measured is None else measured.tables
        return cls(
            by_column={
                names[0]: NORMAL * float(np.sqrt(np.max(known.variance)))
                for names, known in tables.items()
                if len(names) == 1
            }
        )


def column_figures(files: Sequence[Path], book: Codebook, noise: Noise) -> str:
    """One chart for each column, in the order of the codebook."""
    names = set(pyarrow.parquet.read_schema(files[0]).names) if files else set()
    columns = [column for column in book.released if column.name in names]
    drawn = "".join(_figure(column, _counts(column, files), noise) for column in columns[:_MOST_DRAWN])
    rest = [(column.name, column.description, f"{column.size:,}") for column in columns[_MOST_DRAWN:]]
    more = table("Further columns", ("column", "what it is", "levels"), rest) if rest else ""
    return f'<div class="face">{drawn}</div>{more}'


def sample_rows(files: Sequence[Path], title: str) -> str:
    """The first rows as they are in the file."""
    reader = pyarrow.parquet.ParquetFile(files[0])
    names = reader.schema_arrow.names[:_MOST_SHOWN_COLUMNS]
    left_out = len(reader.schema_arrow.names) - len(names)
    rows = next(reader.iter_batches(batch_size=_MOST_ROWS, columns=names), None)
    lines = [] if rows is None else [[_shown(value) for value in row.values()] for row in rows.to_pylist()]
    more = f", without {left_out:,} further columns" if left_out else ""
    return table(f"The first {len(lines)} rows of {title}{more}", names, lines)


def _shown(value: object) -> str:
    return "" if value is None else number(value) if isinstance(value, float) else str(value)


def _counts(column: Column, files: Sequence[Path]) -> Counts:
    """How many rows have each code."""
    counts = np.zeros(column.size, dtype=np.int64)
    for path in files:
        # text comes as dictionaries: each level is looked at once, and not in every row
        values = pyarrow.parquet.read_table(path, columns=[column.name], read_dictionary=[column.name])[column.name]
        if isinstance(column, Number) and pa.types.is_primitive(values.type):
            numbers = values.drop_null().cast(pa.float64()).to_numpy()
            if column.missing_code is not None:
                counts[column.missing_code] += values.null_count
            inside = (numbers >= column.float_edges[0]) & (numbers <= column.float_edges[-1])
            counts += np.bincount(column.bins_of(numbers[inside]), minlength=column.size)
            continue
        for line in pc.value_counts(values).to_pylist():
            code = encode_value(column, line["values"])
            if code is not None:
                counts[code] += line["counts"]
    return counts


def _figure(column: Column, counts: Counts, noise: Noise) -> str:
    total = max(1, int(counts.sum()))
    half = noise.by_column.get(column.name)
    shares = [(label, count / total) for label, count in _bars(column, counts)]
    rows = [
        Share(label=label, value=share, low=None if half is None else share - half, high=_above(share, half))
        for label, share in shares
    ]
    about = column.description or f"{column.kind}, {column.size:,} levels"
    known = "" if half is None else f" Noise: {points(half)} points either way, 95 times of 100."
    spoken = "; ".join(f"{label}: {percent(share)}" for label, share in shares)
    chart = share_bars(rows, title=f"Shares of the levels of {column.name}", spoken=spoken)
    return f"<figure><h3>{text(column.name)}</h3>{chart}<figcaption>{text(about)}.{known}</figcaption></figure>"


def _above(share: float, half: float | None) -> float | None:
    return None if half is None else min(1.0, share + half)


def points(half: float) -> str:
    """A share of two figures, in points."""
    return number(float(f"{100 * half:.2g}"))


def _bars(column: Column, counts: Counts) -> list[tuple[str, int]]:
    """At most so many bars: neighbours are joined where levels have an order, the rarest where they have none."""
    proper = column.proper_levels
    labels = [dict(column.value_labels).get(label, label) for label in column.labels]
    tail = [(labels[code], int(counts[code])) for code in range(proper, column.size)]
    if isinstance(column, Number | Dates | Ordinal):
        groups = [group for group in np.array_split(np.arange(proper), min(proper, _MOST_BARS)) if len(group)]
        return [(_span(column, labels, group), int(counts[group].sum())) for group in groups] + tail
    order = [int(code) for code in np.argsort(-counts[:proper], kind="stable")]
    if proper <= _MOST_BARS:
        return [(labels[code], int(counts[code])) for code in range(proper)] + tail
    kept, rest = order[: _MOST_BARS - 1], order[_MOST_BARS - 1 :]
    shown = [(labels[code], int(counts[code])) for code in kept]
    return [*shown, (f"{len(rest):,} other levels", int(counts[rest].sum())), *tail]


def _span(column: Column, labels: Sequence[str], group: Counts) -> str:
    first, last = int(group[0]), int(group[-1])
    if isinstance(column, Number) and not (first == last and not labels[first].startswith(("[", "("))):
        return f"{number(column.float_edges[first])} to {number(column.float_edges[last + 1])}"
    return labels[first] if first == last else f"{labels[first]} to {labels[last]}"
