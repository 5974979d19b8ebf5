"""How far the flows of a release can be from the real ones, from its manifest and its own files alone.

The draws of the paper are multinomial with virtual workers added: both numbers are public. A release that was measured
level by level says the deviation of each estimate. No real flow is read here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.recheck import own_events
from understudy.commute.released import ReleasedCommutes
from understudy.mechanisms.origin_draws import KEEP_ALL, OriginDraws, parsed_groups

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawErrors:
    """For each destination, what turns its synthetic workers into an interval for the real ones.

    Of m synthetic workers, s live in an area of K origins. Then s g - K alpha estimates the real number, where
    g = (n + A) / m and A = alpha times all origins, with variance at most g^2 f s, f = 1 + (m - 1) / (n + A + 1): the
    Dirichlet-multinomial law.
    """

    gains: Floats
    virtual: Floats
    """Virtual workers of each origin."""
    factors: Floats
    """g^2 f."""
    floors: Floats
    """Synthetic workers that the virtual ones of one origin bring by themselves: m alpha / (n + A)."""


@dataclass(frozen=True, kw_only=True)
class Invented:
    """How many pairs of home and work are expected to be in the release though no real worker has them."""

    pairs: int
    """In the release."""
    least: float
    most: float

    @property
    def sentence(self) -> str:
        """In words."""
        low, high = (100 * min(1.0, number / max(self.pairs, 1)) for number in (self.least, self.most))
        share = f"{low:.0f} %" if round(low) == round(high) else f"{low:.0f} to {high:.0f} %"
        return (
            f"Of the {self.pairs:,} single pairs of home and workplace in this release, {share} are expected to be "
            "invented: no real worker has them. This follows from the public numbers of workers and of virtual "
            "workers; the real flows were not used."
        )


def own_draws(manifest: Mapping[str, Any]) -> OriginDraws | None:
    """The draws that the release was priced for, also where a seed spoils the promise; None for other kinds."""
    draws = [event for event in own_events(manifest) if isinstance(event, OriginDraws)]
    return draws[0] if len(draws) == 1 else None


def draw_errors(made: ReleasedCommutes, event: OriginDraws) -> DrawErrors:
    """By the number of synthetic workers of each destination; of several kinds of it, the most virtual one."""
    public, alphas = parsed_groups(event.groups)
    virtual = alphas * (public.cells * public.weights).sum(axis=1)
    order = np.lexsort((virtual, public.draws))
    draws, kind = public.draws[order], order
    drawn = np.maximum(made.flows.totals, 1)
    last = np.clip(np.searchsorted(draws, drawn, side="right") - 1, 0, len(draws) - 1)
    # beyond a cut-off workers are left out, so that a destination may have fewer than any kind was priced for
    rows = kind[np.where(draws[last] < drawn, np.minimum(last + 1, len(draws) - 1), last)]
    whole = public.workers[rows] + virtual[rows]
    gains = whole / public.draws[rows]
    factors = gains**2 * (1 + (public.draws[rows] - 1) / (whole + 1))
    each = virtual[rows] / len(made.origins)
    return DrawErrors(gains=gains, virtual=each, factors=factors, floors=each / gains)


def expected_invented(made: ReleasedCommutes, event: OriginDraws, *, pairs: int) -> Invented | None:
    """Of the ``pairs`` in the release, from the law of the draws.

    None where cells are merged, because a pair is then placed inside its cell.
    """
    from scipy.special import gammaln

    public, alphas = parsed_groups(event.groups)
    if np.any(public.cells.sum(axis=1) != len(made.origins)):
        return None
    per_draws = np.bincount(np.maximum(made.flows.totals, 1), minlength=int(public.draws.max()) + 1)
    own = alphas[:, None] * public.weights
    whole = (public.workers + (own * public.cells).sum(axis=1))[:, None]
    draws = public.draws[:, None]
    missed = np.exp(gammaln(whole - own + draws) - gammaln(whole - own) - gammaln(whole + draws) + gammaln(whole))
    hit = (1 - missed) * public.keeps / KEEP_ALL
    most = (hit * public.cells).sum(axis=1)
    least = np.maximum(0, most - public.workers * hit.max(axis=1))  # each real worker fills one cell at most
    low, high = np.zeros(len(per_draws)), np.zeros(len(per_draws))
    low[:] = np.inf
    np.minimum.at(low, public.draws, least)
    np.maximum.at(high, public.draws, most)
    low[np.isinf(low)] = 0
    return Invented(pairs=pairs, least=float(per_draws @ low[: len(per_draws)]), most=float(per_draws @ high))


def invented_of_drawn(estimates: Floats, deviations: Floats) -> tuple[float, float]:
    """Least and most pairs without a real worker, of pairs that were measured after they had been drawn.

    The measurements are unbiased, so their sum estimates the real workers of these pairs, and the sum of their squares
    less the noise that of the squared flows. Flows are whole: as many pairs have workers as there are workers, or
    fewer, and at least the squared sum over the sum of squares [Cauchy, Schwarz]. Both ends allow for the noise of the
    two sums, in 95 % of all cases each.

    >>> [round(number, 1) for number in invented_of_drawn(np.array([1.0, 0.0, 0.0, 3.0]), np.zeros(4))]
    [0.0, 2.4]
    """
    pairs, noise = len(estimates), deviations**2
    workers, squares = estimates.sum(), (estimates**2 - noise).sum()
    off = Z * np.sqrt(noise.sum())
    off_squares = Z * np.sqrt((2 * noise**2).sum() + 4 * (noise * np.maximum(estimates**2 - noise, 0)).sum())
    at_least = max(workers - off, 0.0) ** 2 / max(squares + off_squares, 1.0)
    least, most = np.clip(pairs - np.array([workers + off, at_least]), 0, pairs).tolist()
    return least, most


def invented_of_all(flows: Floats, estimates: Floats, deviations: Floats) -> float:
    """At most about so many pairs with a flow have no real worker, where all pairs were measured.

    Noise is symmetric: of pairs without workers, as many have an estimate of so many deviations above 0 as below. Real
    pairs have fewer below, so those that are below are an upper bound for the empty ones above.

    >>> invented_of_all(np.array([1, 0, 5]), np.array([0.9, -0.9, 5.1]), np.ones(3))
    1.0
    """
    scaled = estimates / np.maximum(deviations, 1e-300)
    bins = np.minimum(np.abs(scaled) * 4, 64).astype(np.int64)  # quarters of a deviation
    above, shown = scaled > 0, flows > 0
    counts = [np.bincount(bins[chosen], minlength=65) for chosen in (above, ~above, above & shown)]
    up, down, drawn = counts
    empty = drawn * np.minimum(1.0, down / np.maximum(up, 1))
    return float(empty.sum() + (shown & ~above).sum())
