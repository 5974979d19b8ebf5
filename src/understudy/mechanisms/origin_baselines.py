"""Older ways to protect a histogram of origins, for comparison: noise on every cell, subsampling, and thresholds.

Each perturbs the histogram of every destination once and then draws the synthetic workers from what is left, which
costs nothing more. Prices are those of one destination, because one worker's origin changes inside one.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_gaussian import first_fit
from understudy.mechanisms.discrete_laplace import discrete_laplace, scale_for
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.origin_draws import KEEP_ALL, Destinations
from understudy.mechanisms.stability import StabilityHistogram, stable_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, Number, Whole, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms

BASELINES = ("laplace", "subsample", "sba")

Integers = npt.NDArray[np.int64]

_MOST_CELLS = 1 << 31
_CHUNK = 1 << 22
_MOST_TRIALS = 1 << 12
_UP = 1 + 1e-9
_OFF = 1e-14
"""More than the relative error of a product of chances: each is rounded a few times, by 2^-53."""
_LARGE = 700.0
"""e to the power of more is no float any more; a smaller factor gives a larger delta."""
_UNDERFLOW = 1e-300
"""More than all chances together that are too small for a float."""


@dataclass(frozen=True, kw_only=True)
class SubsampledBinomial(Event):
    """Each worker is kept with a probability, then every cell gets Binomial(trials, 1/2) workers more."""

    kind: ClassVar[str] = "subsampled-binomial"
    proof: ClassVar[str | None] = "subsampled_binomial.md"
    keep: int = option(rule=Whole(most=KEEP_ALL), help="probability of keeping a worker, over 2^32")
    trials: int = option(rule=Whole(most=_MOST_TRIALS), help="fair coins added to every cell")
    epsilon: int | float = option(rule=EPSILON, help="at which the guarantee states its delta")

    def guarantee(self) -> Guarantee:
        """The exact hockey-stick divergence of two cells, rounded up."""
        delta = min(1.0, _two_cells(self.keep, self.trials, self.epsilon) * _UP)
        return ApproxDP(epsilon=self.epsilon, delta=delta, neighbours=Neighbours.ORIGIN)


@lru_cache(maxsize=4096)
def _two_cells(keep: int, trials: int, epsilon: float) -> float:
    """Largest P(S) - e^epsilon P'(S) when one worker moves between two cells that are empty otherwise, never less.

    The difference may be far smaller than its two sides, so that each side is moved by more than it can be off.
    """
    share = keep / KEEP_ALL
    without = np.array([math.comb(trials, k) / (1 << trials) for k in range(trials + 1)] + [0.0])
    with_worker = (1 - share) * without + share * np.concatenate([[0.0], without[:-1]])
    ours = with_worker[:, None] * without[None, :] * (1 + _OFF)
    theirs = math.exp(min(epsilon, _LARGE)) * without[:, None] * with_worker[None, :] * (1 - _OFF)
    return float(np.sum(np.maximum(ours - theirs, 0.0))) + _UNDERFLOW


def baseline_event(method: str, *, epsilon: float, delta: float | None, keep: float) -> Event:
    """What a baseline will pay; needs no data."""
    relation = Neighbours.ORIGIN
    if method == "laplace":
        return GeometricHistogram(scale=scale_for(epsilon, 2), neighbours=relation)
    assert delta is not None
    DELTA.check("delta", delta)
    if method == "sba":
        return stable_histogram_event(epsilon=epsilon, delta=delta, neighbours=relation)
    Number(least=2.0**-32, most=1, tried=0.5).check("subsample", keep)
    share = round(keep * KEEP_ALL)
    # further noise of its own is post-processing, so delta falls as trials grow and a bisection finds the least
    low, high = 0, 1
    while _two_cells(share, high, epsilon) * _UP > delta:
        low, high = high, 2 * high
        if high > _MOST_TRIALS:
            raise ParameterError(
                f"`epsilon` is {epsilon} and `delta` {delta}; subsampling would need more than {_MOST_TRIALS:,} coins "
                "per cell, and nothing would be left of the data. Use a larger epsilon or a smaller `subsample`."
            )
    trials = first_fit(lambda n: _two_cells(share, n, epsilon) * _UP <= delta, low, high)
    return SubsampledBinomial(keep=share, trials=trials, epsilon=epsilon)


def check_cells(event: Event, public: Destinations, units: int) -> None:
    """Refuse a domain that is too large, from public facts alone: before anything is paid."""
    if not isinstance(event, StabilityHistogram) and len(public) * units > _MOST_CELLS:
        raise RefusalError(
            f"{len(public):,} destinations have {len(public) * units:,} cells, and this baseline puts noise on every "
            f"one; at most {_MOST_CELLS:,} are handled. Coarsen the origins, or use the method dirichlet, whose cost "
            "does not depend on the domain."
        )


def draw_baseline(
    histograms: Secret[Histograms],
    public: Destinations,
    event: Event,
    *,
    ledger: Ledger,
    units: int,
    stream: Stream,
    report: Any = None,
) -> tuple[Integers, Integers]:
    """Destination and unit of every synthetic worker; a destination whose cells all fell away has none."""
    if not ledger.pays_for(event):
        raise RefusalError("the ledger does not pay for this perturbation; quote and reserve it before drawing.")
    counted = histograms.open()
    if isinstance(event, StabilityHistogram):
        noisy = discrete_laplace(counted.counts, scale=event.scale, stream=stream)
        kept = noisy >= event.threshold
        return _drawn(counted.rows[kept], counted.units[kept], noisy[kept], public, stream)
    check_cells(event, public, units)
    parts = []
    step = max(1, _CHUNK // units)
    for start in range(0, len(public), step):
        stop = min(start + step, len(public))
        grid = np.zeros((stop - start, units), dtype=np.int64)
        span = slice(counted.starts[start], counted.starts[stop])
        rows = counted.rows[span] - start
        if isinstance(event, GeometricHistogram):
            grid[rows, counted.units[span]] = counted.counts[span]
            grid = discrete_laplace(grid, scale=event.scale, stream=stream)
        else:
            assert isinstance(event, SubsampledBinomial)
            grid[rows, counted.units[span]] = _kept(counted.counts[span], event.keep, stream)
            # twice the count less its mean, so that weights stay whole
            grid = 2 * (grid + _coins(grid.size, event.trials, stream).reshape(grid.shape)) - event.trials
        rows, cells = np.nonzero(grid > 0)
        parts.append(_drawn(rows, cells, grid[rows, cells], public.take(slice(start, stop)), stream, first=start))
        if report:
            report("drawing", stop, len(public))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _kept(counts: Integers, keep: int, stream: Stream) -> Integers:
    """Binomial(count, keep / 2^32) of every count: one 32-bit comparison per worker."""
    high = (stream.words(int(counts.sum())) >> np.uint64(32)).astype(np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    return np.bincount(owners, weights=high < keep, minlength=len(counts)).astype(np.int64)


def _coins(cells: int, trials: int, stream: Stream) -> Integers:
    """Binomial(trials, 1/2) for every cell: set bits of random words."""
    out = np.zeros(cells, dtype=np.int64)
    left = trials
    while left > 0:
        bits = min(left, 64)
        words = stream.words(cells)
        if bits < 64:
            words &= np.uint64((1 << bits) - 1)
        out += np.bitwise_count(words).astype(np.int64)
        left -= bits
    return out


def _drawn(
    rows: Integers, units: Integers, weights: Integers, public: Destinations, stream: Stream, *, first: int = 0
) -> tuple[Integers, Integers]:
    """m(d) draws from the released weights of every destination: post-processing."""
    totals = np.zeros(len(public), dtype=np.int64)
    np.add.at(totals, rows, weights)
    wanted = np.where(totals > 0, public.draws, 0)
    owners = np.repeat(np.arange(len(public)), wanted)
    cumulative = np.cumsum(weights)
    before = np.cumsum(totals) - totals
    picks = stream.below_each(totals[owners].astype(np.uint64)).astype(np.int64) + before[owners]
    return owners + first, units[np.searchsorted(cumulative, picks, side="right")]
