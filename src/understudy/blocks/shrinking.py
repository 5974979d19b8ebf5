"""Shrinkage of noisy tables, by as much as their known noise justifies.

The rules have no tuning parameter: posterior means, James and Stein, and the spectral shrinkage of Gavish and Donoho
with Stein's unbiased estimate of its risk.
"""

import math

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
_GRID = 400
_SLICE = 4096
_RATIOS = np.concatenate([[0.0], np.geomspace(1 / 16, 16, 25)])
"""Of a cell to what was expected of it: none at all, or from a sixteenth to sixteen times."""
_RATIO_WIDTHS = np.where(np.isclose(_RATIOS, 1), 0.0, 0.15 * _RATIOS)
"""Deviation of a ratio about its place on the grid, whose steps are a quarter; as expected and empty are exact."""
_RATIO_PRIOR = np.where(_RATIOS == 0, 0.1, 0.02) + np.where(np.isclose(_RATIOS, 1), 0.4, 0.0)
_PRIOR_CELLS, _LEARNING_CELLS, _LEARNING_STEPS = 10, 1500, 30
"""Cells that the prior counts for, cells that it learns from, and steps of learning."""


def on_simplex(values: Values, total: float) -> Values:
    """The nearest non-negative values with this sum (Euclidean projection)."""
    flat = np.sort(values.ravel())[::-1]
    excess = np.cumsum(flat) - total
    count = np.arange(1, len(flat) + 1)
    last = int(np.max(count[flat - excess / count > 0], initial=1))
    nearest: Values = np.maximum(values - excess[last - 1] / last, 0.0)
    return nearest


