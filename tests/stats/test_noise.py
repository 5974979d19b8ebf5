"""Sampled noise against its exact law.

Every test fails with probability below 1e-6 for a correct program: chi-square statistics are compared with
their 1e-8 quantile (expected counts are at least 50, where the limit is good), single cells with z = 6.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from opendp import domains, measurements, metrics, mod
from scipy import stats

from understudy.mechanisms import histogram
from understudy.mechanisms.discrete_laplace import discrete_laplace
from understudy.mechanisms.exact_binomial import exact_binomial, tail_chance
from understudy.mechanisms.exact_laplace import exact_geometric, exact_noise
from understudy.mechanisms.histogram import SparseHistogram
from understudy.mechanisms.stability import stable_histogram
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.tables import CountTable

TINY = 1e-8
Z = 6.0
SCALES = [Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(3495254, 1 << 20), Fraction(40)]


def assert_fits(observed, expected):
    """Chi-square of counts, with rare outcomes merged into one."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    total = observed.sum()
    expected = expected * (total / expected.sum())
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


def laplace_law(scale, reach):
    q = math.exp(-1 / scale)
    inside = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    tail = q ** (reach + 1) / (1 + q)
    return np.concatenate([[tail], inside, [tail]])


def histogram_of(draws, reach):
    return np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_kernel_follows_the_law(scale, seed):
    draws = exact_noise(1_000_000, scale=scale, stream=Stream.seeded(seed))
    reach = math.ceil(12 * scale)
    law, found = laplace_law(scale, reach), histogram_of(draws, reach)
    assert_fits(found, law)
    often = law * len(draws) >= 100
    deviation = np.abs(found - law * len(draws))[often]
    assert (deviation <= Z * np.sqrt(law * (1 - law) * len(draws))[often] + 1).all()


@pytest.mark.parametrize("scale", SCALES[:4])
def test_consecutive_draws_are_independent(scale):
    """Words cut off at the end of a pool are offered again: pairs of draws must follow the product law."""
    stream = Stream.seeded(3)
    draws = np.concatenate([exact_noise(50, scale=scale, stream=stream) for _ in range(4_000)])
    reach = 2
    law = laplace_law(scale, reach)
    pairs = np.clip(draws, -reach - 1, reach + 1).reshape(-1, 2) + reach + 1
    found = np.bincount(pairs[:, 0] * len(law) + pairs[:, 1], minlength=len(law) ** 2)
    assert_fits(found, np.outer(law, law).ravel())


def by_opendp(counts, scale):
    """An independent implementation of the same law, as an oracle."""
    mod.enable_features("contrib")
    assert Fraction(float(scale)) == scale  # on our grid a float holds it exactly
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    return np.array(measurements.make_laplace(*space, scale=float(scale))(counts.tolist()), dtype=np.int64)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3495254, 1 << 20)])
def test_opendp_follows_the_same_law(scale):
    secure = Stream.from_system()
    noisy = by_opendp(np.full(100_000, 7, dtype=np.int64), scale)
    reach = math.ceil(8 * scale)
    assert_fits(histogram_of(noisy - 7, reach), laplace_law(scale, reach))
    above = discrete_laplace(np.full(100_000, -4, dtype=np.int64), scale=scale, stream=secure)
    assert_fits(histogram_of(above + 4, reach), laplace_law(scale, reach))  # our kernel, secure words


def test_seeded_noise_repeats_itself_and_secure_noise_does_not():
    """One kernel for every number of counts: only the key of the stream differs."""
    counts = np.arange(49, dtype=np.int64).reshape(7, 7)
    first, again = (discrete_laplace(counts, scale=Fraction(9), stream=Stream.seeded(4)) for _ in range(2))
    assert (first == again).all()
    first, again = (discrete_laplace(counts, scale=Fraction(9), stream=Stream.from_system()) for _ in range(2))
    assert (first != again).any()


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_follows_the_law(scale):
    draws = exact_geometric(500_000, scale=scale, stream=Stream.seeded(6))
    reach = math.ceil(14 * scale)
    q = math.exp(-1 / scale)
    law = np.append((1 - q) * q ** np.arange(reach), q**reach)
    assert draws.min() == 0
    assert_fits(np.bincount(np.minimum(draws, reach), minlength=reach + 1), law)


