"""Everything that is public about a commuting table: places, possible origins, distance rings, regions, output sizes.

Each is a small table. All its faults are reported together. Its provenance is checked: a release without a formal
promise is refused as public knowledge.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.commute.geography import areas_beside, as_places_table
from understudy.commute.levels import Level, read_levels
from understudy.errors import DataError, and_more
from understudy.mechanisms.origin_domain import distances
from understudy.mechanisms.stream import Stream
from understudy.parameters import Rule
from understudy.privacy.account import Account
from understudy.privacy.provenance import DECLARED, InputRole, Provenance
from understudy.sources.faults import engine_errors
from understudy.sources.files import open_table
from understudy.sources.flows import Flows
from understudy.sources.inputs import public_provenance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns of one public table, found under any of several names."""

    label: str
    data: Any
    provenance: Provenance

    def has(self, *names: str) -> bool:
        """Whether there is a column of one of these names."""
        return any(name in self.data.column_names for name in names)

    def texts(self, *names: str) -> tuple[str, ...]:
        """A column as text; nothing may be missing."""
        values = self._values(names)
        if None in values:
            raise DataError(f"{self.label} has a row without {names[0]}; complete or drop it.")
        return tuple(str(value) for value in values)

    def numbers(self, *names: str) -> Floats:
        """A column as numbers; a missing or unreadable one is NaN."""
        numbers = np.full(len(self.data), np.nan)
        for place, value in enumerate(self._values(names)):
            try:
                numbers[place] = np.nan if value is None else float(value)
            except ValueError:
                continue
        return numbers

    def _values(self, names: Sequence[str]) -> list[Any]:
        for name in names:
            if name in self.data.column_names:
                values: list[Any] = self.data.column(name).to_pylist()
                return values
        raise DataError(
            f"{self.label} has no column {names[0]!r}; it has {', '.join(map(repr, self.data.column_names[:12]))}."
        )


def read_columns(table: Any, role: InputRole, *, confidential: Any = None) -> Columns:
    """Read a whole public table; ``confidential`` is the table that it must not be."""
    provenance = public_provenance(table, role, confidential=confidential)
    opened = open_table(table, None)
    opened.verify()
    with engine_errors(repr(opened.label)):
        data = opened.table.to_pyarrow()
    named = as_places_table(data.rename_columns([name.strip().lower() for name in opened.header]))
    return Columns(label=str(opened.label), data=named, provenance=provenance)


