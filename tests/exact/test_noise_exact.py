"""Laws and bounds of the noise, checked by enumeration or exact arithmetic, with no sampling error."""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from understudy import mechanisms
from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError
from understudy.mechanisms import exact_binomial as binomial
from understudy.mechanisms import exact_laplace, histogram
from understudy.mechanisms.discrete_laplace import (
    discrete_laplace,
    float_above,
    half_width,
    laplace_deviation,
    scale_for,
)
from understudy.mechanisms.histogram import (
    GeometricHistogram,
    SparseHistogram,
    noisy_histogram,
    noisy_histogram_entry,
    noisy_histogram_event,
)
from understudy.mechanisms.stability import StabilityHistogram, stable_histogram, stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy import Entry, Neighbours, PureDP, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
PROOFS = Path(mechanisms.__file__).parent / "proofs"
REPOSITORY = Path(__file__).parents[2]


def lumped(count, top, q):
    """P(noisy <= 0), P(1), ..., P(top - 1), P(>= top) of one cell; ratios are constant in both lumps."""
    inside = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(1, top)]
    return [q**count / (1 + q), *inside, q ** (top - count) / (1 + q)]


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 2)])
def test_noise_on_every_cell_costs_exactly_epsilon(relation, cells, scale):
    top = 3
    with localcontext(Context(prec=60)):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        worst = Decimal(0)
        for left in itertools.product(range(top + 1), repeat=cells):
            for right in itertools.product(range(top + 1), repeat=cells):
                moved = sum(abs(a - b) for a, b in zip(left, right, strict=True))
                if moved != (1 if relation is AR else 2) or (relation is RO and sum(left) != sum(right)):
                    continue
                ratios = [
                    max(p / r for p, r in zip(lumped(a, top, q), lumped(b, top, q), strict=True))
                    for a, b in zip(left, right, strict=True)
                ]  # cells are independent: the largest ratio of the product is the product of the largest
                worst = max(worst, math.prod(ratios, start=Decimal(1)))
        claim = GeometricHistogram(scale=scale, neighbours=relation).guarantee()
        assert abs(worst.ln() - (1 if relation is AR else 2) / Decimal(str(float(scale)))) < Decimal("1e-50")
    assert isinstance(claim, PureDP)
    assert claim.epsilon == pytest.approx(float(worst.ln()), rel=1e-15)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("scale", [Fraction(1, 64), Fraction(1), Fraction(10), Fraction(1 << 20)])
def test_renyi_curve_is_the_enumerated_divergence(relation, scale):
    orders = np.array([1.0001, 1.5, 2.0, 8.0, 100.0, 1e5])
    curve = GeometricHistogram(scale=scale, neighbours=relation).renyi(orders)
    with localcontext(Context(prec=60, Emin=-(10**9), Emax=10**9)):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        left, right = lumped(1, 3, q), lumped(2, 3, q)
        for order, bound in zip(orders, curve, strict=True):
            power = Decimal(float(order))
            moment = sum(p * (p / r) ** (power - 1) for p, r in zip(left, right, strict=True))
            exact = moment.ln() / (power - 1) * (1 if relation is AR else 2)
            assert exact <= Decimal(float(bound)) * (1 + Decimal("1e-15"))
            assert float(bound) <= float(exact) * (1 + 1e-11)  # tight but for the stated upward factor 1e-12
    epsilon = (1 if relation is AR else 2) / float(scale)
    assert (curve <= np.minimum(epsilon, orders * epsilon**2 / 2) * (1 + 1e-15)).all()
    sparse = SparseHistogram(scale=scale, threshold=9, neighbours=relation)
    assert (sparse.renyi(orders) == curve).all()


class Drip(Stream):
    """Offers a kernel one more word at a time, so that every draw is interrupted wherever it can be."""

    def run(self, step, items, *, words_each):
        start, pool = 0, np.empty(0, dtype=np.uint64)
        while start < items:
            pool = np.concatenate([pool, self.words(1)])
            start, used = step(pool, start)
            pool = pool[used:]


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 4), Fraction(3495254, 1 << 20), Fraction(1 << 24)])
@pytest.mark.parametrize("draw", [exact_laplace.exact_noise, exact_laplace.exact_geometric])
def test_words_one_at_a_time_give_the_same_draws(scale, draw):
    whole = draw(400, scale=scale, stream=Stream.seeded(11))
    dripped = draw(400, scale=scale, stream=Drip.seeded(11))
    assert (whole == dripped).all()


