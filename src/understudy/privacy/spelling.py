"""Prices in words: rounded so that what is written is never better than what is true."""

import math

from understudy.privacy.guarantees import Guarantee, KAnonymous, LDiverse, NoFormal

_FUZZ = 1e-9
"""A calibrated epsilon misses its target by less than this; 1.0000000001 is written as 1."""


def at_most(value: float, digits: int = 4) -> str:
    """A price, rounded up to so many digits.

    >>> at_most(1.1, 4), at_most(3.00417, 3), at_most(2.71828, 3), at_most(1e-06), at_most(1.00004)
    ('1.1', '3.01', '2.72', '1e-06', '1.001')
    """
    return _towards(value, digits, up=True)


def at_least(value: float, digits: int = 4) -> str:
    """What is promised at least, rounded down.

    >>> at_least(1.99996), at_least(2.0), at_least(0.693147)
    ('1.999', '2', '0.6931')
    """
    return _towards(value, digits, up=False)


def short_promise(promise: Guarantee) -> str:
    """A promise in a few words.

    >>> short_promise(KAnonymous(k=5))
    '5-anonymous'
    """
    if isinstance(promise, NoFormal):
        return "no formal promise"
    if isinstance(promise, KAnonymous):
        return f"{promise.k}-anonymous"
    if isinstance(promise, LDiverse):
        return f"entropy l-diversity, l = {at_least(promise.l)}"
    epsilon, delta = getattr(promise, "epsilon", math.inf), getattr(promise, "delta", 0.0)
    return f"epsilon {at_most(epsilon)}" + (f", delta {at_most(delta, 3)}" if delta else "")


def _towards(value: float, digits: int, *, up: bool) -> str:
    text = f"{value:.{digits}g}"
    if value == 0 or not math.isfinite(value):
        return text
    nearest, slack = float(text), _FUZZ * abs(value)
    if (nearest >= value - slack) if up else (nearest <= value + slack):
        return text
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return f"{nearest + (step if up else -step):.{digits}g}"
