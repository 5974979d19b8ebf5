"""Mechanisms of a priced codebook draft: kinds of values, frequent levels, private quantiles.

Levels: :mod:`understudy.mechanisms.stability` on texts not listed before. Quantiles: the exponential mechanism
[MT07, Smith11] on a grid that does not depend on the data. One budget pays for all of it: ``proofs/priced_draft.md``.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_laplace import ADD_REMOVE, discrete_laplace
from understudy.mechanisms.exponential import select
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stability import StabilityHistogram
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, PureDP
from understudy.privacy.secret import Secret
from understudy.sources.looks import Levels, Numbers
from understudy.sources.tables import CountTable

Floats = npt.NDArray[np.float64]
AR = Neighbours.ADD_REMOVE


@dataclass(frozen=True, kw_only=True)
class PricedDraft(Event):
    """A codebook found in the data; one price for all steps together."""

    kind: ClassVar[str] = "priced-draft"
    proof: ClassVar[str | None] = "priced_draft.md"
    epsilon: int | float = option(rule=EPSILON, help="of all steps together")
    delta: float = option(rule=DELTA, help="of all steps together")
    neighbours: Neighbours = option(rule=ADD_REMOVE, help="the relation that it is priced for")

    def guarantee(self) -> Guarantee:
        """The whole price, whatever the steps have used of it."""
        return ApproxDP(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)


class DraftBudget:
    """The rest of a budget that was fixed beforehand; a step that exceeds it is refused."""

    def __init__(self, event: PricedDraft) -> None:
        self._left = (Fraction(event.epsilon), Fraction(event.delta))

    def pay(self, event: Event) -> None:
        """Take the price of one step out, before the step opens anything."""
        claim = event.guarantee()
        if not isinstance(claim, PureDP | ApproxDP) or claim.neighbours is not AR:
            raise RefusalError(f"{event.kind} has no price for a draft; this is a fault of the draft.")
        epsilon, delta = (a - Fraction(b) for a, b in zip(self._left, (claim.epsilon, claim.delta), strict=True))
        if epsilon < 0 or delta < 0:
            raise RefusalError(
                f"the budget of the draft cannot pay {event.kind} (epsilon {claim.epsilon:g}, delta {claim.delta:g}); "
                "this is a fault of the draft."
            )
        self._left = (epsilon, delta)


def noisy_looks(counts: Secret[CountTable], *, event: GeometricHistogram, stream: Stream) -> npt.NDArray[np.int64]:
    """Noisy counts of what the values of a column look like."""
    return discrete_laplace(counts.open().to_grid().ravel(), scale=event.scale, stream=stream)


def shown_levels(levels: Secret[Levels], *, event: StabilityHistogram, stream: Stream) -> list[tuple[str, int]]:
    """The texts whose noisy count reaches the threshold, in the order of the alphabet, with that count.

    The proof needs no list of all possible texts: a text that nobody has cannot show, one that a single record has
    shows with probability delta, and the order of what shows says nothing more.
    """
    listed = levels.open()
    texts = sorted(set(listed.texts))
    if len(texts) != len(listed.texts):
        raise ParameterError("a level is listed twice, so that it would be noised twice at one price; count it once.")
    place = {text: number for number, text in enumerate(listed.texts)}
    exact = listed.counts[[place[text] for text in texts]] if texts else np.empty(0, dtype=np.int64)
    noisy = discrete_laplace(exact, scale=event.scale, stream=stream)
    return [(text, int(n)) for text, n in zip(texts, noisy, strict=True) if n >= event.threshold]


def quantile_scores(numbers: Numbers, grid: Floats, share: float) -> Floats:
    """-|(1 - p) below - p above| for each point x of the grid: below counts values < x, above the others.

    One record more changes one of the two counts by 1, hence a score by at most max(p, 1 - p) <= 1.
    """
    until = np.concatenate([[0], np.cumsum(numbers.counts)])
    below = until[np.searchsorted(numbers.values, grid, side="left")].astype(np.float64)
    above = float(until[-1]) - below
    return -np.abs((1 - share) * below - share * above)


def cell_scores(numbers: Numbers, grid: Floats, share: float) -> Floats:
    """Minus how many records the wanted rank lies outside each cell [g_i, g_(i+1)); the end cells are open outwards.

    The cell that holds the quantile has 0, also where many records share one value: no point has that share below it
    then, and all points on one side of the value would look alike. One record more changes the wanted rank by p and
    each count by 0 or 1, hence a score by at most max(p, 1 - p) <= 1.
    """
    until = np.concatenate([[0], np.cumsum(numbers.counts)]).astype(np.float64)
    below = until[np.searchsorted(numbers.values, grid, side="left")]
    below[0], below[-1] = 0.0, until[-1]
    wanted = share * until[-1]
    outside: Floats = np.maximum(below[:-1] - wanted, wanted - below[1:])
    return -np.maximum(outside, 0.0)


def private_quantile(
    numbers: Secret[Numbers], *, grid: Sequence[float], share: float, epsilon: float, stream: Stream
) -> int:
    """The number of the cell of a public grid in which about ``share`` of the values are passed."""
    scores = cell_scores(numbers.open(), np.asarray(grid, dtype=np.float64), share)
    place, _ = select(scores.tolist(), epsilon=epsilon, sensitivity=1.0, monotone=False, neighbours=AR, stream=stream)
    return place


def private_splits(
    numbers: Secret[Numbers], *, grid: Sequence[float], depth: int, epsilon: float, stream: Stream
) -> list[float]:
    """Points of the public grid that cut the values into up to 2^depth parts of about equal size, rising.

    Medians of ranges, ranges of which are cut again: ``depth`` rounds at ``epsilon`` each. The ranges of one round are
    disjoint, so one record takes part in one choice of each round. Values outside the grid count in no range.
    """
    sorted_values = numbers.open()
    cuts = [0, len(grid) - 1]
    points = np.asarray(grid, dtype=np.float64)
    for _ in range(depth):
        added = []
        for low, high in itertools.pairwise(cuts):
            if high - low < 2:
                continue  # nothing lies between; that is known from the cuts before
            inside = (sorted_values.values >= points[low]) & (sorted_values.values < points[high])
            part = Numbers(values=sorted_values.values[inside], counts=sorted_values.counts[inside])
            scores = quantile_scores(part, points[low + 1 : high], 0.5)
            place, _ = select(
                scores.tolist(), epsilon=epsilon, sensitivity=0.5, monotone=False, neighbours=AR, stream=stream
            )
            added.append(low + 1 + place)
        cuts = sorted([*cuts, *added])
    return [float(points[cut]) for cut in cuts]
