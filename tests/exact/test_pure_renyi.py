"""Curves of events that have nothing but their epsilon, against the proved bound in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from understudy.mechanisms.bounded_sums import BoundedSums
from understudy.mechanisms.max_norm import MaxNormSums
from understudy.mechanisms.weighted import WeightedHistogram
from understudy.privacy import Neighbours

ORDERS = np.array([1.5, 2.0, 3.7, 10.1])
ONE = {
    BoundedSums: {"reach": 1},
    MaxNormSums: {"sensitivity": 1, "dimensions": 2},
    WeightedHistogram: {"largest": 1},
}


@pytest.mark.parametrize("kind", ONE)
def test_no_curve_is_rounded_below_what_is_proved(kind):
    """The smaller of epsilon and order epsilon^2 / 2: one rule for all, never below it and never above epsilon."""
    for number in range(2, 400):
        event = kind(scale=Fraction(number * 7919, 1 << 10), neighbours=Neighbours.ADD_REMOVE, **ONE[kind])
        for order, found in zip(ORDERS, event.renyi(ORDERS), strict=True):
            proved = min(1 / event.scale, Fraction(float(order)) / (2 * event.scale**2))
            assert proved <= Fraction(float(found)) <= Fraction(event.guarantee().epsilon)
