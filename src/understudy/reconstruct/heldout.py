"""Choosing a rank or a penalty, and judging a fit, by aggregates that the fit did not see."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.sketch import Sketch

Codes = npt.NDArray[np.int64]
T = TypeVar("T")
_ONE_BY_ONE = 20
_FOLDS = 10
_ERRORS = 2.0
"""Standard errors by which a fit must be ahead of the group means. A fit that is taken wrongly may be wrong by any
amount; means that are kept wrongly lose what little the averages could show."""


def folds_of(means: Floats, targets: Floats) -> Codes:
    """A fold for every group, by the order of the figures, so that it does not matter how groups are listed."""
    p = len(targets)
    if p < 3:
        raise DataError(
            f"there are {p} groups; choosing by held-out aggregates needs 3 or more. Give the number yourself."
        )
    count = p if p <= _ONE_BY_ONE else _FOLDS
    order = np.lexsort(means.T[::-1].tolist() + targets.T[::-1].tolist())
    folds = np.empty(p, dtype=np.int64)
    folds[order] = np.arange(p) % count
    return folds


def choose(sketch: Sketch, candidates: Sequence[T], fit: Callable[[Sketch, T], Floats]) -> tuple[T, dict[str, float]]:
    """The candidate whose slopes predict held-out averages best (weighted squares), and the scores of all."""
    folds = folds_of(sketch.means, sketch.targets)
    weights = 1.0 / sketch.groups.diagonal
    scores = []
    for candidate in candidates:
        lost = 0.0
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            beta = fit(sketch.part(~out), candidate)
            lost += float((weights[out, None] * (sketch.targets[out] - sketch.means[out] @ beta) ** 2).sum())
        scores.append(lost / float(weights.sum()))
    best = int(np.argmin(scores))
    return candidates[best], {str(item): score for item, score in zip(candidates, scores, strict=True)}


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """How a method predicts averages that it did not see, beside the mean of all other averages."""

    method: str
    target: str
    settings: Mapping[str, Any]
    """Those that were fitted, given or chosen."""
    error: float
    """Root mean square over held-out groups, weighted by their people, on the scale of the link."""
    error_of_means: float
    """The same for group means, which know of a group without a figure only what is common to all."""
    ahead: float
    """By how many standard errors of the paired squares the method is ahead of the means; negative: behind."""
    fell_back: bool

    @classmethod
    def of(
        cls, guesses: Floats, folds: Codes, targets: Floats, sizes: Floats, *, fall_back: bool, **named: Any
    ) -> "HeldOut":
        """Compare the guesses with the mean of the other folds."""
        plain = np.empty(len(targets))
        for fold in np.unique(folds):
            out = folds == fold
            plain[out] = np.average(targets[~out], weights=sizes[~out])
        own, means = sizes * (targets - guesses) ** 2, sizes * (targets - plain) ** 2
        gain = means - own
        error = float(gain.std(ddof=1) * np.sqrt(len(gain)))
        ahead = float(gain.sum()) / error if error > 0 else 0.0
        return cls(
            error=float(np.sqrt(own.sum() / sizes.sum())),
            error_of_means=float(np.sqrt(means.sum() / sizes.sum())),
            ahead=ahead,
            fell_back=fall_back and not ahead > _ERRORS,
            **named,
        )

    @property
    def is_ahead(self) -> bool:
        """Whether held-out averages support the method."""
        return self.ahead > _ERRORS

    @property
    def sentence(self) -> str:
        """In words."""
        found = (
            f"averages of {self.target!r} that {self.method} did not see are predicted with an error of "
            f"{self.error:.3g} ({', '.join(f'{name} {value:g}' for name, value in self.settings.items())}), and of "
            f"{self.error_of_means:.3g} by the mean of the other groups"
        )
        if self.is_ahead:
            return f"{found}: {self.ahead:.1f} standard errors better."
        lead = "is not clearly better" if self.ahead > 0 else "is worse"
        if self.fell_back:
            return f"{found}: {self.method} {lead}, so everybody has the average of the group instead."
        return f"{found}: {self.method} {lead}. Do not trust its values; group means (`mp`) are safer."