def believable(noisy: Values, total: float, deviation: float) -> Values:
    """Counts of one column as their posterior means, for shares with Jeffreys' prior and this Gaussian noise.

    Rare levels keep a little instead of being cut to zero, and common ones lose nothing for it; what is missing or too
    much in all is shared out by posterior variance.
    """
    mean_count = total / len(noisy)
    top = max(total, 6 * deviation)
    grid = np.concatenate([np.geomspace(1e-3 * deviation, deviation, _GRID // 4, endpoint=False), [deviation]])
    grid = np.concatenate([grid, np.linspace(deviation, 8 * deviation, _GRID)[1:]])
    grid = np.concatenate([grid, np.geomspace(grid[-1], max(top, 9 * deviation), _GRID)[1:]])
    prior = np.log(np.gradient(grid)) - 0.5 * np.log(grid) - 0.5 * grid / mean_count  # Gamma(1/2) of mean total/levels
    means, spreads = np.empty(len(noisy)), np.empty(len(noisy))
    for start in range(0, len(noisy), _SLICE):
        part = slice(start, start + _SLICE)
        odds = prior - 0.5 * ((noisy[part, None] - grid) / deviation) ** 2
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        means[part] = odds @ grid
        spreads[part] = odds @ grid**2 - means[part] ** 2
    big = noisy > 8 * deviation  # far from zero the prior says nothing, and the grid is too coarse
    means[big], spreads[big] = noisy[big], deviation**2
    return on_simplex(means + (total - means.sum()) * spreads / max(spreads.sum(), 1e-300), total)


def james_stein(noisy: Values, towards: Values, variance: float | Values) -> Values:
    """``noisy`` moved towards ``towards``, the further the more noise alone explains their distance."""
    apart = noisy - towards
    excess = float((apart**2 / variance).sum())
    keep = max(0.0, 1 - max(noisy.size - 2, 1) / max(excess, 1e-300))
    moved: Values = towards + keep * apart
    return moved


def fitted_margins(table: Values, rows: Values, columns: Values, *, rounds: int = 30) -> Values:
    """``table`` with these margins (iterative proportional fitting)."""
    for _ in range(rounds):
        table = table * (rows / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        sums = table.sum(axis=0)
        if np.abs(sums - columns).sum() <= 1e-9 * max(columns.sum(), 1e-300):
            break
        table = table * (columns / np.maximum(sums, 1e-300))[None, :]
    return table


def denoised(noisy: Values, expected: Values, deviation: float) -> tuple[Values, float]:
    """A noisy two-way table as ``expected`` plus the part of the rest that stands out from the noise, and its risk.

    The rest has noise of one known deviation in every cell, so its singular values are shrunk as Gavish and Donoho
    (2017) prove best in Frobenius norm: dependence between two columns usually lives in a few directions. The risk is
    Stein's unbiased estimate of the squared error (Candes, Sing-Long and Trzasko 2013, equation 9), up to a constant
    that is the same for every ``expected``.
    """
    rest = noisy - expected
    rest = rest - rest.mean(axis=0) - rest.mean(axis=1, keepdims=True) + rest.mean()
    left, values, right = np.linalg.svd(rest, full_matrices=False)
    rows, columns = max(rest.shape[0] - 1, 1), max(rest.shape[1] - 1, 1)
    number = min(rows, columns)  # the last singular value of a centred table is zero
    left, values, right = left[:, :number], values[:number], right[:number]
    long, ratio = max(rows, columns), number / max(rows, columns)
    unit = deviation * math.sqrt(long)
    scaled = np.maximum(values / unit, 1e-12)
    inside = np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    alive = (scaled > 1 + math.sqrt(ratio)) & (inside > 0)
    kept = np.where(alive, np.sqrt(inside) / scaled, 0.0)
    steep = 2 * (scaled**2 - ratio - 1) / np.maximum(np.sqrt(inside), 1e-3)  # infinite at the edge itself
    slope = np.where(alive, steep - kept / scaled, 0.0)
    squares = scaled**2
    gaps = squares[:, None] - squares[None, :]
    np.fill_diagonal(gaps, np.inf)
    gaps = np.where(np.abs(gaps) < 1e-9, np.inf, gaps)
    divergence = slope.sum() + (long - number) * (kept / scaled).sum() + 2 * ((scaled * kept)[:, None] / gaps).sum()
    risk = unit**2 * float(((kept - scaled) ** 2).sum()) + 2 * deviation**2 * float(divergence)
    shown: Values = expected + (left * (kept * unit)) @ right
    return shown, risk


def posterior_ratios(noisy: Values, expected: Values, deviation: float) -> Values:
    """Cells as posterior means, if the ratios of a table's cells to what was expected have one distribution.

    That distribution is learnt from the table itself (empirical Bayes: expectation-maximisation of a mixture on a fixed
    grid, after Kiefer and Wolfowitz). Unlike a shift by singular directions it can tell a cell that is empty from a
    small one, and moves rare cells by no more than they hold.
    """
    around, seen = np.maximum(expected.ravel(), 1e-9), noisy.ravel()
    step = max(1, len(seen) // _LEARNING_CELLS)
    likely = _ratio_likelihood(seen[::step], around[::step], deviation)
    prior = _RATIO_PRIOR
    for _ in range(_LEARNING_STEPS):
        learnt = prior * ((1 / (likely @ prior)) @ likely)
        prior = (learnt + _PRIOR_CELLS * _RATIO_PRIOR) / (len(likely) + _PRIOR_CELLS)
    posterior = (likely if step == 1 else _ratio_likelihood(seen, around, deviation)) * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    known = deviation**2 / (deviation**2 + (around[:, None] * _RATIO_WIDTHS) ** 2)
    means = seen[:, None] + known * (around[:, None] * _RATIOS - seen[:, None])
    shown: Values = np.maximum((posterior * means).sum(axis=1), 0.0).reshape(expected.shape)
    return shown


def _ratio_likelihood(noisy: Values, expected: Values, deviation: float) -> Values:
    """Of every cell under every ratio, up to a factor for the cell."""
    variance = deviation**2 + (expected[:, None] * _RATIO_WIDTHS) ** 2
    odds = -0.5 * ((noisy[:, None] - expected[:, None] * _RATIOS) ** 2 / variance + np.log(variance))
    likely: Values = np.exp(odds - odds.max(axis=1, keepdims=True))
    return likely