@pytest.mark.parametrize("x", ["0", "1/1048576", "1/3", "1", "17/2", "133/10", "745", "1048576", "1000000001/7"])
@pytest.mark.parametrize("bits", [8, 64, 700])
def test_exponential_bounds_enclose_the_truth(x, bits):
    low, high = binomial.exp_minus(Fraction(x), bits)
    with localcontext(Context(prec=400, Emin=-(10**15), Emax=10**15)):  # exp is correctly rounded
        top, bottom = Fraction(x).as_integer_ratio()
        truth = (-Decimal(top) / Decimal(bottom)).exp() * 2**bits
        slack = Decimal("1e-150")  # 400 digits less the 211 of 2^700, with room
        assert low <= truth + slack
        assert truth <= high + slack
    assert 0 <= high - low <= 2


def rational(chance):
    return lambda bits: (math.floor(chance * 2**bits), math.ceil(chance * 2**bits))


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 1000), Fraction(9, 10)])
@pytest.mark.parametrize("trials", [1, 2, 40])
def test_binomial_bounds_enclose_the_distribution(trials, chance):
    table = binomial._Distribution(trials, rational(chance), 128)
    while len(table._cumulative) < trials and table._extend():
        pass
    one = 1 << table._bits
    exact = Fraction(0)
    for k, (low, high) in enumerate(table._cumulative):
        exact += math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        assert low <= exact * one <= high
        assert high - low < 1 << (table._bits - 200)  # far finer than the 128 bits of the uniform number
    assert len(table._cumulative) == max(trials, 1)
    for uniform in (0, 1 << 126, (1 << 127) + 5, (1 << 128) - 1):  # what exact rational arithmetic decides
        below = Fraction(uniform, 1 << 128)
        sums = itertools.accumulate(
            math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)
        )
        assert table.locate(uniform) in (None, next(k for k, total in enumerate(sums) if below < total))


class Scripted(Stream):
    """Answers ``below`` from a list, and counts what was asked."""

    def __init__(self, answers):
        self.answers, self.asked = list(answers), 0

    def below(self, bound):
        self.asked += 1
        return self.answers.pop(0)


@pytest.mark.parametrize(("next_bits", "outcome"), [(1 << 127, 0), ((1 << 127) + 1, 1)])
def test_an_open_comparison_draws_more_bits(next_bits, outcome):
    """One trial; F(0) = 1 - p lies inside the first 128-bit interval, so only the next bits can decide."""
    at = Fraction((1 << 127) * (1 << 128) + (1 << 127) + 1, 1 << 256)
    stream = Scripted([1 << 127, next_bits])
    assert binomial.exact_binomial(1, chance=rational(1 - at), stream=stream) == outcome
    assert stream.asked == 2


def test_parts_of_a_split_binomial_hold_every_trial(monkeypatch):
    class Everything(binomial._Distribution):
        def locate(self, uniform):
            return self._trials

    monkeypatch.setattr(binomial, "_Distribution", Everything)
    for trials, chance in ((1023, Fraction(1, 2)), ((1 << 90) + 12345, Fraction(5_000, 1 << 90))):
        assert binomial.exact_binomial(trials, chance=rational(chance), stream=Stream.seeded(1)) == trials


def test_no_trials_no_draw():
    assert binomial.exact_binomial(0, chance=rational(Fraction(1, 2)), stream=Scripted([])) == 0


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [2e-6, 1e-3, 0.1, 0.3, 1 / 3, 1.0, math.pi, 100.0, 1e9, 5])
def test_scale_is_rounded_up_and_exactly_a_float(epsilon, sensitivity):
    scale = scale_for(epsilon, sensitivity)
    assert sensitivity / scale <= Fraction(epsilon)
    assert Fraction(float(scale)) == scale
    assert float_above(sensitivity / scale) <= epsilon
    if scale > Fraction(1, 1 << 20):
        assert sensitivity / (scale - Fraction(1, 1 << 20)) > Fraction(epsilon)  # the next smaller one costs too much


