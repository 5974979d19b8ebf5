"""The provable forest: many small trees with public thresholds, whose votes are all measured at once.

Nothing is spent on structure. Every feature has a *grove*: one stump at each of the codebook's thresholds (or one for
each level), all voting with one common weight. In the first round the vote is the covariance of the grove with the
label: its sign and size are those of the signed root of the alpha-gain at alpha = 2 (equation 5.7), whose square it is
up to the margins. A second round, where the noise allows it, votes on what the first left over, as boosting does.

There are three releases, all exact whole numbers: the class counts, the votes (max-norm noise: the price does not grow
with the number of groves), and the class counts of nine bands of the score, from which the scale of the log-odds is
read with a slope that cannot turn negative. Everything after that, and any number of scores, is post-processing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical
from understudy.mechanisms.discrete_laplace import scale_for
from understudy.mechanisms.labelled import UNIT, Cells, Grove, grove_sums, leaf_counts_entry, noisy_leaf_counts
from understudy.mechanisms.max_norm import MaxNormSums
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.trees.bands import CUTS, MIDDLES, fit_scale
from understudy.trees.features import CodeMatrix, Feature
from understudy.trees.scorers import Values, VoteForest, sigmoid

SHARES = (0.05, 0.88, 0.07)
"""Parts of epsilon for class counts, votes and scale."""
REPLICATES = 60
"""Copies under fresh noise, from which the band of every score is read."""
SECOND_ROUND_AT = 70.0
"""A second round is worth its noise from this many records x epsilon for each grove (docs/methods/dpat.md)."""

_LEAN_VARIANCE = 0.3  # of a grove's lean between -1 and 1: a public guess; the scale is measured afterwards
_CLASSES, _BANDS = "number of records of each class", "class counts of nine bands of the score"


def groves_of(features: Sequence[Feature]) -> tuple[Grove, ...]:
    """One grove for every number, date, ordered or two-level feature; one for each level of other categories.

    The lean of a code is the mean answer, -1 or 1, of the stumps at all thresholds. Missing values lean to no side, nor
    do special codes.
    """
    groves = []
    for place, feature in enumerate(features):
        column, levels = feature.column, feature.column.proper_levels
        silent = (0,) * (column.size - levels)
        if isinstance(column, Categorical) and levels > 2:
            for level in range(levels):
                lean = tuple(UNIT if code == level else 0 for code in range(levels))
                groves.append(Grove(feature=place, lean=(*lean, *silent)))
        else:
            steps = max(levels - 1, 1)
            lean = tuple(round(UNIT * (2 * code - steps) / steps) for code in range(levels))
            groves.append(Grove(feature=place, lean=(*lean, *silent)))
    return tuple(groves)


def forest_price(features: Sequence[Feature], *, epsilon: float) -> tuple[Entry, ...]:
    """The most that :func:`grow_forest` pays; needs no data.

    Whether the votes come in one round or in two halves is told by the noisy class counts, and the bound of a vote by
    them too. Either way they cost at most their share, which one round of it covers.
    """
    EPSILON.check("epsilon", epsilon)
    first, votes, last = (share * epsilon for share in SHARES)
    classes = leaf_counts_entry(scale_for(first, 1), reads=_CLASSES)
    bands = leaf_counts_entry(scale_for(last, 1), reads=_BANDS)
    groves = len(groves_of(features))
    event = MaxNormSums(
        scale=UNIT / Fraction(votes), sensitivity=UNIT, dimensions=groves, neighbours=Neighbours.ADD_REMOVE
    )
    summed = Entry(stage="votes", reads=f"votes of {groves} groves of stumps, in one round or two", event=event)
    return (classes, summed, bands)


@dataclass(frozen=True, kw_only=True)
class _Released:
    """All that was measured; everything else follows from it."""

    classes: Values
    classes_scale: float
    sums: tuple[Values, ...]
    sums_scales: tuple[float, ...]
    bands: Values
    bands_scale: float


def grow_forest(
    cells: Secret[Cells],
    features: Sequence[Feature],
    *,
    epsilon: float,
    stream: Stream,
    replicates: int = REPLICATES,
) -> tuple[VoteForest, tuple[Entry, ...]]:
    """The forest and what it paid: at most ``epsilon``, add-remove.

    ``replicates`` copies under fresh noise carry the band of every score; 0 leaves the band out.
    """
    EPSILON.check("epsilon", epsilon)
    groves = groves_of(features)
    first, votes, last = (share * epsilon for share in SHARES)
    classes, paid = noisy_leaf_counts(cells, _everybody, 1, epsilon=first, stream=stream, reads=_CLASSES)
    entries = [paid]
    scale = 1.0 / first
    base, size = _base(classes[0], scale)
    rounds = 2 if votes * size / len(groves) >= SECOND_ROUND_AT else 1
    weights = np.zeros(len(groves))
    sums, scales = [], []
    for number in range(rounds):
        start = _Additive(_logit(base), weights.copy(), groves)
        limit = math.ceil(UNIT * max(base, 1.0 - base)) if number == 0 else UNIT
        measured, spread, paid = grove_sums(
            cells,
            groves,
            start.chance,
            limit=limit,
            epsilon=votes / rounds,
            stream=stream,
            reads=f"votes of {len(groves)} groves of stumps, round {number + 1} of {rounds}",
        )
        entries.append(paid)
        sums.append(measured)
        scales.append(spread)
        weights = weights + _step(measured, spread, base, size, number)
    cut = _Bands(weights, groves)
    bands, paid = noisy_leaf_counts(cells, cut.band, len(MIDDLES), epsilon=last, stream=stream, reads=_BANDS)
    entries.append(paid)
    released = _Released(
        classes=classes[0].astype(np.float64),
        classes_scale=scale,
        sums=tuple(sums),
        sums_scales=tuple(scales),
        bands=bands.astype(np.float64),
        bands_scale=1.0 / last,
    )
    return _forest(released, groves, features, stream, replicates), tuple(entries)


def _everybody(codes: CodeMatrix) -> npt.NDArray[np.intp]:
    return np.zeros(len(codes), dtype=np.intp)


def _logit(chance: float) -> float:
    return math.log(chance / (1.0 - chance))


def _base(classes: npt.NDArray[Any], scale: float) -> tuple[float, float]:
    """Share of positives and number of records, from noisy counts; counts that noise could have made are ignored."""
    negative, positive = (max(float(value), 0.0) for value in classes)
    pseudo = 3.0 * scale
    share = (positive + pseudo) / (negative + positive + 2 * pseudo)
    return min(max(share, 0.02), 0.98), max(negative + positive, 20.0)


def _step(sums: Values, spread: float, base: float, size: float, number: int) -> Values:
    """Weights from sums: as of linear discriminants with a common variance, shrunk by the share that is noise."""
    count = len(sums)
    noise = (count + 1) * (count + 2) / 3 * spread**2 * count
    keep = max(0.05, 1.0 - noise / max(float(sums @ sums), 1e-9))
    damp = (1.5 if number == 0 else 2.0) / (1.0 + 0.15 * count)
    weights: Values = keep * damp * sums / (size * base * (1.0 - base) * _LEAN_VARIANCE)
    largest = float(np.abs(weights).max())
    return weights if largest <= 8.0 else weights * (8.0 / largest)  # no single grove decides beyond all doubt


@dataclass(frozen=True, eq=False)
class _Additive:
    """log-odds = intercept + sum of weight x lean."""

    intercept: float
    weights: Values
    groves: tuple[Grove, ...]

    def total(self, codes: CodeMatrix) -> Values:
        log_odds = np.full(len(codes), self.intercept)
        for weight, grove in zip(self.weights, self.groves, strict=True):
            log_odds += weight / UNIT * np.array(grove.lean, dtype=np.float64)[codes[:, grove.feature]]
        return log_odds

    def chance(self, codes: CodeMatrix) -> Values:
        return sigmoid(self.total(codes))


@dataclass(frozen=True, eq=False)
class _Bands:
    """Which of nine bands a score lies in; their width follows from the released weights."""

    weights: Values
    groves: tuple[Grove, ...]

    @property
    def width(self) -> float:
        return math.sqrt(float(self.weights @ self.weights) * _LEAN_VARIANCE) or 1.0

    def band(self, codes: CodeMatrix) -> npt.NDArray[np.intp]:
        return np.searchsorted(CUTS * self.width, _Additive(0.0, self.weights, self.groves).total(codes))


def _fitted(released: _Released, groves: tuple[Grove, ...]) -> tuple[float, Values]:
    """Intercept and weights in log-odds; post-processing only."""
    base, size = _base(released.classes, released.classes_scale)
    weights = np.zeros(len(groves))
    for number, (sums, spread) in enumerate(zip(released.sums, released.sums_scales, strict=True)):
        weights = weights + _step(sums, spread, base, size, number)
    middles = _Bands(weights, groves).width * MIDDLES
    intercept, slope = fit_scale(released.bands, released.bands_scale, middles, _logit(base))
    return intercept, slope * weights


def _forest(
    released: _Released, groves: tuple[Grove, ...], features: Sequence[Feature], stream: Stream, replicates: int
) -> VoteForest:
    intercept, weights = _fitted(released, groves)
    generator = stream.generator()  # for the band only: what is released is fixed by now
    copies = [_fitted(_again(released, generator), groves) for _ in range(replicates)]
    return VoteForest(
        intercept=intercept,
        votes=_votes(weights, groves, features),
        replicate_intercepts=tuple(each[0] for each in copies),
        replicate_votes=tuple(_votes(each[1], groves, features) for each in copies),
        trees=tuple(_described(weight, grove, features) for weight, grove in zip(weights, groves, strict=True)),
    )


def _again(released: _Released, generator: np.random.Generator) -> _Released:
    """The released numbers with the noise of their mechanisms drawn once more on top."""

    def shaken(sums: Values, spread: float) -> Values:
        radius = generator.gamma(len(sums) + 1, spread)
        noisy: Values = sums + generator.uniform(-radius, radius, len(sums))
        return noisy

    return replace(
        released,
        classes=released.classes + generator.laplace(0, released.classes_scale, 2),
        sums=tuple(shaken(*each) for each in zip(released.sums, released.sums_scales, strict=True)),
        bands=released.bands + generator.laplace(0, released.bands_scale, released.bands.shape),
    )


def _votes(weights: Values, groves: Sequence[Grove], features: Sequence[Feature]) -> tuple[tuple[float, ...], ...]:
    table = [np.zeros(feature.column.size) for feature in features]
    for weight, grove in zip(weights, groves, strict=True):
        table[grove.feature] += weight / UNIT * np.array(grove.lean, dtype=np.float64)
    return tuple(tuple(float(f"{value:.6g}") for value in votes) for votes in table)


def _described(weight: float, grove: Grove, features: Sequence[Feature]) -> dict[str, Any]:
    feature = features[grove.feature]
    if sum(lean != 0 for lean in grove.lean) == 1 and feature.levels and len(feature.levels) > 2:
        condition = f"= {feature.levels[grove.lean.index(UNIT)]}"
    elif feature.thresholds:
        condition = "> " + ", ".join(f"{cut:.12g}" for cut in feature.thresholds)
    else:
        condition = "after " + ", ".join(feature.column.labels[: feature.column.proper_levels - 1])
    return {"feature": feature.name, "asks": condition, "weight": float(f"{weight:.6g}")}
