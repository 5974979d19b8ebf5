"""The additive score: moments of all features and the label, measured at once, and a noise-aware fit of log-odds.

Each feature has a table of a few numbers for each code: its *shape functions*. How many, and whether they follow the
ranks of the records, is decided by how many records there are for the noise (``_Level``), from noisy class counts:

- *Few records*: the code itself, from -1 to 1. Only sums of (label - 1/2) x vector are measured. Their direction is
  the covariance with the label plus a pull of the rarer class away from where most records lie.
- *More*: a noisy histogram of each number first; its shape function then is a mix of rank and value. Sums with the
  label, and all second moments, from which ridge regression follows.
- *Many*: four shape functions for each number (curved ones too), and steps of Newton's method towards the logistic fit.

Where groups of a number's values hold enough records, what the fit leaves over is summed for every group, and moves the
group's log-odds: steps and hollows, which no smooth shape follows.

The fit is post-processing. With g the covariances with the label and H the second moments times p(1 - p), both noisy,
g = H w + noise of variance H + t^2, and w is its posterior mean under a Gaussian prior: features whose second moments
say little beside the noise count less. Everything is paid for by one :class:`GaussianMeasurements` event.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_sums_event
from understudy.mechanisms.labelled import Cells
from understudy.mechanisms.record_sums import LEAN, Measured, RecordSums, Whole, moments_squared, sums_squared
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.trees.bands import CUTS, MIDDLES, fit_scale
from understudy.trees.features import CodeMatrix, Feature
from understudy.trees.scorers import Values, VoteForest, sigmoid

REPLICATES = 40
"""Copies under fresh noise, from which the band of every score is read."""
CLASSES, BANDS = 0.03, 0.05
"""Parts of the units for class counts at the start and for the scale at the end."""
RANKS, LABELS = 0.2, 0.45
"""Parts of the rest for histograms and for sums with the label; second moments have what remains."""
GROUPS = 0.2
"""Part of all these for what the fit leaves over in groups, where that is asked."""

_LENGTH = 0.25  # squared length kept of each number's shape function: less than the 1/3 that ranks have on average
_USUAL = 0.4  # of means, and of second moments beside those of equally frequent codes: a guess where noise hides them
_CURVED_LENGTH = 1.5  # times so much where there are four
_RANK_SHARE = 0.75  # of a mix of rank and value; either alone is worse on some tables
_GRIDS = (64, 32, 16, 8)
_RANK_ERROR = 0.06  # the finest grid is taken whose noise moves ranks by no more
_GROUPS = {32: 0.25, 16: 0.25, 8: 0.25, 4: 0.75}
"""The most groups of a number's values are taken whose log-odds noise moves by no more; four, which only tell the
middle from the ends, are worth more noise."""
_GROUP_LEAST = 250  # records of a group
_WIDEST = 4.0  # prior variance of the log-odds of a group, at most
_ODDS = 0.16  # p (1 - p) of a usual outcome
_STEP, _ROUNDS = 0.7, 4  # of Newton's method, with a bound in place of the Hessian


Tables = Sequence[Whole]
"""Shape functions of every feature, codes x columns; then, where there are groups, those of every feature."""


class _Level(IntEnum):
    """How much is asked; see the module."""

    LABEL = 0
    RANKED = 1
    CURVED = 2


_NOISE_AT = {_Level.RANKED: 0.45, _Level.CURVED: 0.02}
_NEWTON_AT = 0.01
"""Noise of the second moments (its largest eigenvalue is about twice sqrt(columns) x deviation) for each record, up to
which a level is worth it. A shape function's own second moment is about 1/3 for each record."""
_PRIOR = {_Level.LABEL: 1.0, _Level.RANKED: 0.5, _Level.CURVED: 1.0}
"""Prior deviation of a weight, in log-odds: what is usual between the middle and the end of a feature's range."""


def additive_entry(features: Sequence[Feature], *, epsilon: float, delta: float) -> Entry:
    """The one line that :func:`grow_additive` writes; needs no data."""
    event = gaussian_sums_event(epsilon=epsilon, delta=delta, neighbours=Neighbours.ADD_REMOVE)
    reads = f"class counts, histograms and moments of {len(features)} features and the label"
    return Entry(stage="moments", reads=reads, event=event)


