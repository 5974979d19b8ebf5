"""The simulations of section 4.5.1, and one for CUDIA. What the dissertation leaves open (beta, c) is standard
normal.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.reconstruct.grams import DiagonalGram
from understudy.reconstruct.sketch import Sketch

Floats = npt.NDArray[np.float64]
KINDS = {"LR": "low rank", "FE": "fixed effect", "RE1": "random intercept", "RE2": "random slope"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Individuals, their masked values, and their groups."""

    x: Floats
    y: Floats
    groups: npt.NDArray[np.int64]
    count: int

    def sketch(self, *, ones: bool) -> tuple[Floats, Sketch]:
        """The matrix as it stands (with a column of ones), and its sufficient statistics."""
        x = np.column_stack([self.x, np.ones(len(self.x))]) if ones else self.x
        sizes = np.bincount(self.groups, minlength=self.count)
        means = np.stack([np.bincount(self.groups, column, self.count) / sizes for column in x.T], axis=1)
        averages = (np.bincount(self.groups, self.y, self.count) / sizes)[:, None]
        return x, Sketch(
            gram=x.T @ x,
            means=means,
            groups=DiagonalGram(1.0 / sizes),
            targets=averages,
            intercept=x.shape[1] - 1 if ones else None,
        )

    def corrected(self, x: Floats, sketch: Sketch, beta: Floats) -> Floats:
        """X beta + A+(s - A X beta)."""
        found: Floats = (x @ beta + (sketch.lift(beta) * sketch.groups.diagonal[:, None])[self.groups])[:, 0]
        return found


def draw(kind: str, per_group: int, rng: np.random.Generator, *, groups: int = 5) -> Drawn:
    """One data set; groups of equal size, assigned at random."""
    n = per_group * groups
    codes = rng.permutation(np.repeat(np.arange(groups), per_group))
    if kind == "LR":
        both = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5)) + 0.4 * rng.standard_normal((n, 5))
        return Drawn(x=both[:, :4], y=both[:, 4], groups=codes, count=groups)
    x = rng.standard_normal((n, 2))
    y = rng.standard_normal() + x @ rng.standard_normal(2) + 0.2 * rng.standard_normal(n)
    if kind == "RE1":
        y = y + 0.2 * rng.standard_normal(groups)[codes]
    if kind == "RE2":
        y = y + (x * (0.2 * rng.standard_normal((groups, 2)))[codes]).sum(axis=1)
    return Drawn(x=x, y=y, groups=codes, count=groups)


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed:
    """Individuals in clusters."""

    x: Floats
    y: Floats
    groups: npt.NDArray[np.int64]
    z: npt.NDArray[np.int64]
    eta: Floats


def draw_clusters(rng: np.random.Generator, *, groups: int = 40, per_group: int = 100) -> Mixed:
    """Three clusters with means 10, 20 and 35 of the target (deviation 2), four deviations apart in x."""
    eta = np.array([10.0, 20.0, 35.0])
    shares = rng.dirichlet(np.ones(3), groups)
    codes = np.repeat(np.arange(groups), per_group)
    z = (rng.random((len(codes), 1)) > np.cumsum(shares[codes], axis=1)[:, :-1]).sum(axis=1)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    x = centres[z] + rng.standard_normal((len(z), 2))
    return Mixed(x=x, y=eta[z] + 2 * rng.standard_normal(len(z)), groups=codes, z=z, eta=eta)
