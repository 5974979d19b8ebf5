"""Figures 4 and 5 at the size of the paper's survey: 200,000 rows and 35 columns of our own.

The paper's file is not here, so its size and its sparseness are: 1.8e25 combinations, as many rows, a label of two
levels. Two ways in which columns may hang together: all of them alike (appendix D's correlation of 0.3), or in five
groups (0.6 within a group, 0.1 across), as questions of one survey do.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from experiments.sbhg.figures import SHOWN
from experiments.sbhg.real import EPSILONS, measured_task
from experiments.sbhg.real_data import Task
from experiments.sbhg.simulate import CORRELATION, Table
from understudy.codebook import Categorical, Codebook

ROWS, HELD_OUT = 200_000, 20_000
LEVELS = (2, *[5] * 19, *[6] * 15)
"""Of the 35 columns, the label first: 1.8e25 combinations, where the paper has 1.85e25."""
GROUPS, WITHIN, ACROSS = 5, 0.6, 0.1

Normal = npt.NDArray[np.float64]


def equicorrelated(rng: np.random.Generator, rows: int) -> Normal:
    """Every pair of columns has the correlation of appendix D."""
    common = rng.standard_normal((rows, 1)) * math.sqrt(CORRELATION)
    return np.asarray(common + rng.standard_normal((rows, len(LEVELS))) * math.sqrt(1 - CORRELATION))


def five_factors(rng: np.random.Generator, rows: int) -> Normal:
    """Column j belongs to group j mod 5."""
    common = rng.standard_normal((rows, 1)) * math.sqrt(ACROSS)
    factors = rng.standard_normal((rows, GROUPS)) * math.sqrt(WITHIN - ACROSS)
    own = rng.standard_normal((rows, len(LEVELS))) * math.sqrt(1 - WITHIN)
    return np.asarray(common + factors[:, np.arange(len(LEVELS)) % GROUPS] + own)


TABLES = {"equicorrelated": equicorrelated, "five factors": five_factors}


def wide(*, quick: bool) -> dict[str, Any]:
    """Both tables, at every second epsilon of the paper."""
    rows, held_out = (10_000, 2_000) if quick else (ROWS, HELD_OUT)
    epsilons, repeats = ((1.6,), 1) if quick else (EPSILONS[1::2], 3)
    return {
        title: measured_task(task(title, rows=rows, held_out=held_out), SHOWN, epsilons=epsilons, repeats=repeats)
        for title in TABLES
    }


def task(title: str, *, rows: int, held_out: int) -> Task:
    """One table, each column cut where the normal law has equal shares, and rows kept for the classifier."""
    normal = TABLES[title](np.random.default_rng(35), rows + held_out)
    names = [f"x{number}" for number in range(1, len(LEVELS) + 1)]
    book = Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(map(str, range(size))))
            for name, size in zip(names, LEVELS, strict=True)
        )
    )
    codes = [
        np.digitize(column, ndtri(np.arange(1, size) / size)).astype(np.uint8)
        for column, size in zip(normal.T, LEVELS, strict=True)
    ]
    train, test = ([column[part].copy() for column in codes] for part in (slice(rows), slice(rows, None)))
    return Task(title=title, table=Table.of(book, train), train=train, test=test, target=names[0])
