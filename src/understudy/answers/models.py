"""Linear and logistic models: score and information at public coefficients, with noise, and one Newton step from each.

A linear model is solved by one step from 0. A logistic one takes a few, each from where the last one ended, which is
public by then; or fewer from the coefficients of a release. Errors of score and information are carried to the
coefficients, so that the interval knows them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.answers.design import Design, design_of
from understudy.answers.figures import Groups, named
from understudy.answers.grid import Grid
from understudy.answers.intervals import reach
from understudy.answers.question import Question
from understudy.infer.inference import TABLE, Figure
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import (
    Lengths,
    MomentSums,
    Released,
    most_units,
    noisy_vector_sums,
    quieter_event,
)
from understudy.privacy.guarantees import Neighbours
from understudy.sources.tables import Codes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNITS = 1 << 12
"""Whole units that stand for 1 in a record's products."""
_INFORMATION, _SQUARES = 0.55, 0.3
"""Weights of the information and of the squared response beside those of the score, which matters most."""
_SPREAD = {"linear": 3.0, "logistic": 5.0}
"""Deviation of a coefficient on the scale of [-1, 1], as far as nothing is known of it: it holds what noise hides."""
_FIRST, _FROM_RELEASE = (0.2, 0.3, 0.5), (0.4, 0.6)
"""Shares of epsilon of the steps of a logistic model: the last one decides."""
_WEAK = 0.3
"""From here on the noise of the information itself bends a coefficient too much."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one Newton step costs."""

    epsilon: float
    delta: float | None
    residual: float
    """Most that a response differs from what is expected of it at the public coefficients."""


