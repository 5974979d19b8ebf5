"""The methods, each a choice of slopes."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from understudy.errors import DataError, ParameterError
from understudy.parameters import Names, Number, NumberOrWord, OneOf, Whole, option
from understudy.reconstruct.estimators import LinearReconstructor, Slopes
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.heldout import choose
from understudy.reconstruct.linear import principal_regression, shrunken_regression, weighted_regression
from understudy.reconstruct.ludia import STARTS, LowRank, ludia, ludia_svd, rank_of
from understudy.reconstruct.multilevel import group_effects
from understudy.reconstruct.problem import Stack
from understudy.reconstruct.sketch import Sketch

_PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-6, 2.01, 0.5))
_WEIGHTS = OneOf(("wls", "ols"))
SEED = Whole(least=0)
_DEGENERATE = (
    "LUDIA's objective (4.9) has its infimum at 0 whatever the target is, so the answer depends on the number of "
    "iterations ({iterations} here{why}); corrected, it is one common slope for all groups. `pc-er` and `shrunken` "
    "fit that slope directly."
)


def _tolerance_option() -> Any:
    rule = Number(least=0, tried=1e-12)
    return option(1e-12, rule=rule, help="Stop when an iteration lowers the objective by a smaller share.")


@dataclass(kw_only=True, eq=False, repr=False)
class MoorePenrose(LinearReconstructor):
    """The neighbourhood model: everybody has the average of the group, A+ s. Columns are not used."""

    name: ClassVar[str] = "mp"
    uses_columns: ClassVar[bool] = False
    columns: Sequence[str] | None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)
    intercept: bool = field(default=False, init=False)

    def _slopes(self, sketch: Sketch) -> Slopes:
        return Slopes(beta=np.zeros((sketch.columns, sketch.targets.shape[1])), lift=sketch.groups.pinv(sketch.targets))


@dataclass(kw_only=True, eq=False, repr=False)
class EcologicalRegression(LinearReconstructor):
    """Goodman's regression of group averages on group averages."""

    name: ClassVar[str] = "er"
    weights: str = option("wls", rule=_WEIGHTS, help="wls weighs groups by size; ols does not (the dissertation's).")

    def _slopes(self, sketch: Sketch) -> Slopes:
        averages = sketch.groups.rank
        if sketch.columns > averages:
            raise DataError(
                f"ecological regression has {sketch.columns} coefficients ({', '.join(self.design_.names[:6])}"
                f"{', ...' if sketch.columns > 6 else ''}) and only {averages} different averages; it needs at least "
                "as many averages. Use fewer columns, finer groups, or a method that shrinks: pc-er or shrunken."
            )
        return Slopes(beta=weighted_regression(sketch, weights=self.weights))


@dataclass(kw_only=True, eq=False, repr=False)
class ShrunkenRegression(LinearReconstructor):
    """Ours: generalised least squares with slopes shrunk to 0, by as much as predicts held-out averages best.

    Between Moore-Penrose (penalty infinite) and ecological regression (0); works with more columns than groups.
    """

    name: ClassVar[str] = "shrunken"
    penalty: float | str = option(
        "held-out",
        rule=NumberOrWord(number=Number(least=0), choices=("held-out",)),
        help="How much slopes are pulled towards 0; held-out: as averages left out of the fit advise.",
    )

    def _slopes(self, sketch: Sketch) -> Slopes:
        if isinstance(self.penalty, str):
            self.penalty_, self.penalty_scores_ = choose(
                sketch, _PENALTIES[::-1], lambda part, penalty: shrunken_regression(part, penalty=penalty)
            )
        else:
            self.penalty_ = float(self.penalty)
        return Slopes(beta=shrunken_regression(sketch, penalty=self.penalty_))


