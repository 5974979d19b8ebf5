"""Numbers that are known up to noise."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Numbers known up to noise of one variance in each."""

    values: Values
    variance: float

    def with_another(self, other: "Known") -> "Known":
        """Two independent measurements of the same numbers as one."""
        mine, theirs = 1 / self.variance, 1 / other.variance
        together = (self.values * mine + other.values * theirs) / (mine + theirs)
        return Known(values=together, variance=1 / (mine + theirs))
