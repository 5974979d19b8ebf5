"""Figures of a release with standard errors and intervals, and what they rest on."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import RefusalError
from understudy.infer.calibration import Variances
from understudy.infer.estimates import Estimate, mean_of
from understudy.infer.opened import OpenedRelease
from understudy.infer.questions import Mean, Question, Regression, Share

Floats = npt.NDArray[np.float64]
POPULATION, TABLE = "population", "table"
_FEWEST = 30.0
"""Records of a part of the population, below which nothing is said of it."""
_ALIKE = 0.1
_DOUBTFUL = 0.5
"""Share of the variance from pairs that nobody measured, from which on a figure is said to rest on them."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure. What could not be told has no numbers, and says why."""

    name: str
    group: str
    """Share, mean, or the formula that it is a coefficient of."""
    estimate: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    in_rows: float | None = None
    """What the released rows say as they are."""
    sampling: float | None = None
    """Share of the variance that is due to sampling; the rest is due to privacy. None where there is no variance."""
    warnings: tuple[str, ...] = ()
    refused: str | None = None

    @property
    def privacy(self) -> float | None:
        """Share of the variance that is due to privacy."""
        return None if self.sampling is None else 1 - self.sampling

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "privacy": self.privacy, "warnings": list(self.warnings)}


@dataclass(frozen=True, kw_only=True)
class Inference:
    """All figures that were asked for."""

    figures: tuple[Figure, ...]
    target: str
    """``population`` or ``table``: what the intervals hold for."""
    level: float
    release: str
    statement: str
    """The promise of the release, which its figures share."""
    notes: tuple[str, ...] = ()
    """What a reader of any of them should know."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes, then those of all figures, each once."""
        return (*self.notes, *dict.fromkeys(word for figure in self.figures for word in figure.warnings))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "release": self.release,
            "statement": self.statement,
            "for": self.target,
            "level": self.level,
            "notes": list(self.notes),
            "figures": [figure.to_dict() for figure in self.figures],
        }

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __repr__(self) -> str:
        return f"<Inference of {len(self.figures)} figures for the {self.target}, level {self.level:g}>"


def answered(release: OpenedRelease, question: Question, *, target: str, level: float) -> list[Figure]:
    """The figures of one question; a question that the release cannot answer is one figure that says why."""
    try:
        return _answered(release, question, target=target, level=level)
    except RefusalError as reason:
        return [Figure(name=question.asked, group=question.group, refused=str(reason))]


def _answered(release: OpenedRelease, question: Question, *, target: str, level: float) -> list[Figure]:
    warnings = _supported(release, question)
    calibration = release.calibrated(question.columns)
    records = calibration.records
    _large_enough(release, question)
    estimates = question.answers(release, records, calibration.weights)
    plain = question.answers(release, records, records.shares)
    variances = calibration.variances(np.stack([estimate.influence for estimate in estimates], axis=1))
    in_rows = {estimate.name: estimate.value for estimate in plain}
    return [
        _figure(release, question, place, estimate, variances, in_rows.get(estimate.name), target, level, warnings)
        for place, estimate in enumerate(estimates)
    ]


