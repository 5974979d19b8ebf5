"""Check a release by levels: the price against its parameters, and every level against the synthetic workers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from understudy.commute.level_tables import CHARACTERISTICS, FLOWS, TOTALS
from understudy.commute.levels import PLACE
from understudy.errors import UnderstudyError
from understudy.mechanisms.flow_measurements import FlowMeasurements, flow_event
from understudy.privacy.events import Event
from understudy.release.release import TABLE


def level_faults(place: Path, parameters: Mapping[str, Any], event: Event, places: str) -> list[str]:
    """What is wrong with price, flows, totals or characteristics of a release by levels."""
    try:
        due = flow_event(epsilon=float(parameters["epsilon"]), delta=float(parameters["delta"]))
    except (UnderstudyError, TypeError, ValueError):
        return ["there is no method 'levels' with these parameters"]
    if event != due or not isinstance(event, FlowMeasurements):
        return ["the ledger was priced for other noise than epsilon and delta of the parameters ask for"]
    faults = []
    if sum(parameters["measured"].values()) > event.units:
        faults.append("more units were measured with than the ledger pays for")
    try:
        faults += _disagreements(place, parameters, places)
    except (OSError, KeyError, pa.ArrowException) as reason:
        faults.append(f"the tables of the levels cannot be read: {reason}")
    return faults


def _disagreements(place: Path, parameters: Mapping[str, Any], places: str) -> list[str]:
    """Levels whose numbers are not the sums over the synthetic workers."""
    table = pyarrow.parquet.read_table(place / TABLE).rename_columns(["o", "d"])
    known = pyarrow.parquet.read_table(place / places) if parameters["levels"] else None
    flows, totals = (pyarrow.parquet.read_table(place / name) for name in (FLOWS, TOTALS))
    groups = pyarrow.parquet.read_table(place / CHARACTERISTICS) if parameters["characteristics"] else None
    faults = []
    for level in (*parameters["levels"], PLACE):
        units = table if level == PLACE or known is None else _units(table, known, level)
        pairs = _sums(flows.filter(pc.equal(flows["level"], level)), ["origin", "destination"], "flow")
        if pairs != _counted(units, ["o", "d"]):
            faults.append(f"the flows of the level {level!r} are not the sums over the synthetic workers")
        for side, column in (("home", "o"), ("work", "d")):
            here = pc.and_(pc.equal(totals["level"], level), pc.equal(totals["side"], side))
            workers = _sums(totals.filter(here), ["unit"], "workers")
            if workers != _counted(units, [column]):
                faults.append(f"the {side} totals of the level {level!r} are not the sums over the synthetic workers")
            for name in parameters["characteristics"]:
                assert groups is not None
                part = groups.filter(pc.and_(pc.equal(groups["level"], level), pc.equal(groups["side"], side)))
                part = part.filter(pc.equal(part["characteristic"], name))
                if part.num_rows and _sums(part, ["unit"], "workers") != workers:
                    faults.append(f"{name!r} by {side} on the level {level!r} does not add up to the totals")
    return faults


def _units(table: pa.Table, known: pa.Table, level: str) -> pa.Table:
    codes = known[level].combine_chunks()
    names = known["place"].combine_chunks()
    return pa.table({column: codes.take(pc.index_in(table[column].combine_chunks(), names)) for column in ("o", "d")})


def _sums(table: pa.Table, keys: list[str], value: str) -> dict[Any, int]:
    """Sums by key, without zeros."""
    grouped = table.group_by(keys).aggregate([(value, "sum")])
    names = zip(*(grouped[key].to_pylist() for key in keys), strict=True)
    return {name: number for name, number in zip(names, grouped[f"{value}_sum"].to_pylist(), strict=True) if number}


def _counted(table: pa.Table, keys: list[str]) -> dict[Any, int]:
    return _sums(table.append_column("n", pa.repeat(1, table.num_rows)), keys, "n")
