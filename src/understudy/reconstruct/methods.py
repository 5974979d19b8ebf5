"""The methods, each a choice of slopes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.errors import DataError, ParameterError
from understudy.reconstruct.estimators import Reconstructor, Report, Slopes
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.heldout import choose
from understudy.reconstruct.linear import principal_regression, shrunken_regression, weighted_regression
from understudy.reconstruct.ludia import ludia, ludia_svd, rank_of
from understudy.reconstruct.multilevel import EFFECTS, group_effects
from understudy.reconstruct.problem import Stack
from understudy.reconstruct.sketch import Sketch

_PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-6, 2.01, 0.5))
DEGENERATE = (
    "LUDIA's objective (4.9) has its infimum at 0 whatever the target is, so the answer depends on the number of "
    "iterations "
    "({iterations} here{why}); corrected, it is one common slope for all groups. `pc-er` and `shrunken` fit that "
    "slope directly."
)


class MoorePenrose(Reconstructor):
    """The neighbourhood model: everybody has the average of the group, A+ s. Columns are not used."""

    name = "mp"
    uses_columns = False

    def __init__(
        self,
        *,
        link: str = "identity",
        aggregates_of: str = "value",
        unmatched: str = "error",
        correct: bool = True,
    ) -> None:
        super().__init__(
            link=link,
            aggregates_of=aggregates_of,
            unmatched=unmatched,
            correct=correct,
            intercept=False,
            standardise=False,
        )

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return ["aggregates_of", "correct", "link", "unmatched"]

    def _slopes(self, sketch: Sketch, report: Report | None) -> Slopes:
        return Slopes(beta=np.zeros((sketch.columns, sketch.targets.shape[1])), lift=sketch.groups.pinv(sketch.targets))


class EcologicalRegression(Reconstructor):
    """Goodman's regression of group averages on group averages; ``wls`` weighs by group size, ``ols`` is the
    dissertation's.
    """

    name = "er"

    def __init__(self, *, weights: str = "wls", **shared: Any) -> None:
        super().__init__(**shared)
        self.weights = weights

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*Reconstructor._get_param_names(), "weights"])

    def _slopes(self, sketch: Sketch, report: Report | None) -> Slopes:
        said = sketch.groups.rank
        if sketch.columns > said:
            raise DataError(
                f"ecological regression has {sketch.columns} coefficients ({', '.join(self.design_.names[:6])}"
                f"{', ...' if sketch.columns > 6 else ''}) and only {said} different averages; it needs at least "
                "as many averages. "
                "Use fewer columns, finer groups, or a method that shrinks: pc-er or shrunken."
            )
        return Slopes(beta=weighted_regression(sketch, weights=self.weights))


class _Ranked(Reconstructor):
    """A method with a rank: a number, ``full`` (that of X), or ``held-out`` (chosen by averages left out)."""

    def __init__(self, *, rank: int | str, **shared: Any) -> None:
        super().__init__(**shared)
        self.rank = rank

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*Reconstructor._get_param_names(), *cls._own])

    _own: Sequence[str] = ("rank",)

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        raise NotImplementedError

    def _full(self, sketch: Sketch) -> int:
        return rank_of(sketch)

    def _slopes(self, sketch: Sketch, report: Report | None) -> Slopes:
        full = self._full(sketch)
        if isinstance(self.rank, str) and self.rank not in ("full", "held-out"):
            raise ParameterError(f"`rank` is {self.rank!r}; it must be a number, full, or held-out.")
        if self.rank == "held-out":
            most = min(full, max(sketch.groups.rank - 2, 1))
            self.rank_, self.rank_scores_ = choose(sketch, _ranks(most), lambda part, rank: self._at(part, rank).beta)
        else:
            self.rank_ = full if self.rank == "full" else int(self.rank)
        return self._at(sketch, self.rank_)


def _ranks(most: int) -> list[int]:
    """All small ranks, then fewer and fewer."""
    return [rank for rank in (*range(1, 7), 8, 12, 16, 24, 32, 48, 64, 96) if rank < most] + [most]


class PrincipalRegression(_Ranked):
    """PC-ER: ecological regression on the leading principal components of the individuals' columns."""

    name = "pc-er"

    def __init__(self, *, rank: int | str = "held-out", weights: str = "wls", **shared: Any) -> None:
        super().__init__(rank=rank, **shared)
        self.weights = weights

    _own = ("rank", "weights")

    def _full(self, sketch: Sketch) -> int:
        free = sketch.groups.rank - (sketch.intercept is not None)
        return max(min(rank_of(sketch) - (sketch.intercept is not None), free), 1)

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        if self.design_.parts == ():
            raise DataError("pc-er has no column to work with; give individuals with at least one that varies.")
        return Slopes(beta=principal_regression(sketch, rank=rank, weights=self.weights))