def _figure(
    release: OpenedRelease,
    question: Question,
    place: int,
    estimate: Estimate,
    variances: Variances,
    in_rows: float | None,
    target: str,
    level: float,
    warnings: Sequence[str],
) -> Figure:
    sampling = float(variances.sampling[place]) if target == POPULATION else 0.0
    privacy, doubtful = float(variances.privacy[place]), float(variances.unmeasured[place])
    inside = _Within.of(release, question, estimate)
    sampling, privacy = (
        (sampling + inside.records, privacy + inside.rows)
        if target == POPULATION
        else (sampling, privacy + inside.records + inside.rows)
    )
    error = math.sqrt(sampling + privacy)
    reach = _quantile(level) * error
    words = list(warnings) if doubtful > _DOUBTFUL * (sampling + privacy) else []
    if estimate.inside is not None and inside.alike > error:
        words.append(
            f"where in its bins {estimate.inside.column} lies was not measured by group, so the rows have it alike "
            "in all groups; narrower bins, shares of the bins, or `understudy answer` tell more."
        )
        words.append(
            f"{estimate.name}: off by {inside.alike:.2g} if the values in its bins lie a tenth of their spread "
            "elsewhere, which is more than its error."
        )
    if isinstance(question, Share) and estimate.value < _quantile(level) * math.sqrt(privacy):
        words.append(f"{estimate.name}: so small a share cannot be told from none under the noise of this release.")
    return Figure(
        name=estimate.name,
        group=question.group,
        estimate=float(np.clip(estimate.value, estimate.least, estimate.most)),
        error=error,
        low=max(estimate.value - reach, estimate.least) if estimate.value > estimate.least else estimate.least,
        high=max(min(estimate.value + reach, estimate.most), estimate.least),
        in_rows=in_rows,
        sampling=sampling / (sampling + privacy) if error > 0 else None,
        warnings=tuple(words),
    )


@dataclass(frozen=True, kw_only=True)
class _Within:
    """What a figure owes to the place of numbers in their bins, which is that of the released rows."""

    records: float = 0.0
    """Variance, since the values of the records vary inside the bins."""
    rows: float = 0.0
    """Variance, since the mean of a bin is that of rows that were drawn."""
    alike: float = 0.0
    """How far it is off if bins of a group lie a tenth of their spread elsewhere than those of all."""

    @classmethod
    def of(cls, release: OpenedRelease, question: Question, estimate: Estimate) -> "_Within":
        inside = estimate.inside
        if inside is None:
            return cls()
        calibration = release.calibrated(question.columns)
        weights = np.maximum(calibration.weights, 0.0)
        more, less = inside.summed(weights)
        rows = np.maximum(np.bincount(inside.bins, calibration.records.shares), 1e-300) * release.rows
        return cls(
            records=release.records_of_one * float(weights @ inside.moved**2) / release.records,
            rows=float(((more - less) ** 2 / rows).sum()),
            alike=_ALIKE * math.sqrt(float((more**2 + less**2).sum())) if len(question.columns) > 1 else 0.0,
        )


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _supported(release: OpenedRelease, question: Question) -> list[str]:
    """What a reader should know of the tables that a question rests on; what they cannot tell at all is refused."""
    measured = release.measured.tables
    order = release.codebook.names
    for columns in question.together:
        known = tuple(name for name in order if name in columns)
        if known in measured:
            continue
        if isinstance(question, Regression):
            raise RefusalError(
                f"{question.formula!r} has an interaction of {', '.join(known)}, and nobody measured these columns "
                "together; the rows hold what the model guessed. Leave the interaction out."
            )
        return [
            f"{question.asked}: nobody measured {', '.join(known)} together; their pairs are calibrated, and how they "
            "hang together beyond pairs is the model's guess, which the interval does not cover."
        ]
    pairs = [
        f"{a} with {b}"
        for a, b in itertools.combinations([name for name in order if name in question.columns], 2)
        if (a, b) not in measured
    ]
    if not pairs:
        return []
    return [
        f"nobody measured {' or '.join(pairs)}, since the release's budget went to pairs that depend more; intervals "
        "allow for as much dependence as their paid score does."
    ]


def _large_enough(release: OpenedRelease, question: Question) -> None:
    """A part of the population must hold more records than its noise, and some."""
    for part in question.parts:
        if not part.columns:
            continue
        calibration = release.calibrated(part.columns)
        among = part.among(calibration.records).astype(np.float64)
        size = float(calibration.weights @ among)
        noise = math.sqrt(float(calibration.variances((among - size)[:, None]).privacy[0]))
        if size * release.records < _FEWEST or size < 2 * noise:
            raise RefusalError(
                f"{part.words}: the release knows of about {max(size, 0) * release.records:,.0f} such records, give or "
                f"take {2 * noise * release.records:,.0f}; that is too few to say anything of them. Ask for a larger "
                "part of the population."
            )


