"""One interface for every method: ``fit(individuals, aggregates)``, ``reconstruct()``, ``predict(new)``.

Methods are scikit-learn estimators whose parameters are declared options; what was learned ends in an underscore. They
differ in how they find the slopes; matching, stacking, links, correction and the account of what was met are the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from understudy.extras import need

try:
    from sklearn.base import BaseEstimator
except ImportError:
    need("sklearn", "pandas", "scipy", extra="models", what="reconstruction")
    raise

from understudy.errors import DataError, ParameterError
from understudy.parameters import Declared, Flag, Names, OneOf, Panel, option
from understudy.privacy.facts import MethodFacts
from understudy.reconstruct.aggregates import UNMATCHED, Aggregate, group_members
from understudy.reconstruct.design import Design, as_frame, is_identifier
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.heldout import HeldOut
from understudy.reconstruct.links import LINKS, Link, rake
from understudy.reconstruct.problem import Problem, Stack, group_labels
from understudy.reconstruct.result import Reconstruction, disclosure_notes, how_far_met
from understudy.reconstruct.sketch import Sketch


@dataclass(frozen=True, kw_only=True, eq=False)
class Slopes:
    """What a method found for targets with the same groups, on standardised scales."""

    beta: Floats
    lift: Floats | None = None
    """What the method itself gives to groups (LUDIA's A'M v), before any correction."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Effects:
    """The fitted form of one target on the link's scale: x beta + offsets of the groups + x gamma of the group."""

    stack: Stack
    beta: Floats
    offsets: Floats
    """One per row of A."""
    gamma: Floats | None
    """One row per group of the first level, one column per column of X."""
    spread: float
    """Standard deviation of an individual about the form, as far as the averages show it."""

    def linear(self, matrix: Floats, members: Sequence[Sequence[Any]], *, new: bool) -> Floats:
        """Values on the link's scale; ``members`` as in the levels, -1 for no group or an unknown one.

        The group of a ``new`` record is merely unknown, so it gets what is typical of a level; somebody of the fit
        who has no group in a level was not averaged there and gets nothing, but for people without any group at all.
        """
        linear: Floats = matrix @ self.beta
        nowhere = np.logical_and.reduce([codes < 0 for columns in members for codes in columns])
        for number, (level, rows, columns) in enumerate(zip(self.stack.levels, self.stack.rows, members, strict=True)):
            own = self.offsets[rows]
            table = np.concatenate([own, [0.0]])
            typical = float((own * level.counts).sum() / level.counts.sum())
            unknown = np.logical_and.reduce([codes < 0 for codes in columns]) if new else nowhere
            linear = linear + typical * unknown
            for codes in columns:
                linear = linear + table[codes]
            if number == 0 and self.gamma is not None:
                gamma = np.concatenate([self.gamma, np.zeros((1, self.gamma.shape[1]))])
                linear = linear + (matrix * gamma[columns[0]]).sum(axis=1)
        return linear


