"""A simulated town of commuters: places with coordinates, and who lives and works where. Nobody in it is real."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from understudy.parameters import Whole

_CENTRE = (41.8, -71.4)
_MILES_PER_DEGREE = 69.09
_SPREAD = 9.0  # miles, standard deviation of where people may live
_DECAY = 6.0  # miles, of the gravity between home and work


class CommuteTables(NamedTuple):
    """The confidential table and what is public about its places."""

    flows: pa.Table
    """``origin``, ``destination``, ``workers``."""
    places: pa.Table
    """``place``, ``latitude``, ``longitude``, whether people may live there (``home``), its ``district``, and a postal
    area (``zip``) that goes across districts."""


def commutes(workers: int, seed: int, *, homes: int = 600, workplaces: int = 80) -> CommuteTables:
    """Simulate ``workers`` commutes: every number behind it is made up, for shape only.

    >>> town = commutes(1000, seed=1)
    >>> sum(town.flows["workers"].to_pylist()), town.places.num_rows
    (1000, 680)
    """
    for name, value in (("workers", workers), ("homes", homes), ("workplaces", workplaces)):
        Whole(least=2, tried=1000).check(name, value)
    generator = np.random.default_rng(seed)  # a simulation; nothing private
    number = homes + workplaces
    north = generator.normal(0, _SPREAD, number) / _MILES_PER_DEGREE
    east = generator.normal(0, _SPREAD, number) / _MILES_PER_DEGREE / np.cos(np.radians(_CENTRE[0]))
    latitudes, longitudes = np.round(_CENTRE[0] + north, 5), np.round(_CENTRE[1] + east, 5)
    names = [f"H{i:05d}" for i in range(homes)] + [f"W{i:05d}" for i in range(workplaces)]
    sizes = generator.pareto(1.1, workplaces) + 1
    working = generator.multinomial(workers - workplaces, sizes / sizes.sum()) + 1 if workers > workplaces else None
    if working is None:
        working = np.bincount(generator.integers(0, workplaces, workers), minlength=workplaces)
    people = generator.gamma(1.5, 1.0, homes)
    origins, destinations, counts = [], [], []
    for place in range(workplaces):
        gap = np.hypot(
            (latitudes[:homes] - latitudes[homes + place]) * _MILES_PER_DEGREE,
            (longitudes[:homes] - longitudes[homes + place]) * _MILES_PER_DEGREE * np.cos(np.radians(_CENTRE[0])),
        )
        pull = people * np.exp(-gap / _DECAY)
        commuters = generator.multinomial(working[place], pull / pull.sum())
        there = np.flatnonzero(commuters)
        origins += [names[home] for home in there]
        destinations += [names[homes + place]] * len(there)
        counts += commuters[there].tolist()
    flows = pa.table({"origin": origins, "destination": destinations, "workers": pa.array(counts, pa.int64())})
    districts = _districts(latitudes, longitudes)
    slices = np.digitize(longitudes - latitudes, np.arange(-113.5, -112.9, 0.1))
    postal = [f"{77000 + number}" for number in slices.tolist()]
    places = pa.table(
        {
            "place": names,
            "latitude": latitudes,
            "longitude": longitudes,
            "home": [i < homes for i in range(number)],
            "district": [code for code, _ in districts],
            "district_name": [name for _, name in districts],
            "zip": postal,
            "zip_name": postal,
        }
    )
    return CommuteTables(flows=flows, places=places)


def _districts(latitudes: np.ndarray, longitudes: np.ndarray) -> list[tuple[str, str]]:
    """Code and name of the part of the town that each place lies in: three by three, cut 3 miles from the centre."""
    cut = 3.0 / _MILES_PER_DEGREE
    rows = np.digitize(latitudes, [_CENTRE[0] - cut, _CENTRE[0] + cut])
    columns = np.digitize(longitudes, [_CENTRE[1] - cut, _CENTRE[1] + cut])
    north, east = ("South", "Middle", "North"), ("West", "Centre", "East")
    return [(f"D{row}{column}", f"{north[row]} {east[column]}") for row, column in zip(rows, columns, strict=True)]
