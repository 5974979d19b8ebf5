"""Numbers of the OnTheMap paper and of the project's privacy contract."""

import math

import numpy as np
import pytest

from understudy.errors import ParameterError
from understudy.mechanisms.origin_baselines import SubsampledBinomial, baseline_event
from understudy.mechanisms.origin_draws import (
    KEEP_ALL,
    Certificate,
    Destinations,
    OriginDraws,
    certified_alphas,
    deltas_at,
    exact_alphas,
    pure_alpha,
    theorem_44_alphas,
)
from understudy.mechanisms.origin_tails import disclosure_delta, hockey_stick, log_reference_zero_sample
from understudy.privacy.guarantees import Neighbours

EPSILON, DELTA = 4.6, 1e-5
C = math.expm1(EPSILON)
ONE = np.ones(1)


def one_kind(workers, cells, keep=KEEP_ALL, draws=None):
    return Destinations(
        workers=np.array([workers]),
        draws=np.array([draws or workers]),
        cells=np.array([[cells]]),
        weights=np.ones((1, 1), dtype=np.int64),
        keeps=np.array([[keep]]),
    )


def test_theorem_41():
    """alpha >= m / (e^eps - 1): 912.714 for a million workers at epsilon 7 (the paper prints 914), .01825 for 20."""
    assert pure_alpha(draws=1_000_000, epsilon=7.0) == pytest.approx(912.7142532217338, rel=1e-12)
    assert pure_alpha(draws=20, epsilon=7.0) == pytest.approx(0.018254285064434675, rel=1e-12)
    [alpha] = certified_alphas(one_kind(20, 2), certificate=Certificate.PURE, epsilon=7.0, delta=0.5)
    event = OriginDraws.of(
        one_kind(20, 2),
        exact_alphas(np.array([alpha])),
        certificate=Certificate.PURE,
        epsilon=7.0,
        delta=None,
        rejects=False,
    )
    assert event.guarantee().epsilon <= 7.0
    assert event.guarantee().epsilon == pytest.approx(7.0, abs=1e-6)


def test_the_worst_event_is_very_unlikely():
    """Section IV-A: m = n = 20, two origins, epsilon 7: all 20 in a cell with one worker, probability e^-24.9."""
    a = pure_alpha(draws=20, epsilon=7.0)
    log_chance = math.lgamma(20 + 2 * a) + math.lgamma(20 + a + 1) - math.lgamma(1 + a) - math.lgamma(40 + 2 * a)
    assert log_chance == pytest.approx(-24.91659956858763, rel=1e-9)


def test_reference_zero_sample():
    assert log_reference_zero_sample(12, 12, 0.039764, 120689 * 0.039764, C) == pytest.approx(
        -23.929475737328, rel=1e-9
    )
    assert log_reference_zero_sample(15, 15, 0.01245, 233725 * 0.01245, C) == pytest.approx(-6.471229233153, rel=1e-9)


@pytest.mark.parametrize(
    ("workers", "cells", "alpha"),
    [
        (12, 120_690, 0.03976105759816398),  # the paper's .039764
        (15, 233_726, 0.03852225277296149),  # the paper's .01245 is not what its theorem asks for
        (15, 120_690, 0.04118),
    ],
)
def test_smallest_alphas_of_theorem_44(workers, cells, alpha):
    [found] = theorem_44_alphas(one_kind(workers, cells), epsilon=EPSILON, delta=DELTA)
    assert found == pytest.approx(alpha, rel=3e-4 if alpha == 0.04118 else 1e-7)


def test_theorem_44_is_no_use_for_one_or_two_workers():
    """None up to 10,000 for one worker; 35.6 for two, where theorem 4.1 asks .0203."""
    assert theorem_44_alphas(one_kind(1, 233_726), epsilon=EPSILON, delta=DELTA).tolist() == [0.0]
    assert theorem_44_alphas(one_kind(2, 233_726), epsilon=EPSILON, delta=DELTA)[0] == pytest.approx(35.6, abs=0.05)
    assert pure_alpha(draws=2, epsilon=EPSILON) == pytest.approx(0.0203, abs=5e-5)


def test_theorem_44_is_false_for_a_single_worker():
    """k = 2, a = .05, epsilon 2: the disclosure set is everything, and the theorem says .715."""
    a, factor = 0.05, math.expm1(2.0)
    bound = math.exp(log_reference_zero_sample(1, 1, a, a, factor)) * 2 * 2 * math.exp(2) / (math.exp(2) - 2)
    assert bound == pytest.approx(0.7153110235723259, rel=1e-9)
    assert disclosure_delta(1, 1, a, 2 * a, True, 2 * ONE, ONE, ONE, factor) == pytest.approx(1.0, rel=1e-12)


def test_theorem_44_needs_its_conditions():
    with pytest.raises(ParameterError, match="ln 3"):
        theorem_44_alphas(one_kind(15, 100), epsilon=1.0, delta=DELTA)
    with pytest.raises(ParameterError, match="as many synthetic workers"):
        theorem_44_alphas(one_kind(15, 100, draws=14), epsilon=EPSILON, delta=DELTA)


@pytest.mark.parametrize(("cells", "exact"), [(233_726, 0.01229), (120_690, 0.01647)])
def test_smallest_alphas_of_our_certificates(cells, exact):
    public = one_kind(15, cells)
    options = {"epsilon": EPSILON, "delta": DELTA}
    assert certified_alphas(public, certificate=Certificate.EXACT, **options)[0] == pytest.approx(exact, abs=6e-6)
    assert certified_alphas(public, certificate=Certificate.PROBABILISTIC, **options)[0] == pytest.approx(
        0.03046, abs=6e-6
    )
    assert certified_alphas(public, certificate=Certificate.PURE, **options)[0] == pytest.approx(0.1523, abs=6e-5)


