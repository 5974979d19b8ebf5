"""How much a generalisation costs. Smaller is better; each loss knows a bound that grows along the lattice.

``lower`` of a node is at most the loss of that node and of every coarser one. That is what the search prunes with.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.problem import Node, NodeOutcome, Problem


class Loss(ABC):
    """One way to count what was lost."""

    name: ClassVar[str]

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def known(self) -> npt.NDArray[np.float64]:
        """A bound for every node that needs no counting."""
        return np.zeros(self.problem.dims)

    @abstractmethod
    def lower(self, outcome: NodeOutcome) -> float:
        """A bound for this node and every coarser one, once its classes are known."""

    @abstractmethod
    def of(self, outcome: NodeOutcome) -> float:
        """The loss of a node, suppression included."""


class Height(Loss):
    """Sum of the heights: how many steps were taken [Samarati01]. Suppression costs nothing."""

    name: ClassVar[str] = "height"

    def known(self) -> npt.NDArray[np.float64]:
        """The loss itself."""
        return np.asarray(np.indices(self.problem.dims).sum(axis=0), dtype=np.float64)

    def lower(self, outcome: NodeOutcome) -> float:
        """The loss itself."""
        return float(sum(outcome.node))

    def of(self, outcome: NodeOutcome) -> float:
        """The sum of the heights."""
        return float(sum(outcome.node))


class Discernibility(Loss):
    """Rows that each row cannot be told from: size squared per class, and the whole table per suppressed row [BA05]."""

    name: ClassVar[str] = "discernibility"

    def lower(self, outcome: NodeOutcome) -> float:
        """Classes as they stand: joining them adds up to more, and a suppressed row costs no less than its class."""
        return float((outcome.sizes.astype(np.float64) ** 2).sum())

    def of(self, outcome: NodeOutcome) -> float:
        """Sum of squares of the kept classes, rows times table for the rest."""
        kept = outcome.sizes[~outcome.bad].astype(np.float64)
        return float((kept**2).sum()) + float(outcome.suppressed) * self.problem.rows


class NonUniformEntropy(Loss):
    """Bits lost: log2 of how much commoner the group is than the value, over rows and columns [GT09].

    Frequencies are those of the table before suppression; a suppressed value is in a group with all others.
    """

    name: ClassVar[str] = "entropy"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._bits: list[npt.NDArray[np.float64]] = []
        """For each column the bits lost by each code at each height; the last line is suppression."""
        self._totals: list[npt.NDArray[np.float64]] = []
        for place, hierarchy in enumerate(problem.hierarchies):
            counts = np.zeros(hierarchy.column.size)
            np.add.at(counts, problem.codes[:, place], problem.counts)
            lines = []
            for mapping in [*hierarchy.maps, np.zeros(hierarchy.column.size, dtype=np.int32)]:
                groups = np.bincount(mapping, weights=counts)[mapping]
                with np.errstate(divide="ignore", invalid="ignore"):
                    lines.append(np.where(counts > 0, np.log2(groups / counts), 0.0))
            self._bits.append(np.stack(lines))
            self._totals.append((self._bits[-1] * counts).sum(axis=1)[:-1])

    def known(self) -> npt.NDArray[np.float64]:
        """The loss without suppression: a sum over the columns."""
        total = np.zeros(self.problem.dims)
        for place, bits in enumerate(self._totals):
            shape = [1] * len(self.problem.dims)
            shape[place] = -1
            total = total + bits.reshape(shape)
        return total

    def lower(self, outcome: NodeOutcome) -> float:
        """The loss without suppression."""
        return float(sum(bits[height] for bits, height in zip(self._totals, outcome.node, strict=True)))

    def of(self, outcome: NodeOutcome) -> float:
        """Kept rows at their heights, suppressed ones as if every value were one."""
        return self.lower(outcome) + self._suppression(outcome.node, outcome.cells)

    def _suppression(self, node: Node, out: npt.NDArray[np.bool_]) -> float:
        codes, counts = self.problem.codes[out], self.problem.counts[out]
        more = np.zeros(len(counts))
        for place, height in enumerate(node):
            more += (self._bits[place][-1] - self._bits[place][height])[codes[:, place]]
        return float((more * counts).sum())


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Height, Discernibility, NonUniformEntropy)}
