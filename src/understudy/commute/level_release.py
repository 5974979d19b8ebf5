"""Measure a commuting table on all its levels, and draw workers that agree with all of them.

Measured are flows between units, workers by home, and groups of characteristics. The whole flows of the finest level
that is measured in full are shared out among places: every worker gets a workplace so that public totals hold, and a
home by the measured numbers of residents. After that everything is a sum over these workers, so no two levels can
disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.commute.estimates import Estimates, tree_estimates
from understudy.commute.hierarchy import Hierarchy
from understudy.commute.level_tables import (
    CHARACTERISTICS,
    FLOWS,
    TOTALS,
    Workers,
    flow_table,
    group_table,
    total_table,
)
from understudy.commute.levels import PLACE
from understudy.commute.whole_flows import nearest, rounded, shuffled_labels, whole_step
from understudy.mechanisms.flow_measurements import FlowMeter
from understudy.mechanisms.stream import Stream

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelRelease:
    """Synthetic workers, as positions among origins and destinations, and the tables that describe them."""

    origins: Integers
    destinations: Integers
    tables: dict[str, pa.Table]


def release_levels(tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int], stream: Stream) -> LevelRelease:
    """Everything at once: measured with these units of the price, drawn, and described."""
    residents = _measure_homes(tree, meter, units)
    flows = _measure_flows(tree, meter, units)
    workers = _workers(tree, _whole_flows(tree, flows, residents), residents, stream)
    tables = {
        FLOWS: flow_table(tree, workers, flows, meter, units),
        TOTALS: total_table(tree, workers, residents),
    }
    if tree.groups:
        tables[CHARACTERISTICS] = group_table(tree, workers, meter, units)
    order = np.lexsort((workers.homes, workers.jobs))
    return LevelRelease(origins=workers.homes[order], destinations=workers.jobs[order], tables=tables)


def _measure_homes(tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int]) -> list[Estimates]:
    """Residents of every piece of every level."""
    pieces = tree.homes
    results = [
        meter.homes(of, size, units=units[f"homes:{name}"])
        for name, of, size in zip(tree.names, pieces.of, pieces.sizes, strict=True)
    ]
    noisy, variances = zip(*results, strict=True)
    return tree_estimates(noisy, variances, pieces.parent, np.array([float(tree.totals.sum())]))


def _measure_flows(tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int]) -> list[Estimates]:
    """Flows between all pieces of the levels that are measured in full."""
    results = [
        meter.pairs(tree.homes.of[step], tree.work.of[step], tree.shape(step), units=units[f"flows:{tree.names[step]}"])
        for step in range(tree.measured)
    ]
    noisy, variances = zip(*results, strict=True)
    parents = [tree.pair_parents(step) for step in range(tree.measured)]
    return tree_estimates(noisy, variances, parents, tree.work_totals(0).astype(np.float64))


def _whole_flows(tree: Hierarchy, flows: list[Estimates], residents: list[Estimates]) -> Integers:
    """Of the finest level that is measured in full, piece by piece."""
    whole = tree.work_totals(0)
    for step in range(tree.measured):
        blocks = np.arange(tree.work.sizes[0]) if step == 0 else tree.work.parent[step]
        told = _told_by_homes(flows[step], residents[step], tree.shape(step))
        whole = whole_step(told, tree.shape(step), tree.pair_parents(step), whole, blocks, tree.work_totals(step))
    return whole


def _told_by_homes(flows: Estimates, residents: Estimates, shape: tuple[int, int]) -> Floats:
    """Estimates of flows whose rows know what was measured of the residents of each piece."""
    values, spread = flows.values.reshape(shape), flows.variances.reshape(shape)
    gain = spread / np.maximum(spread.sum(axis=1) + residents.variances, 1e-300)[:, None]
    told: Floats = values + gain * (residents.values - values.sum(axis=1))[:, None]
    return told.reshape(-1)


def _workers(tree: Hierarchy, whole: Integers, residents: list[Estimates], stream: Stream) -> Workers:
    """A home and a workplace for every synthetic worker."""
    step = tree.measured - 1
    shape = tree.shape(step)
    homes, jobs = np.divmod(np.repeat(np.arange(len(whole)), whole), shape[1])
    if tree.names[step] != PLACE:
        groups, sums = tree.homes.of[step], whole.reshape(shape).sum(axis=1)
        counts = rounded(nearest(residents[-1].values, groups, sums.astype(np.float64)), groups, sums)
        homes = shuffled_labels(homes, counts, groups, stream)
        jobs = shuffled_labels(jobs, tree.totals, tree.work.of[step], stream)
    return Workers(homes=homes, jobs=jobs)
