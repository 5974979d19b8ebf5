"""`marginals`: fit time against rows and columns.

Bars: 1,000,000 rows cost at most 3 times the fit of 39,074 rows (only counting grows); 100 columns of 10 levels take
less than 5 minutes and 4 GiB, drawing 39,074 rows included.
"""

import resource
import statistics

import numpy as np

import understudy as us
from benchmarks.sbhg import verdict
from benchmarks.sweep import seconds
from understudy.codebook import Categorical, Codebook
from understudy.sources import EncodedSource
from understudy.synth import Marginals

SMALL, LARGE, COLUMNS, LEVELS = 39_074, 1_000_000, 100, 10
ROUNDS = 5


def discharges(rows: int) -> us.sources.base.Source:
    return us.open(us.datasets.discharges(rows=rows, seed=1), us.datasets.discharges_codebook())


def wide(rows: int, *, columns: int = COLUMNS, levels: int = LEVELS) -> EncodedSource:
    """Columns that follow one of five kinds of record, with noise."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 5, rows)
    shares = rng.dirichlet(np.ones(levels), (columns, 5)).cumsum(axis=-1)
    codes = [(rng.random(rows)[:, None] > own[kind]).sum(axis=1).clip(0, levels - 1) for own in shares]
    names = tuple(str(level) for level in range(levels))
    book = Codebook(columns=tuple(Categorical(name=f"c{column}", levels=names) for column in range(columns)))
    return EncodedSource(codebook=book, columns=[column.astype(np.uint8) for column in codes])


def main() -> None:
    recipe = Marginals(epsilon=1.0, delta=1e-9)
    small, large = discharges(SMALL), discharges(LARGE)
    recipe.fit(small)
    pairs = [(seconds(lambda: recipe.fit(small)), seconds(lambda: recipe.fit(large))) for _ in range(ROUNDS)]
    times = [statistics.median(column) for column in zip(*pairs, strict=True)]
    print(f"fit: {SMALL:,} rows {times[0]:.2f} s, {LARGE:,} rows {times[1]:.2f} s")
    print(f"ratio {verdict(times[1] / times[0], 3.0)}")
    broad = wide(SMALL)
    found = []
    fit = seconds(lambda: found.append(recipe.fit(broad)))
    draw = seconds(lambda: found[0].sample(SMALL))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{COLUMNS} columns of {LEVELS} levels: fit {fit:.1f} s, draw {draw:.1f} s, peak {peak:.2f} GiB")
    print(f"minutes {verdict((fit + draw) / 60, 5.0)}; GiB {verdict(peak, 4.0)}")


if __name__ == "__main__":
    main()
