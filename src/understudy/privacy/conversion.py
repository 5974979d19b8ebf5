"""From a Renyi curve to (epsilon, delta).

Twenty lines instead of a dependency: the package that used to do this brings SciPy and five others with it. It is the
oracle of ``tests/laws/test_conversion_laws.py``, and the results are equal to the last bit, because ``verify`` compares
what it adds up with what a release of any age states.
"""

import math
from collections.abc import Iterable

_NEAR_ONE = 1.01
"""Below this order the bound is worthless, and rounding could make it look better than it is."""


def smallest_epsilon(orders: Iterable[float], curve: Iterable[float], delta: float) -> tuple[float, float]:
    """The smallest epsilon that the curve proves at ``delta`` > 0, and the order that proves it."""
    best, best_order = math.inf, math.inf
    for order, divergence in zip(orders, curve, strict=True):
        epsilon = _epsilon(float(order), float(divergence), delta)
        if epsilon < best or best_order == math.inf:
            best, best_order = epsilon, float(order)
    return max(0.0, best), best_order


def conversion_cost(order: float, delta: float) -> float:
    """What a Renyi divergence of ``order`` is raised by to become epsilon at ``delta`` [CKS20 Prop 12].

    ln(1 - 1/l) - (ln delta + ln l) / (l - 1). Totals of releases are added up in another order (:func:`_epsilon`): the
    last bits of both are those of every account and manifest that exists.
    """
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


def _epsilon(order: float, divergence: float, delta: float) -> float:
    """At order l, a divergence r proves r + ln(1 - 1/l) - ln(delta l) / (l - 1) [CKS20 Prop 12].

    Where delta is at least sqrt(1 - exp(-r)), the total variation is at most delta [BH79], which proves epsilon = 0:
    the divergence of every order above 1 bounds the one of Kullback and Leibler.
    """
    if math.isnan(divergence):
        return math.inf
    if divergence < 0 or delta**2 + math.expm1(-divergence) > 0:
        return 0.0
    if order <= _NEAR_ONE:
        return math.inf
    return divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
