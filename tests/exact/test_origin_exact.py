"""Synthetic origins on domains small enough to list every histogram and every output."""

import itertools
import math
from fractions import Fraction

import pytest
from exact_origins import (
    disclosure,
    event,
    histograms,
    hockey,
    is_representative,
    moved,
    rejecting,
    release,
)

from understudy.mechanisms.origin_draws import KEEP_ALL

ALPHAS = [Fraction(1, 20), Fraction(1, 2), Fraction(3, 2)]
SIZES = [(2, 1, 1), (2, 3, 3), (2, 6, 6), (3, 2, 3), (3, 3, 3), (3, 4, 2), (4, 2, 2), (4, 3, 3)]
"""Origins, workers, synthetic workers."""


def laws_of(cells, workers, draws, alphas, keeps=None):
    keeps = keeps or (Fraction(1),) * cells
    return {real: release(real, tuple(alphas), tuple(keeps), draws) for real in histograms(workers, cells)}


def pairs_of(laws):
    return [(real, other) for real in laws for other in moved(real)]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("cells", "workers", "draws"), SIZES)
def test_theorem_41_is_exact(cells, workers, draws, alpha):
    """The largest ratio over all neighbours and outputs is (m + a) / a, and the event says just that."""
    laws = laws_of(cells, workers, draws, [alpha] * cells)
    worst = max(laws[a][out] / laws[b][out] for a, b in pairs_of(laws) for out in laws[a])
    assert worst == (draws + alpha) / alpha
    found = event(workers, draws, alpha, certificate="pure", epsilon=1.0, weights=[1] * cells).guarantee()
    assert found.kind == "PureDP"
    assert math.log(worst) <= found.epsilon <= math.log(worst) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("cells", "workers", "draws"), SIZES)
def test_the_exact_certificate_is_the_worst_pair(cells, workers, draws, alpha, epsilon):
    """Two empty cells are the worst pair: neither more nor less than the largest hockey-stick over all neighbours.

    With two origins the other workers must live in one of the pair, so there the bound is not reached."""
    laws = laws_of(cells, workers, draws, [alpha] * cells)
    worst = max(hockey(laws[a], laws[b], epsilon) for a, b in pairs_of(laws))
    claim = event(workers, draws, alpha, certificate="exact", epsilon=epsilon, weights=[1] * cells).guarantee()
    assert worst <= claim.delta + 1e-15
    if cells > 2 or workers == 1:
        assert claim.delta == pytest.approx(worst, rel=3e-6, abs=1e-12)


