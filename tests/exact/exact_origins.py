"""Exact laws of synthetic origins on tiny domains, from the definitions, in fractions."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from understudy.mechanisms.origin_draws import KEEP_ALL, Certificate, Destinations, OriginDraws

Histogram = tuple[int, ...]
Law = dict[Histogram, Fraction]


@cache
def histograms(total: int, cells: int) -> tuple[Histogram, ...]:
    """Every way to spread ``total`` workers over ``cells`` origins."""
    if cells == 1:
        return ((total,),)
    return tuple((first, *rest) for first in range(total + 1) for rest in histograms(total - first, cells - 1))


def rising(start: Fraction, steps: int) -> Fraction:
    return math.prod((start + step for step in range(steps)), start=Fraction(1))


@cache
def urn(weights: tuple[Fraction, ...], draws: int) -> Law:
    """The Dirichlet-multinomial law; a weight of 0 is a cell that is not there."""
    total = sum(weights, Fraction(0))
    law = {}
    for out in histograms(draws, len(weights)):
        ways = Fraction(math.factorial(draws), math.prod(math.factorial(count) for count in out))
        chance = ways * math.prod((rising(w, c) for w, c in zip(weights, out, strict=True)), start=Fraction(1))
        law[out] = chance / rising(total, draws)
    return law


@cache
def release(real: Histogram, alphas: tuple[Fraction, ...], keeps: tuple[Fraction, ...], draws: int) -> Law:
    """Algorithms 2 and 1: every set of kept cells, then the urn."""
    empty = [cell for cell, count in enumerate(real) if count == 0 and keeps[cell] < 1]
    law: Law = dict.fromkeys(histograms(draws, len(real)), Fraction(0))
    for kept in itertools.product((True, False), repeat=len(empty)):
        chance = math.prod(
            (keeps[c] if k else 1 - keeps[c] for c, k in zip(empty, kept, strict=True)), start=Fraction(1)
        )
        gone = {cell for cell, there in zip(empty, kept, strict=True) if not there}
        weights = tuple(Fraction(0) if cell in gone else real[cell] + alphas[cell] for cell in range(len(real)))
        for out, share in urn(weights, draws).items():
            law[out] += chance * share
    return law


def moved(real: Histogram) -> Iterator[Histogram]:
    """Every histogram with one worker's origin changed."""
    for source, target in itertools.permutations(range(len(real)), 2):
        if real[source]:
            other = list(real)
            other[source] -= 1
            other[target] += 1
            yield tuple(other)


def is_representative(out: Histogram, real: Histogram, alphas: Sequence[Fraction], gamma: float) -> bool:
    return all(c <= gamma * float(a + max(n - 1, 0)) for c, n, a in zip(out, real, alphas, strict=True))


def is_good(out: Histogram, real: Histogram, alphas: Sequence[Fraction], gamma: float) -> bool:
    """gamma-Good by its definition: representative of the histogram or of a neighbour."""
    return any(is_representative(out, other, alphas, gamma) for other in (real, *moved(real)))


def rejecting(law: Law, real: Histogram, alphas: Sequence[Fraction], gamma: float) -> Law:
    kept = {out: chance for out, chance in law.items() if is_good(out, real, alphas, gamma)}
    total = sum(kept.values())
    return {out: kept.get(out, Fraction(0)) / total for out in law}


def hockey(left: Law, right: Law, epsilon: float) -> float:
    scale = Fraction(math.exp(epsilon))
    return float(sum(max(Fraction(0), left[out] - scale * right[out]) for out in left))


def disclosure(laws: dict[Histogram, Law], real: Histogram, epsilon: float) -> float:
    """Definition 5: probability of outputs that two tables near ``real`` tell apart by more than epsilon."""
    near = {real, *moved(real)}
    scale = math.exp(epsilon)
    bad = Fraction(0)
    pairs = [(a, b) for a in near for b in moved(a) if b in near]
    for out, chance in laws[real].items():
        if chance and any(
            laws[a][out] > 0 and float(laws[a][out]) > scale * float(laws[b][out]) * (1 + 1e-12) for a, b in pairs
        ):
            bad += chance
    return float(bad)


def facts(workers: int, draws: int, weights: Sequence[int], keeps: Sequence[int]) -> Destinations:
    """One destination whose cells are classes of one each."""
    return Destinations(
        workers=np.array([workers]),
        draws=np.array([draws]),
        cells=np.ones((1, len(weights)), dtype=np.int64),
        weights=np.array([weights], dtype=np.int64),
        keeps=np.array([keeps], dtype=np.int64),
    )


def event(
    workers: int,
    draws: int,
    alpha: Fraction,
    *,
    certificate: str,
    epsilon: float,
    weights: Sequence[int],
    keeps: Sequence[int] | None = None,
    rejects: bool = False,
    delta: float = 0.05,
) -> OriginDraws:
    public = facts(workers, draws, weights, keeps or [KEEP_ALL] * len(weights))
    return OriginDraws.of(
        public, [alpha], certificate=Certificate(certificate), epsilon=epsilon, delta=delta, rejects=rejects
    )
