"""How far a noisy figure may be off: quantiles of Laplace and normal errors added up, and ratios of noisy sums.

Only released numbers and public scales go in. Laws are laid out as a fixed set of points, so that the same answer has
the same interval everywhere.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ROUNDS = 40
_PLACES = 41


@lru_cache(maxsize=16)
def _quantiles(level: float) -> tuple[Floats, Floats]:
    """Two-sided quantiles of a normal and a Laplace error of variance 1 together, by their excess kurtosis 0 to 3."""
    normal = np.array([NormalDist().inv_cdf((place + 0.5) / 1024) for place in range(1024)])
    shares = np.linspace(0.0, 1.0, _PLACES)
    found = [NormalDist().inv_cdf((1 + level) / 2)]
    for share in shares[1:]:
        rest, scale = math.sqrt(1 - share), math.sqrt(share / 2)
        low, high = 0.0, 60.0
        for _ in range(50):
            middle = (low + high) / 2
            away = (middle - rest * normal) / scale
            above = np.where(away > 0, 0.5 * np.exp(-np.abs(away)), 1 - 0.5 * np.exp(-np.abs(away))).mean()
            low, high = (low, middle) if 1 - 2 * above > level else (middle, high)
        found.append(high)
    return 3 * shares**2, np.array(found)


def reach(level: float, *, normal: float, laplace: Sequence[float] | Floats = ()) -> float:
    """Within which an error of this normal deviation and these Laplace scales lies with probability ``level``.

    The law of a sum of several is taken to be that of one normal and one Laplace error of the same variance and
    kurtosis, which is exact for none or one of the latter.

    >>> round(reach(0.95, normal=1.0), 2), round(reach(0.95, normal=0.0, laplace=[1.0]), 2)
    (1.96, 3.0)
    """
    scales = np.asarray(laplace, dtype=np.float64)
    variance = normal**2 + 2 * float(scales @ scales)
    if variance <= 0:
        return 0.0
    kurtosis = 12 * float((scales**4).sum()) / variance**2
    return math.sqrt(variance) * float(np.interp(kurtosis, *_quantiles(level)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratio:
    """A mean between 0 and 1 as a quotient of noisy sums S_k, each of which stands at ``places`` between 0 and 1."""

    sums: Floats
    """In records."""
    places: Floats
    laplace: float
    normal: float
    """Noise of each sum, in records."""
    squares: Callable[[float], Floats]
    """For a value t the weights of the sums whose total is that of (x - t)^2 over all records."""
    clustered: int = 1
    """Records of one person that may be alike."""
    sampled: bool = True

    @property
    def records(self) -> float:
        """As measured."""
        return float(self.sums.sum())

    @property
    def records_deviation(self) -> float:
        """Of the noise of their number."""
        return math.sqrt(len(self.sums) * (2 * self.laplace**2 + self.normal**2))

    @property
    def is_told(self) -> bool:
        """Whether there are more records than the noise could make up."""
        return self.records > 2 * self.records_deviation

    @property
    def estimate(self) -> float:
        """Within 0 and 1."""
        return float(np.clip(self.sums @ self.places / max(self.records, 1.0), 0.0, 1.0))

    def _variances(self, at: float) -> tuple[float, float]:
        """Of the sum of (x - at): by sampling, and by noise."""
        sampling = 0.0
        if self.sampled:
            most = max(self.records, 1.0) * max(at * (1 - at), 1e-12)
            sampling = self.clustered * float(np.clip(self.squares(at) @ self.sums, 0.0, max(most, 0.0)))
        weights = self.places - at
        return sampling, float(weights @ weights) * (2 * self.laplace**2 + self.normal**2)

    def error(self) -> tuple[float, float]:
        """Standard error of the estimate, and the share of its variance that is due to sampling."""
        sampling, noise = self._variances(self.estimate)
        total = sampling + noise
        return math.sqrt(total) / max(self.records, 1.0), sampling / total if total > 0 else 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """All values t under which the measured sum of (x - t) is no surprise (Fieller 1954)."""

        def surprising(at: float) -> bool:
            weights = self.places - at
            sampling, _ = self._variances(at)
            normal = math.sqrt(sampling + float(weights @ weights) * self.normal**2)
            return abs(float(weights @ self.sums)) > reach(level, normal=normal, laplace=weights * self.laplace)

        return _edge(surprising, self.estimate, 0.0), _edge(surprising, self.estimate, 1.0)


def _edge(surprising: Callable[[float], bool], start: float, end: float) -> float:
    """Where values begin to be a surprise on the way from ``start`` to ``end``."""
    if not surprising(end):
        return end
    inside, outside = start, end
    for _ in range(_ROUNDS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if surprising(middle) else (middle, outside)
        if abs(outside - inside) < 1e-7 + 1e-4 * abs(start - inside):
            break
    return outside


def pair_squares(at: float) -> Floats:
    """Of sums at both ends of a value that is 0 or 1: (x - t)^2 is t^2 or (1 - t)^2."""
    return np.array([at**2, (1 - at) ** 2])


def triple_squares(at: float) -> Floats:
    """Of the sums of (1 - x)^2, 2x(1 - x) and x^2: (x - t)^2 in their terms."""
    return np.array([at**2, -at * (1 - at), (1 - at) ** 2])
