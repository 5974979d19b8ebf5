"""The Dirichlet prior: alpha virtual records per level, and what a draw from the smoothed counts costs.

A draw from ``(n_j + alpha_j) / (N + sum alpha)`` is an exponential tilt of one category when a record is added, so its
log-ratio takes two values at distance at most ``eps0 = ln(1 + 1/min alpha)`` (proofs/dirichlet_draw.md). The smoothed
counts stay secret; every draw is paid for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.mechanisms.discrete_laplace import RELATION
from understudy.parameters import Number, Text, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Guarantee, Neighbours, PureDP

Prior = tuple[tuple[Fraction, int], ...]
"""Virtual records of one column as (alpha, how many levels have it), smallest alpha first."""

_ALPHA_BITS = 30
_FINE = 512  # relative step of the scan over counts once it is no longer exhaustive
# A stated price is never below the true one because of rounding (proofs/dirichlet_draw.md, "Rounding"):
_UP = 1 + 2.0**-48  # covers the few operations behind a logarithm, a sum or a product
_UP_ALPHA = 1 + 2.0**-45  # so that an alpha made for a target still meets it after _UP
_LOST = 2.0**-46  # what a difference of two logarithms can lose, in units of the larger one
_FAINT = 1e-300  # a price at its target is cheap enough, and must not end the search for the first that is
_BESIDE = 1e-3  # so near to a price that is known, in logarithms of alpha, rounding or a step up may tell otherwise


def rational_alpha(alpha: float) -> Fraction:
    """The smallest allowed rational at or above ``alpha``: weights are integers, and rounding up never costs more.

    >>> rational_alpha(0.3) >= 0.3
    True
    """
    Number(above=0).check("alpha", alpha)  # at 0 an empty cell would reveal absence
    bits = min(max(_ALPHA_BITS - math.floor(math.log2(alpha)), 0), _ALPHA_BITS)
    return Fraction(math.ceil(Fraction(alpha) * 2**bits), 2**bits)


def alpha_for(*, epsilon_per_record: float, columns: int) -> Fraction:
    """Equation 8 of the PeGS paper: one sweep of ``columns`` draws costs at most ``epsilon_per_record``."""
    most = 700 * columns  # beyond, a draw protects nothing
    Number(above=0, most=most, tried=1.0).check("epsilon_per_record", epsilon_per_record)
    return rational_alpha(_UP_ALPHA / math.expm1(epsilon_per_record / columns))


def smallest_alpha(price: Callable[[Fraction], float], target: float) -> Fraction:
    """The smallest alpha, to a relative 1e-6, with ``price(alpha) <= target``; the price falls as alpha grows.

    It is the last upper end of a bisection, and stays so digit by digit: manifests state it, ``verify`` computes it
    again, and an account knows an interrupted charge by it. A price of many columns takes tens of milliseconds, and a
    screen asks for one at every move of its slider: so secants go first, and the bisection asks no price where
    those that are known tell enough. That is half of its prices.
    """
    least, most = math.log(1e-6), math.log(1e9)
    costs = dict[float, float]()

    def is_cheap(place: float) -> bool:
        if place not in costs:
            costs[place] = price(rational_alpha(math.exp(place)))
        return costs[place] <= target

    def over(place: float) -> float:
        """Logarithm of price over target at alpha = e^place: above 0 where it is too expensive, else below."""
        cheap, cost = is_cheap(place), costs[place]
        far = min(math.log(cost / target), 1e3) if cost > 0 else -1e3
        return min(far, -_FAINT) if cheap else max(far, _FAINT)

    cheap = dear = 0.0
    while not is_cheap(cheap):
        if cheap >= most:
            raise RefusalError(
                f"no alpha below 1e9 reaches a total epsilon of {target}; ask for fewer rows or a larger epsilon."
            )
        dear, cheap = cheap, min(cheap + max(2.5 * over(cheap), 0.1), most)  # prices fall by a root of alpha or faster
    while dear >= cheap or is_cheap(dear):
        if dear <= least:
            return rational_alpha(math.exp(least))
        cheap, dear = min(cheap, dear), max(dear + min(2.5 * over(dear), -0.1), least)
    _close_in(over, dear, cheap)
    dear = max(place for place in costs if not is_cheap(place)) - _BESIDE
    cheap = min(place for place in costs if is_cheap(place)) + _BESIDE
    found = _bisected(least, most, lambda place: place > cheap or (place >= dear and is_cheap(place)))
    if not is_cheap(found):  # or the price does not fall everywhere, and tells nothing of other places
        found = _bisected(least, most, is_cheap)
    return rational_alpha(math.exp(found))


def _close_in(over: Callable[[float], float], dear: float, cheap: float) -> None:
    """Ask for prices at both sides of the target and near to it: secants, and a step to the other side at the end.

    SciPy has such methods; to load them takes a third of a second and 30 MB, and a screen asks for a price.
    """
    before, last = (dear, cheap) if over(dear) > -over(cheap) else (cheap, dear)
    for _ in range(8):  # a price with steps may need many more
        if cheap - dear < _BESIDE:
            return
        rise = over(last) - over(before)
        place = last - over(last) * (last - before) / rise if rise else last
        if abs(place - last) < _BESIDE / 4:
            place = last + math.copysign(_BESIDE / 2, over(last))
        if not dear < place < cheap:
            place = (dear + cheap) / 2
        before, last = last, place
        dear, cheap = (place, cheap) if over(place) > 0 else (dear, place)


def _bisected(low: float, high: float, is_cheap: Callable[[float], bool]) -> float:
    """The upper end of a bisection between a place that is too expensive and one that is cheap."""
    while high - low >= 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if is_cheap(middle) else (middle, high)
    return high


def draw_epsilon(prior: Prior) -> float:
    """ln(1 + 1/min alpha), the price of one draw under both relations."""
    return math.log1p(1 / float(min(alpha for alpha, _ in prior))) * _UP


def draw_renyi(prior: Prior, orders: Orders) -> Renyi:
    """Renyi divergence of one draw under add-remove: the supremum over every count n and cell size N.

    For a category with virtual count a and n records out of N, adding a record tilts it by eta = ln((n+1+a)/(n+a)) at
    base probability p = (n+a)/(N+A) <= (n+a)/(n+A). Both directions have a closed-form worst p; n is scanned upwards
    until the bound min(eta, order eta^2/8) falls below what was found. Beyond small n the scan takes ranges of n and
    pairs the largest tilt of a range with its largest p, which can only overstate.
    """
    return _draw_renyi(prior, orders.tobytes()).copy()


@lru_cache(maxsize=4096)
def _draw_renyi(prior: Prior, orders_bytes: bytes) -> Renyi:
    orders = np.frombuffer(orders_bytes, dtype=np.float64)
    mass = float(sum(alpha * levels for alpha, levels in prior))
    best = np.zeros(len(orders))
    for alpha_exact, _ in prior:
        alpha = float(alpha_exact)
        low, open_ = 0.0, np.arange(len(orders))  # orders at which larger counts may still cost more
        while True:
            starts = _scan(low, alpha)
            eta = np.log1p(1 / (starts[:-1] + alpha))
            ends = starts[1:] - 1
            reach = (ends + alpha) / (ends + mass)
            found = _tilt_renyi(eta[:, None], reach[:, None], orders[None, open_]).max(axis=0)
            best[open_] = np.maximum(best[open_], found)
            low = float(starts[-1])
            tail = math.log1p(1 / (low + alpha))
            open_ = np.flatnonzero(np.minimum(tail, orders * tail**2 / 8) > best)
            if not open_.size:
                break
    return np.asarray(best * _UP)


@lru_cache(maxsize=256)  # columns have one alpha, and it is asked for at many orders
def _scan(low: float, alpha: float, count: int = 128) -> npt.NDArray[np.float64]:
    starts = [low]
    for _ in range(count):
        starts.append(starts[-1] + max(1.0, math.floor((starts[-1] + alpha) / _FINE)))
    scanned = np.array(starts)
    scanned.flags.writeable = False
    return scanned


def _tilt_renyi(eta: Any, reach: Any, orders: Any) -> Any:
    """Largest divergence of tilting one category by eta, over both directions and every p in (0, reach]."""
    more = np.expm1(eta)  # e^eta - 1
    # forward: f(p) = ln(1-p+p e^(order eta)) - order ln(1-p+p e^eta), stationary at the p below
    with np.errstate(over="ignore", invalid="ignore"):
        far = np.expm1(orders * eta)
        ratio = np.where(np.isinf(far), 0.0, orders * more / far)
    forward_p = np.minimum(np.maximum((1 - ratio) / (more * (orders - 1)), 0), reach)
    forward = (_log_mix(forward_p, orders * eta) - orders * _log_mix(forward_p, eta)) / (orders - 1)
    # backward: g(p) = ln(1-p+p e^((1-order) eta)) + (order-1) ln(1-p+p e^eta)
    less = -np.expm1((1 - orders) * eta)
    backward_p = np.minimum(np.maximum(((orders - 1) * more - less) / (orders * less * more), 0), reach)
    backward = _log_mix(backward_p, (1 - orders) * eta) / (orders - 1) + _log_mix(backward_p, eta)
    # both are differences of terms of at most order eta; whatever p, range and Hoeffding bound them
    rounded = np.maximum(forward, backward) + _LOST * orders * eta / (orders - 1)
    return np.minimum(rounded, np.minimum(eta, orders * eta**2 / 8))


def _log_mix(p: Any, exponent: Any) -> Any:
    """ln(1 - p + p e^exponent) without overflow."""
    mix = np.log1p(p * np.expm1(np.minimum(exponent, 1)))
    if np.any(exponent > 1):
        p, exponent = np.broadcast_arrays(p, exponent)
        large = exponent > 1
        with np.errstate(divide="ignore"):
            mix[large] = np.logaddexp(np.log1p(-p[large]), np.log(p[large]) + exponent[large])
    return mix


def _are_priors(value: Any) -> bool:
    """An event is also read from files that anybody may have edited."""
    return bool(value) and all(
        prior and all(isinstance(alpha, Fraction) and alpha > 0 and Whole().admits(n) for alpha, n in prior)
        for prior in value
    )


PRIORS = Text(
    words="for each column its virtual counts, positive Fractions, and how many levels have each",
    example="(((Fraction(1), 2),),)",
    admitted=_are_priors,
)


def _scaled(priors: tuple[Prior, ...], factor: Fraction) -> tuple[Prior, ...]:
    return tuple(tuple((alpha * factor, levels) for alpha, levels in prior) for prior in priors)


@dataclass(frozen=True, kw_only=True)
class DirichletDraws(Event):
    """``draws`` draws from each column's smoothed counts, which stay as they are in between (PeGS)."""

    kind: ClassVar[str] = "dirichlet-draws"
    proof: ClassVar[str | None] = "dirichlet_draw.md"
    priors: tuple[Prior, ...] = option(rule=PRIORS, help="virtual records of each column")
    draws: int = option(rule=Whole(), help="draws from each column")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def scaled(self, factor: Fraction) -> "DirichletDraws":
        """The same draws with every virtual count multiplied."""
        return replace(self, priors=_scaled(self.priors, factor))

    def guarantee(self) -> Guarantee:
        """Every draw adds eps0: tight, see the proof file."""
        per_row = math.fsum(draw_epsilon(prior) for prior in self.priors)
        return PureDP(epsilon=self.draws * per_row, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """Add-remove: level-aware supremum; replace-one: eps0^2/2 zCDP, never more than eps0."""
        total = np.zeros(len(orders))
        for prior in self.priors:
            if self.neighbours is Neighbours.ADD_REMOVE:
                total += draw_renyi(prior, orders)
            else:
                eps0 = draw_epsilon(prior)
                total += np.minimum(orders * eps0**2 / 2, eps0)
        return self.draws * total


@dataclass(frozen=True, kw_only=True)
class DirichletResetBlocks(Event):
    """``blocks`` chains from fresh tables; a cell that was drawn from is reset to its prior (PeGS.rs)."""

    kind: ClassVar[str] = "dirichlet-reset-blocks"
    proof: ClassVar[str | None] = "dirichlet_reset.md"
    priors: tuple[Prior, ...] = option(rule=PRIORS, help="virtual records of each column")
    blocks: int = option(rule=Whole(), help="chains, each from fresh tables")
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def scaled(self, factor: Fraction) -> "DirichletResetBlocks":
        """The same blocks with every virtual count multiplied."""
        return replace(self, priors=_scaled(self.priors, factor))

    def guarantee(self) -> Guarantee:
        """Each differing cell counts once: M of them under add-remove, 2 M under replace-one."""
        per_block = math.fsum(self._cells(prior) for prior in self.priors)
        return PureDP(epsilon=self.blocks * per_block, neighbours=self.neighbours)

    def _cells(self, prior: Prior) -> float:
        eps0 = draw_epsilon(prior)
        if self.neighbours is Neighbours.ADD_REMOVE:
            return eps0
        mass = float(sum(alpha * levels for alpha, levels in prior))
        return eps0 + math.log1p(1 / mass) * _UP

    def renyi(self, orders: Orders) -> Renyi:
        """Path-wise sum over the differing cells (filter argument, proofs/dirichlet_reset.md)."""
        total = np.zeros(len(orders))
        for prior in self.priors:
            if self.neighbours is Neighbours.ADD_REMOVE:
                total += draw_renyi(prior, orders)
            else:  # one cell changed by replacement, or two cells changed by one record each
                eps0 = draw_epsilon(prior)
                cells = np.maximum(np.minimum(orders * eps0**2 / 2, eps0), 2 * draw_renyi(prior, orders))
                total += np.minimum(cells, self._cells(prior))
        return self.blocks * total
