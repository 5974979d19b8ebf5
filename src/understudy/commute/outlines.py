"""Outlines of areas from a GeoJSON file of the user; their level is found by their codes or names."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.commute.levels import Level
from understudy.commute.shapes import STEPS, Floats, Frame, Outlines, simplified
from understudy.errors import DataError
from understudy.loading import loader

_FINE = 1 / 10_000
"""How far a line may be moved to make it simpler, as a share of the region."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Rings in degrees, each with the properties of its feature."""

    label: str
    rings: tuple[tuple[dict[str, Any], Floats], ...]

    @property
    def degrees(self) -> Floats:
        """All points."""
        return np.concatenate([ring for _, ring in self.rings])


@loader("the outlines", remedy="export the areas as GeoJSON (WGS 84).", error=DataError)
def read_outlines(path: str | Path) -> Drawn:
    """Polygons of a GeoJSON FeatureCollection in longitude and latitude."""
    label = str(path)
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        rings = tuple(_rings(document["features"]))
    except (ValueError, KeyError, TypeError, IndexError):
        raise DataError(
            f"{label!r} is no GeoJSON FeatureCollection of polygons; export the areas as GeoJSON (WGS 84)."
        ) from None
    if not rings:
        raise DataError(f"{label!r} holds no polygon; export areas, not points or lines.")
    drawn = Drawn(label=label, rings=rings)
    if not np.all(np.isfinite(drawn.degrees)) or np.any(np.abs(drawn.degrees) > (180, 90)):
        raise DataError(
            f"{label!r} has coordinates that are no longitude and latitude in degrees; export it in WGS 84 (EPSG:4326)."
        )
    return drawn


def _rings(features: Any) -> Iterator[tuple[dict[str, Any], Floats]]:
    for feature in features:
        geometry = feature["geometry"] or {"type": "none"}
        whole: Any = geometry.get("coordinates")
        polygons: list[Any] = {"Polygon": [whole], "MultiPolygon": whole}.get(geometry["type"], [])
        facts = {"": feature.get("id"), **(feature.get("properties") or {})}  # a property may be called id too
        for polygon in polygons:
            for ring in polygon:
                yield facts, np.array([point[:2] for point in ring], dtype=np.float64)


def outlines_by_level(drawn: Sequence[Drawn], levels: Sequence[Level], frame: Frame) -> dict[str, Outlines]:
    """Each file goes to the level most of whose areas it names, by code or by name in any property."""
    outlines: dict[str, Outlines] = {}
    for file in drawn:
        matched = [(areas_of_rings(file, level), level) for level in levels]
        areas, level = max(matched, key=lambda pair: (len(set(pair[0].values())), pair[1].name), default=({}, None))
        if level is None or len(set(areas.values())) * 2 < len(level.codes):
            raise DataError(
                f"the areas of {file.label!r} carry no codes or names of a level of the places "
                f"({', '.join(level.name for level in levels) or 'there is none'}); at least half of the areas of one "
                "level must be found in one property, and a name that several areas have finds none. Check the columns "
                "of the places."
            )
        outlines[level.name] = Outlines.of_rings(
            [
                (areas[number], simplified(frame.steps(ring[:, 0], ring[:, 1]), STEPS * _FINE))
                for number, (_, ring) in enumerate(file.rings)
                if number in areas
            ]
        )
    return outlines


def areas_of_rings(file: Drawn, level: Level) -> dict[int, int]:
    """The area of each ring, by the property that tells most; a name that two areas have tells nothing."""
    often = Counter(level.labels)
    known = {label: area for area, label in enumerate(level.labels) if often[label] == 1}
    known |= {code: area for area, code in enumerate(level.codes)}
    best: dict[int, int] = {}
    for key in dict.fromkeys(key for facts, _ in file.rings for key in facts):
        values = (str(facts.get(key)).strip() for facts, _ in file.rings)
        areas = {number: known[value] for number, value in enumerate(values) if value in known}
        best = max(best, areas, key=lambda found: len(set(found.values())))
    return best