@pytest.mark.parametrize(
    ("trials", "scale", "threshold"),
    [
        (10, Fraction(1), 1),
        pytest.param(300, Fraction(2), 3, marks=pytest.mark.long),
        pytest.param(1 << 24, Fraction(3), 47, marks=pytest.mark.long),
        (1 << 199, Fraction(1), 136),
    ],
)
def test_binomial_follows_the_law(trials, scale, threshold):
    stream = Stream.seeded(8)
    draws = [exact_binomial(trials, chance=tail_chance(scale, threshold), stream=stream) for _ in range(3_000)]
    q = math.exp(-1 / scale)
    chance = q**threshold / (1 + q)
    most = max(draws) + 50
    support = np.arange(most)
    # Le Cam: Binomial(n, p) and Poisson(n p) differ by at most p in total variation, here 1e-57
    law = stats.poisson.pmf(support, trials * chance) if trials > 1 << 50 else stats.binom.pmf(support, trials, chance)
    assert_fits(np.bincount(draws, minlength=most), law)


def test_binomial_of_a_large_mean_is_split_without_a_trace():
    """Mean about 4,380 (35 parts): standardised sum and sum of squares of 300 draws, z = 6."""
    stream = Stream.seeded(9)
    trials, q = 1 << 190, math.exp(-1)
    mean = trials * q**123 / (1 + q)
    draws = np.array([exact_binomial(trials, chance=tail_chance(Fraction(1), 123), stream=stream) for _ in range(300)])
    standard = (draws - mean) / math.sqrt(mean)
    assert abs(standard.sum()) <= Z * math.sqrt(len(draws))
    low, high = stats.chi2.ppf([TINY, 1 - TINY], len(draws))
    assert low <= (standard**2).sum() <= high


def cell_law(count, scale, threshold, reach):
    """P(set to 0), P(T), ..., P(T + reach - 1), P(>= T + reach) of one cell."""
    q = math.exp(-1 / scale)
    inside = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(threshold, threshold + reach)]
    tail = q ** (threshold + reach - count) / (1 + q)
    return np.array([1 - sum(inside) - tail, *inside, tail])


@pytest.mark.parametrize(
    ("scale", "threshold"), [(Fraction(1), 2), pytest.param(Fraction(3), 4, marks=pytest.mark.long)]
)
def test_sparse_histogram_has_the_law_of_noise_on_every_cell(scale, threshold):
    """Six cells, two occupied: 64 patterns of shown cells, and the values of each, against brute force."""
    sizes = (2, 3)
    truth = np.array([0, 3, 0, 0, 0, 1])
    grid = CountTable.dense(["a", "b"], truth.reshape(sizes))
    event = SparseHistogram(scale=scale, threshold=threshold, neighbours=Neighbours.ADD_REMOVE)
    stream = Stream.seeded(12)
    runs = 4_000
    out = np.stack([histogram._sparse(grid, event, stream).to_grid().ravel() for _ in range(runs)])
    assert ((out == 0) | (out >= threshold)).all()
    reach = 3
    laws = [cell_law(count, scale, threshold, reach) for count in truth]
    shown = np.array([1 - law[0] for law in laws])
    patterns = np.array(list(itertools.product([0, 1], repeat=6)))
    chances = np.prod(np.where(patterns == 1, shown, 1 - shown), axis=1)
    assert_fits(np.bincount((out > 0) @ (1 << np.arange(6)[::-1]), minlength=64), chances)
    for cell, law in enumerate(laws):
        codes = np.where(out[:, cell] == 0, 0, np.minimum(out[:, cell] - threshold, reach) + 1)
        assert_fits(np.bincount(codes, minlength=len(law)), law)


def test_stable_histogram_shows_what_its_law_says():
    """100,000 cells of one record and 100,000 of four: each is a replicate of the one-cell mechanism."""
    counts = np.repeat(np.array([1, 4, 0], dtype=np.int64), 100_000)
    table, entry = stable_histogram(
        Secret(CountTable.dense(["a"], counts)),
        epsilon=0.5,
        delta=0.05,
        neighbours=Neighbours.ADD_REMOVE,
        stream=Stream.seeded(13),
    )
    noisy = table.to_grid()
    assert (noisy[200_000:] == 0).all()
    scale, threshold, reach = entry.event.scale, entry.event.threshold, 20
    for start, count in ((0, 1), (100_000, 4)):
        part = noisy[start : start + 100_000]
        codes = np.where(part == 0, 0, np.minimum(part - threshold, reach) + 1)
        assert_fits(np.bincount(codes, minlength=reach + 2), cell_law(count, scale, threshold, reach))