def grow_additive(
    cells: Secret[Cells],
    features: Sequence[Feature],
    *,
    epsilon: float,
    delta: float,
    stream: Stream,
    replicates: int = REPLICATES,
) -> tuple[VoteForest, Entry]:
    """The score and what it paid: at most (epsilon, delta), add-remove."""
    entry = additive_entry(features, epsilon=epsilon, delta=delta)
    assert isinstance(entry.event, GaussianMeasurements)
    records = RecordSums(cells=cells, meter=Meter(entry.event, stream))
    classes = records.class_counts(_everybody, 1, units=_units(records, CLASSES))
    size = max(float(classes.values.sum()), 20.0)
    plan = _plan(features, records.meter, size)
    tables, ranked = _tables(features, records, plan, size)
    fit, intercept = _measure(records, tables, plan, classes, size)
    if plan.groups:
        fit, tables = _regrouped(records, tables, ranked, plan, fit, intercept)
    cut = _Cut(fit=fit, tables=tables)
    bands = records.class_counts(cut.band, len(MIDDLES), units=_units(records, BANDS))
    generator = stream.generator()  # for the bands of scores only: what is released is fixed by now
    copies = [
        _votes(
            fit.shaken(generator),
            _shaken(bands, generator),
            fit,
            _moved(tables, ranked, plan, generator),
            len(features),
        )
        for _ in range(replicates)
    ]
    intercept, votes = _votes(fit.weights, bands, fit, tables, len(features))
    forest = VoteForest(
        intercept=intercept,
        votes=votes,
        replicate_intercepts=tuple(each[0] for each in copies),
        replicate_votes=tuple(each[1] for each in copies),
        trees=tuple(_described(feature, vote) for feature, vote in zip(features, votes, strict=True)),
    )
    return forest, entry


def _everybody(codes: CodeMatrix) -> npt.NDArray[np.intp]:
    return np.zeros(len(codes), dtype=np.intp)


def _units(records: RecordSums, share: float) -> int:
    return int(share * records.meter.event.units)


def _is_ordered(feature: Feature) -> bool:
    return not isinstance(feature.column, Categorical) or feature.column.proper_levels < 2


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is measured, and for how many units; follows from codebook, price and the noisy number of records."""

    level: _Level
    bound: int
    """Squared length of a record's vector, in LEANths."""
    ranks: int
    labels: int
    moments: int
    rounds: int
    groups: int = 0
    """Of the values of each number, in which residuals are summed at the end; 0 for none."""
    residuals: int = 0


def _plan(features: Sequence[Feature], meter: Meter, size: float) -> _Plan:
    rest = int((1 - CLASSES - BANDS) * meter.event.units)
    plan = _Plan(level=_Level.LABEL, bound=_bound(features, _Level.LABEL), ranks=0, labels=rest, moments=0, rounds=1)
    for level, noise_at in _NOISE_AT.items():
        ranks, labels = int(RANKS * rest), int(LABELS * rest)
        moments, bound = rest - ranks - labels, _bound(features, level)
        variance = meter.event.sums_variance(squared=moments_squared(bound), units=moments)
        if variance is None:
            break
        noise = math.sqrt(_columns(features, level) * variance) / LEAN**2 / size
        if noise <= noise_at:
            rounds = _ROUNDS if level is _Level.CURVED and noise <= _NEWTON_AT else 1
            plan = _Plan(level=level, bound=bound, ranks=ranks, labels=labels, moments=moments, rounds=rounds)
    return _with_groups(plan, sum(map(_is_ordered, features)), meter, size)


