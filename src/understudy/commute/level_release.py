"""Measure a commuting table on all its levels, and draw workers that agree with all of them.

Measured are flows between units, workers by home, and groups of characteristics. The whole flows of the finest level
that is measured in full are shared out among places: every worker gets a workplace so that public totals hold, by
measured flows to single places where these are not too many, and a home by the measured numbers of residents. After
that everything is a sum over these workers, so no two levels can disagree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.commute.estimates import Estimates, downwards, row_variances, together, tree_estimates, upwards
from understudy.commute.hierarchy import SPLIT, Hierarchy
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
from understudy.commute.whole_flows import Margin, even_labels, nearest, rounded, shuffled_labels, whole_step
from understudy.mechanisms.flow_measurements import FlowMeter
from understudy.mechanisms.stream import Stream

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EXACT = 1e-12
"""The variance of what is public: none that shows, and still one that can be divided by."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelRelease:
    """Synthetic workers, as positions among origins and destinations, and the tables that describe them."""

    origins: Integers
    destinations: Integers
    tables: dict[str, pa.Table]


def release_levels(tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int], stream: Stream) -> LevelRelease:
    """Everything at once: measured with these units of the price, drawn, and described."""
    flows, variances = _measure_flows(tree, meter, units)
    residents = _measure_homes(tree, meter, units, _residents_by_flows(tree, flows, variances))
    whole = _whole_flows(tree, flows, residents)
    if tree.splits:
        whole = _split_by_work(tree, meter, units, flows[-1], whole)
    workers = _workers(tree, whole, residents, stream)
    tables = {
        FLOWS: flow_table(tree, workers, flows, meter, units),
        TOTALS: total_table(tree, workers, residents),
    }
    if tree.groups:
        tables[CHARACTERISTICS] = group_table(tree, workers, meter, units)
    order = np.lexsort((workers.homes, workers.jobs))
    return LevelRelease(origins=workers.homes[order], destinations=workers.jobs[order], tables=tables)


def _measure_flows(
    tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int]
) -> tuple[list[Estimates], tuple[float, ...]]:
    """Flows between all pieces of the levels that are measured in full, and the variances of their noise."""
    results = [
        (tree.work_totals(step).astype(np.float64), _EXACT)
        if tree.is_public(step)
        else meter.pairs(
            tree.homes.of[step], tree.work.of[step], tree.shape(step), units=units[f"flows:{tree.names[step]}"]
        )
        for step in range(tree.measured)
    ]
    noisy, variances = zip(*results, strict=True)
    parents = [tree.pair_parents(step) for step in range(tree.measured)]
    return tree_estimates(noisy, variances, parents, tree.work_totals(0).astype(np.float64)), variances


def _residents_by_flows(tree: Hierarchy, flows: list[Estimates], variances: Sequence[float]) -> list[Estimates]:
    """Residents as the flows from every unit add up to, where flows are measured in full."""
    spread = row_variances(variances, tree.homes.parent[: tree.measured], tree.work.parent[: tree.measured])
    sums = [flow.values.reshape(tree.shape(step)).sum(axis=1) for step, flow in enumerate(flows)]
    return [Estimates(values=values, variances=known) for values, known in zip(sums, spread, strict=True)]


def _measure_homes(
    tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int], by_flows: list[Estimates]
) -> list[Estimates]:
    """Residents of every piece of every level; the noise of what the flows say of them is independent of this one."""
    pieces = tree.homes
    results = [
        (np.array([float(tree.totals.sum())]), _EXACT)
        if tree.is_public(step)
        else meter.homes(pieces.of[step], pieces.sizes[step], units=units[f"homes:{name}"])
        for step, name in enumerate(tree.names)
    ]
    noisy, variances = zip(*results, strict=True)
    joined = upwards(noisy, variances, pieces.parent)
    whole = Estimates(values=np.array([float(tree.totals.sum())]), variances=np.zeros(1))
    alone = downwards(joined, pieces.parent, whole)
    both = [together(home, flow) for home, flow in zip(alone, by_flows, strict=False)]
    # what flows say of a unit is shared out among its parts
    return [*both, *downwards(joined[tree.measured :], pieces.parent[tree.measured :], both[-1])]


def _whole_flows(tree: Hierarchy, flows: list[Estimates], residents: list[Estimates]) -> Integers:
    """Of the finest level that is measured in full, piece by piece."""
    whole, living = tree.work_totals(0), np.array([tree.totals.sum()])
    for step in range(tree.measured):
        shape, inside = tree.shape(step), tree.homes.parent[step]
        living = rounded(nearest(residents[step].values, inside, living.astype(np.float64)), inside, living)
        blocks = np.arange(shape[1]) if step == 0 else tree.work.parent[step]
        told = _told_by_homes(flows[step], residents[step], shape)
        whole = whole_step(
            told,
            shape,
            tree.pair_parents(step),
            whole,
            Margin(totals=tree.work_totals(step), of=blocks),
            Margin(totals=living, of=inside),
        )
    return whole


def _told_by_homes(flows: Estimates, residents: Estimates, shape: tuple[int, int]) -> Floats:
    """Estimates of flows whose rows add up to what is known of the residents."""
    values, spread = flows.values.reshape(shape), flows.variances.reshape(shape)
    gain = spread / np.maximum(spread.sum(axis=1), 1e-300)[:, None]
    told: Floats = values + gain * (residents.values - values.sum(axis=1))[:, None]
    return told.reshape(-1)


def _split_by_work(
    tree: Hierarchy, meter: FlowMeter, units: Mapping[str, int], flows: Estimates, whole: Integers
) -> Integers:
    """Whole flows from the finest units that are measured in full to single destinations."""
    step, within = tree.measured - 1, tree.work.of[tree.measured - 1]
    rows, wide = tree.shape(step)
    shape = (rows, tree.work.sizes[-1])
    noisy, variance = meter.pairs(tree.homes.of[step], np.arange(shape[1]), shape, units=units[SPLIT])
    parents = (np.arange(rows)[:, None] * wide + within).reshape(-1)
    own = Estimates(values=noisy, variances=np.full(len(noisy), variance))
    (split,) = downwards([own], [parents], flows)
    return whole_step(split.values, shape, parents, whole, Margin(totals=tree.totals, of=within))


def _workers(tree: Hierarchy, whole: Integers, residents: list[Estimates], stream: Stream) -> Workers:
    """A home and a workplace for every synthetic worker of flows to units or, where they are split, to places."""
    step = tree.measured - 1
    shape = (tree.shape(step)[0], tree.work.sizes[-1 if tree.splits else step])
    homes, jobs = np.divmod(np.repeat(np.arange(len(whole)), whole), shape[1])
    if tree.names[step] != PLACE:
        groups, sums = tree.homes.of[step], whole.reshape(shape).sum(axis=1)
        counts = rounded(nearest(residents[-1].values, groups, sums.astype(np.float64)), groups, sums)
        if not tree.splits:
            jobs = shuffled_labels(jobs, tree.totals, tree.work.of[step], stream)
        order = np.lexsort((jobs, homes))
        homes, jobs = even_labels(homes[order], counts, groups, stream), jobs[order]
    return Workers(homes=homes, jobs=jobs)
