"""Counts, tables, shares, means and sums: their lengths, rules and figures."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.answers.figures import Groups, named, untold
from understudy.answers.grid import Grid
from understudy.answers.intervals import Ratio, pair_squares, reach, triple_squares
from understudy.answers.question import Question
from understudy.errors import ParameterError
from understudy.infer.inference import TABLE, Figure
from understudy.mechanisms.discrete_laplace import half_width
from understudy.mechanisms.vector_sums import Lengths, Released
from understudy.sources.tables import Codes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNITS = 1 << 14
"""Whole units that one record adds to the sums of its group together."""


@dataclass(frozen=True, kw_only=True)
class SumsMethod:
    """One vector per record: a one, both ends of its value, or both ends and the middle."""

    question: Question
    grid: Grid
    units: int
    """What stands for 1; 1 for counts."""
    target: str
    clustered: int = 1

    @cached_property
    def groups(self) -> Groups:
        """Of the question."""
        return Groups.of(self.question, self.grid)

    @property
    def counts_only(self) -> bool:
        """Whether records are only counted."""
        return self.question.kind in ("count", "table")

    @cached_property
    def table(self) -> Integers:
        """The vector of every code of the column that is asked about; its absolute values add up to the units."""
        question = self.question
        if self.counts_only:
            return np.ones((1, 1), dtype=np.int64)
        column = self.grid.column(question.of)
        if question.level is not None:
            # the share of those who have a value, as a release tells it; of the missing level, of everybody
            hit = (np.arange(column.size) == question.level).astype(np.int64)
            asked = np.ones(column.size, dtype=np.int64)
            if column.missing_code is not None and column.missing_code != question.level:
                asked[column.missing_code] = 0
            return np.stack([asked - hit, hit], axis=1)
        values = self.grid.values(question.of)
        known = ~np.isnan(values)
        low, high = self.bounds
        vectors = np.zeros((len(values), self.width), dtype=np.int64)
        if question.kind == "sum":
            vectors[known, 0] = np.rint(np.clip(values[known] / self.unit, -1, 1) * self.units)
            return vectors
        place = np.clip((values[known] - low) / (high - low), 0.0, 1.0)
        if self.width == 2:
            upper = np.rint(place * self.units).astype(np.int64)
            vectors[known] = np.stack([self.units - upper, upper], axis=1)
            return vectors
        lower = np.rint((1 - place) ** 2 * self.units).astype(np.int64)
        upper = np.rint(place**2 * self.units).astype(np.int64)
        vectors[known] = np.stack([lower, self.units - lower - upper, upper], axis=1)
        return vectors

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Declared, of the column that is asked about."""
        low, high = self.grid.bounds(self.question.of)
        if not low < high:
            raise ParameterError(
                f"the codebook lets {self.question.of!r} hold the one value {low:g}; there is nothing to ask."
            )
        return low, high

    @property
    def unit(self) -> float:
        """The largest absolute value, for sums."""
        return max(map(abs, self.bounds))

    @property
    def width(self) -> int:
        """Numbers per group."""
        if self.counts_only or self.question.kind == "sum":
            return 1
        # the middle tells how far values spread, which an interval for the population needs
        return 2 if self.question.level is not None or self.target == TABLE else 3

    @property
    def lengths(self) -> Lengths:
        """Of the vector of one record."""
        return Lengths(moved=self.units, squared=self.units**2)

    @property
    def number(self) -> int:
        """Of figures."""
        if self.question.is_difference:
            return len(self._compared) - 1
        return sum(self.groups.possible)

    def check(self) -> None:
        """Refuse what cannot be told whatever the data hold."""
        if not self.counts_only and self.question.level is None:
            self.bounds  # noqa: B018 - refuses
        if self.number < 1:
            raise ParameterError(f"`where` of {self.question.text!r} leaves no group; name levels that can occur.")

    def rule(self, codes: Codes) -> tuple[Integers, Integers]:
        """Slot and vector of every cell."""
        if self.counts_only:
            return self.groups.slots(codes), np.ones((len(codes), 1), dtype=np.int64)
        own = codes[:, self.grid.columns.index(self.question.of)].astype(np.int64)
        return self.groups.slots(codes), self.table[own]

    def ratio(self, sums: Floats, released: Released) -> Ratio:
        """The mean of one group, between 0 and 1."""
        return Ratio(
            sums=sums / self.units,
            places=np.linspace(0.0, 1.0, self.width),
            laplace=released.laplace / self.units,
            normal=released.normal / self.units,
            squares=pair_squares if self.width == 2 else triple_squares,
            clustered=self.clustered,
            sampled=self.target != TABLE,
        )

    def figures(self, released: Released, level: float) -> list[Figure]:
        """Everything that was asked for."""
        groups = [
            (name, sums)
            for name, sums, possible in zip(self.groups.names, released.values, self.groups.possible, strict=True)
            if possible
        ]
        if self.counts_only or self.question.kind == "sum":
            return [self._total(name, sums, released, level) for name, sums in groups]
        if self.question.is_difference:
            return self._differences(groups, released, level)
        return [self._mean(name, self.ratio(sums, released), level) for name, sums in groups]

    def _total(self, group: str, sums: Floats, released: Released, level: float) -> Figure:
        unit = 1.0 if self.counts_only else self.unit / self.units
        value, deviation = float(sums[0]) * unit, released.variance**0.5 * unit
        if released.laplace and self.counts_only:
            far = float(half_width(Fraction(released.laplace), miss=1 - level))
        else:
            far = reach(level, normal=released.normal, laplace=[released.laplace]) * unit
        what = "count" if self.counts_only else f"sum of {self.question.of}"
        low, high = value - far, value + far
        if self.counts_only:  # no table holds fewer records than none
            value, low, high = max(value, 0.0), max(low, 0.0), max(high, 0.0)
        return Figure(
            name=named(what, group),
            group=self.question.kind,
            estimate=value,
            error=deviation,
            low=low,
            high=high,
            sampling=0.0,
        )

    @property
    def what(self) -> str:
        """The figure in words."""
        question = self.question
        if question.level is None:
            return f"mean of {question.of}"
        return f"{question.of}={self.grid.book.column(question.of).labels[question.level]}"

    def _scaled(self, place: float) -> float:
        if self.question.level is not None:
            return place
        low, high = self.bounds
        return low + (high - low) * place

    def _mean(self, group: str, ratio: Ratio, level: float) -> Figure:
        name = named(self.what, group)
        if not ratio.is_told:
            return untold(name, self.question.kind, ratio.records, ratio.records_deviation)
        error, sampling = ratio.error()
        low, high = map(self._scaled, ratio.interval(level))
        return Figure(
            name=name,
            group=self.question.kind,
            estimate=self._scaled(ratio.estimate),
            error=error * (self._scaled(1.0) - self._scaled(0.0)),
            low=low,
            high=high,
            sampling=sampling,
        )

    def _differences(self, groups: list[tuple[str, Floats]], released: Released, level: float) -> list[Figure]:
        """Every group against the first, by the intervals of both [MOVER: Zou and Donner 2008]."""
        (first_name, first_sums), *others = [groups[place] for place in self._compared]
        against = self._mean(first_name, self.ratio(first_sums, released), level)
        figures = []
        for group, sums in others:
            one = self._mean(group, self.ratio(sums, released), level)
            name = f"{named(self.what, group)} minus {first_name}"
            hidden = next((figure for figure in (one, against) if figure.refused is not None), None)
            if hidden is not None:
                figures.append(Figure(name=name, group="difference", refused=hidden.refused))
                continue
            assert one.estimate is not None and one.low is not None and one.high is not None and one.error is not None
            assert against.estimate is not None and against.low is not None and against.high is not None
            assert against.error is not None and one.sampling is not None and against.sampling is not None
            value = one.estimate - against.estimate
            variance = one.error**2 + against.error**2
            sampling = one.sampling * one.error**2 + against.sampling * against.error**2
            figures.append(
                Figure(
                    name=name,
                    group="difference",
                    estimate=value,
                    error=variance**0.5,
                    low=value - float(np.hypot(one.estimate - one.low, against.high - against.estimate)),
                    high=value + float(np.hypot(one.high - one.estimate, against.estimate - against.low)),
                    sampling=sampling / variance if variance > 0 else 0.0,
                )
            )
        return figures

    @cached_property
    def _compared(self) -> list[int]:
        """Places of the groups that are compared: those who have no level are compared with nobody, as in a release."""
        column = self.grid.book.column(self.question.by[0])
        possible = [code for code, ok in enumerate(self.groups.possible) if ok]
        kept = [place for place, code in enumerate(possible) if code != column.missing_code]
        if len(kept) < 2:
            raise ParameterError(f"`where` leaves fewer than two groups of {column.name!r}; a difference needs two.")
        return kept
