"""Exact probabilities behind the promises of synthetic origins: beta-binomial tails, and how far two laws differ.

A destination has n workers and k possible origins with virtual counts a_i; m synthetic origins are drawn from a
Dirichlet-multinomial law. Everything here is a sum of positive terms, computed by recurrences, and rounded up by the
callers. Proofs and notation: ``proofs/origin_draws.md``.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel

PURE, PDP, DP = 0, 1, 2
"""Certificates as the kernels know them."""

_HUGE = 1e250
_MOST_STEPS = 1 << 22
_REST = 1e-13  # a remainder below this share of a sum is bounded, not added up
_BELOW = 1.0 - 1e-12  # thresholds are lowered by more than their rounding: more outputs count as disclosing


@kernel
def _log_rising(start: float, steps: int) -> float:
    """ln of start (start + 1) ... (start + steps - 1), without the digits that two large lgammas would lose."""
    if steps == 0:
        return 0.0
    if start <= 0.0:
        return -math.inf
    if start < 1e3:
        return math.lgamma(start + steps) - math.lgamma(start)
    # Stirling's series for both, subtracted term by term; what is left out is below 1e-11
    end = start + steps
    main = (start - 0.5) * math.log1p(steps / start) + steps * (math.log(end) - 1.0)
    return main + (1.0 / end - 1.0 / start) / 12.0


@kernel
def _log_chance(draws: int, mine: float, others: float, hits: int) -> float:
    """ln P(X = hits) for the beta-binomial law with these weights."""
    ways = math.lgamma(draws + 1.0) - math.lgamma(hits + 1.0) - math.lgamma(draws - hits + 1.0)
    return ways + _log_rising(mine, hits) + _log_rising(others, draws - hits) - _log_rising(mine + others, draws)


@kernel
def _tail(draws: int, mine: float, others: float, threshold: float) -> float:
    """P(X > threshold), from the first term upwards."""
    first = math.floor(threshold) + 1
    if first <= 0:
        return 1.0
    if first > draws:
        return 0.0
    level = _log_chance(draws, mine, others, first)
    term, total = 1.0, 1.0
    for hits in range(first, draws):
        if others + (draws - hits - 1) <= 0.0:  # no other cell: everything falls here
            return 1.0
        ratio = (draws - hits) / (hits + 1.0) * (hits + mine) / (others + (draws - hits - 1))
        term *= ratio
        total += term
        if ratio < 1.0 and others >= 1.0 and term * (draws - hits) < _REST * total:
            total += term * (draws - hits)  # ratios stay below 1 from here on, so this bounds the rest
            break
        if total > _HUGE:
            term /= _HUGE
            total /= _HUGE
            level += math.log(_HUGE)
    return min(1.0, math.exp(min(0.0, level + math.log(total))))


@kernel
def hockey_stick(  # noqa: PLR0912 - one sum, its recurrence and its two bounds
    workers: int, draws: int, alpha: float, mass: float, epsilon: float, alone: bool
) -> float:
    """Largest P(S) - e^epsilon P'(S) over output sets S and neighbours, claim 3 of the proof.

    N/(N+m) E[(1 + m_i/a - e^eps (1 + m_j/a))^+] for two empty cells of the smallest virtual count a, N = n - 1 + mass.
    ``alone`` leaves m_j out: larger, and falling in ``mass``, which a random mass needs.
    """
    if workers < 1 or draws < 1:
        return 0.0
    before = workers - 1 + mass
    scale = math.exp(epsilon)
    total = 0.0
    other_hits = 0
    while True:
        least = (alpha * (scale - 1.0) + scale * other_hits) * _BELOW
        first = math.floor(least) + 1
        left = draws - other_hits
        if first > left:
            break
        rest = before - alpha if alone else before - 2.0 * alpha
        share = 1.0 if alone else math.exp(_log_chance(draws, alpha, before - alpha, other_hits))
        inner = 0.0
        if rest <= 0.0:  # two cells and nothing else
            inner = max(0.0, 1.0 + left / alpha - scale * (1.0 + other_hits / alpha))
        else:
            level = _log_chance(left, alpha, rest, first)
            term, sum_ = 1.0, 0.0
            for hits in range(first, left + 1):
                gain = 1.0 + hits / alpha - scale * (1.0 + other_hits / alpha)
                if gain > 0.0:
                    sum_ += term * gain
                if hits < left:
                    ratio = (left - hits) / (hits + 1.0) * (hits + alpha) / (rest + (left - hits - 1))
                    term *= ratio
                    bound = term * (left - hits) * (1.0 + left / alpha)
                    if ratio < 1.0 and rest >= 1.0 and bound < _REST * sum_:
                        sum_ += bound
                        break
                if sum_ > _HUGE or term > _HUGE:
                    term /= _HUGE
                    sum_ /= _HUGE
                    level += math.log(_HUGE)
            if sum_ > 0.0:
                inner = math.exp(level + math.log(sum_))
        total += share * inner
        if alone:
            break
        if inner < _REST * total:
            total += inner  # the inner value falls in m_j, and probabilities add up to at most 1: this bounds the rest
            break
        other_hits += 1
    return min(1.0, total * before / (before + draws))


@kernel
def disclosure_delta(
    workers: int, draws: int, alpha: float, mass: float, own: bool, cells: Any, weights: Any, keeps: Any, factor: float
) -> float:
    """Largest probability, over histograms, of an output that theorem 4.3 does not clear, claim 2 of the proof.

    The sum over cells of P(m_i > factor (a_i + [n_i - 1]^+)); the histogram that maximises it is found over all ways to
    split the workers. ``own`` says that ``mass`` already holds the cell's own virtual count.
    """
    if workers < 1 or draws < 1:
        return 0.0
    empty = 0.0
    classes = len(cells)
    none = np.zeros(classes)
    for kind in range(classes):
        if cells[kind] > 0:
            mine = alpha * weights[kind]
            others = workers + mass - (mine if own else 0.0)
            none[kind] = keeps[kind] * _tail(draws, mine, others, factor * mine * _BELOW)
            empty += cells[kind] * none[kind]
    gain = np.zeros(workers + 1)
    most = 0
    for count in range(1, workers + 1):
        if factor * (alpha + count - 1.0) * _BELOW >= draws:
            break
        for kind in range(classes):
            if cells[kind] > 0:
                mine = alpha * weights[kind]
                others = workers - count + mass - (mine if own else 0.0)
                tail = _tail(draws, count + mine, others, factor * (mine + count - 1.0) * _BELOW)
                gain[count] = max(gain[count], tail - none[kind])
        most = count
    if workers * most > _MOST_STEPS:  # what a worker can gain at best, times the workers, is never less
        rate = 0.0
        for count in range(1, most + 1):
            rate = max(rate, gain[count] / count)
        return min(1.0, empty + workers * rate)
    best = np.zeros(workers + 1)
    for size in range(1, workers + 1):
        best[size] = best[size - 1]
        for count in range(1, min(size, most) + 1):
            best[size] = max(best[size], best[size - count] + gain[count])
    return min(1.0, empty + float(best[workers]))


@kernel
def log_reference_zero_sample(workers: int, draws: int, first: float, second: float, factor: float) -> float:
    """ln of the paper's reference 0-sample (definition 7), with gamma functions between the integers, as printed."""
    best = -math.inf
    for count in range(workers + 1):
        hits = min(float(draws), factor * (first + max(count - 1.0, 0.0)))
        value = math.lgamma(draws + 1.0) - math.lgamma(hits + 1.0) - math.lgamma(draws - hits + 1.0)
        value += math.lgamma(workers + first + second) - math.lgamma(count + first)
        value -= math.lgamma(workers - count + second) + math.lgamma(draws + workers + first + second)
        value += math.lgamma(count + hits + first) + math.lgamma(workers - count + draws - hits + second)
        best = max(best, value)
    return best


