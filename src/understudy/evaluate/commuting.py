"""How well synthetic origins serve: commute distances by destination, invented pairs, and the largest flows.

Everything here compares confidential flows with synthetic ones: what it returns is confidential.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codec import to_plain
from understudy.confidential import Confidential
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SIZE_BANDS = (1, 2, 5, 10, 20, 50, 100, 1000)
"""Lower ends of the bands of destination size."""

TOP_FLOWS = 100


@dataclass(frozen=True, kw_only=True)
class SizeBand:
    """Destinations of similar size: mean of their average commute distances, and how far apart they are."""

    smallest: int
    largest: int | None
    destinations: int
    real_miles: float | None
    synthetic_miles: float | None
    mean_error: float | None
    """Mean over destinations of |synthetic - real average distance|, miles."""
    bias: float | None
    """Mean over destinations of synthetic - real average distance, miles."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CommuteFindings(Confidential):
    """One synthetic table against the confidential one."""

    workers: int
    synthetic_workers: int
    within: float | None
    """Miles beyond which commutes were left out on both sides."""
    short_miles: float | None
    all_commutes: tuple[SizeBand, ...]
    short_commutes: tuple[SizeBand, ...]
    real_quantiles: tuple[float, ...]
    """10, 25, 50, 75, 90 and 99 percent of commute distances, miles."""
    synthetic_quantiles: tuple[float, ...]
    distance_tvd: float | None
    """Total variation distance of the two histograms of commute distance, bins of a mile."""
    invented_pairs: float
    """Share of the synthetic origin-destination pairs that no real worker has."""
    invented_workers: float
    """Share of the synthetic workers on such pairs."""
    lost_pairs: float
    """Share of the real pairs that no synthetic worker has."""
    top_flows: int
    top_flow_error: float
    """Mean relative error of the counts of the largest real flows."""
    top_flow_overlap: float
    """Share of the largest real flows that are among as many largest synthetic ones."""
    by_destination: dict[str, Any]
    """Average distances per destination, real and synthetic, for all and for short commutes; NaN where none."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the per-destination averages."""
        kept = {name: value for name, value in vars(self).items() if name != "by_destination"}
        return {**to_plain(kept), "confidential": True}


def opened_flows(cells: Secret[Histograms]) -> Histograms:
    """Cells for a comparison: real ones only go to a page or a figure that is marked confidential."""
    return cells.open()


def mean_distances(cells: Histograms, miles: Floats, *, below: float | None = None) -> Floats:
    """Average commute distance of every destination, of commutes shorter than ``below`` if given; NaN where none."""
    weight = cells.counts.astype(np.float64)
    if below is not None:
        weight = np.where(miles < below, weight, 0.0)
    number = len(cells.starts) - 1
    total = np.bincount(cells.rows, weights=weight * miles, minlength=number)
    people = np.bincount(cells.rows, weights=weight, minlength=number)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(people > 0, total / people, np.nan))


def compare_flows(
    real: Secret[Histograms],
    synthetic: Histograms,
    *,
    distance: Any,
    short: float | None,
    within: float | None = None,
) -> CommuteFindings:
    """Compare, with ``distance(rows, units)`` in miles or None where there are no coordinates.

    ``within`` leaves longer commutes out on both sides, as a release with a cut-off does.
    """
    truth = real.open()
    if within is not None and distance is not None:
        truth, synthetic = _nearer(truth, distance, within), _nearer(synthetic, distance, within)
    totals = np.bincount(truth.rows, weights=truth.counts, minlength=len(truth.starts) - 1).astype(np.int64)
    real_miles: Any = None if distance is None else distance(truth.rows, truth.units)
    made_miles: Any = None if distance is None else distance(synthetic.rows, synthetic.units)
    if distance is not None and short is None:
        short = next(iter(_quantiles(real_miles, truth.counts)[2:]), None)
    bands: tuple[SizeBand, ...] = ()
    shorts: tuple[SizeBand, ...] = ()
    averages: dict[str, Any] = {}
    if distance is not None:
        sides = ((truth, real_miles), (synthetic, made_miles))
        every, near = ([mean_distances(*side, below=below) for side in sides] for below in (None, short))
        bands, shorts = _bands(totals, *every), _bands(totals, *near)
        averages = {
            "workers": totals,
            "real": every[0],
            "synthetic": every[1],
            "real_short": near[0],
            "synthetic_short": near[1],
            "histograms": _histograms(real_miles, truth.counts, made_miles, synthetic.counts),
        }
    return CommuteFindings(
        workers=int(truth.counts.sum()),
        synthetic_workers=int(synthetic.counts.sum()),
        within=within if distance is not None else None,
        short_miles=short,
        all_commutes=bands,
        short_commutes=shorts,
        real_quantiles=() if real_miles is None else _quantiles(real_miles, truth.counts),
        synthetic_quantiles=() if made_miles is None else _quantiles(made_miles, synthetic.counts),
        distance_tvd=float(np.abs(np.subtract(*averages["histograms"])).sum() / 2) if averages else None,
        by_destination=averages,
        **_pairs(truth, synthetic),
    )