@dataclass(frozen=True, kw_only=True)
class ModelMethod:
    """One model."""

    question: Question
    grid: Grid
    target: str
    clustered: int
    epsilon: float
    delta: float | None
    neighbours: Neighbours
    start: tuple[float, ...] | None

    @cached_property
    def design(self) -> Design:
        """Of the formula."""
        return design_of(self.question, self.grid.book)

    @cached_property
    def groups(self) -> Groups:
        """One: those who are asked about."""
        return Groups.of(self.question, self.grid)

    @property
    def number(self) -> int:
        """Of figures."""
        return self.design.size

    @property
    def is_linear(self) -> bool:
        """Whether one step is all."""
        return self.question.kind == "linear"

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The epsilon, shared out; the shares add up to no more than the whole."""
        if self.is_linear:
            return (Step(epsilon=self.epsilon, delta=self.delta, residual=1.0),)
        shares = _FIRST if self.start is None else _FROM_RELEASE
        whole = share_of(self.epsilon * (1 - 1e-12), 20)  # in twentieths; products of floats are rounded
        return tuple(
            Step(
                epsilon=whole * round(20 * share),
                delta=None if self.delta is None else self.delta * share * (1 - 1e-12),
                residual=0.5 if place == 0 and self.start is None else 1.0,
            )
            for place, share in enumerate(shares)
        )

    @cached_property
    def pairs(self) -> dict[tuple[int, int], int]:
        """For each pair of coefficients the number in the vector that holds its product; pairs that are 0 are not in it.

        The square of a sign is that of the intercept, and the square of a dummy the dummy itself.
        """
        design, entries = self.design, {(0, 0): 0}
        factor = {at: place for place, own in enumerate(design.slices) for at in range(own.start, own.stop)}
        for i in range(design.size):
            for j in range(max(i, 1), design.size):
                if i == j and design.signs[factor[j]]:
                    entries[(j, j)] = entries[(0, 0)]
                elif i > 0 and design.exclusive[factor[j]] and factor[i] == factor[j]:
                    if i == j:
                        entries[(j, j)] = entries[(0, j)]
                else:
                    entries[(i, j)] = max(entries.values()) + 1
        return entries

    @property
    def products(self) -> int:
        """Numbers of the information."""
        return max(self.pairs.values()) + 1

    @property
    def has_squares(self) -> bool:
        """Whether the spread of the response is measured too, for an interval for the population."""
        return self.is_linear and self.target != TABLE

    @property
    def width(self) -> int:
        """Numbers in all."""
        return self.products + self.design.size + self.has_squares

    def _spans(self, place: int) -> float:
        """Most that absolute values (0) or squares (1) of the products of one record add up to."""
        spreads = [spread[place] for spread in self.design.spreads]
        within = 0.0
        for at, (own, exclusive, sign) in enumerate(
            zip(self.design.slices, self.design.exclusive, self.design.signs, strict=True)
        ):
            width = own.stop - own.start
            within += 0.0 if exclusive or sign else width * (width + 1) / 2
            within += sum(spreads[at] * other for other in spreads[at + 1 :])
        return 1.0 + sum(spreads) + within

    @cached_property
    def units(self) -> int:
        """What stands for 1."""
        times = math.ceil(self._spans(0) * _INFORMATION + 1 + sum(a for a, _ in self.design.spreads) + _SQUARES)
        least = min(step.epsilon for step in self.steps)
        return most_units(least, wanted=UNITS, times=2 * times, neighbours=self.neighbours)

    def lengths(self, step: Step) -> Lengths:
        """Of the vector of one record, rounding of its numbers included."""
        squares = _SQUARES if self.has_squares else 0.0
        score = (1 + sum(a for a, _ in self.design.spreads)) * step.residual
        moved = self._spans(0) * _INFORMATION + score + squares
        score = (1 + sum(b for _, b in self.design.spreads)) * step.residual**2
        squared = self._spans(1) * _INFORMATION**2 + score + squares**2
        rounding = 0.5 * self.width
        return Lengths(
            moved=math.ceil(self.units * moved + rounding),
            squared=math.ceil((self.units * math.sqrt(squared) + 0.5 * math.sqrt(self.width)) ** 2),
        )

    @cached_property
    def events(self) -> tuple[MomentSums | GaussianMeasurements, ...]:
        """One for each step."""
        return tuple(
            quieter_event(
                MomentSums, self.lengths(step), epsilon=step.epsilon, delta=step.delta, neighbours=self.neighbours
            )
            for step in self.steps
        )

    def rule(self, codes: Codes, beta: Floats) -> tuple[Integers, Integers]:
        """Slot and vector of every cell at public coefficients."""
        known = self.design.present(codes)
        slots = np.where(known, self.groups.slots(codes), -1)
        vectors = np.zeros((len(codes), self.width), dtype=np.int64)
        kept = np.flatnonzero(slots >= 0)
        design, answers = self.design.scaled(codes[kept]), self.design.answers(codes[kept])
        curved = np.ones(len(kept))
        left = answers
        if not self.is_linear:
            chance = 1 / (1 + np.exp(-np.clip(design @ beta, -500, 500)))
            left, curved = answers - chance, 4 * chance * (1 - chance)
        numbers = np.zeros((len(kept), self.width))
        for (i, j), entry in self.pairs.items():
            numbers[:, entry] = _INFORMATION * curved * design[:, i] * design[:, j]
        numbers[:, self.products : self.products + self.design.size] = design * left[:, None]
        if self.has_squares:
            numbers[:, -1] = _SQUARES * answers**2
        vectors[kept] = np.rint(self.units * numbers).astype(np.int64)
        return slots, vectors

    def fitted(self, counts: Any, stream: Stream, level: float) -> list[Figure]:
        """All steps, then the figures."""
        size = self.design.size
        spread = _SPREAD[self.question.kind]
        beta = np.zeros(size) if self.start is None else np.clip(np.array(self.start), -spread, spread)
        for step, event in zip(self.steps, self.events, strict=True):
            at = beta
            released = noisy_vector_sums(
                counts,
                lambda codes, at=at: self.rule(codes, at),  # type: ignore[misc]
                slots=1,
                width=self.width,
                lengths=self.lengths(step),
                event=event,
                stream=stream,
            )
            solved = _Solved(method=self, released=released, begun=at)
            beta = np.clip(solved.beta, -3 * spread, 3 * spread)
        return list(solved.figures(level))


class _Solved:
    """One Newton step from noisy sums. Numbers are in records."""

    def __init__(self, *, method: ModelMethod, released: Released, begun: Floats) -> None:
        self.method, self.begun = method, begun
        self.size, self.spread = method.design.size, _SPREAD[method.question.kind]
        values = released.values[0] / method.units
        self.laplace, self.normal = released.laplace / method.units, released.normal / method.units
        self.noise = 2 * self.laplace**2 + self.normal**2
        self.curve = 1.0 if method.is_linear else 4.0
        self.information = np.zeros((self.size, self.size))
        for (i, j), entry in method.pairs.items():
            self.information[i, j] = self.information[j, i] = values[entry] / (_INFORMATION * self.curve)
        self.score = values[method.products : method.products + self.size]
        self.squares = float(values[-1] / _SQUARES) if method.has_squares else None
        self._solve()

    def _carried(self, moved: Floats) -> Floats:
        """How the noise of every number shifts score minus information times ``moved``: coefficients x numbers."""
        method = self.method
        carried = np.zeros((self.size, method.width))
        each = 1 / (_INFORMATION * self.curve)
        for (i, j), entry in method.pairs.items():
            carried[i, entry] -= each * moved[j]
            if i != j:
                carried[j, entry] -= each * moved[i]
        carried[np.arange(self.size), method.products + np.arange(self.size)] += 1.0
        return carried

    def _solve(self) -> None:
        """Least squares under the noise, and under what is known beforehand, which holds what the noise hides."""
        info, prior = self.information, np.eye(self.size) / self.spread**2
        moved = np.zeros(self.size)
        for _ in range(20):
            carried = self._carried(moved)
            precision = np.linalg.inv(carried @ carried.T * self.noise)
            curved = info @ precision @ info + prior
            after = np.linalg.solve(curved, info @ precision @ self.score - prior @ self.begun)
            settled = float(np.abs(after - moved).max()) < 1e-9
            moved = np.clip(after, -3 * self.spread, 3 * self.spread)
            if settled:
                break
        self.beta = self.begun + moved
        self.covariance = np.linalg.inv(curved)
        self.gain = self.covariance @ info @ precision
        self.carried = carried
        # the information has noise too, which pulls coefficients towards 0: by about this share of themselves
        bent = self.noise / (_INFORMATION * self.curve) ** 2 * float(np.trace(precision))
        self.bent = np.sqrt(np.clip(np.diag(self.covariance) * bent, 0.0, None)) ** 2

    @property
    def sampling(self) -> Floats:
        """Covariance of the coefficients, by sampling: of residuals that spread alike everywhere, or of chances."""
        if self.method.target == TABLE:
            return np.zeros((self.size, self.size))
        values, directions = np.linalg.eigh(self.information)
        info = directions * np.maximum(values, 1e-9) @ directions.T
        spread = 1.0
        if self.squares is not None:
            records = max(self.information[0, 0], self.size + 1.0)
            left = self.squares - 2 * self.beta @ self.score + self.beta @ self.information @ self.beta
            spread = float(np.clip(left / (records - self.size), 1e-6, max(self.squares / records, 1e-6)))
        return np.asarray(self.method.clustered * spread * self.gain @ info @ self.gain.T)

    def figures(self, level: float) -> Iterator[Figure]:
        """Coefficients on the scale of the formula."""
        method = self.method
        matrix, shift = method.design.from_scaled
        estimates = matrix @ self.beta + shift
        sampling = np.diag(matrix @ self.sampling @ matrix.T)
        total = np.diag(matrix @ self.covariance @ matrix.T)
        by_number = matrix @ self.gain @ self.carried
        (group,) = method.groups.names
        for place, term in enumerate(method.design.terms):
            noise = float(by_number[place] @ by_number[place]) * self.noise
            unknown = max(float(total[place]) - noise, 0.0)
            used = np.abs(matrix[place]) > 0
            is_weak = bool((self.bent[used] > _WEAK).any())
            if is_weak:
                unknown += float(((matrix[place] * self.spread) ** 2).sum())
            normal = math.sqrt(sampling[place] + unknown + float(by_number[place] @ by_number[place]) * self.normal**2)
            far = reach(level, normal=normal, laplace=by_number[place] * self.laplace if self.laplace else ())
            variance = sampling[place] + unknown + noise
            words = f"{term}: the noise is too large to tell this coefficient; its interval holds whatever it may be."
            yield Figure(
                name=named(term, group),
                group=f"{method.question.kind}: {method.question.formula}",
                estimate=float(estimates[place]),
                error=math.sqrt(variance),
                low=float(estimates[place]) - far,
                high=float(estimates[place]) + far,
                sampling=float(sampling[place] / variance),
                warnings=(words,) if is_weak else (),
            )