@dataclass(kw_only=True, eq=False, repr=False)
class Reconstructor(BaseEstimator, Declared, ABC):  # type: ignore[misc]
    """What all methods share."""

    facts: ClassVar[MethodFacts] = MethodFacts(
        name="reconstruct",
        command="understudy reconstruct",
        route="none",
        neighbours=(),
        guarantee="none: an attack tool",
        public="the averages are published by somebody else",
        paper="dissertation ch. 4 (LUDIA, CUDIA)",
        paper_claim="Values can be rebuilt from published averages; aggregation may no longer be safe; LUDIA does it "
        "best.",
        sound="no claim",
        truth="Publishing averages gives no formal protection. LUDIA's objective is degenerate and its answer depends "
        "on the number of iterations; all linear methods give group mean plus one common slope.",
        page="docs/methods/reconstruct.md",
        exact_tests=("tests/exact/test_reconstruct_exact.py",),
        instead="noisy averages (`understudy reconstruct risk` quotes them)",
    )
    name: ClassVar[str]
    uses_columns: ClassVar[bool] = True

    columns: Sequence[str] | None = option(
        None, rule=Names(), help="Columns of the individuals to use; default: all that name no group."
    )
    link: str = option(
        "identity",
        rule=OneOf.of(LINKS),
        help=f"Scale on which the model is linear: {', '.join(LINKS)}.",
    )
    aggregates_of: str = option(
        "value", rule=OneOf(("value", "link")), help="What was averaged: value (itself), or its link."
    )
    correct: bool = option(
        True,
        rule=Flag(),
        help="Meet exact averages by the correction equation (4.7).",
        flag="--correction/--no-correction",
    )
    standardise: bool = option(
        True, rule=Flag(), help="Bring all columns to the same spread.", flag="--standardise/--no-standardise"
    )
    intercept: bool = option(True, rule=Flag(), help="Add a constant column.", flag="--intercept/--no-intercept")
    unmatched: str = option(
        "error", rule=UNMATCHED, help="Groups that are found in one file only: error or ignore.", panel=Panel.INPUT
    )

    # ------------------------------------------------------------------ what a method writes

    @abstractmethod
    def _fit_together(self, stacks: Sequence[Stack]) -> None:
        """Learn the ``effects_`` of targets that are averaged over the same groups."""

    @abstractmethod
    def _drawn(self, rng: np.random.Generator, spread: float | None) -> dict[str, Floats]:
        """One plausible answer, before it is made to meet the averages again."""

    # ------------------------------------------------------------------ fit

    def fit(self, individuals: Any, aggregates: Aggregate | Sequence[Aggregate]) -> Self:
        """Learn from individuals without the target and averages of the target by group."""
        self.__post_init__()  # set_params of scikit-learn changes parameters without a check
        wanted = [aggregates] if isinstance(aggregates, Aggregate) else list(aggregates)
        frame = as_frame(individuals)
        if len(frame) == 0:
            raise DataError("the individuals' table has no rows; there is nobody to reconstruct.")
        self._check_names(frame, wanted)
        self.notes_: list[str] = []
        self.held_out_: list[HeldOut] = []
        columns = self._columns_of(frame, wanted)
        self.design_, matrix = Design.learn(frame, columns, standardise=self.standardise, intercept=self.intercept)
        self.problem_ = Problem.of(frame, matrix, wanted, intercept=self.intercept, unmatched=self.unmatched)
        self.notes_ += self.design_.notes
        for stack in self.problem_.stacks:
            self.notes_ += [note for level in stack.levels for note in level.notes] + disclosure_notes(stack)
        self.effects_: dict[str, Effects] = {}
        for stacks in self.problem_.together():
            self._fit_together(stacks)
        return self

    def _check_names(self, frame: Any, aggregates: Sequence[Aggregate]) -> None:
        inside = sorted({a.target for a in aggregates} & set(map(str, frame.columns)))
        if inside:
            raise DataError(
                f"the individuals already have a column {inside[0]!r}, the very thing to be reconstructed; leave it "
                "out of the file, or name it as the `truth` to score against."
            )

    def _columns_of(self, frame: Any, aggregates: Sequence[Aggregate]) -> list[str]:
        groups = {name for aggregate in aggregates for name in aggregate.columns}
        if not self.uses_columns:
            return []
        if self.columns is None:
            candidates = [str(name) for name in frame.columns if name not in groups]
            identifiers = [name for name in candidates if is_identifier(frame[name])]
            if identifiers:
                listed = ", ".join(map(repr, identifiers))
                self.notes_.append(f"every row has its own {listed}: left out as a name. Choose columns to use it.")
            return [name for name in candidates if name not in identifiers]
        lacking = [name for name in self.columns if name not in frame.columns]
        if lacking:
            raise DataError(
                f"the individuals have no column {lacking[0]!r}; they have {', '.join(map(str, frame.columns))}."
            )
        return list(self.columns)

    @property
    def _link(self) -> Link:
        return LINKS[self.link]

    @property
    def _averages_are_curved(self) -> bool:
        """Whether averages of the values are no averages on the link's scale."""
        return self.aggregates_of == "value" and self.link != "identity"

    def _on_link(self, stack: Stack) -> Floats:
        if self.aggregates_of == "link":
            return stack.means
        self._link.check(stack.means, f"the averages of {stack.target!r}")
        return self._link.forth(stack.means)

    def _variance(self, stack: Stack) -> Floats:
        """Variance of each published average on the link's scale (delta method)."""
        known = np.where(np.isnan(stack.deviations), 0.0, stack.deviations)
        if self._averages_are_curved:
            known = known / np.maximum(self._link.slope(self._link.forth(stack.means)), 1e-12)
        return known**2

    # ------------------------------------------------------------------ what comes out

    def reconstruct(self) -> Reconstruction:
        """The best guess for every individual of the fit."""
        self._check_fitted()
        return self._result({stack.target: self._linear(stack.target) for stack in self.problem_.stacks}, None)

    def reconstructions(
        self, count: int, *, seed: int | None = None, spread: float | None = None
    ) -> list[Reconstruction]:
        """Several plausible answers instead of one best guess, so that analyses can carry the uncertainty.

        Each has slopes from a parametric bootstrap of the averages, and individual scatter about them that leaves
        exact averages met. ``spread`` is the scatter's standard deviation on the link's scale where it is known from
        elsewhere; by default it is what the averages leave unexplained. Combine estimates by
        ``understudy.combine(..., kind="missing")``.
        """
        from understudy.reconstruct.uncertainty import reconstructions

        self._check_fitted()
        return reconstructions(self, count, seed=seed, spread=spread)

    def _linear(self, target: str) -> Floats:
        effects = self.effects_[target]
        return effects.linear(self.problem_.matrix, [level.members for level in effects.stack.levels], new=False)

    def _result(self, linear: dict[str, Floats], draw: int | None) -> Reconstruction:
        values = {target: self._link.back(line) for target, line in linear.items()}
        met = [
            item
            for stack in self.problem_.stacks
            for item in how_far_met(
                stack, values[stack.target] if self.aggregates_of == "value" else linear[stack.target]
            )
        ]
        return Reconstruction(
            method=self.name,
            values=values,
            linked=linear,
            met=tuple(met),
            disclosed={stack.target: stack.disclosed for stack in self.problem_.stacks},
            notes=tuple(self.notes_),
            parameters={key: value for key, value in self.get_params().items() if value is not None},
            draw=draw,
            held_out=tuple(self.held_out_),
        )

    def predict(self, new: Any) -> dict[str, Floats]:
        """Values for new records, by target; the group's own level where the record names a known group."""
        self._check_fitted()
        frame = as_frame(new)
        matrix = self.design_.matrix(frame)
        predictions = {}
        for target, effects in self.effects_.items():
            members = [self._members(frame, level) for level in effects.stack.levels]
            predictions[target] = self._link.back(effects.linear(matrix, members, new=True))
        return predictions

    @staticmethod
    def _members(frame: Any, level: Any) -> list[Any]:
        if any(name not in frame.columns for name in level.aggregate.columns):
            return [np.full(len(frame), -1, dtype=np.int64) for _ in level.members]
        return group_members(group_labels(frame, level.aggregate.by), level.groups)[0]

    def _check_fitted(self) -> None:
        if not hasattr(self, "effects_"):
            raise ParameterError(f"{type(self).__name__} is not fitted yet; call fit(individuals, aggregates) first.")