def test_noisy_count_clamps_like_infinite_noise(monkeypatch):
    """A saturated magnitude ends at the clamp from either end of the allowed counts."""
    saturated = np.array([exact_laplace.SATURATED, -exact_laplace.SATURATED])
    monkeypatch.setattr("understudy.mechanisms.discrete_laplace.exact_noise", lambda size, **_: saturated.copy())
    for count in (-exact_laplace.COUNT_LIMIT, exact_laplace.COUNT_LIMIT):
        counts = np.full(2, count)
        noisy = discrete_laplace(counts, scale=Fraction(1), stream=Stream.seeded(1))
        assert noisy.tolist() == [exact_laplace.LIMIT, -exact_laplace.LIMIT]


def test_events_survive_a_manifest_and_name_a_proof():
    events = [
        GeometricHistogram(scale=scale_for(0.3, 2), neighbours=RO),
        SparseHistogram(scale=scale_for(0.7, 1), threshold=12, neighbours=AR),
        StabilityHistogram(scale=scale_for(1.0, 1), threshold=15, neighbours=AR),
    ]
    for event in events:
        assert event_from_dict(event.to_dict()) == event
        assert (PROOFS / event.proof).is_file()  # its headings and tests: tests/unit/test_proofs.py


def test_entry_is_known_before_the_data():
    grid = np.arange(6, dtype=np.int64).reshape(2, 3)
    table = CountTable.dense(["a", "b"], grid)
    wide = CountTable.sparse(["a"] * 9, (9,) * 9, np.array([[1] * 9], dtype=np.uint8), np.array([50]))
    for data in (table, wide):
        released, entry = noisy_histogram(Secret(data), epsilon=0.9, neighbours=AR, stream=Stream.seeded(5))
        assert entry == noisy_histogram_entry(data.columns, data.sizes, epsilon=0.9, neighbours=AR)
        assert entry.event == noisy_histogram_event(data.sizes, epsilon=0.9, neighbours=AR)
        assert entry.stage == "tables"
        assert released.sizes == data.sizes
        assert Entry.from_dict(entry.to_dict()) == entry
    assert isinstance(entry.event, SparseHistogram)
    released, entry = stable_histogram(Secret(table), epsilon=0.9, delta=1e-3, neighbours=RO, stream=Stream.seeded(5))
    assert entry == stable_histogram_entry(table.columns, epsilon=0.9, delta=1e-3, neighbours=RO)
    assert "the number of records is public" in entry.assumptions
    assert released.codes is not None
    assert entry.guarantee.epsilon <= 0.9
    assert entry.guarantee.delta <= 1e-3


def test_sparse_threshold_is_public_and_smallest():
    sizes = (50,) * 6
    event = noisy_histogram_event(sizes, epsilon=0.5, neighbours=AR)
    q = math.exp(-0.5)
    expected = [50**6 * q**t / (1 + q) for t in (event.threshold - 1, event.threshold)]
    assert expected[1] <= histogram.SPURIOUS_CELLS < expected[0]


def test_empty_cells_avoid_occupied_ones():
    """All but three of 60 cells are taken: exactly those three are found, each once."""
    every = np.array(list(itertools.product(range(3), range(4), range(5))), dtype=np.uint8)
    free = [7, 30, 59]
    taken = np.delete(every, free, axis=0)
    found = histogram._empty_cells(3, taken, (3, 4, 5), Stream.seeded(2))
    assert sorted(map(tuple, found.tolist())) == [tuple(every[i].tolist()) for i in free]
    assert histogram._among(every, taken).sum() == 57
    assert not histogram._among(every, taken[:0]).any()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, True, "1", None, 10**400])