def test_exact_deltas():
    assert hockey_stick(15, 15, 0.01245, 233726 * 0.01245, EPSILON, False) == pytest.approx(
        9.549906079045e-06, rel=1e-8
    )
    assert hockey_stick(12, 12, 0.039764, 120690 * 0.039764, EPSILON, False) == pytest.approx(
        5.03337090904e-13, rel=1e-8
    )
    assert hockey_stick(3, 3, 0.5, 1.5, 1.0, False) == pytest.approx(0.15266783085023894, rel=1e-9)
    tails = disclosure_delta(15, 15, 0.01245, 233726 * 0.01245, True, 233726 * ONE, ONE, ONE, C)
    assert tails == pytest.approx(0.03630193567300097, rel=1e-8)


def test_what_shrinking_adds():
    """The paper: ln(1/.0378) + ln 2 <= 4, so 8.6 in all. Ours is never more while m <= n and alpha <= 1."""
    paper = -math.log(0.0378) + math.ceil(0.039764) * math.log(2)  # theorem 5.2: ln(1/min f) + ceil(max alpha) ln 2
    assert 3.96 < paper <= 4
    keep = round(0.0378 * KEEP_ALL)
    for workers in (1, 2, 12, 400):
        event = OriginDraws.of(
            one_kind(workers, 120_690, keep),
            exact_alphas(np.array([0.039764])),
            certificate=Certificate.PROBABILISTIC,
            epsilon=EPSILON,
            delta=DELTA,
            rejects=False,
        )
        assert math.log(1 / 0.0378) - 1e-6 <= event.added <= paper


def test_theorem_52_is_false_and_ours_sees_it():
    """k = 120,690, n = 12, a = .039764: f = .001 leaves so few cells that delta is far above 1e-5."""
    options = {"certificate": Certificate.PROBABILISTIC, "epsilon": EPSILON, "delta": DELTA}
    alphas = exact_alphas(np.array([0.039764]))
    [before] = deltas_at(one_kind(12, 120_690), alphas, **options)
    [mild] = deltas_at(one_kind(12, 120_690, round(0.0378 * KEEP_ALL)), alphas, **options)
    [harsh] = deltas_at(one_kind(12, 120_690, round(0.001 * KEEP_ALL)), alphas, **options)
    assert before < DELTA
    assert harsh > 1.6e-4
    assert mild < harsh


def test_the_bounds_are_not_monotone_and_the_search_knows():
    """Tails jump as c alpha crosses whole numbers; what is returned passes, and so does everything above it."""
    public = one_kind(15, 17_127)
    [found] = certified_alphas(public, certificate=Certificate.PROBABILISTIC, epsilon=EPSILON, delta=DELTA)
    options = {"certificate": Certificate.PROBABILISTIC, "epsilon": EPSILON, "delta": DELTA}
    above = np.geomspace(found, pure_alpha(draws=15, epsilon=EPSILON), 300)
    assert all(deltas_at(public, exact_alphas(np.array([a])), **options)[0] <= DELTA for a in above)
    assert deltas_at(public, exact_alphas(np.array([found * 0.98])), **options)[0] > DELTA
    jumps = [deltas_at(public, exact_alphas(np.array([j / C])), **options)[0] for j in (1.0001, 1.9999)]
    assert jumps[0] < jumps[1] or jumps[0] > jumps[1]


def test_more_synthetic_workers_cost_more():
    public = [one_kind(10, 1000, draws=draws) for draws in (5, 10, 20, 40)]
    options = {"certificate": Certificate.EXACT, "epsilon": 1.0, "delta": DELTA}
    deltas = [deltas_at(facts, exact_alphas(np.array([0.5])), **options)[0] for facts in public]
    assert deltas == sorted(deltas) and deltas[0] < deltas[-1]


def test_subsampling_prices_itself():
    event = baseline_event("subsample", epsilon=EPSILON, delta=DELTA, keep=0.5)
    assert isinstance(event, SubsampledBinomial)
    claim = event.guarantee()
    assert claim.neighbours is Neighbours.ORIGIN
    assert claim.delta <= DELTA
    fewer = SubsampledBinomial(keep=event.keep, trials=event.trials - 1, epsilon=EPSILON)
    assert fewer.guarantee().delta > DELTA
    assert claim.delta >= 0.5 * 0.5**event.trials, "a cell that is full shows that somebody came"


@pytest.mark.parametrize(
    "groups",
    [
        (),
        ("1 1 1/2",),
        ("0 1 1/2 3*1@5",),
        ("1 1 0/1 3*1@5",),
        ("1 1 1/0 3*1@5",),
        ("1 1 1/2 3*1@0",),
        ("a b c d",),
        (5,),
    ],
)
def test_a_manifest_that_was_edited_is_refused(groups):
    with pytest.raises(ParameterError):
        OriginDraws(certificate="exact", epsilon=1.0, lost=1e-9, rejects=False, groups=groups)


def test_large_destinations_are_bounded_or_refused():
    """The rate bound is used for many workers, and is never below the exact search; a million is the end."""
    exact = disclosure_delta(2000, 2000, 0.3, 300.0, True, 1000 * ONE, ONE, ONE, math.expm1(1.0))
    assert 0 < exact <= 1
    public = one_kind(100_000, 17_127)
    [alpha] = certified_alphas(public, certificate=Certificate.EXACT, epsilon=2.0, delta=1e-6)
    assert 0 < alpha < pure_alpha(draws=100_000, epsilon=2.0)
    with pytest.raises(ParameterError, match="1,000,000"):
        certified_alphas(one_kind(1_000_001, 10), certificate=Certificate.EXACT, epsilon=2.0, delta=1e-6)
