"""Weighted counts, enumerated: noise of one scale on sums of weights."""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from understudy.codebook import Continuous
from understudy.codebook.encode import encode_value
from understudy.codebook.weight import bin_weights, finer
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.weighted import (
    WeightedHistogram,
    weight_units,
    weighted_event,
    weighted_histogram,
)
from understudy.privacy import Neighbours, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
WEIGHTS = (1, 3, 4)


def law(total, q, low=-5, high=20):
    """Exact law of total + noise, both tails as one atom: beyond all totals the ratios are constant."""
    inside = [(1 - q) / (1 + q) * q ** abs(value - total) for value in range(low + 1, high)]
    return [q ** (total - low) / (1 + q), *inside, q ** (high - total) / (1 + q)]


@pytest.mark.parametrize("relation", [AR, RO])
def test_weighted_counts_have_exactly_the_ratio_that_is_claimed(relation):
    """Two cells, records of weight 1, 3 and 4: the worst ratio of all neighbours is e^epsilon, attained."""
    event = WeightedHistogram(scale=Fraction(2), largest=max(WEIGHTS), neighbours=relation)
    epsilon = event.guarantee().epsilon
    assert epsilon == (2.0 if relation is AR else 4.0)
    with localcontext(Context(prec=60)):
        q = (-Decimal(1) / 2).exp()
        worst = Decimal(0)
        for base in itertools.product(range(5), repeat=2):
            for cell, other in itertools.product(range(2), repeat=2):
                for w, v in itertools.product(WEIGHTS, repeat=2):
                    before, after = list(base), list(base)
                    after[cell] += w
                    if relation is RO:
                        before[other] += v
                    pairs = [(law(a, q), law(b, q)) for a, b in zip(before, after, strict=True)]
                    ratio = Decimal(1)
                    for p, r in pairs:
                        ratio *= max(max(a / b, b / a) for a, b in zip(p, r, strict=True))
                    worst = max(worst, ratio)
        bound = Decimal(epsilon).exp()
        assert bound * (1 - Decimal("1e-40")) <= worst <= bound * (1 + Decimal("1e-40"))


@pytest.mark.parametrize("order", [1.5, 3.0, 20.0])
def test_the_renyi_bound_holds(order):
    event = WeightedHistogram(scale=Fraction(8), largest=4, neighbours=AR)
    with localcontext(Context(prec=60)):
        q = (-Decimal(1) / 8).exp()
        p, r = law(0, q, -80, 80), law(4, q, -80, 80)
        found = math.log(sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, r, strict=True)))
    assert found / (order - 1) <= float(event.renyi(np.array([order]))[0]) <= 0.5


def test_sums_are_weighted_before_the_noise(monkeypatch):
    from understudy.mechanisms import weighted

    monkeypatch.setattr(weighted, "discrete_laplace", lambda exact, *, scale, stream: exact)
    counts = Secret(CountTable.dense(["a", "w"], np.array([[2, 1], [0, 3]])))
    event = weighted_event(epsilon=1.0, largest=5, neighbours=AR)
    assert weighted_histogram(counts, units=(1, 5), event=event, stream=Stream.seeded(1)).tolist() == [7, 15]
    for units in ((1, 6), (0, 5), (1, 2, 5)):
        with pytest.raises(ParameterError, match="units"):
            weighted_histogram(counts, units=units, event=event, stream=Stream.seeded(1))


def test_units_and_events_are_checked():
    units, unit = weight_units([Fraction(1, 3), Fraction(5000)], Fraction(1, 100))
    assert max(units) <= 1024 and min(units) == 1 and unit == Fraction(5000, 1024)
    with pytest.raises(ParameterError, match="0 or less"):
        weight_units([Fraction(0), Fraction(1)], Fraction(1))
    event = weighted_event(epsilon=0.5, largest=7, neighbours=RO)
    assert event.guarantee().epsilon == pytest.approx(0.5) and event.guarantee().epsilon <= 0.5
    assert event_from_dict(event.to_dict()) == event
    with pytest.raises(ParameterError, match="largest"):
        WeightedHistogram(scale=Fraction(1), largest=0, neighbours=AR)


def test_narrow_bins_weigh_records_as_themselves_and_never_more_than_the_bound():
    """Every weight on the grid is its own bin where there are few enough; else it is rounded."""
    few = Continuous(name="w", edges=(Fraction(1, 2), Fraction(3), Fraction(40)), precision=1)
    fine = finer(few, 1024)
    middles = bin_weights(fine)
    for tenths in range(5, 401):
        assert middles[encode_value(fine, tenths / 10)] == Fraction(tenths, 10)
    many = Continuous(name="w", edges=(Fraction(1), Fraction(5), Fraction(500)), precision=4)
    fine = finer(many, 1024)
    units, unit = weight_units(bin_weights(fine), fine.step)
    assert max(units) * unit <= 500 and fine.size <= 1024
    for value in (1, 1.2345, 4.9999, 5, 77.7777, 499.9999, 500):
        assert abs(float(units[encode_value(fine, value)] * unit) - value) <= 500 / 1024 / 2 + 495 / 512 / 2


def test_records_without_a_weight_count_one(monkeypatch):
    from understudy.mechanisms import weighted

    monkeypatch.setattr(weighted, "discrete_laplace", lambda exact, *, scale, stream: exact)
    counts = Secret(CountTable.dense(["a", "b"], np.array([[2, 1], [0, 3]])))
    event = weighted_event(epsilon=1.0, largest=1, neighbours=AR)
    assert weighted_histogram(counts, units=None, event=event, stream=Stream.seeded(1)).tolist() == [[2, 1], [0, 3]]