@kernel
def _kept_mass(cells: Any, weights: Any, keeps: Any, lost: float) -> float:
    """Virtual cells, in units of the smallest, that shrinking keeps except with probability ``lost``; two left out.

    Chernoff: a binomial count of mean u is below u - sqrt(2 u ln(1/q)) with probability at most q.
    """
    shrunk = 0
    for kind in range(len(cells)):
        if cells[kind] > 0 and keeps[kind] < 1.0:
            shrunk += 1
    mass = 0.0
    for kind in range(len(cells)):
        there = max(cells[kind] - 2.0, 0.0)
        if keeps[kind] < 1.0 and there > 0.0:
            mean = there * keeps[kind]
            there = max(0.0, math.floor(mean - math.sqrt(2.0 * mean * math.log(shrunk / lost))))
        mass += there * weights[kind]
    return mass


@kernel
def _merge_factor(workers: int, draws: int, alpha: float) -> float:
    """ln of G = product over t < m of 1 + a / (n + t): what a dropped cell can add to the others."""
    return _log_rising(workers + alpha, draws) - _log_rising(float(workers), draws)


@kernel
def price(
    kind: int, workers: int, draws: int, alpha: float, cells: Any, weights: Any, keeps: Any, epsilon: float, lost: float
) -> tuple[float, float]:
    """(what shrinking adds to epsilon, delta) of one destination at one alpha."""
    total, mass, least, largest = 0.0, 0.0, 1.0, 0.0
    for place in range(len(cells)):
        if cells[place] > 0:
            total += cells[place]
            mass += cells[place] * weights[place] * alpha
            least = min(least, keeps[place])
            largest = max(largest, weights[place] * alpha)
    if total < 2.0 or workers < 1 or draws < 1:
        return 0.0, 0.0  # one possible origin says nothing
    added = 0.0
    if least < 1.0:
        added = -math.log(least) + _merge_factor(workers, draws, largest)
    if kind == PURE or draws <= alpha * (math.exp(epsilon) - 1.0) * _BELOW:
        return added, 0.0  # theorem 4.1 holds: no output discloses more
    if least < 1.0:
        kept = alpha * _kept_mass(cells, weights, keeps, lost)
        if kind == PDP:
            factor = math.exp(epsilon) - 1.0
            return added, min(
                1.0, lost + disclosure_delta(workers, draws, alpha, kept, False, cells, weights, keeps, factor)
            )
        merged = math.exp(_merge_factor(workers, draws, largest))
        return added, min(1.0, merged * (lost + hockey_stick(workers, draws, alpha, kept + 2 * alpha, epsilon, True)))
    if kind == PDP:
        factor = math.exp(epsilon) - 1.0
        return added, disclosure_delta(workers, draws, alpha, mass, True, cells, weights, keeps, factor)
    return added, hockey_stick(workers, draws, alpha, mass, epsilon, False)


