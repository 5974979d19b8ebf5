"""Noisy sums of bounded values: the price by enumeration of tiny tables, with no sampling error."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import DataError, ParameterError
from understudy.mechanisms.bounded_sums import (
    REACH,
    BoundedSums,
    GroupValues,
    noisy_means,
    noisy_means_entries,
    steps_of,
)
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stream import Stream
from understudy.privacy import Ledger, Neighbours, Secret
from understudy.privacy.events import event_from_dict

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def sums_of(table, groups):
    found = [0] * groups
    for group, step in table:
        found[group] += step
    return tuple(found)


def log_ratio(left, right, rate, low, high):
    """Largest |log ratio| over all outputs: piecewise linear between sums, so its ends and the sums are enough."""
    worst = Decimal(0)
    for a, b in zip(left, right, strict=True):
        worst += max(abs(abs(y - b) - abs(y - a)) * rate for y in range(low, high + 1))
    return worst


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize(("reach", "groups"), [(1, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(7, 2)])
def test_sums_cost_exactly_reach_over_scale(relation, reach, groups, scale):
    records = list(itertools.product(range(groups), range(-reach, reach + 1)))
    with localcontext(Context(prec=50)):
        rate, worst = Decimal(scale.denominator) / Decimal(scale.numerator), Decimal(0)
        for size in range(3):
            for table in itertools.combinations_with_replacement(records, size):
                for record in records:
                    if relation is AR:
                        others = [(*table, record)]
                    else:
                        others = [(*table[:k], record, *table[k + 1 :]) for k in range(size)]
                    for other in others:
                        pair = sums_of(table, groups), sums_of(other, groups)
                        worst = max(worst, log_ratio(*pair, rate, -3 * reach, 3 * reach))
        exact = reach * (1 if relation is AR else 2) * rate
        assert worst == exact
    claim = BoundedSums(scale=scale, reach=reach, neighbours=relation).guarantee()
    assert claim.epsilon == pytest.approx(float(exact), rel=1e-15)
    assert Fraction(claim.epsilon) >= reach * (1 if relation is AR else 2) / scale


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(4), Fraction(50)])
@pytest.mark.parametrize("reach", [1, 4])
def test_renyi_curve_is_above_the_enumerated_divergence(scale, reach):
    orders = np.array([1.01, 1.5, 2.0, 8.0, 60.0])
    curve = BoundedSums(scale=scale, reach=reach, neighbours=AR).renyi(orders)
    with localcontext(Context(prec=60)):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        # outputs at or below 0 and at or above reach have constant ratios: two lumps and the values between
        left = [1 / (1 + q), *((1 - q) / (1 + q) * q**y for y in range(1, reach)), q**reach / (1 + q)]
        right = [q**reach / (1 + q), *((1 - q) / (1 + q) * q ** (reach - y) for y in range(1, reach)), 1 / (1 + q)]
        assert abs(sum(left) - 1) < Decimal("1e-50")
        for order, bound in zip(orders, curve, strict=True):
            power = Decimal(float(order))
            moment = sum(p * (p / r) ** (power - 1) for p, r in zip(left, right, strict=True))
            assert moment.ln() / (power - 1) <= Decimal(float(bound)) * (1 + Decimal("1e-15"))


@given(
    st.floats(allow_nan=False),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.sampled_from([1, 7, REACH]),
)
def test_no_value_moves_a_sum_by_more_than_reach(value, lower, width, reach):
    assert -reach <= int(steps_of(np.array([value]), lower=lower, upper=lower + width, reach=reach)[0]) <= reach


def test_means_are_right_when_noise_is_small_and_the_price_is_halved():
    groups = np.repeat([0, 1, 3], [400, 300, 300])
    values = np.where(groups == 0, 2.0, np.where(groups == 1, 9.0, 25.0))  # 25 is cut to the bound 10
    found, entries = noisy_means(
        Secret(GroupValues(groups=groups, values=values)),
        groups=4,
        group="county",
        value="charge",
        lower=0.0,
        upper=10.0,
        epsilon=20.0,
        neighbours=AR,
        stream=Stream.seeded(3),
    )
    # noise of a sum: deviation 0.7 of the half range 5; beyond 60 scales with probability below e^-40
    assert np.abs(found.means[[0, 1, 3]] - [2.0, 9.0, 10.0]).max() < 60 * 0.5 * 5 / 290 + 5 / 1024
    assert 0 <= found.means[2] <= 10  # the empty group gets noise too
    total = Ledger.of(entries).total()
    assert total.epsilon <= 20.0 and total.epsilon == pytest.approx(20.0, rel=1e-5)
    assert [type(entry.event) for entry in entries] == [BoundedSums, GeometricHistogram]
    assert event_from_dict(entries[0].event.to_dict()) == entries[0].event


def test_bad_bounds_and_missing_values_are_refused():
    shared = {"epsilon": 1.0, "neighbours": AR}
    with pytest.raises(ParameterError, match="rise"):
        noisy_means_entries("g", "v", lower=1.0, upper=1.0, **shared)
    for lower, upper in ((0.0, 5e-324), (-1.7e308, 1.7e308)):  # half of it is 0, or infinite: steps would be NaN or 0
        with pytest.raises(ParameterError, match="halve"):
            noisy_means_entries("g", "v", lower=lower, upper=upper, **shared)
    with pytest.raises(DataError, match="missing"):
        steps_of(np.array([np.nan]), lower=0.0, upper=1.0, reach=4)
    with pytest.raises(ParameterError, match="reach"):
        BoundedSums(scale=Fraction(1), reach=0, neighbours=AR)
