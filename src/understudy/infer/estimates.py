"""Figures of weighted records, each with its influence function: how much a record moves it.

A figure follows from an estimating equation sum w(x) s(x, figure) = 0; its influence function is the inverse of the
equation's slope times s. Shares and means of a part of the records are ratios, so their own size is uncertain too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """One figure."""

    name: str
    value: float
    influence: Floats
    """Of every record."""
    least: float = -np.inf
    most: float = np.inf
    """Between which it must lie."""
    inside: "Inside | None" = None
    """Where it takes values of a number, which lie in bins."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Inside:
    """How much a figure depends on where in its bin a number lies: a record is counted as the mean of its bin."""

    column: str
    bins: Whole
    """Of every record."""
    moved: Floats
    """What the figure is moved by, if the value of the record is off by the standard deviation inside its bin."""

    def times(self, by: Floats) -> "Inside":
        """The same, each record counted so often."""
        return Inside(column=self.column, bins=self.bins, moved=self.moved * by)

    def summed(self, weights: Floats) -> Floats:
        """The weighted sum of every bin, of what raises the figure and of what lowers it."""
        held = weights * self.moved
        return np.stack([np.bincount(self.bins, np.maximum(sign * held, 0.0)) for sign in (1.0, -1.0)])


def mean_of(
    name: str,
    values: Floats,
    among: Bools,
    weights: Floats,
    *,
    ends: tuple[float, float] = (-np.inf, np.inf),
    inside: Inside | None = None,
) -> Estimate:
    """The mean of ``values`` among some records, which lies between the ``ends``."""
    size = float(weights @ among)
    if size <= 0:
        raise RefusalError(
            f"{name}: no record of the release belongs there, or fewer than its noise; ask for a larger group."
        )
    known = np.where(among, values, 0.0)
    mean = float(weights @ known) / size
    return Estimate(
        name=name,
        value=mean,
        influence=among * (known - mean) / size,
        inside=None if inside is None else inside.times(among / size),
        least=ends[0],
        most=ends[1],
    )


def difference_of(name: str, first: Estimate, second: Estimate) -> Estimate:
    """The first minus the second."""
    least, most = first.least - second.most, first.most - second.least
    gap = first.influence - second.influence
    inside = first.inside
    if inside is not None and second.inside is not None:
        inside = Inside(column=inside.column, bins=inside.bins, moved=inside.moved - second.inside.moved)
    return Estimate(name=name, value=first.value - second.value, influence=gap, least=least, most=most, inside=inside)


def correlation_of(name: str, x: Floats, y: Floats, among: Bools, weights: Floats) -> Estimate:
    """Pearson's, with the influence z_x z_y - rho (z_x^2 + z_y^2) / 2 of each record (Devlin et al. 1975)."""
    size = float(weights @ among)
    if size <= 0:
        raise RefusalError(f"{name}: no record of the release belongs there; ask for a larger group.")
    own = weights * among / size
    x, y = np.where(among, x, 0.0), np.where(among, y, 0.0)
    a, b = x - own @ x, y - own @ y
    spread_x, spread_y = float(own @ a**2), float(own @ b**2)
    if spread_x <= 0 or spread_y <= 0:
        raise RefusalError(f"{name}: one of the two columns does not vary beyond its noise; choose another.")
    a, b = a / np.sqrt(spread_x), b / np.sqrt(spread_y)
    rho = float(own @ (a * b))
    influence = among * (a * b - rho * (a**2 + b**2) / 2) / size
    return Estimate(name=name, value=rho, influence=influence, least=-1.0, most=1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A linear, logistic or Poisson regression that is to be solved."""

    kind: str
    terms: Sequence[str]
    design: Floats
    response: Floats
    formula: str
    inside: Inside | None = None
    """Where the response is the value of a number."""

    def solve(self, weights: Floats, start: Floats | None = None) -> list[Estimate]:
        """The coefficients that solve sum w x (y - mean(x'b)) = 0, by Newton's steps, halved where they overshoot."""
        design, response = self.design, self.response
        beta = np.zeros(design.shape[1]) if start is None else start
        beta, missed = self._begun(beta), np.inf
        is_linear = self.kind == "linear"
        longest, far = (np.inf, np.inf) if is_linear else (_LONGEST, _FAR)
        enough = _ENOUGH * max(1.0, float(np.abs(response).max())) if is_linear else _ENOUGH
        for _ in range(_STEPS):
            mean, slope = self._mean(design @ beta)
            uphill = design.T @ (weights * (response - mean))
            curved = (design * (weights * slope)[:, None]).T @ design
            try:
                step = np.linalg.solve(curved, uphill)
            except np.linalg.LinAlgError:
                break
            missed = float(np.abs(step * self._scale).max())
            if missed < enough or not np.isfinite(missed):
                break
            beta = beta + step * min(1.0, longest / missed)
            if np.abs(design @ beta).max() > far:
                break
        if not missed < enough:
            raise RefusalError(
                f"the {self.kind} model {self.formula!r} has no solution: some of its terms foretell the answers with "
                "certainty (perfect separation), or cannot be told apart under the noise. Leave a term out, or join "
                "rare levels."
            )
        pull = design @ np.linalg.inv(curved).T
        return [
            Estimate(
                name=term,
                value=float(value),
                influence=own * (response - mean),
                inside=None if self.inside is None else self.inside.times(own),
            )
            for term, value, own in zip(self.terms, beta, pull.T, strict=True)
        ]

    @property
    def _scale(self) -> Floats:
        """How far a coefficient moves what is predicted."""
        scale: Floats = np.abs(self.design).max(axis=0)
        return scale

    def _begun(self, beta: Floats) -> Floats:
        if self.kind != "poisson" or beta.any():
            return beta
        constant = np.flatnonzero((self.design == self.design[0]).all(axis=0) & (self.design[0] != 0))
        if len(constant):
            begun = beta.copy()
            begun[constant[0]] = np.log(max(self.response.mean(), 1e-3)) / self.design[0, constant[0]]
            return begun
        return beta

    def _mean(self, predicted: Floats) -> tuple[Floats, Floats]:
        """What is expected, and how fast it changes."""
        if self.kind == "logistic":
            mean = 1 / (1 + np.exp(-np.clip(predicted, -500, 500)))
            return mean, mean * (1 - mean)
        if self.kind == "poisson":
            mean = np.exp(np.clip(predicted, -500, 500))
            return mean, mean
        return predicted, np.ones_like(predicted)


_STEPS, _ENOUGH, _LONGEST, _FAR = 60, 1e-7, 4.0, 60.0
"""Steps at most; when they end; and how far what is predicted moves in one, or lies from 0, at most."""