@kernel
def _price_of(place: int, kind: int, alpha: float, public: Any, epsilon: float, lost: float) -> tuple[float, float]:
    workers, draws, cells, weights, keeps = public
    return price(kind, workers[place], draws[place], alpha, cells[place], weights[place], keeps[place], epsilon, lost)


@kernel
def prices(kind: int, alphas: Any, public: Any, epsilon: float, lost: float, added: Any, deltas: Any) -> None:
    """:func:`price` of many destinations (``Destinations.arrays``), into ``added`` and ``deltas``."""
    for place in range(len(alphas)):
        added[place], deltas[place] = _price_of(place, kind, alphas[place], public, epsilon, lost)


@kernel
def _certified(
    place: int, kind: int, paper: bool, alpha: float, public: Any, epsilon: float, delta: float, lost: float
) -> bool:
    if not paper:
        return _price_of(place, kind, alpha, public, epsilon, lost)[1] <= delta
    workers, draws, cells, weights, _ = public
    total, mass = 0.0, 0.0
    for number in range(cells.shape[1]):
        total += cells[place, number]
        mass += cells[place, number] * weights[place, number] * alpha
    scale = math.exp(epsilon)
    allowed = math.log(delta) + math.log(scale - 2.0) - math.log(2.0 * total) - epsilon
    return log_reference_zero_sample(workers[place], draws[place], alpha, mass - alpha, scale - 1.0) <= allowed


@kernel
def search(
    kind: int,
    paper: bool,
    highest: Any,
    public: Any,
    epsilon: float,
    delta: float,
    lost: float,
    step: float,
    lowest: float,
    out: npt.NDArray[np.float64],
) -> None:
    """Smallest alpha of each destination such that it and every larger one on the grid is certified; 0 where none is.

    Bounds are not monotone in alpha, so the grid is walked from above, and only the last gap is bisected.
    """
    for place in range(len(highest)):
        good, bad = 0.0, 0.0
        alpha = highest[place]
        while alpha > lowest:
            if not _certified(place, kind, paper, alpha, public, epsilon, delta, lost):
                bad = alpha
                break
            good = alpha
            alpha *= step
        if good > 0.0 and bad > 0.0:
            for _ in range(40):
                middle = 0.5 * (good + bad)
                if good - bad <= 1e-9 * good:
                    break
                if _certified(place, kind, paper, middle, public, epsilon, delta, lost):
                    good = middle
                else:
                    bad = middle
        out[place] = good
