"""CUDIA behind the common interface."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from understudy.errors import DataError, RefusalError
from understudy.parameters import Number, OneOf, Whole, option
from understudy.reconstruct.cudia import Fitted, greedy, mcem, memberships
from understudy.reconstruct.design import Design, as_frame
from understudy.reconstruct.estimators import Effects, Reconstructor, correction
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.links import LINKS, Link, rake
from understudy.reconstruct.methods import SEED
from understudy.reconstruct.mixture import People
from understudy.reconstruct.problem import Stack


@dataclass(kw_only=True, eq=False, repr=False)
class CUDIA(Reconstructor):
    """Clusters whose target means explain the averages of one partition; an individual gets the means of its clusters.

    Needs more groups than clusters, with different mixtures.
    """

    name: ClassVar[str] = "cudia"
    standardise: bool = field(default=True, init=False)
    intercept: bool = field(default=True, init=False)
    clusters: int = option(3, rule=Whole(tried=3), help="Number of clusters.")
    version: str = option(
        "mcem", rule=OneOf(("mcem", "greedy")), help="mcem: Monte-Carlo EM; greedy: deterministic from its start on."
    )
    iterations: int = option(40, rule=Whole(tried=40), help="Iterations at most.")
    sweeps: int = option(5, rule=Whole(tried=5), help="Gibbs sweeps in each iteration of mcem.")
    ridge: float = option(1e-3, rule=Number(least=0, tried=1e-3), help="Penalty of the clusters' means.")
    seed: int | None = option(None, rule=SEED, help="Makes the fit reproducible.")

    def fit(self, individuals: Any, aggregates: Any) -> Self:
        """Learn clusters and their means of the target."""
        self.models_: dict[str, Fitted] = {}
        self._frame = as_frame(individuals)
        try:
            super().fit(self._frame, aggregates)
        finally:
            del self._frame
        return self

    def _fit_together(self, stacks: Sequence[Stack], link: Link) -> None:
        self.people_ = people_of(self.design_, self._frame)
        if self.people_.numbers.shape[1] + len(self.people_.words) == 0:
            raise DataError("cudia has no column to find clusters in; give individuals with at least one that varies.")
        for stack in stacks:
            if not stack.is_partition:
                raise RefusalError(
                    f"cudia takes one partition per target, and {stack.target!r} has several levels or overlapping "
                    "groups; choose one of them, or a method that stacks (ludia, pc-er, shrunken)."
                )
            if len(stack.means) < self.clusters:
                raise DataError(
                    f"there are {len(stack.means)} groups for {self.clusters} clusters; the means of clusters need at "
                    "least as many groups. Ask for fewer clusters."
                )
            self._fit_one(stack, link)

    def _fit_one(self, stack: Stack, link: Link) -> None:
        codes = stack.levels[0].members[0]
        inside = codes >= 0
        inner = People(
            numbers=self.people_.numbers[inside],
            words=tuple(word[inside] for word in self.people_.words),
            sizes=self.people_.sizes,
        )
        published = self._on_link(stack, link)
        shared: dict[str, Any] = {"clusters": self.clusters, "iterations": self.iterations, "ridge": self.ridge}
        shared["rng"] = np.random.default_rng(self.seed)
        if self.version == "mcem":
            fitted = mcem(inner, codes[inside], published, sweeps=self.sweeps, **shared)
        else:
            fitted = greedy(inner, codes[inside], published, **shared)
        rank = int(np.linalg.matrix_rank(fitted.shares, tol=1e-3 * np.sqrt(len(fitted.shares))))
        if rank < self.clusters:
            self.notes_.append(
                f"the mixtures of clusters hardly differ between groups (rank {rank} of {self.clusters}): the averages "
                "cannot tell the means of the clusters apart. Ask for fewer clusters."
            )
        self.models_[stack.target] = fitted
        base = memberships(fitted, self.people_, codes) @ fitted.eta
        lift = np.zeros(len(stack.means))
        if self.correct:
            spread = max(fitted.spread, float(fitted.eta.std()), 1e-9)
            lift = correction(stack, published - stack.average(base), self._variance(stack, link), spread)
        offsets = lift / stack.levels[0].counts
        if self.correct and self.aggregates_of == "value" and link.name != "identity":
            own = np.concatenate([offsets, [0.0]])[codes]
            offsets = offsets + rake(stack, link, base + own)
        empty = np.zeros(self.problem_.matrix.shape[1])
        self.effects_[stack.target] = Effects(
            stack=stack, beta=empty, offsets=offsets, gamma=None, spread=fitted.spread
        )

    def _linear(self, target: str) -> Floats:
        stack, fitted = self.effects_[target].stack, self.models_[target]
        base = memberships(fitted, self.people_, stack.levels[0].members[0]) @ fitted.eta
        return base + super()._linear(target)

    def _drawn(self, rng: np.random.Generator, spread: float | None) -> dict[str, Floats]:
        """A cluster for every individual by its membership, and scatter about the cluster's mean."""
        draws = {}
        for target, fitted in self.models_.items():
            stack = self.effects_[target].stack
            chance = memberships(fitted, self.people_, stack.levels[0].members[0])
            z = (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
            sigma = fitted.spread if spread is None else spread
            draws[target] = fitted.eta[z] + sigma * rng.standard_normal(len(z))
        return draws

    def predict(self, new: Any) -> dict[str, Floats]:
        """Values for new records, by target."""
        self._check_fitted()
        frame, link = as_frame(new), LINKS[self.link]
        people = people_of(self.design_, frame)
        predictions = {}
        for target, effects in self.effects_.items():
            members = [self._members(frame, level) for level in effects.stack.levels]
            base = memberships(self.models_[target], people, members[0][0]) @ self.models_[target].eta
            empty = np.zeros((len(frame), len(effects.beta)))
            predictions[target] = link.back(base + effects.linear(empty, members, new=True))
        return predictions


def people_of(design: Design, frame: Any) -> People:
    """Numbers and words by the design of the fit; a level that the fit did not see counts as the commonest one."""
    matrix = design.matrix(frame)
    numbers, words, sizes, at = [], [], [], 0
    for part in design.parts:
        width = 1 if part.levels is None else len(part.levels)
        block = matrix[:, at : at + width]
        at += width
        if part.levels is None:
            numbers.append(block[:, 0])
        else:
            raw = block * design.spreads[at - width : at] + design.centres[at - width : at]
            words.append(np.where(raw.max(axis=1) > 0.5, raw.argmax(axis=1) + 1, 0).astype(np.int64))
            sizes.append(width + 1)
        if part.has_gaps:
            raw = matrix[:, at] * design.spreads[at] + design.centres[at]
            words.append((raw > 0.5).astype(np.int64))
            sizes.append(2)
            at += 1
    stacked = np.stack(numbers, axis=1) if numbers else np.zeros((len(frame), 0))
    return People(numbers=stacked, words=tuple(words), sizes=tuple(sizes))
