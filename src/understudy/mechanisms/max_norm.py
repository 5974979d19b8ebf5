"""The max-norm mechanism on whole numbers: noise for sums to all of which every record contributes.

P(z) is proportional to e^(-max |z_i| / scale) on all vectors of whole numbers. A release of d sums that one record
changes by at most ``sensitivity`` each is (sensitivity / scale)-DP, however large d is; Laplace noise would pay d times
as much. In return the noise itself grows with d: its deviation is about (d + 1) scale / sqrt(3) for each sum, against
sqrt(2) d scale for Laplace noise of the same price. See ``proofs/max_norm_sums.md`` [HT10 K-norm mechanism].
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.mechanisms.discrete_laplace import RELATION, count_sensitivity, pure_claim, pure_renyi
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON, Text, Whole, option
from understudy.privacy.events import Event, Orders, Renyi
from understudy.privacy.guarantees import Neighbours, PureDP

MAX_DIMENSIONS = 4096
"""Most sums in one release."""
_MAX_SCALE = 1 << 40  # larger noise leaves nothing useful
_SCALE = Text(
    words=f"a Fraction above 0 and at most {_MAX_SCALE:,}",
    example="max_norm_event(epsilon=...)",
    admitted=lambda value: isinstance(value, Fraction) and 0 < value <= _MAX_SCALE,
)
_GRID = 1 << 20


@dataclass(frozen=True, kw_only=True)
class MaxNormSums(Event):
    """Several sums released together; a record changes each by at most ``sensitivity``."""

    kind: ClassVar[str] = "max-norm-sums"
    proof: ClassVar[str | None] = "max_norm_sums.md"
    scale: Fraction = option(rule=_SCALE, help="of the noise")
    sensitivity: int = option(rule=Whole(most=1 << 30), help="most that one record changes any single sum by")
    dimensions: int = option(
        rule=Whole(most=MAX_DIMENSIONS), help="how many sums; the price does not depend on it, the noise does"
    )
    neighbours: Neighbours = option(rule=RELATION, help="the relation that it is priced for")

    def guarantee(self) -> PureDP:
        """Sensitivity / scale, twice that where a record is replaced; rounded up to a float."""
        moved = count_sensitivity(self.neighbours) * self.sensitivity
        return pure_claim(moved, scale=self.scale, neighbours=self.neighbours)

    def renyi(self, orders: Orders) -> Renyi:
        """What every epsilon-DP release has: at most epsilon, and at most order epsilon^2 / 2 [BS16 Prop 3.3]."""
        return pure_renyi(orders, self.guarantee().epsilon)


def max_norm_event(*, epsilon: float, sensitivity: int, dimensions: int, neighbours: Neighbours) -> MaxNormSums:
    """The least noise at which the sums cost at most ``epsilon``; needs no data."""
    EPSILON.check("epsilon", epsilon)
    moved = count_sensitivity(neighbours) * sensitivity
    scale = Fraction(math.ceil(moved / Fraction(epsilon) * _GRID), _GRID)
    return MaxNormSums(scale=scale, sensitivity=sensitivity, dimensions=dimensions, neighbours=neighbours)


def max_norm_noise(dimensions: int, *, scale: Fraction, stream: Stream) -> list[int]:
    """One exact draw of the noise.

    A radius G with P(g) proportional to (2 g + 1)^d q^g, q = e^(-1 / scale), then every coordinate uniform on -G .. G:
    a vector of norm m has all radii from m on behind it, and the sum of q^g over them is q^m / (1 - q). The radius
    comes from d + 1 geometric draws, whose sum has weights C(g + d, d) q^g, by rejection with :func:`acceptance`.
    """
    while True:
        radius = sum(_geometric(scale, stream) for _ in range(dimensions + 1))
        kept, of = acceptance(radius, dimensions)
        if stream.below(of) < kept:
            break
    return [stream.below(2 * radius + 1) - radius for _ in range(dimensions)]


def acceptance(radius: int, dimensions: int) -> tuple[int, int]:
    """(2 g + 1)^d over 2^d (g + 1) ... (g + d): at most 1, as numerator and denominator."""
    return (2 * radius + 1) ** dimensions, math.prod(2 * (radius + i) for i in range(1, dimensions + 1))


def _geometric(scale: Fraction, stream: Stream) -> int:
    """P(k) = (1 - q) q^k with q = e^(-1 / scale), exactly [CKS20 Alg 2, without the sign]."""
    top, bottom = scale.numerator, scale.denominator
    while True:
        part = stream.below(top)
        if _exp_minus(part, top, stream):
            break
    whole = 0
    while _exp_minus(1, 1, stream):
        whole += 1
    return (part + top * whole) // bottom


def _exp_minus(part: int, whole: int, stream: Stream) -> bool:
    """Bernoulli(e^(-part / whole)), part <= whole: the first k whose Bernoulli(part / whole / k) fails is odd."""
    run = 1
    while stream.below(whole * run) < part:
        run += 1
    return run % 2 == 1
