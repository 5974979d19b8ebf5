"""Places: the public list of where people may live and work, and where on the globe that is."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.tables import read_columns
from understudy.errors import DataError
from understudy.mechanisms.origin_domain import distances
from understudy.privacy.provenance import DECLARED, InputRole, Provenance

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """Names, and coordinates in degrees where there are any.

    >>> places = Places(names=("a", "b"), latitudes=np.array([41.0, 41.0]), longitudes=np.array([-71.0, -72.0]))
    >>> round(float(places.miles(np.array([0]), np.array([1]))[0]), 1)
    52.1
    """

    names: tuple[str, ...]
    latitudes: Floats | None = None
    longitudes: Floats | None = None
    homes: tuple[str, ...] | None = None
    """Where people may live, a public list; None for everywhere."""
    provenance: Provenance = DECLARED

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            seen: set[str] = set()
            twice = next(name for name in self.names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise DataError(f"the place {twice!r} is listed twice; keep one line for each place.")
        if "" in self.names:
            raise DataError("a place has an empty name; name it or drop the line.")
        if self.latitudes is None or self.longitudes is None:
            return
        for values, word, most in ((self.latitudes, "latitude", 90.0), (self.longitudes, "longitude", 180.0)):
            if len(bad := np.flatnonzero(~np.isfinite(values))):
                raise DataError(
                    f"the place {self.names[bad[0]]!r} has no {word}{_more(len(bad))}; complete the coordinates of all "
                    "places, or leave both columns out."
                )
            if len(bad := np.flatnonzero(np.abs(values) > most)):
                raise DataError(
                    f"the {word} of the place {self.names[bad[0]]!r} is {values[bad[0]]:g}{_more(len(bad))}; it must "
                    "lie "
                    f"between -{most:g} and {most:g} degrees. Are latitude and longitude swapped?"
                )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_coordinates(self) -> bool:
        """Whether distances can be computed."""
        return self.latitudes is not None and self.longitudes is not None

    @cached_property
    def number(self) -> dict[str, int]:
        """Position of each name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def vectors(self) -> Floats:
        """Unit vectors."""
        assert self.latitudes is not None and self.longitudes is not None
        return unit_vectors(self.latitudes, self.longitudes)

    def miles(self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> Floats:
        """Great-circle distance between pairs of places."""
        found: Floats = distances(self.vectors[left], self.vectors[right])
        return found

    def positions(self, names: tuple[str, ...], what: str) -> npt.NDArray[np.int64]:
        """Where these names are; each must be a place."""
        found = np.array([self.number.get(name, -1) for name in names], dtype=np.int64)
        if len(strange := np.flatnonzero(found < 0)):
            raise DataError(
                f"the {what} {names[strange[0]]!r} is not among the places{_more(len(strange))}; add its line, with "
                "coordinates where the others have them."
            )
        return found


def unit_vectors(latitudes: Floats, longitudes: Floats) -> Floats:
    """Points on the unit sphere."""
    up, around = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=1)


def _more(number: int) -> str:
    return f" (and {number - 1:,} more)" if number > 1 else ""


def read_places(what: Any, *, confidential: Any = None) -> Places:
    """A public table with the column ``place``; for distances and the map, ``latitude`` and ``longitude``.

    A column ``home`` (true or false) says where people may live; without it, everywhere.
    """
    columns = read_columns(what, InputRole.PLACES, confidential=confidential)
    names = columns.texts("place", "name", "id", "geocode")
    homes = None
    if columns.has("home"):
        words = [word.strip().lower() for word in columns.texts("home")]
        if strange := sorted(set(words) - {"true", "false", "1", "0", "yes", "no"}):
            raise DataError(f"the column 'home' of {columns.label} holds {strange[0]!r}; write true or false.")
        homes = tuple(name for name, word in zip(names, words, strict=True) if word in ("true", "1", "yes"))
    north, east = ("latitude", "lat"), ("longitude", "lon", "lng")
    known: dict[str, Any] = {"names": names, "homes": homes, "provenance": columns.provenance}
    if not columns.has(*north) and not columns.has(*east):
        return Places(**known)
    return Places(latitudes=columns.numbers(*north), longitudes=columns.numbers(*east), **known)
