"""What counting alone can tell about two tables that never fit into memory: distances of shares and pairs, uniqueness.

Everything here costs a few scans where the tables lie and brings back tables of a few thousand cells, counts of counts,
and, for records that stand alone in both tables, the lone cells a slice at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.codebook import Role
from understudy.confidential import Confidential
from understudy.errors import ParameterError
from understudy.evaluate.checks import check_rows, check_same_columns
from understudy.evaluate.holdout import known_records
from understudy.evaluate.metric import Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk.cells import check_tables
from understudy.evaluate.risk.copies import uniqueness_score
from understudy.evaluate.utility.distances import tvd_one_way, tvd_two_way
from understudy.evaluate.utility.references import reference_lines
from understudy.evaluate.utility.tables import tables_of_width
from understudy.sources.base import Report, Source

SLICE_CELLS = 1 << 22
"""Lone cells that are looked at together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LargeFindings(Confidential):
    """Three scores, with what a bootstrap and independent columns of the same size would have scored."""

    scores: tuple[Score, ...]
    references: dict[str, dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """As plain data. Computed on confidential data: not for release."""
        scores = {
            score.metric: {"value": score.value, "breakdown": score.breakdown, "note": score.note}
            for score in self.scores
        }
        return {"confidential": True, "scores": scores, "references": self.references}


def compare_large(
    real: Source, synthetic: Source, *, columns: Sequence[str] | None = None, report: Report | None = None
) -> LargeFindings:
    """One-way and two-way distances, and uniqueness on ``columns`` (by default the quasi-identifiers)."""
    check_same_columns(real, synthetic)
    book = real.codebook
    chosen = book.with_role(Role.QUASI_IDENTIFIER) if columns is None else tuple(columns)
    check_tables(real, synthetic, columns=chosen)
    truth, copy = Remembered(real), Remembered(synthetic)
    tables = [*tables_of_width(book, 1), *tables_of_width(book, 2)]
    for source, name in ((truth, "real"), (copy, "synthetic")):
        source.count(tables, _named(report, f"counting the {name} table"))  # all of them at once: fewest scans
    rows = check_rows(copy, called="synthetic")
    scores = [tvd_one_way(truth, copy), tvd_two_way(truth, copy)]
    if chosen:
        scores.append(uniqueness_by_counting(truth, copy, columns=chosen, report=report))
    lines = reference_lines(truth, rows=rows, conditional_on=None, three_way=[])
    references = {
        name: {"bootstrap": line.bootstrap, "independent": line.independent}
        for name, line in lines.items()
        if name in {score.metric for score in scores}
    }
    return LargeFindings(scores=tuple(scores), references=references)


def uniqueness_by_counting(
    real: Source,
    synthetic: Source,
    *,
    columns: Sequence[str],
    slice_cells: int = SLICE_CELLS,
    report: Report | None = None,
) -> Score:
    """As :func:`understudy.evaluate.risk.copies.uniqueness`, without ever holding all combinations.

    The bootstrap's line is its expectation from counts of counts: sum over cells of m p (1 - p)^(m - 1), p = c / n.
    """
    if not columns:
        raise ParameterError("`columns` is empty; name the columns on which records are compared.")
    check_tables(real, synthetic, columns=columns)
    truth, copy = real.frequencies(columns).open(), synthetic.frequencies(columns).open()
    n, m = (sum(count * cells for count, cells in table.items()) for table in (truth, copy))
    lone = copy.get(1, 0)
    slices = max(1, math.ceil(max(lone, truth.get(1, 0)) / slice_cells))
    both = 0
    for place in range(slices if lone and truth.get(1, 0) else 0):
        ours, theirs = (source.lone(columns, place, slices).open() for source in (real, synthetic))
        both += int(known_records(ours, theirs).sum())
        if report:
            report("records that stand alone in both", place + 1, slices)
    counts = np.array(sorted(truth), dtype=np.float64)
    expected = np.array([truth[count] for count in sorted(truth)]) * m * (counts / n) * (1 - counts / n) ** (m - 1)
    bootstrap = float(expected.sum() / m)
    return uniqueness_score(columns, lone=lone, rows=m, both=both, original=truth.get(1, 0) / n, bootstrap=bootstrap)


def _named(report: Report | None, step: str) -> Report | None:
    return None if report is None else lambda _, done, total: report(step, done, total)
