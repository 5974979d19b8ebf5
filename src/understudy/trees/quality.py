"""How good the scores are: AUROC, Brier score, reliability, the same for declared subgroups, and who paid for it.

Two ways. On *public* records everything is computed as it is, with the band that the model's privacy noise adds. On
*private* records set aside from training, one noisy histogram (score band x class, by subgroup) is released at its own
epsilon, and every figure is read off it; its intervals hold the noise of that histogram too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError, RefusalError
from understudy.evaluate.risk.intervals import wilson
from understudy.evaluate.utility.dummies import auc
from understudy.mechanisms.discrete_laplace import scale_for
from understudy.mechanisms.labelled import Cells, labelled_cells, leaf_counts_entry, noisy_leaf_counts
from understudy.mechanisms.smoothing import declared_public
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry
from understudy.privacy.provenance import InputRole
from understudy.privacy.secret import Secret
from understudy.sources.base import Source
from understudy.trees.features import CodeMatrix, Feature
from understudy.trees.model import Quality
from understudy.trees.scorers import BAND, CallForest, LeafForest, Scorer, VoteForest, count_probability

Values = npt.NDArray[np.float64]
BANDS = np.array([0.02, 0.04, 0.07, 0.1, 0.14, 0.19, 0.25, 0.32, 0.4, 0.48, 0.56, 0.64, 0.72, 0.8, 0.87, 0.93, 0.97])
"""Ends of the public score bands of a priced quality histogram."""
_REPEATS = 300
_CONFIDENCE = 0.95
_FEWEST = 10.0  # records of each class below which no figure is stated


def measures(
    score: Values, positive: Values, negative: Values, *, scale: float, generator: np.random.Generator
) -> dict[str, Any]:
    """Figures from scores and their class counts; intervals by a Poisson bootstrap, with noise of ``scale`` on top."""
    positive, negative = np.maximum(positive, 0.0), np.maximum(negative, 0.0)
    figures: dict[str, Any] = {"records": float(round(positive.sum() + negative.sum()))}
    if min(positive.sum(), negative.sum()) < max(_FEWEST, 3 * scale):
        return figures | {"auroc": None, "brier": None, "why": "too few records of one class to state a figure"}
    drawn: list[tuple[float, float]] = []
    for _ in range(_REPEATS):
        ups = np.maximum(generator.poisson(positive) + _noise(scale, len(score), generator), 0.0)
        downs = np.maximum(generator.poisson(negative) + _noise(scale, len(score), generator), 0.0)
        if ups.sum() > 0 and downs.sum() > 0:
            drawn.append((auc(score, ups, downs), _brier(score, ups, downs)))
    ends = np.quantile(np.array(drawn), [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    values = auc(score, positive, negative), _brier(score, positive, negative)
    for place, name in enumerate(("auroc", "brier")):
        figures[name] = {
            "value": round(values[place], 4),
            "low": round(min(float(ends[0, place]), values[place]), 4),
            "high": round(max(float(ends[1, place]), values[place]), 4),
        }
    return figures | {"reliability": _reliability(score, positive, negative)}


def _noise(scale: float, size: int, generator: np.random.Generator) -> Values | float:
    return generator.laplace(0.0, scale, size) if scale > 0 else 0.0


def _brier(score: Values, positive: Values, negative: Values) -> float:
    return float((positive @ (1 - score) ** 2 + negative @ score**2) / (positive.sum() + negative.sum()))


def _reliability(score: Values, positive: Values, negative: Values, *, bins: int = 10) -> list[dict[str, float]]:
    """Observed share in bins of the score, with Wilson intervals; empty bins are left out."""
    place = np.minimum((score * bins).astype(np.intp), bins - 1)
    rows = []
    for number in range(bins):
        inside = place == number
        ups, downs = float(positive[inside].sum()), float(negative[inside].sum())
        if ups + downs < 1:
            continue
        rate = wilson(ups, ups + downs, confidence=_CONFIDENCE)
        mean = float(score[inside] @ (positive + negative)[inside] / (ups + downs))
        entry = {"score": mean, "observed": rate.value, "low": rate.low, "high": rate.high, "records": ups + downs}
        rows.append({name: round(value, 4) for name, value in entry.items()})
    return rows


def subgroup_places(features: Sequence[Feature], subgroups: Sequence[str]) -> list[int]:
    """Places of the subgroup columns among the features."""
    names = [feature.name for feature in features]
    for name in subgroups:
        if name not in names:
            raise ParameterError(f"the subgroup {name!r} is no feature of the model; choose among {', '.join(names)}.")
    return [names.index(name) for name in subgroups]


def public_cells(source: Source, *, target: str, positive: int) -> Cells:
    """Records of a table that is used as public knowledge, as feature codes and label."""
    counted = labelled_cells(source.count([source.codebook.names])[0], target=target, positive=positive)
    return declared_public([counted], provenance=source.provenance, role=InputRole.QUALITY)[0]


def public_quality(
    scorer: Scorer, features: Sequence[Feature], held: Cells, *, subgroups: Sequence[str], label: str
) -> Quality:
    """Quality on public records (``label`` says which); costs nothing."""
    if isinstance(scorer, CallForest):
        raise RefusalError(
            "every answer of a per-call model costs, test records included; its quality cannot be measured for free. "
            "Use a one-shot model, or state no quality."
        )
    generator = np.random.default_rng(20_141)  # intervals only
    score = _scores(scorer, held.codes)
    positive, negative = held.counts[:, 1].astype(np.float64), held.counts[:, 0].astype(np.float64)
    figures = measures(score, positive, negative, scale=0.0, generator=generator)
    figures |= _noise_band(scorer, held.codes, positive, negative, generator)
    figures["subgroups"] = {}
    for place in subgroup_places(features, subgroups):
        column = features[place].column
        groups = {}
        for level, words in enumerate(column.labels):
            inside = held.codes[:, place] == level
            groups[words] = measures(score[inside], positive[inside], negative[inside], scale=0.0, generator=generator)
        figures["subgroups"][column.name] = groups
    return Quality(measures=figures, paid=f"measured on public data: {label}")


def _scores(scorer: Scorer, codes: CodeMatrix) -> Values:
    if not scorer.per_call:
        return scorer.score(codes)[0]
    stream = Stream.from_system()
    return np.array([scorer.noisy_score(codes[at : at + 1], stream)[0] for at in range(len(codes))])


def _noise_band(
    scorer: Scorer, codes: CodeMatrix, positive: Values, negative: Values, generator: np.random.Generator
) -> dict[str, Any]:
    """How far AUROC and Brier score of this model would move under fresh privacy noise."""
    if min(positive.sum(), negative.sum()) <= 0:
        return {}
    copies: list[Values] = []
    if isinstance(scorer, VoteForest):
        copies = list(scorer.replicate_scores(codes).T)
    elif isinstance(scorer, LeafForest) and scorer.scale > 0:
        for _ in range(40):
            total = np.zeros(len(codes))
            for tree, counts in zip(scorer.trees, scorer.counts, strict=True):
                table = np.array(counts, dtype=np.float64)
                table += generator.laplace(0.0, scorer.scale, table.shape)
                total += count_probability(table, scorer.scale)[tree.leaf_of(codes)]
            copies.append(total / len(scorer.trees))
    if not copies:
        return {}
    pairs = np.array([(auc(copy, positive, negative), _brier(copy, positive, negative)) for copy in copies])
    low, high = np.quantile(pairs, [(1 - BAND) / 2, (1 + BAND) / 2], axis=0)
    return {
        "noise_band": {
            "auroc": {"low": round(float(low[0]), 4), "high": round(float(high[0]), 4)},
            "brier": {"low": round(float(low[1]), 4), "high": round(float(high[1]), 4)},
        }
    }


@dataclass(frozen=True, eq=False)
class _Places:
    """Public cells of a quality histogram: subgroup level x score band."""

    scorer: Scorer
    place: int | None

    def __call__(self, codes: CodeMatrix) -> npt.NDArray[np.intp]:
        band = np.searchsorted(BANDS, self.scorer.score(codes)[0])
        level = codes[:, self.place].astype(np.intp) if self.place is not None else 0
        return np.asarray(level * (len(BANDS) + 1) + band, dtype=np.intp)


def quality_price(features: Sequence[Feature], subgroups: Sequence[str], epsilon: float) -> tuple[Entry, ...]:
    """What :func:`measure_private` pays; needs no data."""
    places = _places(features, subgroups)
    scale = scale_for(epsilon / len(places), 1)
    return tuple(leaf_counts_entry(scale, reads=_reads(features, place)) for place in places)


def _places(features: Sequence[Feature], subgroups: Sequence[str]) -> list[int | None]:
    """One histogram for each subgroup column, or one for all records."""
    return [*subgroup_places(features, subgroups)] or [None]


def _reads(features: Sequence[Feature], place: int | None) -> str:
    by = "" if place is None else f", by {features[place].name}"
    return f"class counts of score bands among records set aside{by}"


def measure_private(
    scorer: Scorer,
    features: Sequence[Feature],
    cells: Secret[Cells],
    *,
    epsilon: float,
    subgroups: Sequence[str],
    stream: Stream,
) -> tuple[Quality, tuple[Entry, ...]]:
    """Quality on private records that training did not see; one noisy histogram for each subgroup column."""
    if scorer.per_call:
        raise RefusalError("the quality of a per-call model would cost a call for each record; use a one-shot model.")
    generator = stream.generator()  # intervals only
    places = _places(features, subgroups)
    each = epsilon / len(places)
    middles = np.concatenate([[BANDS[0] / 2], (BANDS[1:] + BANDS[:-1]) / 2, [(1 + BANDS[-1]) / 2]])
    entries, tables = [], []
    for place in places:
        levels = 1 if place is None else features[place].column.size
        noisy, entry = noisy_leaf_counts(
            cells,
            _Places(scorer, place),
            levels * len(middles),
            epsilon=each,
            stream=stream,
            reads=_reads(features, place),
        )
        entries.append(entry)
        tables.append(noisy.reshape(levels, len(middles), 2).astype(np.float64))
    scale = 1.0 / each
    whole = np.mean([table.sum(axis=0) for table in tables], axis=0)
    spread = scale * (sum(len(table) for table in tables) ** 0.5) / len(tables)
    figures = measures(middles, whole[:, 1], whole[:, 0], scale=spread, generator=generator)
    figures["subgroups"] = {}
    for place, table in zip(places, tables, strict=True):
        if place is not None:
            column = features[place].column
            figures["subgroups"][column.name] = {
                words: measures(middles, rows[:, 1], rows[:, 0], scale=scale, generator=generator)
                for words, rows in zip(column.labels, table, strict=True)
            }
    paid = (
        f"paid for with epsilon {epsilon:g}: noisy counts of {len(middles)} score bands among records that were set "
        "aside from training; intervals hold that noise too"
    )
    return Quality(measures=figures, paid=paid), tuple(entries)
