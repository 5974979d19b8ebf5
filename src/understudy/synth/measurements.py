"""The measurements of a release as one public table.

Everything in this file is the outcome of a paid mechanism or follows from one.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.blocks.known import Known
from understudy.blocks.measured import MarginalFit
from understudy.codebook import Codebook
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, squared_sensitivity
from understudy.release.measurements import FORMAT, MEASUREMENTS, SCHEMA, STEPS, lines_of, read_measurements


def attached(measurements: pa.Table | None) -> dict[str, pa.Table]:
    """The measurements among the tables that go with a release, if there are any."""
    return {} if measurements is None else {MEASUREMENTS: measurements}


def measurements_table(fit: MarginalFit, book: Codebook) -> pa.Table:
    """One line for every table: the number of records (without columns), columns, pairs and triples.

    ``groups`` says of a column which levels were measured together in its pairs. ``score`` is the distance of a pair
    from independence in records, as measured, ``score_error`` the deviation of its noise, and ``by_chance`` the
    distance that independent columns would show. ``values`` are in sixteenths of the deviation of their noise; of
    several columns they hold what the margins leave open. A pair without values was not measured.
    """
    assert fit.records is not None
    names = book.names
    lines = [_line((), fit.records)]
    groups = [part.of.tolist() for part in fit.groups] or [None] * len(names)
    ones = [fit.replaced.get(column, known) for column, known in enumerate(fit.raw)]
    lines += [_line((name,), known, groups=of) for name, known, of in zip(names, ones, groups, strict=True)]
    for pair, score in fit.scores.items():
        scored = {"score": score.distance, "score_error": fit.score_deviation, "by_chance": score.by_chance}
        lines.append(_line([names[column] for column in pair], fit.pairs.get(pair), **scored))
    lines += [_line([names[column] for column in triple], known) for triple, known in fit.triples.items()]
    return pa.Table.from_pylist(lines, schema=SCHEMA.with_metadata({b"format": FORMAT}))


def _line(columns: Sequence[str], known: Known | None, **more: Any) -> dict[str, Any]:
    line = {"columns": list(columns), **more}
    if known is not None:
        line["variance"] = known.variance
        line["values"] = np.rint(known.values.ravel() * STEPS / math.sqrt(known.variance)).astype(np.int64)
    return line


def units_needed(table: pa.Table, book: Codebook, event: GaussianMeasurements) -> float:
    """Of the units that such an event pays for, what the stated noise took at least; the scores took more."""
    lines, measured = lines_of(table), read_measurements(table, book)
    total = max(1.0, float(measured.records.values[0]))
    units: float = count_sensitivity(event.neighbours) / lines[()]["variance"]
    for known in measured.tables.values():
        shape = known.values.shape
        moved = squared_sensitivity(shape, event.neighbours) / math.prod(shape) ** 2
        units += moved / (known.variance * total**2)
    return units * float(event.variance)
