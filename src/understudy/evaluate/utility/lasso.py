"""Lasso models trained on each table and tested on the real one, along a path of penalties (lugs.txt figure 7)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.evaluate.checks import check_column, check_rows, check_same_columns
from understudy.evaluate.utility.dummies import Codes, Design, affordable, moments
from understudy.evaluate.values import Records, records
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Penalties, as shares of the smallest one that leaves nothing but the intercept of the model of the real table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """A table ready for a model: distinct records of the features with the target's codes beside them."""

    codes: Codes
    target: npt.NDArray[np.int64]
    weights: Floats


@dataclass(frozen=True, kw_only=True)
class Path:
    """One curve: what a model trained on a table scores on the real one at each penalty."""

    penalties: tuple[float, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]

    @property
    def parts(self) -> dict[str, float]:
        """As a breakdown."""
        named = {}
        for penalty, a, b in zip(self.penalties, self.real, self.synthetic, strict=True):
            named[f"penalty {penalty:.3g}: real"], named[f"penalty {penalty:.3g}: synthetic"] = a, b
        return named


def prepare(
    real: Source, synthetic: Source, target: str, usable: npt.NDArray[np.bool_]
) -> tuple[Design, Trained, Trained]:
    """Dummies of all other columns, and both tables; records whose target is not usable are left out."""
    check_same_columns(real, synthetic)
    check_column(real, target, called="target")
    book = real.codebook
    features = affordable(book, [name for name in book.names if name != target])
    if not features:
        raise DataError(
            f"there is no column beside the target {target!r}, or none of few levels; a model needs one to learn from."
        )
    sides = []
    for source, called in ((real, "real"), (synthetic, "synthetic")):
        check_rows(source, called=called)
        found: Records = records(source, (*features, target))
        kept = found.where(usable[found.codes_of(target)])
        codes = np.ascontiguousarray(kept.codes[:, :-1])
        sides.append(Trained(codes=codes, target=kept.codes_of(target), weights=kept.weights))
    sizes = [book.column(name).size for name in features]
    margins = [np.bincount(sides[0].codes[:, j], sides[0].weights, minlength=size) for j, size in enumerate(sizes)]
    extra = [np.bincount(sides[1].codes[:, j], sides[1].weights, minlength=size) for j, size in enumerate(sizes)]
    # levels of either table, with the base of the real one: both models then speak of the same dummies
    design = Design.of([a + b / max(b.sum(), 1) * (a.sum() * 1e-9) for a, b in zip(margins, extra, strict=True)])
    return design, sides[0], sides[1]


def largest_penalty(design: Design, side: Trained, response: Floats) -> float:
    """The smallest penalty per row that leaves nothing but the intercept."""
    mean = np.average(response, weights=side.weights)
    pull = moments(design, side.codes, side.weights * (response - mean)) / side.weights.sum()
    return float(np.abs(pull[1:]).max(initial=0.0))
