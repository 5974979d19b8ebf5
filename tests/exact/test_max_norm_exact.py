"""The max-norm mechanism: its law by enumeration, its sums on neighbouring tiny tables, and its draws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from understudy.errors import ParameterError
from understudy.mechanisms import max_norm
from understudy.mechanisms.labelled import UNIT, Cells, Grove, contributions, grove_sums, pooled
from understudy.mechanisms.max_norm import MaxNormSums, acceptance, max_norm_event, max_norm_noise
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@pytest.mark.parametrize("d", [1, 2, 3, 8, 40])
def test_the_radius_has_the_weights_of_the_proof(d):
    for g in (*range(40), 1000):
        kept, of = acceptance(g, d)
        assert 0 < kept <= of
        # weight of the proposal x chance to be kept = (2 g + 1)^d / (2^d d!), as exact fractions
        assert math.comb(g + d, d) * Fraction(kept, of) == Fraction((2 * g + 1) ** d, 2**d * math.factorial(d))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_vector_has_the_weight_of_its_norm(d):
    """With q = 1/2: the mixture over radii, summed exactly, is q^norm / (1 - q) for every vector of norm up to 3."""
    q = Fraction(1, 2)
    for z in itertools.product(range(-3, 4), repeat=d):
        norm = max(map(abs, z))
        most = norm + 60
        mixture = sum(Fraction((2 * g + 1) ** d, (2 * g + 1) ** d) * q**g for g in range(norm, most))
        assert mixture == (q**norm - q**most) / (1 - q)


def tiny_tables(most):
    """All tables of up to ``most`` records of two features (three and two codes) and a label."""
    records = list(itertools.product(range(3), range(2), range(2)))
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(records, size)


GROVES = (
    Grove(feature=0, lean=(-UNIT, 0, UNIT)),
    Grove(feature=1, lean=(-UNIT, UNIT)),
    Grove(feature=0, lean=(0, UNIT // 3, -7)),
)


def chance_of(codes):
    return 0.07 + 0.3 * codes[:, 0].astype(float) + 0.2 * codes[:, 1]


def exact_sums(table, limit, chance=chance_of):
    codes = np.array([record[:2] for record in table], dtype=np.uint8).reshape(len(table), 2)
    counts = np.zeros((len(table), 2), dtype=np.int64)
    counts[np.arange(len(table)), [record[2] for record in table]] = 1
    cells = pooled(codes, counts)
    chances = chance(cells.codes)
    pull = np.clip(np.rint(np.stack([-chances, 1 - chances], axis=1) * UNIT).astype(np.int64), -limit, limit)
    return tuple(int(contributions(grove, cells.codes, pull, cells.counts).sum()) for grove in GROVES)


@pytest.mark.parametrize("limit", [UNIT, UNIT // 2, 1])
def test_one_record_moves_no_sum_beyond_the_limit(limit):
    records = list(itertools.product(range(3), range(2), range(2)))
    furthest = 0
    for table in tiny_tables(3):
        before = exact_sums(table, limit)
        for record in records:
            after = exact_sums((*table, record), limit)
            furthest = max(furthest, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    assert furthest <= limit
    if limit < UNIT:
        assert furthest == limit  # the bound is attained: the price is not too low for a reason of luck


def test_neighbouring_tables_differ_by_at_most_epsilon():
    """Log-ratios of the exact output law are differences of norms: at most limit / scale, and that much somewhere."""
    limit = 4
    event = max_norm_event(epsilon=0.7, sensitivity=limit, dimensions=3, neighbours=AR)
    unit = 1 / event.scale
    worst = Fraction(0)
    for table in tiny_tables(2):
        before = exact_sums(table, limit)
        for record in itertools.product(range(3), range(2), range(2)):
            after = exact_sums((*table, record), limit)
            for y in itertools.product((-30, 0, 30), repeat=3):
                norms = [max(abs(a - b) for a, b in zip(y, sums, strict=True)) for sums in (before, after)]
                worst = max(worst, abs(norms[0] - norms[1]) * unit)
    assert worst == limit * unit
    assert worst <= Fraction(event.guarantee().epsilon) <= Fraction(0.7)


def test_replacing_a_record_costs_twice_as_much():
    one = max_norm_event(epsilon=1.0, sensitivity=8, dimensions=5, neighbours=AR)
    two = max_norm_event(epsilon=1.0, sensitivity=8, dimensions=5, neighbours=RO)
    assert two.scale == 2 * one.scale
    assert MaxNormSums(scale=one.scale, sensitivity=8, dimensions=5, neighbours=RO).guarantee().epsilon == 2.0


def test_draws_follow_the_law():
    """Chi-square over the norm classes of 20,000 draws; fails by chance with probability below 1e-9."""
    d, scale, draws = 3, Fraction(3, 2), 20_000
    stream = Stream.from_system()
    found = [max_norm_noise(d, scale=scale, stream=stream) for _ in range(draws)]
    norms = np.array([max(map(abs, z)) for z in found])
    q = math.exp(-1 / scale)
    weights = np.array([((2 * m + 1) ** d - abs(2 * m - 1) ** d * (m > 0)) * q**m for m in range(200)])
    law = weights / weights.sum()
    edges = 16
    seen = np.bincount(np.minimum(norms, edges), minlength=edges + 1)
    expected = np.concatenate([law[:edges], [law[edges:].sum()]]) * draws
    assert stats.chisquare(seen, expected).pvalue > 1e-9
    # signs and places: the first coordinate of draws with norm 1 is uniform over its 26 vectors
    shell = [tuple(z) for z in found if max(map(abs, z)) == 1]
    counts = np.array([shell.count(z) for z in itertools.product((-1, 0, 1), repeat=3) if any(z)])
    assert stats.chisquare(counts).pvalue > 1e-9


def test_measured_sums_are_the_exact_ones_plus_the_noise(monkeypatch):
    table = ((0, 0, 1), (2, 1, 0), (2, 1, 1), (1, 0, 0))
    monkeypatch.setattr(max_norm, "max_norm_noise", None)
    monkeypatch.setattr("understudy.mechanisms.labelled.max_norm_noise", lambda d, *, scale, stream: [5, -2, 0])
    codes = np.array([record[:2] for record in table], dtype=np.uint8)
    counts = np.eye(2, dtype=np.int64)[[record[2] for record in table]]
    cells = Secret(Cells(codes=codes, counts=counts))
    noisy, scale, entry = grove_sums(
        cells, GROVES, chance_of, limit=UNIT, epsilon=0.5, stream=Stream.seeded(1), reads="votes"
    )
    wanted = np.add(exact_sums(table, UNIT), [5, -2, 0])
    assert (noisy * UNIT == wanted).all()
    assert scale == 2.0
    assert entry.guarantee.epsilon == 0.5


@pytest.mark.parametrize("field", ["scale", "sensitivity", "dimensions"])
def test_odd_numbers_are_refused(field):
    fields = {"scale": Fraction(2), "sensitivity": 1, "dimensions": 2, "neighbours": AR}
    for odd in (0, -1, True, None, 10**9 if field == "dimensions" else 10**40):
        with pytest.raises(ParameterError, match=field):
            MaxNormSums(**{**fields, field: odd})
