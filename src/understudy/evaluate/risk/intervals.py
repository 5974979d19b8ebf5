"""Confidence intervals of success rates, as tiny pure functions."""

import math
from dataclasses import dataclass

from understudy.errors import ParameterError
from understudy.extras import need
from understudy.parameters import Number

CONFIDENCE = Number(above=0, below=1, tried=0.95)
Z95 = 1.959963984540054
"""The normal law's 97.5 % point, for 95 % intervals."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A rate and its confidence interval."""

    value: float
    low: float
    high: float


def wilson(hits: float, trials: float, *, confidence: float = 0.95) -> Rate:
    """Wilson's score interval [Wilson 1927, doi:10.1080/01621459.1927.10502953]; the value is the plain share.

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n). ``hits`` may be fractional: ties are shared.

    >>> rate = wilson(8, 10)
    >>> round(rate.low, 4), round(rate.high, 4)
    (0.4902, 0.9433)
    """
    CONFIDENCE.check("confidence", confidence)
    if not 0 <= hits <= trials:
        raise ParameterError(f"{hits} hits of {trials} trials; there cannot be fewer than 0 or more than all.")
    if trials == 0:
        return Rate(value=math.nan, low=0.0, high=1.0)
    share, z = hits / trials, _normal(confidence)
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    return Rate(value=share, low=max(0.0, min(middle - half, share)), high=min(1.0, max(middle + half, share)))


def residual(attack: Rate, control: Rate) -> Rate:
    """What an attack gains over the same attack on people who were not in the data: (a - c) / (1 - c).

    Giomi et al. 2023 (doi:10.56553/popets-2023-0055, section 3.2). The interval combines both by Newcombe's square-and-
    add (1998) for a - c, and is cut to [0, 1]; a negative gain counts as none.

    >>> control = Rate(value=0.5, low=0.5, high=0.5)
    >>> residual(Rate(value=0.75, low=0.7, high=0.8), control)
    Rate(value=0.5, low=0.4, high=0.6)
    """
    if math.isnan(attack.value) or math.isnan(control.value):
        return Rate(value=math.nan, low=0.0, high=1.0)
    room = 1 - control.value
    if room <= 0:
        return Rate(value=0.0, low=0.0, high=1.0)
    gain = attack.value - control.value
    # d/dc (a - c)/(1 - c) = (a - 1)/(1 - c)^2: each end moves by its own share
    slope = (1 - attack.value) / room
    below = math.hypot(attack.value - attack.low, slope * (control.high - control.value))
    above = math.hypot(attack.high - attack.value, slope * (control.value - control.low))
    low, value, high = ((gain + shift) / room for shift in (-below, 0.0, above))
    return Rate(value=_unit(value), low=_unit(low), high=_unit(high))


def clopper_pearson(hits: int, trials: int, *, miss: float) -> tuple[float, float]:
    """Exact bounds of a probability, each of which fails with probability at most ``miss`` [Clopper, Pearson 1934].

    >>> low, high = clopper_pearson(0, 10, miss=0.05)
    >>> low, round(high, 4)
    (0.0, 0.2589)
    """
    need("scipy", extra="report", what="a confidence interval")
    from scipy import special

    if not 0 <= hits <= trials or trials < 1 or not 0 < miss < 1:
        raise ParameterError(f"{hits} hits of {trials} at {miss!r}; hits lie within trials, and `miss` in (0, 1).")
    low = float(special.betaincinv(hits, trials - hits + 1, miss)) if hits else 0.0
    high = float(special.betainccinv(hits + 1, trials - hits, miss)) if hits < trials else 1.0
    return low, high


def _unit(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 12)


def _normal(confidence: float) -> float:
    need("scipy", extra="report", what="a confidence interval")
    from scipy import special

    return float(special.ndtri((1 + confidence) / 2))
