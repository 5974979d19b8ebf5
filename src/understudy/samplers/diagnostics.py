"""How well chains mix: autocorrelation and effective sample size of label-free categorical traces.

Codes of a nominal column have no distances, so correlation is measured by agreement: rho(t) is the share of pairs of
states t sweeps apart that agree, beyond chance, (agree(t) - sum p^2) / (1 - sum p^2). It is the autocorrelation of the
one-hot columns, averaged by their variance, and lies between about 0 (independent) and 1 (stuck).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.confidential import Confidential
from understudy.errors import ParameterError

Trace = npt.NDArray[np.unsignedinteger]


def autocorrelation(trace: Trace, *, lags: int) -> npt.NDArray[np.float64]:
    """rho(0) ... rho(lags) of a trace of shape (sweeps, chains), all chains together.

    >>> stuck = np.array([[0, 1]] * 50)
    >>> autocorrelation(stuck, lags=2).tolist()
    [1.0, 1.0, 1.0]
    """
    sweeps = len(trace)
    if not 0 <= lags < sweeps:
        raise ParameterError(f"`lags` is {lags}; it must be 0 or more and below the {sweeps} sweeps of the trace.")
    shares = np.bincount(trace.ravel().astype(np.int64)) / trace.size
    chance = float((shares**2).sum())
    if chance >= 1.0:
        return np.ones(lags + 1)  # never changed: as stuck as can be
    agree = np.array([float((trace[: sweeps - lag] == trace[lag:]).mean()) for lag in range(lags + 1)])
    return (agree - chance) / (1 - chance)


def effective_sample_size(rho: npt.NDArray[np.float64], draws: int) -> float:
    """``draws`` / (1 + 2 sum rho), summed over pairs of lags while they are positive (Geyer 1992).

    >>> effective_sample_size(np.array([1.0, 0.0, 0.0]), 100)
    100.0
    """
    total = 0.0
    for lag in range(1, len(rho) - 1, 2):
        pair = float(rho[lag] + rho[lag + 1])
        if pair <= 0:
            break
        total += pair
    return draws / (1 + 2 * total)


@dataclass(frozen=True, kw_only=True, repr=False)
class ChainReport(Confidential):
    """How the chains of a fit mix, column by column. Computed from confidential blocks: not for release."""

    autocorrelation: dict[str, tuple[float, ...]]
    """rho(0), rho(1), ..."""
    effective_share: dict[str, float]
    """Effective sample size over the number of states."""
    unseen_share: float
    """Share of draws whose key no record has, served by the nearest block."""
    lost_share: float
    """Share of draws for which no block was near, served by the column's own distribution."""
    smallest_weight: float
    """Smallest mixing weight of any block: above 0 every state can be reached from every other."""
    zero_blocks: dict[str, int]
    """Blocks that give some level no chance; with any, the chains may not reach every state."""

    @property
    def irreducible(self) -> bool:
        """Whether positivity holds (lugs.txt Theorem 1), so that there is one stationary law."""
        return self.smallest_weight > 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with what follows from them."""
        return {**vars(self), "irreducible": self.irreducible, "warnings": self.warnings()}

    def warnings(self) -> list[str]:
        """What a user should know before trusting the rows."""
        sentences = []
        if holes := {name: number for name, number in self.zero_blocks.items() if number}:
            listed = ", ".join(f"{name} ({number:,})" for name, number in holes.items())
            sentences.append(
                f"some blocks of {listed} give levels no chance at all, so the chains may be reducible: what they "
                "converge to can depend on where they start. Use a floor above 0."
            )
        for name, rho in self.autocorrelation.items():
            if len(rho) > 5 and rho[5] > 0.1:
                sentences.append(f"{name!r} still has autocorrelation {rho[5]:.2f} after 5 sweeps; use more sweeps.")
        return sentences


def chain_report(
    trace: Trace,
    *,
    names: tuple[str, ...],
    lags: int,
    unseen: npt.NDArray[np.int64],
    smallest_weight: float,
    zero_blocks: dict[str, int],
) -> ChainReport:
    """From a trace of shape (sweeps, columns, chains) whose burn-in is cut off already."""
    rho = {name: autocorrelation(trace[:, column], lags=lags) for column, name in enumerate(names)}
    states = trace.shape[0] * trace.shape[2]
    return ChainReport(
        autocorrelation={name: tuple(values.tolist()) for name, values in rho.items()},
        effective_share={name: effective_sample_size(values, states) / states for name, values in rho.items()},
        unseen_share=float(unseen[1] / max(unseen[0], 1)),
        lost_share=float(unseen[2] / max(unseen[0], 1)),
        smallest_weight=smallest_weight,
        zero_blocks=zero_blocks,
    )