def _nearer(cells: Histograms, distance: Any, most: float) -> Histograms:
    kept = distance(cells.rows, cells.units) <= most
    number = len(cells.starts) - 1
    return Histograms.of(cells.rows[kept], cells.units[kept], cells.counts[kept], number=number)


def _bands(totals: Integers, real: Floats, made: Floats) -> tuple[SizeBand, ...]:
    bands = []
    for low, high in zip(SIZE_BANDS, (*SIZE_BANDS[1:], None), strict=True):
        inside = (totals >= low) & (totals < (high or np.inf))
        both = inside & np.isfinite(real) & np.isfinite(made)
        gaps = made[both] - real[both]
        bands.append(
            SizeBand(
                smallest=low,
                largest=None if high is None else high - 1,
                destinations=int(inside.sum()),
                real_miles=_mean(real[both]),
                synthetic_miles=_mean(made[both]),
                mean_error=_mean(np.abs(gaps)),
                bias=_mean(gaps),
            )
        )
    return tuple(bands)


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def _quantiles(miles: Floats, counts: Integers) -> tuple[float, ...]:
    if not len(miles):
        return ()
    order = np.argsort(miles)
    share = np.cumsum(counts[order]) / counts.sum()
    spots = np.minimum(np.searchsorted(share, (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)), len(miles) - 1)
    return tuple(miles[order][spots].tolist())


def _histograms(
    left: Floats, left_counts: Integers, right: Floats, right_counts: Integers
) -> tuple[list[float], list[float]]:
    """Shares of workers in bins of a mile, real and synthetic."""
    last = int(max(left.max(initial=0.0), right.max(initial=0.0))) + 1
    shares = [
        np.bincount(miles.astype(np.int64), weights=counts, minlength=last) / max(int(counts.sum()), 1)
        for miles, counts in ((left, left_counts), (right, right_counts))
    ]
    return shares[0].tolist(), shares[1].tolist()


def _pairs(truth: Histograms, made: Histograms) -> dict[str, Any]:
    width = int(max(truth.units.max(initial=0), made.units.max(initial=0))) + 1
    real_keys, made_keys = truth.rows * width + truth.units, made.rows * width + made.units
    invented = ~np.isin(made_keys, real_keys)
    number = min(TOP_FLOWS, len(real_keys))
    top = np.argsort(-truth.counts, kind="stable")[:number]
    place = np.minimum(np.searchsorted(made_keys, real_keys[top]), max(len(made_keys) - 1, 0))
    drawn = np.where(made_keys[place] == real_keys[top], made.counts[place], 0) if len(made_keys) else np.zeros(number)
    best = set(made_keys[np.argsort(-made.counts, kind="stable")[:number]].tolist())
    return {
        "invented_pairs": _mean(invented) or 0.0,
        "invented_workers": float(made.counts[invented].sum() / max(made.counts.sum(), 1)),
        "lost_pairs": _mean(~np.isin(real_keys, made_keys)) or 0.0,
        "top_flows": number,
        "top_flow_error": _mean(np.abs(drawn - truth.counts[top]) / truth.counts[top]) or 0.0,
        "top_flow_overlap": len(best & set(real_keys[top].tolist())) / max(number, 1),
    }
