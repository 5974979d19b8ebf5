"""Linear and logistic models: score and information at public coefficients, with noise, and one Newton step from each.

A linear model is solved by one step from 0. A logistic one takes a few, each from where the last one ended, which is
public by then; or fewer from the coefficients of a release. Errors of score and information are carried to the
coefficients, so that the interval knows them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.answers.design import Design, design_of
from understudy.answers.figures import Groups, named, withheld
from understudy.answers.grid import Grid
from understudy.answers.intervals import reach
from understudy.answers.layouts import Layout, layouts_of
from understudy.answers.question import Question
from understudy.infer.inference import TABLE, Figure
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import (
    Lengths,
    MomentSums,
    Released,
    gaussian_deviation,
    most_units,
    noisy_vector_sums,
    quieter_event,
)
from understudy.privacy.guarantees import Neighbours
from understudy.sources.tables import Codes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNITS = 1 << 14
"""Whole units that stand for 1 in a record's numbers, or fewer where the noise could not be drawn."""
_SPREAD = {"linear": 3.0, "logistic": 5.0}
"""Deviation of a coefficient on the scale of [-1, 1], as far as nothing is known of it: it holds what noise hides."""
_SHARES = (6, 14)
"""Of epsilon in twentieths, for the steps of a logistic model: the last one decides."""
_WEAK = 0.3
"""Share of a coefficient that the noise of the information may take from it before it is called untold."""


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
        whole = share_of(self.epsilon * (1 - 1e-12), 20)  # in twentieths; products of floats are rounded
        return tuple(
            Step(
                epsilon=whole * share,
                delta=None if self.delta is None else self.delta * (share / 20) * (1 - 1e-12),
                residual=0.5 if place == 0 and self.start is None else 1.0,
            )
            for place, share in enumerate(_SHARES)
        )

    def _units(self, layout: Layout, step: Step) -> int:
        times = math.ceil(layout.spans(step.residual)[0]) + 1
        most = most_units(step.epsilon, wanted=UNITS, times=times, neighbours=self.neighbours)
        return max(1, min(most, (1 << 30) // max(layout.width, 1)))

    def _lengths(self, layout: Layout, step: Step) -> Lengths:
        """Of the vector of one record in units; numbers are rounded, each by at most half a unit."""
        moved, squared = layout.spans(step.residual)
        units = self._units(layout, step)
        return Lengths(
            moved=math.ceil(units * moved),
            squared=math.ceil((units * math.sqrt(squared) + 0.5 * math.sqrt(layout.width)) ** 2),
        )

    @cached_property
    def measurements(self) -> tuple["Measurement", ...]:
        """For each step the layout and the noise that are the least loud; public numbers decide."""
        squares = self.is_linear and self.target != TABLE
        layouts = layouts_of(self.design, squares_wanted=squares)
        return tuple(min((self._measurement(layout, step) for layout in layouts), key=_loud) for step in self.steps)

    def _measurement(self, layout: Layout, step: Step) -> "Measurement":
        lengths = self._lengths(layout, step)
        event = quieter_event(MomentSums, lengths, epsilon=step.epsilon, delta=step.delta, neighbours=self.neighbours)
        return Measurement(layout=layout, units=self._units(layout, step), lengths=lengths, event=event)

    @property
    def events(self) -> tuple[MomentSums | GaussianMeasurements, ...]:
        """One for each step."""
        return tuple(measurement.event for measurement in self.measurements)

    def rule(self, codes: Codes, measurement: "Measurement", beta: Floats) -> tuple[Integers, Integers]:
        """Slot and vector of every cell at public coefficients."""
        layout = measurement.layout
        slots = np.where(self.design.present(codes), self.groups.slots(codes), -1)
        vectors = np.zeros((len(codes), layout.width), dtype=np.int64)
        kept = np.flatnonzero(slots >= 0)
        if not len(kept):  # nobody is asked about: there is nothing to lay out
            return slots, vectors
        terms, answers = self.design.scaled(codes[kept]), self.design.answers(codes[kept])
        # term by term: a product of matrices may round a record's sum by what lies beside it
        expected = sum((column * weight for column, weight in zip(terms.T, beta, strict=True)), np.zeros(len(kept)))
        chance = 1 / (1 + np.exp(-np.clip(expected, -500, 500)))
        left = answers if self.is_linear else answers - chance
        whole = np.rint(measurement.units * layout.numbers(terms, left, chance)).astype(np.int64)
        # what rounding adds beyond the length is taken from the largest number, where it is the least
        surplus = np.maximum(np.abs(whole).sum(axis=1) - measurement.lengths.moved, 0)
        rows, largest = np.arange(len(kept)), np.abs(whole).argmax(axis=1)
        whole[rows, largest] -= np.sign(whole[rows, largest]) * surplus
        vectors[kept] = whole
        return slots, vectors

    def fitted(self, counts: Any, stream: Stream, level: float) -> list[Figure]:
        """All steps, then the figures."""
        size = self.design.size
        spread = _SPREAD[self.question.kind]
        beta = np.zeros(size) if self.start is None else np.clip(np.array(self.start), -spread, spread)
        for measurement in self.measurements:
            released = noisy_vector_sums(
                counts,
                partial(self.rule, measurement=measurement, beta=beta),
                slots=1,
                width=measurement.layout.width,
                lengths=measurement.lengths,
                event=measurement.event,
                stream=stream,
            )
            solved = _Solved(method=self, measurement=measurement, released=released, begun=beta)
            beta = np.clip(solved.beta, -3 * spread, 3 * spread)
        figures = list(solved.figures(level))
        return withheld(figures) if released.is_full else figures


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """What is measured in one step, and under which noise."""

    layout: Layout
    units: int
    lengths: Lengths
    event: MomentSums | GaussianMeasurements


def _loud(measurement: Measurement) -> float:
    """Variance of a score in records, at typical coefficients; public."""
    event, units = measurement.event, measurement.units
    if isinstance(event, GaussianMeasurements):
        deviation = gaussian_deviation(event, measurement.lengths) or math.inf
    else:
        deviation = math.sqrt(2) * float(event.scale)
    return measurement.layout.loudness * (deviation / units) ** 2


class _Solved:
    """One Newton step from noisy sums. Numbers are in records."""

    def __init__(self, *, method: ModelMethod, measurement: Measurement, released: Released, begun: Floats) -> None:
        self.method, self.layout, self.begun = method, measurement.layout, begun
        self.size, self.spread = method.design.size, _SPREAD[method.question.kind]
        values = released.values[0] / measurement.units
        self.laplace, self.normal = released.laplace / measurement.units, released.normal / measurement.units
        self.noise = 2 * self.laplace**2 + self.normal**2
        self.information = self.layout.information @ values
        self.score = self.layout.score @ values
        self.squares = float(self.layout.squares @ values) if self.layout.squares_wanted else None
        self._solve()

    def _solve(self) -> None:
        """Least squares under the noise, and under what is known beforehand, which holds what the noise hides."""
        info, prior = self.information, np.eye(self.size) / self.spread**2
        moved = np.zeros(self.size)
        for _ in range(20):
            # how the noise of every number shifts score minus information times step: terms x numbers
            carried = self.layout.score - np.einsum("ijw,j->iw", self.layout.information, moved)
            precision = np.linalg.inv(carried @ carried.T * self.noise)
            taken = self._taken(precision)
            curved = info @ precision @ info + prior
            corrected = curved - taken
            if float(np.linalg.eigvalsh(corrected - prior).min()) > 0.5 * float(np.linalg.eigvalsh(taken).max()):
                curved = corrected
            after = np.linalg.solve(curved, info @ precision @ self.score - prior @ self.begun)
            settled = float(np.abs(after - moved).max()) < 1e-9
            moved = np.clip(after, -3 * self.spread, 3 * self.spread)
            if settled:
                break
        self.beta = self.begun + moved
        self.covariance = np.linalg.inv(curved)
        self.gain = self.covariance @ info @ precision
        self.carried = carried
        self.bent = np.abs(np.diag(self.covariance @ taken))

    def _taken(self, precision: Floats) -> Floats:
        """What the noise of the information adds to its square, which pulls coefficients towards 0."""
        weights = self.layout.information
        mixed = np.einsum("jl,lkw->jkw", precision, weights)
        return np.asarray(np.einsum("ijw,jkw->ik", weights, mixed) * self.noise)

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