def _with_groups(plan: _Plan, numbers: int, meter: Meter, size: float) -> _Plan:
    """The plan that sums residuals in groups too, if noise leaves so much of them."""
    if not plan.ranks or not numbers:
        return plan
    rest = plan.ranks + plan.labels + plan.moments
    residuals, ranks, labels = int(GROUPS * rest), int((1 - GROUPS) * plan.ranks), int((1 - GROUPS) * plan.labels)
    variance = meter.event.sums_variance(squared=LEAN**2 * sums_squared(LEAN**2 * numbers), units=residuals)
    noise = math.sqrt(variance or math.inf) / LEAN**2
    for groups, error in _GROUPS.items():
        if size >= _GROUP_LEAST * groups and noise <= error * _ODDS * size / groups:
            moments = rest - residuals - ranks - labels
            return replace(plan, ranks=ranks, labels=labels, moments=moments, groups=groups, residuals=residuals)
    return plan


def _columns(features: Sequence[Feature], level: _Level) -> int:
    shapes = 4 if level is _Level.CURVED else 1
    return sum(shapes if _is_ordered(f) else 1 if f.column.proper_levels == 2 else f.column.size for f in features)


def _bound(features: Sequence[Feature], level: _Level) -> int:
    ordered = sum(map(_is_ordered, features))
    length = _LENGTH * (_CURVED_LENGTH if level is _Level.CURVED else 1.0)
    return max(int(LEAN**2 * (length * ordered + len(features) - ordered)), LEAN**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ranked:
    """A noisy histogram of a number, from which ranks follow."""

    group: Whole
    """Of every code but the missing one."""
    counts: Measured
    size: float

    def below(self, noise: Values | float = 0.0) -> Values:
        """Share of records below each end of a code."""
        return _cumulative(self.group, self.counts.values + noise, self.size)

    def shaken(self, generator: np.random.Generator) -> Values:
        """The same with the noise drawn once more on top."""
        return self.below(generator.normal(0.0, self.counts.deviation, len(self.counts.values)))


def _tables(
    features: Sequence[Feature], records: RecordSums, plan: _Plan, size: float
) -> tuple[Tables, dict[int, _Ranked]]:
    """Shape functions of every feature, codes x columns; and the histograms of those that follow ranks."""
    ordered = [place for place, feature in enumerate(features) if _is_ordered(feature)]
    shapes: dict[int, Values] = {place: _straight(features[place].column.proper_levels)[:, None] for place in ordered}
    ranked: dict[int, _Ranked] = {}
    if plan.ranks and ordered:
        variance = records.meter.event.sums_variance(squared=len(ordered), units=plan.ranks)
        noise = math.sqrt(variance or math.inf)
        # noise on g groups moves a rank by about its deviation x sqrt(g / 6): a bridge between two known ends
        grid = next((g for g in _GRIDS if noise * math.sqrt(g / 6) <= _RANK_ERROR * size), _GRIDS[-1])
        groups = [_grouped(features[place], grid) for place in ordered]
        for place, group, counts in zip(
            ordered, groups, records.histograms(ordered, groups, units=plan.ranks), strict=True
        ):
            ranked[place] = _Ranked(group=group[: features[place].column.proper_levels], counts=counts, size=size)
            shapes[place] = _shapes(ranked[place].below(), plan.level)
    return [_table(feature, shapes.get(place)) for place, feature in enumerate(features)], ranked


def _moved(tables: Tables, ranked: dict[int, _Ranked], plan: _Plan, generator: np.random.Generator) -> list[Whole]:
    """The tables with other ranks, as fresh noise would give them."""
    moved = list(tables)
    for place, each in ranked.items():
        shapes = _shapes(each.shaken(generator), plan.level)
        moved[place] = tables[place].copy()
        moved[place][: len(shapes), : shapes.shape[1]] = _whole(shapes)
    return moved


def _straight(levels: int) -> Values:
    straight: Values = (2.0 * np.arange(levels) + 1.0 - levels) / max(levels, 1)
    return straight


def _grouped(feature: Feature, grid: int) -> Whole:
    """Group of every code; a missing value has none."""
    levels = feature.column.proper_levels
    group = np.arange(feature.column.size, dtype=np.int64) * min(grid, levels) // levels
    group[levels:] = -1
    return group


def _cumulative(group: Whole, counts: Values, size: float) -> Values:
    """Share of records below each end of a code, from noisy counts of groups: between 0 and 1, and never falling."""
    summed = np.concatenate([[0.0], np.cumsum(counts)]) / max(float(counts.sum()), size / 2)
    rising = (np.maximum.accumulate(summed) + np.minimum.accumulate(summed[::-1])[::-1]) / 2
    rising = np.clip(rising, 0.0, 1.0)
    rising[0], rising[-1] = 0.0, 1.0
    ends = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1, [len(group)]])
    below: Values = np.interp(np.arange(len(group) + 1), ends, rising)
    return below


