"""Diagnostics of a Gibbs chain: trace statistics, autocorrelation and effective sample size (lugs.txt section 5.1).

Pure functions on arrays; a trace holds one number per iteration, for instance a code, or whether the chain sits in its
most common level. The effective size follows Geyer's initial monotone positive sequence, which is consistent for
reversible chains and a common estimate for others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score

GIBBS = Metric(
    name="gibbs_effective_share",
    title="Gibbs effective share",
    goal="maximize",
    room="utility",
    says="How many independent draws an iteration of the Gibbs chain is worth, for the slowest column.",
)
Floats = npt.NDArray[np.float64]
_LEAST = 4


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What one chain did with one column."""

    mean: float
    deviation: float
    first_half: float
    second_half: float
    """Means of the halves, which agree when the chain has forgotten its start."""
    moved: float
    """Share of iterations that changed the value."""
    lags: tuple[float, ...]
    """Autocorrelation at lags 0, 1, 2, ..."""
    effective_size: float
    r_hat: float
    """Split R-hat: 1 when the halves look alike."""


def autocorrelation(trace: npt.ArrayLike, lags: int | None = None) -> Floats:
    """Autocorrelation at lags 0 .. ``lags`` (all, if not given), with divisor n as usual; 1, 0, 0, ... for a constant.

    >>> autocorrelation([1, -1, 1, -1], 2)
    array([ 1.  , -0.75,  0.5 ])
    """
    values = _checked(trace)
    n = len(values)
    most = n - 1 if lags is None else lags
    if not 0 <= most < n:
        raise ParameterError(f"`lags` is {lags}; a trace of {n} iterations has lags 0 to {n - 1}. Choose one of them.")
    centred = values - values.mean()
    size = 1 << (2 * n - 1).bit_length()  # room enough that the transform does not wrap round
    spectrum = np.fft.rfft(centred, size)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), size)[: most + 1]
    if np.ptp(values) == 0:
        return np.concatenate([[1.0], np.zeros(most)])
    return np.asarray(covariance / covariance[0])


def effective_size(trace: npt.ArrayLike) -> float:
    """Number of independent draws with the same standard error of the mean; between 1 and the number of iterations.

    A chain that never moves is worth one draw.
    """
    values = _checked(trace)
    n = len(values)
    if np.ptp(values) == 0:
        return 1.0
    rho = autocorrelation(values)
    pairs = rho[0 : n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    time = max(2 * kept.sum() - 1, 1 / n)
    return float(min(max(n / time, 1.0), n))


def split_r_hat(trace: npt.ArrayLike) -> float:
    """Split R-hat of one chain: the two halves taken as two chains (Gelman and Rubin)."""
    values = _checked(trace)
    half = len(values) // 2
    halves = np.stack([values[:half], values[-half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = half * halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else math.inf
    return math.sqrt(((half - 1) / half * within + between / half) / within)


def trace_statistics(trace: npt.ArrayLike, *, lags: int = 20) -> Trace:
    """Everything about one trace."""
    values = _checked(trace)
    half = len(values) // 2
    return Trace(
        mean=float(values.mean()),
        deviation=float(values.std()),
        first_half=float(values[:half].mean()),
        second_half=float(values[half:].mean()),
        moved=float((values[1:] != values[:-1]).mean()),
        lags=tuple(autocorrelation(values, min(lags, len(values) - 1)).tolist()),
        effective_size=effective_size(values),
        r_hat=split_r_hat(values),
    )


def gibbs_score(traces: npt.NDArray[np.integer] | Sequence[Sequence[int]], names: Sequence[str]) -> Score:
    """Of a chain of codes, one row per iteration and one column per name.

    Codes without an order have no mean, so each column is followed by whether it sits in its most common level.
    """
    codes = np.asarray(traces)
    if codes.ndim != 2 or codes.shape[1] != len(names):
        raise ParameterError(
            f"`traces` has the shape {codes.shape} for {len(names)} columns; give one row per iteration and one column "
            "per name."
        )
    parts, shares, still = {}, [], []
    for name, column in zip(names, codes.T, strict=True):
        levels, counts = np.unique(column, return_counts=True)
        sits = (column == levels[counts.argmax()]).astype(np.float64)
        trace = trace_statistics(sits, lags=min(5, len(sits) - 1))
        parts[f"{name}: effective size"] = trace.effective_size
        parts[f"{name}: lag 1"] = trace.lags[1]
        parts[f"{name}: lag {len(trace.lags) - 1}"] = trace.lags[-1]
        shares.append(trace.effective_size / len(sits))
        if len(levels) == 1:
            still.append(name)
    note = f"{len(codes)} iterations, by whether each column sits in its most common level."
    if still:
        note += f" {', '.join(still)} never moved."
    return GIBBS.score(float(min(shares)), parts, note=note)


def _checked(trace: npt.ArrayLike) -> Floats:
    values = np.asarray(trace, dtype=np.float64)
    if values.ndim != 1 or len(values) < _LEAST:
        raise ParameterError(
            f"the trace has the shape {values.shape}; it must be one row of at least {_LEAST} iterations. Run longer."
        )
    if not np.isfinite(values).all():
        raise ParameterError("the trace holds a value that is not finite; give numbers or codes.")
    return values
