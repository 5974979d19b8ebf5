"""Sampled discrete Gaussian noise against its exact law.

Every test fails with probability below 1e-6 for a correct program: chi-square statistics are compared with
their 1e-8 quantile (expected counts are at least 50, where the limit is good), single cells with z = 6.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from opendp import domains, measurements, metrics, mod
from scipy import stats

from understudy.mechanisms.discrete_gaussian import (
    deviation_of,
    discrete_gaussian,
    gaussian_tail,
    variance_for,
)
from understudy.mechanisms.exact_gaussian import exact_gaussian
from understudy.mechanisms.gaussian_stability import GaussianStability, gaussian_stable_tables
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.tables import CountTable

TINY = 1e-8
Z = 6.0
# turns = 1 with a shift; turns < 2^shift; neither; a fraction; many bits; that of ten tables
DEVIATIONS = [Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(5, 2), Fraction(3495254, 1 << 20), Fraction(27, 2)]


def assert_fits(observed, expected):
    """Chi-square of counts, with rare outcomes merged into one."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    expected = expected * (observed.sum() / expected.sum())
    common = expected >= 50
    parts = [(observed[common], expected[common])]
    rest = expected[~common].sum()
    if rest >= 50:
        parts.append((np.array([observed[~common].sum()]), np.array([rest])))
    elif rest:  # too rare even together: at most Poisson
        assert observed[~common].sum() <= stats.poisson.isf(TINY, rest)
    statistic = sum((((o - e) ** 2) / e).sum() for o, e in parts)
    freedom = max(sum(len(e) for _, e in parts) - 1, 1)
    assert statistic <= stats.chi2.isf(TINY, freedom), (statistic, freedom)


def gaussian_law(deviation, reach):
    """P(X < -reach), P(-reach), ..., P(reach), P(X > reach); nothing counts beyond 13 deviations more."""
    wide = reach + math.ceil(13 * deviation)
    values = np.arange(-wide, wide + 1)
    weights = np.exp(-(values**2) / (2 * float(deviation) ** 2))
    weights /= weights.sum()
    inside = np.abs(values) <= reach
    tail = weights[values > reach].sum()
    return np.concatenate([[tail], weights[inside], [tail]])


def histogram_of(draws, reach):
    return np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)


@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("seed", [1, 2])
def test_kernel_follows_the_law(deviation, seed):
    draws = exact_gaussian(1_000_000, deviation=deviation, stream=Stream.seeded(seed))
    reach = math.ceil(5 * deviation)
    law, found = gaussian_law(deviation, reach), histogram_of(draws, reach)
    assert_fits(found, law)
    often = law * len(draws) >= 100
    deviations = np.abs(found - law * len(draws))[often]
    assert (deviations <= Z * np.sqrt(law * (1 - law) * len(draws))[often] + 1).all()


@pytest.mark.parametrize("deviation", [Fraction(1 << 14), Fraction((1 << 33) + 12345, 1 << 20)])
def test_wide_noise_has_its_moments_and_shape(deviation):
    """Too wide to count single values: 40 equally likely bins of the normal law, off by 1 / deviation at most."""
    draws = exact_gaussian(400_000, deviation=deviation, stream=Stream.seeded(5))
    cuts = stats.norm.ppf(np.linspace(0, 1, 41)[1:-1])
    assert_fits(np.bincount(np.searchsorted(cuts, draws / float(deviation)), minlength=40), np.full(40, 1 / 40))
    standard = draws / float(deviation)
    assert abs(standard.sum()) <= Z * math.sqrt(len(draws))
    low, high = stats.chi2.ppf([TINY, 1 - TINY], len(draws))
    assert low <= (standard**2).sum() <= high


@pytest.mark.parametrize("deviation", DEVIATIONS[:4])
def test_consecutive_draws_are_independent(deviation):
    """Words cut off at the end of a pool are offered again: pairs of draws must follow the product law."""
    stream = Stream.seeded(3)
    draws = np.concatenate([exact_gaussian(50, deviation=deviation, stream=stream) for _ in range(4_000)])
    reach = 2
    law = gaussian_law(deviation, reach)
    pairs = np.clip(draws, -reach - 1, reach + 1).reshape(-1, 2) + reach + 1
    found = np.bincount(pairs[:, 0] * len(law) + pairs[:, 1], minlength=len(law) ** 2)
    assert_fits(found, np.outer(law, law).ravel())


def by_opendp(counts, deviation):
    """An independent implementation of the same law, as an oracle."""
    mod.enable_features("contrib")
    assert Fraction(float(deviation)) == deviation  # on our grid a float holds it exactly
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64")
    return np.array(measurements.make_gaussian(*space, scale=float(deviation))(counts.tolist()), dtype=np.int64)


@pytest.mark.parametrize("deviation", [Fraction(1, 2), Fraction(3495254, 1 << 20)])
def test_opendp_follows_the_same_law(deviation):
    secure = Stream.from_system()
    noisy = by_opendp(np.full(100_000, 7, dtype=np.int64), deviation)
    reach = math.ceil(4 * deviation)
    assert_fits(histogram_of(noisy - 7, reach), gaussian_law(deviation, reach))
    above = discrete_gaussian(np.full(100_000, -4, dtype=np.int64), variance=deviation**2, stream=secure)
    assert_fits(histogram_of(above + 4, reach), gaussian_law(deviation, reach))  # our kernel, secure words


def test_seeded_noise_repeats_itself_and_secure_noise_does_not():
    """One kernel for every number of counts: only the key of the stream differs."""
    counts = np.arange(49, dtype=np.int64).reshape(7, 7)
    first, again = (discrete_gaussian(counts, variance=Fraction(81), stream=Stream.seeded(4)) for _ in range(2))
    assert (first == again).all()
    first, again = (discrete_gaussian(counts, variance=Fraction(81), stream=Stream.from_system()) for _ in range(2))
    assert (first != again).any()


def test_stable_tables_show_what_their_law_says():
    """100,000 cells of one record and 100,000 of four: each is a replicate of the one-cell mechanism."""
    counts = np.repeat(np.array([1, 4, 0], dtype=np.int64), 100_000)
    variance, threshold, reach = variance_for(1.7), 5, 12
    event = GaussianStability(
        variance=variance, threshold=threshold, tables=2, delta=0.1, neighbours=Neighbours.ADD_REMOVE
    )
    secret = Secret(CountTable.dense(["a"], counts))
    tables, _ = gaussian_stable_tables([secret, secret], event=event, stream=Stream.seeded(13))
    for table in tables:
        noisy = table.to_grid()
        assert (noisy[200_000:] == 0).all()
        for start, count in ((0, 1), (100_000, 4)):
            part = noisy[start : start + 100_000]
            law = gaussian_law(deviation_of(variance), 40)  # index k holds the value k - 41
            shown = law[41 + threshold - count : 41 + threshold - count + reach]
            beyond = law[41 + threshold - count + reach :].sum()
            codes = np.where(part == 0, 0, np.minimum(part - threshold, reach) + 1)
            expected = np.concatenate([[1 - shown.sum() - beyond], shown, [beyond]])
            assert_fits(np.bincount(codes, minlength=reach + 2), expected)
    lone = gaussian_tail(variance, threshold - 1)
    found = int((tables[0].to_grid()[:100_000] > 0).sum())
    assert abs(found - 100_000 * lone) <= Z * math.sqrt(100_000 * lone)