@dataclass(frozen=True, kw_only=True)
class PublicTable(Rule):
    """A public table; on the command line a file of it, where ``context`` is the confidential table that it is not."""

    metavar: ClassVar[str] = "FILE"
    kind: type
    reader: Callable[..., Any]
    words: str = "a public table"
    example: str = "the name of a public file"

    def admits(self, value: Any) -> bool:
        """A table that was read."""
        return isinstance(value, self.kind)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """The table itself, read where a file was named."""
        return given if self.admits(given) else self.reader(given, confidential=context)


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """Names, and coordinates in degrees where there are any.

    >>> places = Places(names=("a", "b"), latitudes=np.array([41.0, 41.0]), longitudes=np.array([-71.0, -72.0]))
    >>> round(float(places.miles(np.array([0]), np.array([1]))[0]), 1)
    52.1
    """

    names: tuple[str, ...]
    titles: tuple[str, ...] | None = None
    """Readable names of the places themselves, which may be equal; None where their names are all there is."""
    latitudes: Floats | None = None
    longitudes: Floats | None = None
    homes: tuple[str, ...] | None = None
    """Where people may live, a public list; None for everywhere."""
    levels: tuple[Level, ...] = ()
    """Coarser units that the places lie in, coarse to fine."""
    beside: tuple[Level, ...] = ()
    """Areas to find and to show on a map only, such as postal areas: nothing is measured for them."""
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
                    f"the place {self.names[bad[0]]!r} has no {word}{and_more(len(bad))}; complete the coordinates of "
                    "all places, or leave both columns out."
                )
            if len(bad := np.flatnonzero(np.abs(values) > most)):
                raise DataError(
                    f"the {word} of the place {self.names[bad[0]]!r} is {values[bad[0]]:g}{and_more(len(bad))}; it "
                    f"must lie between -{most:g} and {most:g} degrees. Are latitude and longitude swapped?"
                )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_coordinates(self) -> bool:
        """Whether distances can be computed."""
        return self.latitudes is not None and self.longitudes is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """What each place is called."""
        return self.titles or self.names

    @cached_property
    def number(self) -> dict[str, int]:
        """Position of each name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def vectors(self) -> Floats:
        """Unit vectors."""
        assert self.latitudes is not None and self.longitudes is not None
        up, around = np.radians(self.latitudes), np.radians(self.longitudes)
        return np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=1)

    def miles(self, left: Integers, right: Integers) -> Floats:
        """Great-circle distance between pairs of places."""
        miles: Floats = distances(self.vectors[left], self.vectors[right])
        return miles

    def positions(self, names: tuple[str, ...], what: str) -> Integers:
        """Where these names are; each must be a place."""
        positions = np.array([self.number.get(name, -1) for name in names], dtype=np.int64)
        if len(strange := np.flatnonzero(positions < 0)):
            raise DataError(
                f"the {what} {names[strange[0]]!r} is not among the places{and_more(len(strange))}; add its line, with "
                "coordinates where the others have them."
            )
        return positions


def read_places(table: Any, *, levels: Sequence[str] | None = None, confidential: Any = None) -> Places:
    """A public table with the column ``place``; for distances and the map, ``latitude`` and ``longitude``.

    A column ``home`` (true or false) says where people may live; without it, everywhere. ``levels`` names columns of
    coarser units, coarse to fine; without it they are found by :data:`understudy.commute.levels.KNOWN`. Any other
    column that has a column of names beside it (``zip`` and ``zip_name``) is for the map, and so are the names of the
    places themselves (``place_name`` or ``name``). The geography crosswalk of
    the US Census Bureau is taken as it comes.
    """
    columns = read_columns(table, InputRole.PLACES, confidential=confidential)
    names = columns.texts("place", "name", "id", "geocode")
    homes = None
    if columns.has("home"):
        words = [word.strip().lower() for word in columns.texts("home")]
        if strange := sorted(set(words) - {"true", "false", "1", "0", "yes", "no"}):
            raise DataError(f"the column 'home' of {columns.label} holds {strange[0]!r}; write true or false.")
        homes = tuple(name for name, word in zip(names, words, strict=True) if word in ("true", "1", "yes"))
    north, east = ("latitude", "lat"), ("longitude", "lon", "lng")
    units = read_levels(columns, levels)
    known: dict[str, Any] = {"names": names, "homes": homes, "levels": units, "provenance": columns.provenance}
    known["beside"] = areas_beside(columns.data, units)
    if columns.has("place") and columns.has("place_name", "name"):
        titles = columns.data.column("place_name" if columns.has("place_name") else "name").to_pylist()
        known["titles"] = tuple(str(title or name) for name, title in zip(names, titles, strict=True))
    if not columns.has(*north) and not columns.has(*east):
        return Places(**known)
    return Places(latitudes=columns.numbers(*north), longitudes=columns.numbers(*east), **known)


def read_origins(table: Any, *, confidential: Any = None) -> Places:
    """Where people may live: a public table with the column ``origin``, or a list of names."""
    if isinstance(table, Places):
        return table
    if isinstance(table, list | tuple):
        return Places(names=tuple(table))
    columns = read_columns(table, InputRole.ORIGINS, confidential=confidential)
    return Places(names=columns.texts("origin", "place", "geocode"), provenance=columns.provenance)


class Sizes(dict[str, int]):
    """The public number of synthetic workers of each destination."""

    def __init__(self, workers: Mapping[str, int], provenance: Provenance = DECLARED) -> None:
        super().__init__(workers)
        self.provenance = provenance

    def __repr__(self) -> str:
        return f"<Sizes of {len(self):,} destinations>"


def read_sizes(table: Any, *, confidential: Any = None) -> Sizes:
    """A public table of ``destination`` and ``workers``: how many synthetic ones each gets."""
    columns = read_columns(table, InputRole.SIZES, confidential=confidential)
    numbers = columns.numbers("workers", "count", "size")
    if not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        raise DataError(f"an output size of {columns.label} is no whole number; give one for each destination.")
    named = dict(zip(columns.texts("destination", "place"), map(int, numbers), strict=True))
    return Sizes(named, columns.provenance)


@dataclass(frozen=True, kw_only=True)
class Rings:
    """Rings around a destination, nearest first; the last one has no outer edge."""

    miles: tuple[float, ...]
    """Outer edges; the last is infinite."""
    shares: tuple[float, ...]
    """Share of commutes in each ring, by the earlier release."""
    keeps: tuple[float, ...]
    """f_d of algorithm 2: probability that an origin of the ring without workers stays in the domain."""
    source: str
    """Where this is published."""
    provenance: Provenance = DECLARED

    def __post_init__(self) -> None:
        if not (len(self.miles) == len(self.shares) == len(self.keeps) >= 1):
            raise DataError(
                f"the rings of {self.source} have columns of different length; give miles and share for each."
            )
        if any(not low < high for low, high in zip((0.0, *self.miles), self.miles, strict=False)):
            raise DataError(
                f"the rings of {self.source} end at {', '.join(f'{edge:g}' for edge in self.miles)} miles; the edges "
                "must rise, from above 0."
            )
        if not math.isinf(self.miles[-1]):
            raise DataError(
                f"the last ring of {self.source} ends at {self.miles[-1]:g} miles; leave its edge open (inf)."
            )
        if any(not 0 <= share < math.inf for share in self.shares) or sum(self.shares) <= 0:
            raise DataError(f"the shares of {self.source} are {self.shares}; they must be 0 or more, and not all 0.")
        for keep in self.keeps:
            if not 2.0**-32 <= keep <= 1:
                raise DataError(
                    f"f_d is {keep:g} in a ring of {self.source}; it must lie above 0 and up to 1: an origin that can "
                    "never be drawn unless somebody lives there would give them away."
                )


def ctpp_minnesota() -> Rings:
    """The declared example: quantiles that the OnTheMap paper prints for Minnesota in CTPP 2000.

    Half of the commutes are shorter than 6.23 miles, three quarters than 13.1, nine tenths than 21.54. The paper's f_d
    was "roughly proportional" to the histogram, its smallest value 0.0378; ours is the share per mile of each ring over
    that of the first, and 0.0378 in the last.
    """
    edges, shares = (6.23, 13.1, 21.54, math.inf), (0.5, 0.25, 0.15, 0.1)
    first = shares[0] / edges[0]
    dense = [share / (high - low) / first for share, low, high in zip(shares, (0.0, *edges), edges, strict=False)]
    return Rings(
        miles=edges, shares=shares, keeps=(*dense[:3], 0.0378), source="CTPP 2000, Minnesota, as the paper prints it"
    )


def read_rings(table: Any, *, source: str | None = None, confidential: Any = None) -> Rings:
    """A public table with the columns ``miles`` (outer edge), ``share`` and perhaps ``keep`` (f_d).

    Without ``keep``, f_d is the share per mile over the largest one, and that of the last, open ring half of the one
    before. The word ``ctpp-minnesota`` stands for the example.
    """
    if isinstance(table, str) and table == "ctpp-minnesota":
        return ctpp_minnesota()
    columns = read_columns(table, InputRole.RINGS, confidential=confidential)
    miles = columns.numbers("miles")
    miles[-1] = math.inf if np.isnan(miles[-1]) else miles[-1]
    shares = columns.numbers("share")
    if np.isnan(miles).any() or np.isnan(shares).any():
        raise DataError(f"{columns.label} has a ring without miles or share; only the last edge may be open.")
    if columns.has("keep", "f"):
        keeps = columns.numbers("keep", "f")
    else:
        widths = np.diff(np.concatenate([[0.0], miles]))
        dense = shares / widths
        keeps = dense / dense.max() if dense.max() > 0 else np.ones(len(miles))
        keeps[-1] = keeps[-2] / 2 if len(keeps) > 1 else 1.0
    return Rings(
        miles=tuple(miles.tolist()),
        shares=tuple(shares.tolist()),
        keeps=tuple(np.where(np.isnan(keeps), 0.0, keeps).tolist()),
        source=source or columns.label,
        provenance=columns.provenance,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Regions:
    """Which region each origin belongs to, and how densely it is populated by public knowledge."""

    names: tuple[str, ...]
    """Names of the regions."""
    of: Integers
    """Region of each origin."""
    density: Integers
    """Whole-number weight of each origin inside its region."""
    source: str
    provenance: Provenance = DECLARED

    def placed(self, regions: Integers, stream: Stream) -> Integers:
        """One origin for each region drawn, by the public density: post-processing."""
        order = np.argsort(self.of, kind="stable")
        weights = np.cumsum(self.density[order])
        ends = np.searchsorted(self.of[order], np.arange(len(self.names)), side="right") - 1
        upper = weights[ends]
        lower = np.concatenate([[0], upper[:-1]])
        picks = stream.below_each((upper - lower)[regions].astype(np.uint64)).astype(np.int64)
        return np.asarray(order[np.searchsorted(weights, lower[regions] + picks, side="right")], dtype=np.int64)


def read_regions(table: Any, origins: tuple[str, ...], *, confidential: Any = None) -> Regions:
    """A public table with the columns ``origin``, ``region`` and perhaps ``density`` (whole numbers)."""
    columns = read_columns(table, InputRole.REGIONS, confidential=confidential)
    listed = dict(zip(columns.texts("origin", "place", "geocode"), columns.texts("region", "cell"), strict=True))
    if missing := [name for name in origins if name not in listed]:
        raise DataError(
            f"the partition {columns.label} misses the origin {missing[0]!r}{and_more(len(missing))}; every possible "
            "origin belongs to one region, or its workers would have nowhere to be counted."
        )
    names = tuple(sorted({listed[name] for name in origins}))
    number = {name: place for place, name in enumerate(names)}
    density = np.ones(len(origins), dtype=np.int64)
    if columns.has("density"):
        densities = dict(zip(columns.texts("origin", "place", "geocode"), columns.numbers("density"), strict=True))
        values = np.array([densities[name] for name in origins])
        if not np.all((values >= 0) & (values == np.floor(values)) & (values < 2**31)):
            raise DataError(f"the density of {columns.label} must be whole numbers from 0 on; round or rescale it.")
        density = values.astype(np.int64)
    of = np.array([number[listed[name]] for name in origins], dtype=np.int64)
    if len(empty := np.flatnonzero(np.bincount(of, weights=density, minlength=len(names)) == 0)):
        raise DataError(
            f"the region {names[empty[0]]!r} of {columns.label} has density 0 everywhere; nobody could be placed "
            "there. Give some origin of it a density."
        )
    return Regions(names=names, of=of, density=density, source=columns.label, provenance=columns.provenance)


@dataclass(frozen=True, kw_only=True, eq=False)
class CommuteInput:
    """A table of commutes with what is public about its places, and the account that pays for what is drawn from it."""

    flows: Flows
    places: Places | None = None
    regions: Regions | None = None
    origins: Places | None = None
    """The list that the origins come from, where it is not that of the places."""
    names: tuple[str, str] = ("origin", "destination")
    """Columns of the synthetic table."""
    account: Account | None = None
