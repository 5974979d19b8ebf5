"""The flows: Rhode Island 2019 from the data folder, or a simulated town."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.commute.jobs import CommuteInput, open_commutes
from understudy.datasets import commutes

FILE = "lodes_ri_2019/ri_od_main_2019_with_latlon.parquet"
SAMPLE = 120
"""Destinations in the paper's figures."""


class Absent(Exception):
    """The data folder lacks the file."""


@dataclass(frozen=True)
class World:
    """One table of flows, ready to be counted whole or for some destinations."""

    name: str
    flows: Any
    columns: dict[str, str]
    places: Any
    tract: int
    """How many characters of an origin's name are its region."""

    def all(self) -> CommuteInput:
        """Every destination."""
        return open_commutes(self.flows, places=self.places, **self.columns)

    def some(self, number: int, seed: int) -> CommuteInput:
        """``number`` destinations chosen uniformly, as the paper chose its 120."""
        names = sorted(set(self.flows[self.columns["destination"]].to_pylist()))
        chosen = np.random.default_rng(seed).choice(len(names), size=min(number, len(names)), replace=False)
        wanted = pa.array([names[place] for place in chosen])
        import pyarrow.compute as pc

        kept = self.flows.filter(pc.is_in(self.flows[self.columns["destination"]], value_set=wanted))
        return open_commutes(kept, places=self.places, **self.columns)

    def regions(self, given: CommuteInput) -> pa.Table:
        """A public partition: census tracts (the first 11 digits of a block), or blocks of the simulated names."""
        names = given.flows.origins.to_pylist()
        return pa.table({"origin": names, "region": [name[: self.tract] for name in names]})


def rhode_island() -> World:
    """Workplace block, home block, jobs, and the coordinates of both; home blocks are taken as the public domain."""
    path = Path(os.environ.get("UNDERSTUDY_DATA", "")) / FILE
    if not os.environ.get("UNDERSTUDY_DATA") or not path.is_file():
        raise Absent(f"UNDERSTUDY_DATA has no {FILE}")
    table = pq.read_table(path)
    spots: dict[str, tuple[float, float]] = {}
    for side in ("w", "h"):
        columns = (table[f"{side}_geocode"], table[f"{side}_lat"], table[f"{side}_lon"])
        spots |= {name: (north, east) for name, north, east in zip(*(c.to_pylist() for c in columns), strict=True)}
    homes = set(table["h_geocode"].to_pylist())
    names = sorted(spots)
    places = pa.table(
        {
            "place": names,
            "latitude": [spots[name][0] for name in names],
            "longitude": [spots[name][1] for name in names],
            "home": [name in homes for name in names],
        }
    )
    columns = {"origin": "h_geocode", "destination": "w_geocode", "count": "S000"}
    kept = table.select(list(columns.values()))
    return World(name="Rhode Island 2019", flows=kept, columns=columns, places=places, tract=11)


def town(workers: int = 5000) -> World:
    """A simulated town."""
    made = commutes(workers, seed=1, homes=400, workplaces=150)
    columns = {"origin": "origin", "destination": "destination", "count": "workers"}
    return World(name="a simulated town", flows=made.flows, columns=columns, places=made.places, tract=4)
