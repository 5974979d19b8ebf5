"""The tables that describe a release by levels: flows, totals and characteristics, each number with its interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.commute.estimates import Estimates, intervals
from understudy.commute.hierarchy import Hierarchy
from understudy.commute.whole_flows import Margin, nearest, rounded, whole_step
from understudy.mechanisms.flow_measurements import FlowMeter

FLOWS, TOTALS, CHARACTERISTICS = "flows.parquet", "totals.parquet", "characteristics.parquet"
"""Attachments of a release by levels."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Workers:
    """Home and workplace of every synthetic worker, as positions among origins and destinations."""

    homes: Integers
    jobs: Integers


def flow_table(
    tree: Hierarchy, workers: Workers, flows: list[Estimates], meter: FlowMeter, units: Mapping[str, int]
) -> pa.Table:
    """Flows of every level: all pairs where all were measured, elsewhere those that were drawn, measured here."""
    parts = []
    for level, name in enumerate(tree.names):
        codes, homes, work = _units(tree, level)
        width = len(codes)
        drawn = homes[workers.homes] * width + work[workers.jobs]
        if level < tree.measured:
            of_home, of_work = _of_pieces(tree.homes.of[level], homes), _of_pieces(tree.work.of[level], work)
            keys, group = np.unique((of_home[:, None] * width + of_work).reshape(-1), return_inverse=True)
            known = flows[level].added_up(group.reshape(-1), len(keys))
        else:
            keys = np.unique(drawn)
            noisy, variance = meter.listed(homes, work, keys, width, units=units[f"drawn:{name}"])
            known = Estimates(values=noisy, variances=np.full(len(keys), variance))
        origin, destination = np.divmod(keys, width)
        parts.append(
            {
                "level": name,
                "origin": codes.take(origin),
                "destination": codes.take(destination),
                "flow": np.bincount(np.searchsorted(keys, drawn), minlength=len(keys)),
                **_described(known),
            }
        )
    return _joined(parts)


def total_table(tree: Hierarchy, workers: Workers, residents: list[Estimates]) -> pa.Table:
    """Workers by home and by work in every unit of every level; those by work are public, hence exact."""
    parts = []
    for level, name in enumerate(tree.names):
        codes, homes, work = _units(tree, level)
        living = np.bincount(homes[workers.homes], minlength=len(codes))
        working = np.bincount(work[workers.jobs], minlength=len(codes))
        of_home = _of_pieces(tree.homes.of[level], homes)
        exact = Estimates(values=working.astype(np.float64), variances=np.zeros(len(codes)))
        sides = {
            "home": (np.unique(homes), living, residents[level].added_up(of_home, len(codes))),
            "work": (np.unique(work), working, exact),
        }
        for side, (listed, counts, known) in sides.items():
            picked = Estimates(values=known.values[listed], variances=known.variances[listed])
            head = {"level": name, "unit": codes.take(listed), "side": side, "workers": counts[listed]}
            parts.append(head | _described(picked))
    return _joined(parts)


def group_table(tree: Hierarchy, workers: Workers, meter: FlowMeter, units: Mapping[str, int]) -> pa.Table:
    """Groups of every characteristic, measured on the finest level that is measured in full, and added up from there.

    In every unit they add up to its workers, and by home and by work to the same numbers of workers.
    """
    step, parts = tree.measured - 1, []
    sides = {"home": (tree.homes, workers.homes), "work": (tree.work, workers.jobs)}
    for name, columns in tree.groups.items():
        noisy: dict[str, Floats] = {}
        spread: dict[str, float] = {}
        for side, (pieces, _) in sides.items():
            of, size = pieces.of[step], pieces.sizes[step]
            share = units[f"{side} groups:{name}"]
            noisy[side], spread[side] = meter.characteristic(name, of, size, by_home=side == "home", units=share)
        totals = _group_totals(noisy, len(workers.homes))
        for side, (pieces, chosen) in sides.items():
            table = noisy[side]
            above = np.bincount(pieces.of[step][chosen], minlength=len(table))
            rows, one = np.repeat(np.arange(len(table)), len(columns)), np.zeros(len(columns), dtype=np.int64)
            margin = Margin(totals=totals, of=one)
            whole = whole_step(table.reshape(-1), table.shape, rows, above, margin).reshape(table.shape)
            for group, column in enumerate(columns):
                known = Estimates(values=table[:, group], variances=np.full(len(table), spread[side]))
                head = {"characteristic": name, "group": column, "side": side}
                parts += _group_levels(tree, side, whole[:, group], known, head)
    return _joined(parts)


def _group_totals(noisy: Mapping[str, Floats], workers: int) -> Integers:
    """Workers of each group in all, as both sides say; the side with fewer units has less noise and counts more."""
    weights = {side: 1 / len(table) for side, table in noisy.items()}
    both = sum(weights[side] * table.sum(axis=0) for side, table in noisy.items()) / sum(weights.values())
    one = np.zeros(len(both), dtype=np.int64)
    return rounded(nearest(both, one, np.array([float(workers)])), one, np.array([workers]))


def _group_levels(
    tree: Hierarchy, side: str, whole: Integers, known: Estimates, head: dict[str, Any]
) -> list[dict[str, Any]]:
    """One group of one characteristic on all levels that are measured in full."""
    parts, step = [], tree.measured - 1
    for level in range(tree.measured):
        codes, homes, work = _units(tree, level)
        pieces, units = (tree.homes, homes) if side == "home" else (tree.work, work)
        listed, place = np.unique(_of_pieces(pieces.of[step], units), return_inverse=True)
        workers = np.bincount(place, weights=whole, minlength=len(listed)).astype(np.int64)
        unit = {"level": tree.names[level], "unit": codes.take(listed), "workers": workers}
        parts.append(head | unit | _described(known.added_up(place, len(listed))))
    return parts


def _units(tree: Hierarchy, level: int) -> tuple[Any, Integers, Integers]:
    """Names of a level's units, and the unit of every origin and destination."""
    if level < len(tree.levels):
        of = tree.levels[level].of
        return pa.array(tree.levels[level].codes), of[tree.origins], of[tree.destinations]
    return pa.array(tree.places), tree.origins, tree.destinations


def _of_pieces(pieces: Integers, units: Integers) -> Integers:
    """The unit of every piece, all of whose places lie in one."""
    found = np.zeros(int(pieces.max()) + 1, dtype=np.int64)
    found[pieces] = units
    return found


def _described(known: Estimates) -> dict[str, Floats]:
    """Estimate, deviation and interval of every number, as columns."""
    deviations = np.sqrt(known.variances)
    low, high = intervals(known.values, deviations)
    columns = {"estimate": known.values, "deviation": deviations, "low": low, "high": high}
    return {name: np.round(column, 3) for name, column in columns.items()}


def _joined(parts: list[dict[str, Any]]) -> pa.Table:
    """One table; a word that holds for a whole part is repeated."""
    tables = []
    for part in parts:
        length = max(len(column) for column in part.values() if not isinstance(column, str))
        columns = {
            name: pa.repeat(column, length) if isinstance(column, str) else pa.array(column)
            for name, column in part.items()
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)