@dataclass(kw_only=True, eq=False, repr=False)
class LinearReconstructor(Reconstructor):
    """A method that finds slopes: what follows from them is the same for all."""

    @abstractmethod
    def _slopes(self, sketch: Sketch) -> Slopes:
        """How the value follows the columns, from what is known of the groups."""

    def _group_effects(
        self, stack: Stack, matrix: Floats, residual: Floats, noise: Floats, intercept: int | None
    ) -> Floats | None:
        return None

    def _fit_together(self, stacks: Sequence[Stack]) -> None:
        published = np.stack([self._on_link(stack) for stack in stacks], axis=1)
        self.effects_ |= self._effects_for(stacks, published)

    def sketched(self, stacks: Sequence[Stack], published: Floats | None = None) -> tuple[Sketch, Floats, Floats]:
        """What the slopes of targets with the same groups are learned from, and their centres and spreads."""
        if published is None:
            published = np.stack([self._on_link(stack) for stack in stacks], axis=1)
        weights = 1.0 / stacks[0].groups.diagonal
        centre = (
            (weights[:, None] * published).sum(axis=0) / weights.sum() if self.standardise else np.zeros(len(stacks))
        )
        size = published.std(axis=0) if self.standardise else np.ones(len(stacks))
        size = np.where(size > 0, size, 1.0)
        if not self.intercept:
            centre = np.zeros(len(stacks))
        return self.problem_.sketch(stacks, (published - centre) / size), centre, size

    def slopes_of(self, sketch: Sketch) -> Floats:
        """The slopes alone."""
        return self._slopes(sketch).beta

    def _effects_for(self, stacks: Sequence[Stack], published: Floats) -> dict[str, Effects]:
        """Slopes from these averages (the published ones, or a bootstrap's), corrected to the published ones."""
        sketch, centre, size = self.sketched(stacks, published)
        slopes, spreads = self._with_noise(stacks, sketch, size)
        self.notes_ += [note for note in slopes.notes if note not in self.notes_]
        constant = self.problem_.matrix.shape[1] - 1 if self.intercept else None
        effects = {}
        for number, stack in enumerate(stacks):
            beta = slopes.beta[:, number] * size[number]
            if constant is not None:
                beta[constant] += centre[number]
            lift = np.zeros(len(stack.means)) if slopes.lift is None else slopes.lift[:, number] * size[number]
            effects[stack.target] = self._finish(
                stack, beta, lift, float(spreads[number] * size[number]), sketch, constant
            )
        return effects

    def _with_noise(self, stacks: Sequence[Stack], sketch: Sketch, size: Floats) -> tuple[Slopes, Floats]:
        """Slopes, and the individuals' spread; averages with noise of known size weigh accordingly less."""
        slopes = self._slopes(sketch)
        variances = np.stack([self._variance(stack) for stack in stacks], axis=1) / size**2
        spreads = _spreads(sketch, slopes.beta, variances)
        if variances.any():
            noise = variances.mean(axis=1) / max(float(np.mean(spreads**2)), 1e-12)
            slopes = self._slopes(replace(sketch, noise=noise))
            spreads = _spreads(sketch, slopes.beta, variances)
        return slopes, spreads

    def _finish(
        self, stack: Stack, beta: Floats, lift: Floats, spread: float, sketch: Sketch, constant: int | None
    ) -> Effects:
        """Group effects, correction where the model is linear in the averages, raking where it is not."""
        matrix = self.problem_.matrix
        published = self._on_link(stack)
        held = sketch.means @ beta + stack.groups.times(lift)
        trusted = np.where(stack.known_noise, published - held, 0.0)  # the others only guide
        noise = self._variance(stack) / max(spread**2, 1e-300)
        gamma = self._group_effects(stack, matrix, trusted, noise, constant)
        if gamma is not None:
            own = np.concatenate([gamma, np.zeros((1, gamma.shape[1]))])[stack.levels[0].members[0]]
            held = held + stack.average((matrix * own).sum(axis=1))
        if self.correct:
            lift = lift + correction(stack, published - held, self._variance(stack), spread)
        sizes = np.concatenate([level.counts for level in stack.levels])
        effects = Effects(stack=stack, beta=beta, offsets=lift / sizes, gamma=gamma, spread=spread)
        if self.correct and self._averages_are_curved:
            linear = effects.linear(matrix, [level.members for level in stack.levels], new=False)
            effects = replace(effects, offsets=effects.offsets + rake(stack, self._link, linear))
        return effects

    def _drawn(self, rng: np.random.Generator, spread: float | None) -> dict[str, Floats]:
        """One plausible answer, before it is made to meet the averages again."""
        from understudy.reconstruct.uncertainty import drawn

        return drawn(self, rng, spread)


