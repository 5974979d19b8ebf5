"""Whether a description read off the synthetic file fits exactly one person (Giomi et al. 2023, section 4.1).

A guess is a synthetic record reduced to a few columns (ordered values as "at least" or "at most", whichever is rarer)
that no other synthetic record fits. It succeeds when exactly one real record fits. Other people of the same kind tell
how often that happens by chance; both tables are cut to one size, because small tables have more unique records.
"""

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import Cells, Floats, Ints, check_tables, open_cells
from understudy.evaluate.risk.intervals import residual, wilson
from understudy.evaluate.values import is_ordered
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

METRIC = Metric(
    name="singling_out",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="How often a description that fits one synthetic record fits exactly one real person, beyond chance.",
)
_LEAST_COLUMNS, _MOST_COLUMNS = 3, 8
_ANY, _SAME, _UP, _DOWN = 0, 1, 2, 3


def singling_out(
    real: Source,
    synthetic: Source,
    *,
    holdout: Source | None = None,
    guesses: int = 1_000,
    stream: Stream | None = None,
) -> Score:
    """Rate of success with Wilson's interval; against the hold-out where there is one."""
    check_tables(real, synthetic, holdout)
    book, names = real.codebook, real.codebook.names
    rng = (stream or Stream.seeded(0)).generator()
    truth, copy = open_cells(real, names), open_cells(synthetic, names)
    missing = np.array([-1 if c.missing_code is None else c.missing_code for c in book.modelled], dtype=np.int64)
    ordered = np.array([is_ordered(column) for column in book.modelled])

    made = _describe(copy.records()[rng.integers(copy.rows, size=4 * guesses)], copy, ordered, missing, rng)
    lone = fitting(*made, copy, missing) == 1
    values, tests = (part[lone][:guesses] for part in made)
    random = np.stack([rng.integers(size, size=max(len(values), 1)) for size in copy.sizes], axis=1)
    blind = fitting(*_describe(random, copy, ordered, missing, rng), truth, missing) == 1
    lines = {"guesses": float(len(values)), "baseline": float(blind.mean())}
    attack = wilson(int((fitting(values, tests, truth, missing) == 1).sum()), len(values))
    lines["attack"] = attack.value
    rate = attack
    if holdout is not None:
        others = open_cells(holdout, names)
        size = min(truth.rows, others.rows)
        inside, outside = (
            wilson(int((fitting(values, tests, table.subsample(size, rng), missing) == 1).sum()), len(values))
            for table in (truth, others)
        )
        lines |= {"attack at the control's size": inside.value, "control": outside.value}
        rate = residual(inside, outside)
    return Score(
        metric=METRIC.name,
        value=rate.value,
        breakdown=lines,
        low=rate.low,
        high=rate.high,
        note="Gain over the hold-out, (attack - control) / (1 - control)."
        if holdout is not None
        else "Without a hold-out this counts what is unique by chance as a success.",
    )


def _describe(
    records: Ints,
    copy: Cells,
    ordered: npt.NDArray[np.bool_],
    missing: Ints,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Values to compare with, and how: one row per description."""
    width = records.shape[1]
    wanted = rng.integers(min(_LEAST_COLUMNS, width), min(_MOST_COLUMNS, width) + 1, size=len(records))
    rank = rng.random(records.shape).argsort(axis=1).argsort(axis=1)
    used = rank < wanted[:, None]
    weights = copy.counts / copy.rows
    middle = np.array([_median(copy.codes[:, column], weights) for column in range(width)])
    tests = np.where(ordered & (records != missing), np.where(records >= middle, _UP, _DOWN), _SAME)
    return records, np.where(used, tests, _ANY)


def _median(codes: Ints, weights: Floats) -> int:
    shares = np.bincount(codes, weights=weights)
    return int(np.searchsorted(np.cumsum(shares), 0.5))


def fitting(values: Ints, tests: Ints, table: Cells, missing: Ints) -> Ints:
    """How many records fit each description: 0, 1, or 2 for more."""
    found = np.zeros(len(values), dtype=np.int64)
    _fit(np.ascontiguousarray(values), np.ascontiguousarray(tests), table.codes, table.counts, missing, found)
    return found


@kernel
def _fit(values: Ints, tests: Ints, codes: Ints, counts: Ints, missing: Ints, found: Ints) -> None:
    for guess in range(len(values)):
        total = 0
        for row in range(len(codes)):
            fits = True
            for column in range(values.shape[1]):
                test = tests[guess, column]
                if test == 0:
                    continue
                one, other = values[guess, column], codes[row, column]
                if test == 1:
                    fits = one == other
                elif other == missing[column]:
                    fits = False
                else:
                    fits = other >= one if test == 2 else other <= one
                if not fits:
                    break
            if fits:
                total += counts[row]
                if total > 1:
                    break
        found[guess] = min(total, 2)