@dataclass(kw_only=True, eq=False, repr=False)
class _Ranked(LinearReconstructor):
    """A method with a rank."""

    rank: int | str = option(
        "held-out",
        rule=NumberOrWord(number=Whole(), choices=("full", "held-out")),
        help="A number; full: the rank of the columns; held-out: as averages left out of the fit advise.",
    )

    @abstractmethod
    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        """The slopes of this rank."""

    def _full(self, sketch: Sketch) -> int:
        return rank_of(sketch)

    def _slopes(self, sketch: Sketch) -> Slopes:
        full = self._full(sketch)
        if self.rank == "held-out":
            most = min(full, max(sketch.groups.rank - 2, 1))
            self.rank_, self.rank_scores_ = choose(sketch, _ranks(most), lambda part, rank: self._at(part, rank).beta)
        else:
            self.rank_ = full if self.rank == "full" else int(self.rank)
        return self._at(sketch, self.rank_)

    def _kept(self, fitted: LowRank) -> Slopes:
        self.objective_, self.converged_ = fitted.objective, fitted.converged
        return Slopes(beta=fitted.beta, lift=fitted.lift)


def _ranks(most: int) -> list[int]:
    """All small ranks, then fewer and fewer."""
    return [rank for rank in (*range(1, 7), 8, 12, 16, 24, 32, 48, 64, 96) if rank < most] + [most]


@dataclass(kw_only=True, eq=False, repr=False)
class PrincipalRegression(_Ranked):
    """PC-ER: ecological regression on the leading principal components of the individuals' columns."""

    name: ClassVar[str] = "pc-er"
    weights: str = option("wls", rule=_WEIGHTS, help="wls weighs groups by size; ols does not.")

    def _full(self, sketch: Sketch) -> int:
        constants = int(sketch.intercept is not None)
        return max(min(rank_of(sketch), sketch.groups.rank) - constants, 1)

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        if self.design_.parts == ():
            raise DataError("pc-er has no column to work with; give individuals with at least one that varies.")
        return Slopes(beta=principal_regression(sketch, rank=rank, weights=self.weights))


@dataclass(kw_only=True, eq=False, repr=False)
class LUDIA(_Ranked):
    """Algorithm 2 with the corrected updates; ``effects`` adds random intercepts or slopes (section 4.4.1)."""

    name: ClassVar[str] = "ludia"
    iterations: int = option(100, rule=Whole(tried=100), help="Iterations at most; the answer depends on them.")
    tolerance: float = _tolerance_option()
    start: str = option("mp", rule=OneOf(STARTS), help=f"Where the iterations start: {', '.join(STARTS)}.")
    effects: str = option(
        "none", rule=OneOf(("none", "intercept", "slope")), help="Terms of each group's own: none, intercept or slope."
    )
    ridge: float = option(0.0, rule=Number(least=0), help="Penalty of the group terms, in units of a person's weight.")
    slope_columns: Sequence[str] | None = option(
        None, rule=Names(), help="Columns that get a slope per group; default: all."
    )
    seed: int | None = option(None, rule=SEED, help="Makes a random start reproducible.")

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        fitted = ludia(
            sketch,
            rank=rank,
            iterations=self.iterations,
            tolerance=self.tolerance,
            start=self.start,
            rng=np.random.default_rng(self.seed),
        )
        why = ", where the objective had stopped falling" if fitted.converged else ""
        note = _DEGENERATE.format(iterations=f"{len(fitted.objective):,}", why=why)
        return replace(self._kept(fitted), notes=(note,))

    def _group_effects(
        self, stack: Stack, matrix: Floats, residual: Floats, noise: Floats, intercept: int | None
    ) -> Floats | None:
        if self.effects == "none":
            return None
        if intercept is None:
            raise ParameterError("`effects` need the constant column; set intercept to true.")
        columns = [intercept]
        if self.effects == "slope":
            names = list(self.design_.names)
            wanted = self.slope_columns if self.slope_columns is not None else names[:intercept]
            lacking = [name for name in wanted if name not in names]
            if lacking:
                raise DataError(
                    f"`slope_columns` names {lacking[0]!r}; the columns are {', '.join(names[:intercept])}."
                )
            columns += [names.index(name) for name in wanted]
        return group_effects(stack, matrix, residual, columns=columns, ridge=self.ridge, noise=noise)


@dataclass(kw_only=True, eq=False, repr=False)
class LUDIASingularValues(_Ranked):
    """Alternating singular value decompositions: true descent on (4.6), the problem that LUDIA set out to solve."""

    name: ClassVar[str] = "ludia-svd"
    iterations: int = option(1000, rule=Whole(tried=1000), help="Iterations at most.")
    tolerance: float = _tolerance_option()

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        return self._kept(ludia_svd(sketch, rank=rank, iterations=self.iterations, tolerance=self.tolerance))
