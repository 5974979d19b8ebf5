"""Marginal and conditional error of a synthetic table against the confidential one.

These numbers are computed on confidential data and are not covered by the guarantee of the release.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from understudy.evaluate.utility.distances import conditional_distance, marginal_distance
from understudy.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Errors averaged over columns and over ordered pairs of columns."""

    marginal_mae: float
    conditional_mae: float
    marginal_by_column: dict[str, float]


def compare(real: Source, synthetic: Source) -> Comparison:
    """Mean absolute error of all one-way tables, and of all conditionals of one column given another."""
    names = real.codebook.names
    pairs = list(itertools.combinations(names, 2))
    cliques = [*[(name,) for name in names], *pairs]
    truth = [table.open().to_grid() for table in real.count(cliques)]
    copy = [table.open().to_grid() for table in synthetic.count(cliques)]
    ones = len(names)
    marginal = {name: marginal_distance(truth[i], copy[i]).mae for i, name in enumerate(names)}
    conditional = []
    for a, b in zip(truth[ones:], copy[ones:], strict=True):
        conditional += [conditional_distance(a, b).mae, conditional_distance(a.T, b.T).mae]
    return Comparison(
        marginal_mae=float(np.mean(list(marginal.values()))),
        conditional_mae=float(np.mean(conditional)) if conditional else 0.0,
        marginal_by_column=marginal,
    )
