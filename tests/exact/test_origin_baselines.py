"""The baselines for synthetic origins, by listing outputs."""

import itertools
import math
from fractions import Fraction

import pytest
from exact_origins import histograms, moved

from understudy.mechanisms.origin_baselines import SubsampledBinomial, baseline_event
from understudy.mechanisms.origin_draws import KEEP_ALL
from understudy.privacy.guarantees import Neighbours


def coins(trials: int, chance: Fraction) -> dict[int, Fraction]:
    return {k: math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)}


def cell_law(workers: int, keep: Fraction, trials: int) -> dict[int, Fraction]:
    law: dict[int, Fraction] = {}
    for (a, p), (b, q) in itertools.product(coins(workers, keep).items(), coins(trials, Fraction(1, 2)).items()):
        law[a + b] = law.get(a + b, Fraction(0)) + p * q
    return law


@pytest.mark.parametrize("keep", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("trials", [1, 3, 6])
def test_subsampling_is_exact_on_two_cells(keep, trials):
    """Every histogram of up to three workers on three cells against every neighbour: never above, and reached."""
    epsilon = 0.8
    scale = Fraction(math.exp(epsilon))
    worst = Fraction(0)
    for workers in (1, 2, 3):
        for real in histograms(workers, 3):
            for other in moved(real):
                left = [cell_law(n, keep, trials) for n in real]
                right = [cell_law(n, keep, trials) for n in other]
                spots = [i for i in range(3) if real[i] != other[i]]
                gain = Fraction(0)
                for out in itertools.product(*(range(workers + trials + 1) for _ in spots)):
                    p = math.prod(
                        (left[i].get(o, Fraction(0)) for i, o in zip(spots, out, strict=True)), start=Fraction(1)
                    )
                    q = math.prod(
                        (right[i].get(o, Fraction(0)) for i, o in zip(spots, out, strict=True)), start=Fraction(1)
                    )
                    gain += max(Fraction(0), p - scale * q)
                worst = max(worst, gain)
    event = SubsampledBinomial(keep=int(keep * KEEP_ALL), trials=trials, epsilon=epsilon)
    assert float(worst) <= event.guarantee().delta
    assert event.guarantee().delta == pytest.approx(float(worst), rel=1e-7)


@pytest.mark.parametrize("trials", [20, 90])
@pytest.mark.parametrize("epsilon", [0.01, 2.0, 6.0, 30.0, 800.0])
def test_a_tiny_delta_is_never_stated_too_small(trials, epsilon):
    """The difference of two sides that are much larger than itself, in exact fractions."""
    keep = Fraction(1, 8)
    scale = Fraction(math.exp(min(epsilon, 700.0)))  # beyond it no pair of chances is left that a factor could turn
    without = coins(trials, Fraction(1, 2))
    with_worker = {
        k: (1 - keep) * without.get(k, Fraction(0)) + keep * without.get(k - 1, Fraction(0)) for k in range(trials + 2)
    }
    delta = sum(
        max(Fraction(0), with_worker[x] * without.get(y, 0) - scale * without.get(x, 0) * with_worker[y])
        for x, y in itertools.product(range(trials + 2), repeat=2)
    )
    stated = SubsampledBinomial(keep=int(keep * KEEP_ALL), trials=trials, epsilon=epsilon).guarantee().delta
    assert delta <= stated and stated == pytest.approx(float(delta), rel=1e-6)


def test_noise_baselines_pay_for_two_cells():
    """A moved worker changes two counts by one: half the epsilon each."""
    laplace = baseline_event("laplace", epsilon=1.0, delta=None, keep=0.5).guarantee()
    assert (laplace.kind, laplace.epsilon, laplace.neighbours) == ("PureDP", 1.0, Neighbours.ORIGIN)
    sba = baseline_event("sba", epsilon=1.0, delta=1e-6, keep=0.5)
    assert sba.threshold == 28 and sba.guarantee().delta <= 1e-6