@pytest.mark.parametrize("weights", [(1, 1, 3), (1, 2, 5), (2, 2, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_exact_certificate_bounds_shaped_priors(weights, epsilon):
    alpha = Fraction(1, 4)
    laws = laws_of(3, 3, 3, [alpha * weight for weight in weights])
    worst = max(hockey(laws[a], laws[b], epsilon) for a, b in pairs_of(laws))
    claim = event(3, 3, alpha, certificate="exact", epsilon=epsilon, weights=weights).guarantee()
    assert worst <= claim.delta


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("cells", "workers", "draws"), SIZES)
def test_the_probabilistic_certificate_bounds_the_disclosure_set(cells, workers, draws, alpha, epsilon):
    """Definition 5 to the letter, over every histogram; and (epsilon, delta)-DP follows."""
    laws = laws_of(cells, workers, draws, [alpha] * cells)
    worst = max(disclosure(laws, real, epsilon) for real in laws)
    found = event(workers, draws, alpha, certificate="probabilistic", epsilon=epsilon, weights=[1] * cells)
    assert worst <= found.guarantee().delta + 1e-15
    assert max(hockey(laws[a], laws[b], epsilon) for a, b in pairs_of(laws)) <= found.guarantee().delta + 1e-15
    promise = found.probabilistic()
    assert promise.delta == found.guarantee().delta


def test_the_probabilistic_certificate_is_the_largest_sum_of_tails():
    """With as many origins as workers, the search over ways to split them finds what listing all histograms finds."""
    epsilon, alpha, cells, workers, draws = 2.0, Fraction(1, 2), 4, 3, 4
    laws = laws_of(cells, workers, draws, [alpha] * cells)
    gamma = math.expm1(epsilon)

    def tails(real):
        return sum(
            float(
                sum(chance for out, chance in laws[real].items() if out[i] > gamma * float(alpha + max(real[i] - 1, 0)))
            )
            for i in range(cells)
        )

    worst = min(1.0, max(tails(real) for real in laws))
    found = event(workers, draws, alpha, certificate="probabilistic", epsilon=epsilon, weights=[1] * cells)
    assert found.guarantee().delta == pytest.approx(worst, rel=3e-6)
    assert worst < 1


KEEPS = [(KEEP_ALL // 2,) * 3, (KEEP_ALL, KEEP_ALL // 4, KEEP_ALL // 4), (KEEP_ALL, KEEP_ALL // 2, KEEP_ALL // 8)]


@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize(("workers", "draws"), [(1, 1), (2, 2), (3, 3), (2, 4)])
@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 2), Fraction(3, 2)])
def test_shrinking_costs_what_the_event_says(keeps, workers, draws, alpha):
    """Algorithm 2 before algorithm 1: the raised epsilon covers all neighbours, for all three certificates."""
    shares = [Fraction(keep, KEEP_ALL) for keep in keeps]
    laws = laws_of(3, workers, draws, [alpha] * 3, shares)
    options = {"weights": [1] * 3, "keeps": keeps, "delta": 0.01}
    pure = event(workers, draws, alpha, certificate="pure", epsilon=1.0, **options).guarantee()
    assert pure.epsilon > math.log1p(float(draws / alpha)), "shrinking is not free"
    assert max(hockey(laws[a], laws[b], pure.epsilon) for a, b in pairs_of(laws)) <= 1e-15
    for certificate in ("exact", "probabilistic"):
        found = event(workers, draws, alpha, certificate=certificate, epsilon=0.7, **options)
        claim = found.guarantee()
        worst = max(hockey(laws[a], laws[b], claim.epsilon) for a, b in pairs_of(laws))
        assert worst <= getattr(claim, "delta", 0.0) + 1e-15
        assert claim.epsilon == pytest.approx(0.7 + found.added)
    found = event(workers, draws, alpha, certificate="probabilistic", epsilon=0.7, **options)
    worst = max(disclosure(laws, real, found.guarantee().epsilon) for real in laws)
    assert worst <= found.guarantee().delta + 1e-15


def test_dropping_a_cell_in_the_open_would_give_it_away():
    """Why the kept domain is never released: a cell with a worker is never dropped."""
    real, other = (1, 0), (0, 1)
    keeps = (Fraction(1, 2),) * 2
    gone = {out: release(real, (Fraction(1),) * 2, keeps, 1)[out] for out in histograms(1, 2)}
    assert all(chance > 0 for chance in gone.values())
    assert release(other, (Fraction(1),) * 2, keeps, 1)[(1, 0)] > 0


@pytest.mark.parametrize(
    ("cells", "workers", "draws", "alpha"),
    [(3, 3, 3, Fraction(1, 2)), (2, 4, 4, Fraction(1, 2)), (3, 2, 2, Fraction(1))],
)
def test_accept_reject_keeps_lemma_52(cells, workers, draws, alpha):
    """Outputs outside gamma-Good are drawn again: (ln((gamma + 1) / (1 - p)), p)-probabilistic DP."""
    gamma = 5.0
    epsilon = math.log1p(gamma)
    alphas = [alpha] * cells
    plain = laws_of(cells, workers, draws, alphas)
    laws = {real: rejecting(law, real, alphas, gamma) for real, law in plain.items()}
    p = max(
        float(sum(chance for out, chance in law.items() if not is_representative(out, real, alphas, gamma)))
        for real, law in plain.items()
    )
    found = event(
        workers, draws, alpha, certificate="probabilistic", epsilon=epsilon, weights=[1] * cells, rejects=True
    )
    claim = found.guarantee()
    assert p <= claim.delta + 1e-12
    assert claim.epsilon == pytest.approx(epsilon - math.log1p(-claim.delta), rel=1e-9)
    assert max(disclosure(laws, real, claim.epsilon) for real in laws) <= claim.delta + 1e-15


def test_lemma_52_vector():
    """k = 3, n = 3, a = 1/2, gamma = 5: p = .244755, and the disclosure set reaches it."""
    alphas = [Fraction(1, 2)] * 3
    plain = laws_of(3, 3, 3, alphas)
    p = max(
        float(sum(chance for out, chance in law.items() if not is_representative(out, real, alphas, 5.0)))
        for real, law in plain.items()
    )
    assert p == pytest.approx(0.244755, abs=5e-7)


def test_rejecting_what_is_not_representative_would_be_infinite():
    """Lemma 5.1: outputs that one neighbour alone accepts."""
    alphas, gamma = [Fraction(1, 2)] * 2, 1.5
    plain = laws_of(2, 2, 2, alphas)
    accepted = {
        real: {out for out in law if is_representative(out, real, alphas, gamma)} for real, law in plain.items()
    }
    assert any(accepted[a] - accepted[b] for a, b in pairs_of(plain))


def test_probabilistic_privacy_is_not_kept_by_merging_outputs():
    """Why (epsilon, delta)-DP is printed: P1 = (.01, .5, .49), P2 = (0, .5/e, rest) at epsilon 1."""
    first, second = (0.01, 0.5, 0.49), (0.0, 0.5 / math.e, 1 - 0.5 / math.e)
    bad = sum(p for p, q in zip(first, second, strict=True) if p > math.e * q * (1 + 1e-12))
    merged = ((first[0] + first[1], first[2]), (second[0] + second[1], second[2]))
    bad_merged = sum(p for p, q in zip(*merged, strict=True) if p > math.e * q * (1 + 1e-12))
    assert (bad, bad_merged) == (0.01, 0.51)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 1), (4, 1)])
def test_destinations_do_not_add_up(sizes):
    """One worker's origin changes inside one destination: two destinations together cost what the dearer one costs."""
    alpha, epsilon = Fraction(1, 4), 0.8
    one = laws_of(2, sizes[0], sizes[0], [alpha] * 2)
    two = laws_of(2, sizes[1], sizes[1], [alpha] * 2)
    worst = 0.0
    for a, b in pairs_of(one):
        for rest in two:
            joint = [
                (one[a][x] * two[rest][y], one[b][x] * two[rest][y]) for x, y in itertools.product(one[a], two[rest])
            ]
            worst = max(worst, float(sum(max(0, p - Fraction(math.exp(epsilon)) * q) for p, q in joint)))
    single = event(sizes[0], sizes[0], alpha, certificate="exact", epsilon=epsilon, weights=[1, 1]).guarantee()
    assert worst <= single.delta
