"""One recipe on one table: its error, whether it had to refuse, and how long it took."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import understudy as us
from experiments.sbhg.simulate import ROWS, Table
from understudy.errors import RefusalError
from understudy.evaluate.utility.distances import joint_l1, table_l1
from understudy.mechanisms.stream import Stream
from understudy.sources.encoded import EncodedSource
from understudy.sources.tables import CountTable
from understudy.synth import Recipe

REPLACE, ADD_REMOVE = us.Neighbours.REPLACE, us.Neighbours.ADD_REMOVE
"""The paper's relation, under which the number of rows is public; and the software's default."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``codes`` is None where nothing survived: the release is empty and its L1 is the number of real rows."""

    l1: float
    seconds: float
    codes: Sequence[npt.NDArray[np.unsignedinteger]] | None

    @property
    def refused(self) -> bool:
        """Nothing could be drawn."""
        return self.codes is None


def run(recipe: Recipe, table: Table, *, seed: int, rows: int | None = None) -> Outcome:
    """Fit and draw ``rows`` rows (as many as the table has); L1 of whole-record counts, rescaled to the real size."""
    stream = Stream.seeded(seed)  # simulation: seeded, hence not private, hence repeatable
    began = time.perf_counter()
    try:
        fitted = recipe.fit(table.source, stream=stream)
        codes = fitted._draw(rows or table.rows, fitted.quote(rows or table.rows).ledger)
    except RefusalError:
        return Outcome(l1=float(table.rows), seconds=time.perf_counter() - began, codes=None)
    seconds = time.perf_counter() - began
    drawn = EncodedSource(codebook=table.source.codebook, columns=codes)
    return Outcome(l1=joint_l1(table.source, drawn, rescale=rows is not None), seconds=seconds, codes=codes)


def histogram_l1(recipe: Recipe, table: Table, *, seed: int) -> float:
    """Error of the released histogram itself, as Proposition 2.1 has it; an empty one errs by n."""
    released: CountTable = recipe.fit(table.source, stream=Stream.seeded(seed)).model.tables[0]
    return table_l1(table.counts, released)


def two_way_tv(table: Table, codes: Sequence[npt.NDArray[np.unsignedinteger]] | None) -> float | None:
    """Total variation distance of two-way tables, averaged over all pairs; None where nothing was released."""
    if codes is None:
        return None
    drawn = EncodedSource(codebook=table.source.codebook, columns=codes)
    pairs = list(itertools.combinations(table.source.codebook.names, 2))
    gaps = []
    for real, made in zip(table.source.count(pairs), drawn.count(pairs), strict=True):
        a, b = (secret.open().to_grid().ravel() for secret in (real, made))
        gaps.append(float(np.abs(a / a.sum() - b / b.sum()).sum()) / 2)
    return float(np.mean(gaps))


def sba(epsilon: float, delta: float) -> Recipe:
    """Noise and threshold on the table of whole records."""
    return us.StabilityBasedHistogram(epsilon=epsilon, delta=delta, neighbours=REPLACE)


def sbhg(
    epsilon: float,
    delta: float,
    *,
    parents: int,
    rows: int | None = None,
    gauss: bool = False,
    neighbours: us.Neighbours = REPLACE,
) -> Recipe:
    """SBHG+EM where ``rows`` is given (the public size, for the private choice), else parents by raw information."""
    cls = us.SBHGGauss if gauss else us.SBHG
    return cls(
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        parents="mutual-information" if rows is None else "private",
        parent_count=parents,
        public_rows=rows,
    )


def pegs(epsilon: float, delta: float | None = None) -> Recipe:
    """PeGS with one parent by raw information: epsilon of the whole file where delta is given, else of one record."""
    whole = {"epsilon_per_record": epsilon} if delta is None else {"epsilon": epsilon, "delta": delta, "rows": ROWS}
    return us.PeGS(**whole, neighbours=REPLACE, parents="mutual-information", parent_count=1)


def privbayes(epsilon: float, rows: int, *, neighbours: us.Neighbours = REPLACE) -> Recipe:
    """The paper's competitor."""
    return us.PrivBayes(epsilon=epsilon, public_rows=rows, neighbours=neighbours)