def _spreads(sketch: Sketch, beta: Floats, variances: Floats) -> Floats:
    """Deviation of an individual about the slopes, if what averages leave unexplained is the scatter of individuals.

    E r_g^2 = sigma^2 K_gg + noise, with p - q degrees of freedom where q slopes were fitted (at least 1 is left).
    """
    gaps = sketch.targets - sketch.means @ beta
    k = sketch.groups.diagonal[:, None]
    p = len(gaps)
    free = max(p - int(np.linalg.matrix_rank(sketch.means)), 1)
    moment = ((gaps**2 - variances) / k).mean(axis=0) * (p / free)
    floor = 1e-12 + 1e-2 * (gaps**2 / k).mean(axis=0)  # where declared noise explains all, some scatter is left
    spreads: Floats = np.sqrt(np.maximum(moment, floor))
    return spreads


def correction(stack: Stack, gap: Floats, variances: Floats, spread: float) -> Floats:
    """K+ gap (4.7) for exact averages, (K + V / sigma^2)+ gap for those with noise of known size, 0 for others."""
    used = stack.known_noise
    lift = np.zeros(len(gap))
    if not used.any():
        return lift
    groups = stack.groups if used.all() else stack.groups.part(used)
    noisy = variances[used]
    if noisy.any():
        groups = groups.plus(noisy / max(spread**2, 1e-300))
    lift[used] = groups.pinv(gap[used])
    return lift