def total_of(figure: Figure, release: OpenedRelease, *, population: float | None, level: float) -> Figure:
    """A share or mean times the number of records, or of people in the population, which is public."""
    if figure.estimate is None or figure.error is None:
        return figure
    size = release.records if population is None else population
    spread = release.measured.records.variance if population is None else 0.0
    sampling = (figure.sampling or 0.0) * figure.error**2 * size**2
    privacy = (1 - (figure.sampling or 0.0)) * figure.error**2 * size**2 + figure.estimate**2 * spread
    error, value = math.sqrt(sampling + privacy), figure.estimate * size
    reach = _quantile(level) * error
    return replace(
        figure,
        name=f"total of {figure.name}",
        group="total",
        estimate=value,
        error=error,
        low=max(value - reach, 0.0) if figure.low is not None and figure.low >= 0 else value - reach,
        high=value + reach,
        in_rows=None if figure.in_rows is None else figure.in_rows * size,
        sampling=sampling / error**2 if error > 0 else 0.0,
    )


def quantile_of(release: OpenedRelease, mean: Mean, share: float, *, target: str, level: float) -> Figure:
    """A quantile by inverting the share of records at or below every value (Woodruff 1952)."""
    name = mean.part.named(f"quantile {share:g} of {mean.of}")
    try:
        warnings = _supported(release, mean)
        calibration = release.calibrated(mean.columns)
        _large_enough(release, mean)
        records = calibration.records
        values, inside = release.values(mean.of), release.inside(mean.of)
        order = [code for code in np.argsort(values) if not np.isnan(values[code])]
        below, low, high = _distribution(mean, release, order, target=target, level=level)
        plain = records.shares * mean.part.among(records)
        shown = np.array([plain @ (records.of_column(mean.of) == code) for code in order]).cumsum()
    except RefusalError as reason:
        return Figure(name=name, group="quantile", refused=str(reason))

    def reached(line: Floats) -> float:
        """The value below which the share lies: of a number, one that the rows have in its bin."""
        line = np.maximum.accumulate(line)
        place = min(int(np.searchsorted(line, share - 1e-12)), len(line) - 1)
        own, before = inside[order[place]], float(line[place - 1]) if place else 0.0
        if not len(own):
            return float(values[order[place]])
        part = (share - before) / max(float(line[place]) - before, 1e-300)
        return float(own[min(max(math.ceil(part * len(own)) - 1, 0), len(own) - 1)])

    figure = Figure(name=name, group="quantile", estimate=reached(below), low=reached(high), high=reached(low))
    error = ((figure.high or 0.0) - (figure.low or 0.0)) / (2 * _quantile(level))
    return replace(figure, error=error, in_rows=reached(shown / shown[-1]), warnings=tuple(warnings))


def _distribution(
    mean: Mean, release: OpenedRelease, order: Sequence[int], *, target: str, level: float
) -> tuple[Floats, Floats, Floats]:
    """The share of records at or below each value, and the ends of its interval."""
    calibration = release.calibrated(mean.columns)
    own = calibration.records.of_column(mean.of)
    among = mean.part.among(calibration.records) & np.isin(own, list(order))
    place = {code: number for number, code in enumerate(order)}
    rank = np.array([place.get(code, -1) for code in range(int(own.max()) + 1)])
    estimates = [
        mean_of(mean.of, ((rank[own] >= 0) & (rank[own] <= number)).astype(np.float64), among, calibration.weights)
        for number in range(len(order))
    ]
    variances = calibration.variances(np.stack([estimate.influence for estimate in estimates], axis=1))
    variance = variances.privacy + (variances.sampling if target == POPULATION else 0.0)
    below = np.array([estimate.value for estimate in estimates])
    reach = _quantile(level) * np.sqrt(np.maximum(variance, 0.0))
    return below, below - reach, below + reach