def test_bad_epsilon(epsilon):
    if epsilon == 10**400:  # finite, if absurd: the finest grid point is the least noise there is
        assert scale_for(epsilon, 1) == Fraction(1, 1 << 20)
        return
    with pytest.raises(ParameterError, match="`epsilon` is"):
        noisy_histogram_event((2, 3), epsilon=epsilon, neighbours=AR)
    with pytest.raises(ParameterError, match="`epsilon` is"):
        stable_histogram_entry(["a"], epsilon=epsilon, delta=1e-6, neighbours=AR)


def test_too_small_epsilon_names_the_limit():
    with pytest.raises(ParameterError, match=r"`epsilon` is 1e-09; below .* Use a larger epsilon"):
        scale_for(1e-9, 1)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True])
def test_bad_sensitivity(sensitivity):
    with pytest.raises(ParameterError, match="`sensitivity` is"):
        scale_for(1.0, sensitivity)


@pytest.mark.parametrize("scale", [0.5, Fraction(0), Fraction(-1), Fraction(1, 3), Fraction((1 << 24) + 1), 1])
def test_bad_scale(scale):
    with pytest.raises(ParameterError, match="`scale` is"):
        discrete_laplace(np.zeros(3, dtype=np.int64), scale=scale, stream=Stream.seeded(1))
    with pytest.raises(ParameterError, match="`scale` is"):
        GeometricHistogram(scale=scale, neighbours=AR)


@pytest.mark.parametrize("counts", [np.zeros(3), np.zeros(3, dtype=np.int32), [1, 2], np.array([1 << 41])])
def test_bad_counts(counts):
    with pytest.raises(DataError):
        discrete_laplace(counts, scale=Fraction(1), stream=Stream.seeded(1))


@pytest.mark.parametrize("sizes", [(), (3, 0), (-1,)])
def test_bad_sizes(sizes):
    with pytest.raises(ParameterError, match="`sizes` is"):
        noisy_histogram_event(sizes, epsilon=1.0, neighbours=AR)


@pytest.mark.parametrize(
    "fields",
    [{"scale": "1/0", "neighbours": "add-remove"}, {"scale": "2/1"}, {"scale": "2/1", "neighbours": "x"}],
)
def test_bad_manifest(fields):
    with pytest.raises(ReleaseError, match="cannot be read"):
        event_from_dict({"kind": "geometric-histogram", **fields})


@pytest.mark.parametrize(("sizes", "epsilon"), [((2,) * 201, 1.0), ((1000,) * 5, 0.001)])
def test_useless_domains_are_refused(sizes, epsilon):
    with pytest.raises(RefusalError, match=r"the columns have \d\.\de\+\d+ combinations.*`sba`, or `pegs`"):
        noisy_histogram_event(sizes, epsilon=epsilon, neighbours=AR)


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1, 2), Fraction(3), Fraction(41), Fraction(333, 2)])
@pytest.mark.parametrize("miss", [0.5, 0.2, 0.05, 0.01, 0.001])
def test_the_half_width_is_the_smallest_that_misses_no_more(scale, miss):
    """By the exact law; none of these lies so near to a whole number that rounding could decide."""
    width = half_width(scale, miss=miss)
    with localcontext(Context(prec=60)):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        assert 2 * q ** (width + 1) / (1 + q) <= Decimal(miss)
        assert width == 0 or 2 * q**width / (1 + q) > Decimal(miss)


def test_the_stated_deviation_is_that_of_the_law():
    scale = Fraction(7, 2)
    q = np.exp(-1 / float(scale))
    k = np.arange(-400, 401)
    law = (1 - q) / (1 + q) * q ** np.abs(k)
    assert laplace_deviation(scale) == pytest.approx(float(np.sqrt((law * k**2).sum())), rel=1e-12)


def test_empty_tables():
    assert discrete_laplace(np.zeros((0, 3), dtype=np.int64), scale=Fraction(1), stream=Stream.from_system()).shape == (
        0,
        3,
    )
    nobody = CountTable.sparse(["a", "b"], (5, 5), np.empty((0, 2), dtype=np.uint8), np.empty(0, dtype=np.int64))
    for stream in (Stream.seeded(1), Stream.from_system()):
        released, _ = stable_histogram(Secret(nobody), epsilon=1.0, delta=1e-6, neighbours=AR, stream=stream)
        assert released.counts is not None
        assert len(released.counts) == 0
