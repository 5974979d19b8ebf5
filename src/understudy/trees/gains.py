"""The alpha-divergence of a 2 x 2 table from independence: the splitting criterion of alpha-trees.

Equation 5.2 of the dissertation with P = P(X, Y) and Q = P(X) P(Y), and its limits 5.4 (alpha = 0) and 5.6 (alpha = 1).
alpha = 1 is information gain (C4.5), 1/2 the Hellinger distance, 2 and -1 the two chi-square forms.

>>> table = [[30, 10], [5, 55]]
>>> [round(float(alpha_gain(table, alpha)), 7) for alpha in (-1, 0, 0.5, 1, 2)]
[0.4499394, 0.3090302, 0.2728195, 0.250411, 0.2344322]
"""

import math

import numpy as np
import numpy.typing as npt

from understudy.parameters import Number

Values = npt.NDArray[np.float64]


ALPHA = Number()
"""1 is information gain."""


def alpha_gain(tables: npt.ArrayLike, alpha: float) -> Values:
    """Gain of each table of counts ``[..., x, y]``; 0 for an empty table or an empty row or column.

    At alpha <= 0 a zero cell between margins that are not zero gives infinity: the divergence is unbounded there.
    """
    ALPHA.check("alpha", alpha)
    counts = np.asarray(tables, dtype=np.float64)
    total = counts.sum(axis=(-2, -1), keepdims=True)
    joint = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    apart = joint.sum(axis=-1, keepdims=True) * joint.sum(axis=-2, keepdims=True)
    full, both = (joint > 0) & (apart > 0), apart > 0
    if alpha == 1:
        terms = joint * np.log(np.divide(joint, apart, out=np.ones_like(joint), where=full))
        divergence = terms.sum(axis=(-2, -1))
    elif alpha == 0:
        ratio = np.divide(apart, joint, out=np.ones_like(joint), where=full)
        terms = np.where(both & ~full, np.inf, apart * np.log(ratio))
        divergence = terms.sum(axis=(-2, -1))
    else:
        # P^alpha Q^(1 - alpha) = Q (P / Q)^alpha
        ratio = np.divide(joint, apart, out=np.ones_like(joint), where=both)
        power = np.full_like(joint, 0.0 if alpha > 0 else math.inf)
        np.power(ratio, alpha, where=full, out=power)
        power = np.where(both, power, 0.0) * apart
        divergence = (1.0 - power.sum(axis=(-2, -1))) / (alpha * (1.0 - alpha))
        divergence = np.where(total[..., 0, 0] > 0, divergence, 0.0)
    gains: Values = np.maximum(divergence, 0.0)  # rounding may leave -1e-17
    return gains


def gain_bounds(tables: npt.ArrayLike, alpha: float) -> tuple[Values, Values]:
    """Smallest and largest gain over the tables with one record more or less (table 5.1); impossible ones are left out.

    The table itself is no neighbour; removals from an empty cell do not exist.
    """
    counts = np.asarray(tables, dtype=np.int64)
    low, high = np.full(counts.shape[:-2], np.inf), np.full(counts.shape[:-2], -np.inf)
    for change in (1, -1):
        for x, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
            moved = counts.copy()
            moved[..., x, y] += change
            real = moved[..., x, y] >= 0
            gain = alpha_gain(np.maximum(moved, 0), alpha)
            low = np.where(real, np.minimum(low, gain), low)
            high = np.where(real, np.maximum(high, gain), high)
    return low, high