def _shapes(below: Values, level: _Level) -> Values:
    """A mix of rank and value; where there are many records also the value in deviations, and curves of the rank."""
    rank, density = below[1:] + below[:-1] - 1.0, np.diff(below)
    value = _straight(len(density))
    value = value - density @ value
    columns = [_RANK_SHARE * rank + (1 - _RANK_SHARE) * value]
    if level is _Level.CURVED:
        deviation = math.sqrt(max(float(density @ value**2), 1e-4))
        scaled = np.clip(value / (3 * deviation), -1.0, 1.0)
        # Legendre polynomials, made shorter so that they take less of a record's length than the straight ones
        columns += [0.5 * (1.5 * rank**2 - 0.5), scaled, 0.4 * (2.5 * rank**3 - 1.5 * rank)]
    return np.stack(columns, axis=1)


def _table(feature: Feature, shapes: Values | None) -> Whole:
    """In whole LEANths. A missing value has a column of its own; so has every level where there is no order."""
    column = feature.column
    levels, size = column.proper_levels, column.size
    if shapes is None:
        shapes = np.array([[-1.0], [1.0]]) if levels == 2 else np.eye(levels)
    whole = np.zeros((size, shapes.shape[1] + size - levels), dtype=np.int64)
    whole[:levels, : shapes.shape[1]] = _whole(shapes)
    whole[levels:, shapes.shape[1] :] = LEAN * np.eye(size - levels, dtype=np.int64)
    return whole


def _whole(shapes: Values) -> Whole:
    whole: Whole = np.clip(np.rint(shapes * LEAN), -LEAN, LEAN).astype(np.int64)
    return whole


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    """Weights of all columns, before their scale is measured."""

    weights: Values
    means: Values
    """Of the columns, for each record."""
    second: Values
    """Central second moments, summed over records."""
    size: float
    base: float
    spread: Values
    """What the weights make of standard normal noise."""

    @property
    def width(self) -> float:
        """Deviation of the score."""
        return math.sqrt(max(float(self.weights @ self.second @ self.weights) / self.size, 1e-9))

    @property
    def middle(self) -> float:
        """Mean of the score."""
        return float(self.means @ self.weights)

    def shaken(self, generator: np.random.Generator) -> Values:
        """The weights with the noise drawn once more on top."""
        shaken: Values = self.weights + self.spread @ generator.standard_normal(self.spread.shape[1])
        return shaken


