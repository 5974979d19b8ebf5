"""All that a linear method has to know about n individuals: X'X, the group averages of X, and K = A A'.

For every method here the answer has the form ``X beta + A'lift``, with ``beta`` and ``lift`` computed from these small
matrices. So one pass over the individuals is enough, whatever the number of iterations, and no matrix has n columns.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from understudy.reconstruct.grams import Floats, GroupGram


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch:
    """Sufficient statistics of one reconstruction problem."""

    gram: Floats
    """X'X, m x m."""
    means: Floats
    """Z = A X, p x m: group averages of the columns."""
    groups: GroupGram
    """K = A A'."""
    targets: Floats
    """s, p x d: the published averages."""
    intercept: int | None
    """Which column of X is constant one, if any."""
    noise: Floats | None = None
    """Variance of each published average beyond that of its people, in units of an individual's; None: exact."""

    @property
    def columns(self) -> int:
        """m, the constant included."""
        return len(self.gram)

    def part(self, kept: npt.NDArray[np.bool_]) -> "Sketch":
        """The same individuals, fewer aggregates: for choosing a rank or a penalty by those held out."""
        return replace(
            self,
            means=self.means[kept],
            groups=self.groups.part(kept),
            targets=self.targets[kept],
            noise=None if self.noise is None else self.noise[kept],
        )

    def lift(self, beta: Floats) -> Floats:
        """K+ (s - Z beta): what the correction equation (4.7) adds to X beta, before A'."""
        return self.groups.pinv(self.targets - self.means @ beta)

    def met(self, beta: Floats, lift: Floats) -> Floats:
        """A (X beta + A'lift): the averages that this answer has."""
        return self.means @ beta + self.groups.times(lift)

    def joint(self, beta: Floats, lift: Floats) -> Floats:
        """Gram matrix of [X y] for y = X beta + A'lift."""
        cross = self.gram @ beta + self.means.T @ lift
        inner = beta.T @ cross + lift.T @ self.means @ beta + lift.T @ self.groups.times(lift)
        return np.block([[self.gram, cross], [cross.T, (inner + inner.T) / 2]])