class ShrunkenRegression(Reconstructor):
    """Ours: generalised least squares with slopes shrunk to 0, by as much as predicts held-out averages best.

    Between Moore-Penrose (penalty infinite) and ecological regression (0); works with more columns than groups.
    """

    name = "shrunken"

    def __init__(self, *, penalty: float | str = "held-out", **shared: Any) -> None:
        super().__init__(**shared)
        self.penalty = penalty

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*Reconstructor._get_param_names(), "penalty"])

    def _slopes(self, sketch: Sketch, report: Report | None) -> Slopes:
        if self.penalty == "held-out":
            self.penalty_, self.penalty_scores_ = choose(
                sketch, _PENALTIES[::-1], lambda part, penalty: shrunken_regression(part, penalty=penalty)
            )
        elif isinstance(self.penalty, str):
            raise ParameterError(f"`penalty` is {self.penalty!r}; it must be a number of 0 or more, or held-out.")
        else:
            self.penalty_ = float(self.penalty)
        return Slopes(beta=shrunken_regression(sketch, penalty=self.penalty_))


class LUDIA(_Ranked):
    """Algorithm 2 with the corrected updates; ``effects`` adds random intercepts or slopes (section 4.4.1).

    rank: a number, ``full`` (as the dissertation has it) or ``held-out``. iterations, tolerance: explicit, because
    the answer depends on them. start: ``mp``, ``er`` or ``random``. ridge: penalty of the group effects, in units of
    one person's weight.
    """

    name = "ludia"
    _own = ("effects", "iterations", "rank", "ridge", "seed", "slope_columns", "start", "tolerance")

    def __init__(
        self,
        *,
        rank: int | str = "held-out",
        iterations: int = 100,
        tolerance: float = 1e-12,
        start: str = "mp",
        effects: str = "none",
        ridge: float = 0.0,
        slope_columns: Sequence[str] | None = None,
        seed: int | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(rank=rank, **shared)
        self.iterations = iterations
        self.tolerance = tolerance
        self.start = start
        self.effects = effects
        self.ridge = ridge
        self.slope_columns = slope_columns
        self.seed = seed

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        if self.effects not in EFFECTS:
            raise ParameterError(f"`effects` is {self.effects!r}; it must be one of {', '.join(EFFECTS)}.")
        found = ludia(
            sketch,
            rank=rank,
            iterations=self.iterations,
            tolerance=self.tolerance,
            start=self.start,
            rng=np.random.default_rng(self.seed),
        )
        self.objective_, self.converged_ = found.objective, found.converged
        why = ", where the objective had stopped falling" if found.converged else ""
        note = DEGENERATE.format(iterations=f"{len(found.objective):,}", why=why)
        return Slopes(beta=found.beta, lift=found.lift, notes=(note,))

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
        return group_effects(stack, matrix, residual, columns=columns, ridge=self.ridge, noise=noise).gamma


class LUDIASingularValues(_Ranked):
    """Alternating singular value decompositions: true descent on (4.6), the problem that LUDIA set out to solve."""

    name = "ludia-svd"
    _own = ("iterations", "rank", "tolerance")

    def __init__(
        self, *, rank: int | str = "held-out", iterations: int = 1000, tolerance: float = 1e-12, **shared: Any
    ) -> None:
        super().__init__(rank=rank, **shared)
        self.iterations = iterations
        self.tolerance = tolerance

    def _at(self, sketch: Sketch, rank: int) -> Slopes:
        found = ludia_svd(sketch, rank=rank, iterations=self.iterations, tolerance=self.tolerance)
        self.objective_, self.converged_ = found.objective, found.converged
        return Slopes(beta=found.beta, lift=found.lift)
