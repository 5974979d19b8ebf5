"""What is written about a price is never better than the price."""

import math

from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.guarantees import ApproxDP, Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import at_least, at_most
from understudy.privacy.statement import statement

PRICES = st.floats(min_value=1e-300, max_value=1e300)


@given(value=PRICES, digits=st.integers(1, 8))
def test_written_prices_are_on_the_safe_side_and_near(value, digits):
    above, below = float(at_most(value, digits)), float(at_least(value, digits))
    fuzz = 2e-9 * value
    assert below - fuzz <= value <= above + fuzz
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    assert above - value <= 1.001 * step + fuzz
    assert value - below <= 1.001 * step + fuzz


def test_a_factor_that_the_nearest_digits_would_understate():
    total = ApproxDP(epsilon=1.1, delta=1.0004e-6, neighbours=Neighbours.ADD_REMOVE)
    said = statement(Ledger.of([]), total, rows=10, route="N", paper=None)
    assert "3.01 times" in said  # e^1.1 = 3.00417
    assert "delta = 1.001e-06" in said
