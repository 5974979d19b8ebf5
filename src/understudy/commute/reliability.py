"""How far the flows of a release can be from the real ones, from its manifest and its own files alone.

The draws of the paper are multinomial with virtual workers added: both numbers are public. A release that was measured
level by level says the deviation of each estimate. No real flow is read here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.recheck import own_events
from understudy.commute.released import ReleasedCommutes
from understudy.mechanisms.origin_draws import KEEP_ALL, OriginDraws, parsed_groups

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