def _centre(records: RecordSums, plan: _Plan, classes: Measured, size: float) -> float:
    """What is taken off the label before it is summed: 1/2, or nearer to the share of positives.

    At 1/2 a record moves the sums least. But what lies between it and the share of positives is taken off afterwards,
    by means that have noise of their own. Without means it stays.
    """
    if not plan.moments:
        return 0.5
    meter, share = records.meter, min(max(float(classes.values[0, 1]) / size, 0.02), 0.98)
    means = meter.event.sums_variance(squared=moments_squared(plan.bound), units=plan.moments)
    sums = meter.event.sums_variance(squared=LEAN**2 * sums_squared(plan.bound), units=plan.labels // plan.rounds)
    assert means is not None and sums is not None  # less noise than that of the plan
    centres = np.arange(LEAN + 1) / LEAN
    noise = np.maximum(centres, 1 - centres) ** 2 * sums + (centres - share) ** 2 * means
    return float(centres[np.argmin(noise)])


def _measure(records: RecordSums, tables: Tables, plan: _Plan, classes: Measured, size: float) -> tuple[_Fit, float]:
    """Sums with the label, second moments where the plan has them; the weights that follow, and an intercept."""
    columns = sum(table.shape[1] for table in tables)
    centre = _centre(records, plan, classes, size)
    labels = records.residual_sums(
        tables,
        lambda codes: np.full(len(codes), centre),
        bound=plan.bound,
        units=plan.labels // plan.rounds,
        reach=round(LEAN * max(centre, 1 - centre)),
    )
    spread = np.concatenate([table.var(axis=0) for table in tables]) / LEAN**2 * size  # if all codes were as frequent
    spread = np.maximum(spread, 1e-3 * size)
    above = float(labels.values[0]) * _kept((size / 2) ** 2, labels.deviation**2)
    base = min(max(centre + above / size, 0.02), 0.98)
    means, second, moved, noise = np.zeros(columns), np.diag(_USUAL * spread), 0.0, labels.deviation
    if plan.moments:
        first, products, deviation = records.second_moments(tables, bound=plan.bound, units=plan.moments)
        known = _kept((_USUAL * size) ** 2, deviation**2)
        means = known * first / size
        second, moved = _shrunk(products - size * np.outer(means, means), spread, deviation**2)
        noise = math.hypot(noise, (centre - base) * known * deviation)
    # sum of z (y - base) from that of z (y - centre); with no means the difference stays: the pull of the rarer class
    sums = labels.values[1:] + (centre - base) * size * means
    odds = base * (1 - base)
    penalties = np.full(columns, _PRIOR[plan.level] ** -2)
    matrix, spread = _posterior(odds * second, noise**2, odds**2 * moved, np.diag(penalties), sums)
    fit = _Fit(weights=matrix @ sums, means=means, second=second, size=size, base=base, spread=spread)
    intercept = math.log(base / (1 - base)) - fit.middle
    for _ in range(1, plan.rounds):
        fit, intercept = _newton(records, tables, plan, fit, intercept)
    return fit, intercept


def _kept(signal: float, noise: float) -> float:
    """The share of a noisy number that its posterior mean keeps."""
    return signal / (signal + noise)


def _shrunk(second: Values, spread: Values, variance: float) -> tuple[Values, float]:
    """Second moments drawn towards those of equally frequent codes without correlation; the noise that is left."""
    measured = np.diag(second)
    known = 1.0 / (1.0 + variance / (0.6 * spread) ** 2)
    diagonal = np.maximum(known * measured + (1 - known) * spread, 0.05 * spread)
    scale = np.sqrt(np.outer(diagonal, diagonal))
    correlations, noise = second / scale, variance / scale**2
    pairs = np.triu_indices(len(diagonal), 1)
    if len(pairs[0]):
        # empirical Bayes: the mean square of all correlations, without its noise
        signal = min(max(float((correlations[pairs] ** 2 - noise[pairs]).mean()), 0.0), 0.1)
        keep = signal / (signal + noise)
        left = variance * float(keep[pairs].mean())
    else:
        keep, left = np.zeros_like(noise), 0.0
    drawn = correlations * keep * scale
    np.fill_diagonal(drawn, diagonal)
    values, axes = np.linalg.eigh(drawn)
    floor = 1e-3 * float(spread.mean())
    positive: Values = (axes * np.maximum(values, floor)) @ axes.T
    return positive, left


def _heard(hessian: Values, noise: float, penalty: Values) -> tuple[Values, Values]:
    """Posterior covariance of weights w, and the matrix that turns sums = hessian w + noise into their mean."""
    heard = np.linalg.solve(hessian + noise * np.eye(len(hessian)), hessian)  # the two commute
    covariance: Values = np.asarray(np.linalg.inv(hessian @ heard + penalty), dtype=np.float64)
    return covariance, covariance @ heard


def _posterior(hessian: Values, noise: float, moved: float, penalty: Values, sums: Values) -> tuple[Values, Values]:
    """The matrix that turns sums into the posterior mean of the weights, and what it makes of their noise.

    Noise of the second moments, ``moved``, moves the sums by so much for each unit of the weights' squared length.
    """
    length, whole = 1.0, noise
    matrix = np.zeros_like(hessian)
    for _ in range(5):  # the length of the weights and what it adds to the noise
        whole = noise + moved * length
        _, matrix = _heard(hessian, whole, penalty)
        weights = matrix @ sums
        length = max(float(weights @ weights), 0.5)
    return matrix, math.sqrt(whole) * matrix


def _mean_odds(fit: _Fit, intercept: float) -> float:
    """Mean of p (1 - p), were the scores normal."""
    at = np.linspace(-2.5, 2.5, 21)
    weight = np.exp(-(at**2) / 2)
    chance = sigmoid(intercept + fit.middle + fit.width * at)
    return max(float((weight * chance * (1 - chance)).sum() / weight.sum()), 0.3 * fit.base * (1 - fit.base))


def _newton(records: RecordSums, tables: Tables, plan: _Plan, fit: _Fit, intercept: float) -> tuple[_Fit, float]:
    """One step towards the logistic fit, from what the weights so far leave over."""
    now = _Score(intercept=intercept, weights=fit.weights, tables=tables)
    rest = records.residual_sums(tables, now.chance, bound=plan.bound, units=plan.labels // plan.rounds)
    size, means = fit.size, fit.means
    hessian = np.empty((len(means) + 1, len(means) + 1))
    hessian[0, 0], hessian[0, 1:], hessian[1:, 0] = size, size * means, size * means
    hessian[1:, 1:] = fit.second + size * np.outer(means, means)
    hessian *= _mean_odds(fit, intercept)
    penalties = np.full(len(hessian), _PRIOR[plan.level] ** -2)
    penalties[0] = 1e-3
    covariance, matrix = _heard(hessian, rest.deviation**2, np.diag(penalties))
    move = _STEP * (matrix @ rest.values - covariance @ (penalties * np.concatenate([[0.0], fit.weights])))
    # a step leaves so much of the errors before it, and adds its own
    spread = np.hstack([(1 - _STEP) * fit.spread, _STEP * rest.deviation * matrix[1:]])
    return replace(fit, weights=fit.weights + move[1:], spread=spread), intercept + float(move[0])


def _regrouped(
    records: RecordSums, tables: Tables, ranked: dict[int, _Ranked], plan: _Plan, fit: _Fit, intercept: float
) -> tuple[_Fit, Tables]:
    """A column for each group of a number's values, whose weight follows from what the fit leaves over there."""
    groups = [_in_groups(table, ranked.get(place), plan.groups) for place, table in enumerate(tables)]
    now = _Score(intercept=intercept, weights=fit.weights, tables=tables)
    rest = records.residual_sums(groups, now.chance, bound=LEAN**2 * len(ranked), units=plan.residuals)
    odds, at = _mean_odds(fit, intercept), 1
    for place, each in ranked.items():
        group = groups[place]
        shares = np.diff(each.below()) @ group[: len(each.group)] / LEAN
        sums, at = rest.values[at : at + len(shares)], at + len(shares)
        moves, spread = _smoothed(sums, odds * fit.size * shares, rest.deviation**2)
        fit = replace(
            fit,
            weights=np.concatenate([fit.weights, moves]),
            means=np.concatenate([fit.means, shares]),
            second=_side_by_side(fit.second, fit.size * (np.diag(shares) - np.outer(shares, shares))),
            spread=_side_by_side(fit.spread, spread),
        )
    return fit, [*tables, *groups]


def _in_groups(table: Whole, ranked: _Ranked | None, groups: int) -> Whole:
    """Membership of neighbouring values, cut evenly along the first shape function; other features have none."""
    if ranked is None:
        return table[:, :0]
    levels = len(ranked.group)
    along = (table[:levels, 0] - table[0, 0]) / max(table[levels - 1, 0] - table[0, 0], 1)
    _, at = np.unique(np.minimum(np.floor(groups * along), groups - 1), return_inverse=True)
    member = np.zeros((len(table), int(at.max()) + 1), dtype=np.int64)
    member[np.arange(levels), at] = LEAN
    return member


def _smoothed(sums: Values, hessian: Values, noise: float) -> tuple[Values, Values]:
    """Posterior mean of the log-odds of neighbouring groups about their mean, and what it makes of noise.

    The prior is half independent, half a random walk. Its variance is that of the sums beyond their noise, less a
    standard error of it: what noise alone has made is seldom taken for a shape.
    """
    groups, variance = len(sums), hessian + noise
    beyond = float((sums**2 - variance).sum()) - math.sqrt(2 * float((variance**2).sum()))
    if groups < 2 or beyond <= 0:
        return np.zeros(groups), np.zeros((groups, 0))
    prior = min(beyond / float((hessian**2).sum()), _WIDEST)
    steps = np.diff(np.eye(groups), axis=0)
    # a walk of g steps lies about its mean with a variance of g / 6 steps
    penalty = (0.5 * np.eye(groups) + 0.5 * groups / 6 * steps.T @ steps) / prior
    centred = np.eye(groups) - hessian / max(float(hessian.sum()), 1e-9)
    exact = np.diag(np.maximum(hessian, 1e-3))  # a group that seems empty
    matrix = centred @ _heard(exact, noise, penalty)[1]
    return matrix @ sums, math.sqrt(noise) * matrix


def _side_by_side(first: Values, second: Values) -> Values:
    joined = np.zeros((first.shape[0] + second.shape[0], first.shape[1] + second.shape[1]))
    joined[: first.shape[0], : first.shape[1]] = first
    joined[first.shape[0] :, first.shape[1] :] = second
    return joined


@dataclass(frozen=True, kw_only=True, eq=False)
class _Score:
    """log-odds = intercept + sum of weight x shape function."""

    intercept: float
    weights: Values
    tables: Tables

    def total(self, codes: CodeMatrix) -> Values:
        log_odds = np.full(len(codes), self.intercept)
        for place, votes in enumerate(_by_table(self.weights, self.tables)):
            log_odds += votes[codes[:, place % codes.shape[1]]]
        return log_odds

    def chance(self, codes: CodeMatrix) -> Values:
        return sigmoid(self.total(codes))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Cut:
    """Which of nine bands a score lies in; where they end follows from released numbers."""

    fit: _Fit
    tables: Tables

    def band(self, codes: CodeMatrix) -> npt.NDArray[np.intp]:
        score = _Score(intercept=-self.fit.middle, weights=self.fit.weights, tables=self.tables)
        return np.searchsorted(CUTS * self.fit.width, score.total(codes))


def _by_table(weights: Values, tables: Tables) -> list[Values]:
    ends = np.cumsum([table.shape[1] for table in tables])[:-1]
    return [table @ part / LEAN for table, part in zip(tables, np.split(weights, ends), strict=True)]


def _shaken(bands: Measured, generator: np.random.Generator) -> Measured:
    noise = generator.normal(0.0, bands.deviation, bands.values.shape)
    return Measured(values=bands.values + noise, deviation=bands.deviation)


def _votes(
    weights: Values, bands: Measured, fit: _Fit, tables: Tables, features: int
) -> tuple[float, tuple[tuple[float, ...], ...]]:
    """Intercept and the votes of every code, on the scale of the log-odds."""
    start = math.log(fit.base / (1 - fit.base))
    intercept, slope = fit_scale(bands.values, bands.deviation / math.sqrt(2), fit.width * MIDDLES, start)
    parts = _by_table(weights, tables)
    summed = [slope * sum(parts[place::features], np.zeros(1)) for place in range(features)]
    votes = tuple(tuple(float(f"{v:.6g}") for v in vote) for vote in summed)
    return intercept - slope * float(fit.means @ weights), votes


def _described(feature: Feature, vote: Sequence[float]) -> dict[str, Any]:
    """How far a feature can move the log-odds, and between which of its values."""
    low, high = int(np.argmin(vote)), int(np.argmax(vote))
    labels = feature.column.labels
    lean = (vote[high] - vote[low]) / 2
    asks = f"from {labels[low]} to {labels[high]}"
    return {"feature": feature.name, "asks": asks, "weight": float(f"{lean:.6g}")}
