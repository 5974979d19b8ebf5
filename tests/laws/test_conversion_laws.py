"""The conversion of Renyi curves against the package of others that did it before, to the last bit."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.conversion import smallest_epsilon

ORDERS = 1.0 + np.geomspace(1e-4, 1e6, 161)
DELTAS = st.floats(-700, -1e-3).map(math.exp)
SCALES = st.floats(-30, 12).map(math.exp)


@given(
    orders=st.lists(st.floats(1.0001, 1e7), min_size=1, max_size=20),
    data=st.data(),
    delta=DELTAS,
)
def test_any_curve_is_converted_as_the_oracle_does(orders, data, delta):
    curve = data.draw(
        st.lists(SCALES | st.sampled_from([0.0, math.inf]), min_size=len(orders), max_size=len(orders)), label="curve"
    )
    theirs = rdp_privacy_accountant.compute_epsilon(orders, curve, delta)
    assert smallest_epsilon(orders, curve, delta) == theirs


@given(scale=SCALES, delta=DELTAS)
def test_gaussian_curves_are_converted_as_the_oracle_does(scale, delta):
    assert smallest_epsilon(ORDERS, scale * ORDERS, delta) == rdp_privacy_accountant.compute_epsilon(
        ORDERS, scale * ORDERS, delta
    )


@given(scale=SCALES, delta=DELTAS)
def test_the_exact_delta_of_a_gaussian_is_never_above(scale, delta):
    """Its (epsilon, delta) curve is known: Phi(-e s + 1/2s) - e^epsilon Phi(-e s - 1/2s), for noise of deviation s."""
    from scipy.special import log_ndtr

    deviation = math.sqrt(1 / (2 * scale))
    epsilon, _ = smallest_epsilon(ORDERS, scale * ORDERS, delta)
    first = log_ndtr(-epsilon * deviation + 1 / (2 * deviation))
    second = epsilon + log_ndtr(-epsilon * deviation - 1 / (2 * deviation))
    assert second >= first or first + math.log(-math.expm1(second - first)) <= math.log(delta) + 1e-6


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_what_has_no_bound_gets_none(unknown):
    assert smallest_epsilon([2.0, 3.0], [unknown, unknown], 1e-6)[0] == math.inf
    assert smallest_epsilon([2.0, 3.0], [unknown, 0.5], 1e-6)[1] == 3.0


def test_rounding_below_zero_counts_as_zero():
    assert smallest_epsilon([2.0], [-1e-18], 1e-6)[0] == smallest_epsilon([2.0], [0.0], 1e-6)[0] == 0.0
    assert smallest_epsilon([2.0], [-1e6], 1e-6)[0] == 0.0


def test_an_order_so_near_to_one_proves_nothing():
    """The limit itself is excluded: rounding could make its bound look better than it is."""
    assert smallest_epsilon([1.01], [0.5], 1e-6)[0] == math.inf
    assert smallest_epsilon([1.02], [0.5], 1e-6)[0] < math.inf


def test_of_equal_bounds_the_first_order_is_stated():
    assert smallest_epsilon([2.0, 3.0], [0.0, 0.0], 0.5) == (0.0, 2.0)


def test_where_the_total_variation_only_just_fits_nothing_is_rounded_in_our_favour():
    """The square of such a delta is 0 in floats."""
    assert smallest_epsilon([2.0], [0.0], 1e-200)[0] > 400
