"""Find the smallest alpha whose price stays within a target. Everything here is public arithmetic."""

import math
from collections.abc import Callable
from fractions import Fraction

from understudy.errors import RefusalError
from understudy.mechanisms.dirichlet import rational_alpha

_STEPS = 40
_CLOSE = 1e-6


def smallest_alpha(price: Callable[[Fraction], float], target: float) -> Fraction:
    """The smallest alpha, to a relative 1e-6, with ``price(alpha) <= target``; the price falls as alpha grows."""
    low, high = math.log(1e-6), math.log(1e9)
    if price(rational_alpha(math.exp(high))) > target:
        raise RefusalError(
            f"no alpha below 1e9 reaches a total epsilon of {target}; ask for fewer rows or a larger epsilon."
        )
    if price(rational_alpha(math.exp(low))) <= target:
        return rational_alpha(math.exp(low))
    for _ in range(_STEPS):
        if high - low < _CLOSE:
            break
        middle = (low + high) / 2
        if price(rational_alpha(math.exp(middle))) <= target:
            high = middle
        else:
            low = middle
    return rational_alpha(math.exp(high))
